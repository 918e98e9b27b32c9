#include <stdlib.h>
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
