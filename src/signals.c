#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cudist/err.h"
#include "signals.h"
#include "watchdog.h"

/* A handler has no argument of ours, so this is what it knows; only it writes `asked` and `ints`. */
static struct {
    volatile sig_atomic_t asked, ints;
    bool at_once, speaks;
} state;

enum cud_launcher cud_signals_launcher(void)
{
    if (getenv("OMPI_COMM_WORLD_SIZE"))    /* set by mpirun's daemon; mpirun in a Slurm job sets it too, srun never does */
        return CUD_BY_MPIRUN;
    if (getenv("SLURM_STEP_ID"))
        return CUD_BY_SLURM;
    return getenv("PMI_SIZE") ? CUD_BY_MPIRUN : CUD_BY_HAND;
}

const char *cud_signals_name(int signal)
{
    switch (signal) {
    case SIGINT: return "INT";
    case SIGTERM: return "TERM";
    case SIGUSR1: return "USR1";
    case SIGUSR2: return "USR2";
    case SIGXCPU: return "XCPU";
    default: return "another rank";
    }
}

/* Async-signal-safe: write and _exit only. */
static _Noreturn void end_now(int signal)
{
    if (state.speaks) {
        const char *name = cud_signals_name(signal);
        char line[64] = "cudist: stopped at once by ";
        size_t n = strlen(line), m = strlen(name);
        memcpy(line + n, name, m);
        line[n + m] = '\n';
        cud_line_write(line, n + m + 1);
    }
    _exit(CUD_ESTOPPED);
}

static void handle(int signal)
{
    bool hurry = signal == SIGINT || signal == SIGTERM;
    if (signal == SIGINT)
        state.ints = state.ints + 1;
    if ((hurry && state.at_once) || state.ints > 1)
        end_now(signal);
    if (!state.asked)
        state.asked = signal;
}

void cud_signals_catch(enum cud_launcher launcher, bool speaks)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU};
    state.at_once = launcher == CUD_BY_MPIRUN;
    state.speaks = speaks;

    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) {
        sigaction(caught[i], NULL, &before);
        if (caught[i] == SIGINT && before.sa_handler == SIG_IGN)
            continue;                      /* a shell's background job: the terminal's INT is not for it */
        sigaction(caught[i], &action, NULL);
    }
}

void cud_signals_ignore(void)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
}

int cud_signals_asked(void)
{
    return state.asked;
}
