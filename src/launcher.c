#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "launcher.h"

static int number(const char *const *names, int otherwise)
{
    for (; *names; names++) {
        const char *const value = getenv(*names);
        if (value && *value)
            return atoi(value);
    }
    return otherwise;
}

void cud_launcher_guess(int *rank, int *count)
{
    /* Never SLURM_NTASKS, which is the job's: a step may have fewer. */
    static const char *const counts[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", NULL};
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", NULL};
    *count = number(counts, 1);
    *rank = *count > 1 ? number(ranks, 0) : 0;
}

static void on_alarm(int signal_number)
{
    static const char line[] = "cudist: MPI did not start in time: a rank is stuck in its start; the job ends (--timeout)\n";
    (void)signal_number;
    if (write(STDERR_FILENO, line, strlen(line)) < 0)
        _exit(1);
    _exit(1);
}

void cud_launcher_deadline(double seconds)
{
    signal(SIGALRM, seconds > 0 ? on_alarm : SIG_DFL);
    alarm(seconds <= 0 || seconds > 1e9 ? 0 : seconds < 20 ? 20 : (unsigned)seconds + 1);
}
