#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "clock.h"
#include "cudist/err.h"
#include "signals.h"
#include "text.h"
#include "watchdog.h"

#define QUIET_MS 5000

/* A handler has no argument of ours, so this is what it knows; only it writes `asked` and `ints`. */
static struct {
    volatile sig_atomic_t asked, ints;
    bool speaks;
    const struct cud_seen *seen;
    char left[300];                        /* behind the line, where left_bytes is not 0 */
    atomic_size_t left_bytes;
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
    case SIGHUP: return "HUP";
    case SIGUSR1: return "USR1";
    case SIGUSR2: return "USR2";
    case SIGXCPU: return "XCPU";
    default: return "another rank";
    }
}

static long long now_ms(void) { return (long long)(1000 * cud_now()); }

static bool is_late(const struct cud_seen *seen, long long now)
{
    const long long limit = atomic_load(&seen->limit_ms);
    return limit > 0 && now - atomic_load(&seen->ms) > limit;
}

/* The launcher's TERM for what the others said comes a moment after its CONT. */
void cud_seen_now(struct cud_seen *seen)
{
    const long long now = now_ms();
    if (is_late(seen, now))
        atomic_store(&seen->quiet_ms, now + QUIET_MS);
    atomic_store(&seen->ms, now);
}

static bool was_away(void)
{
    const long long now = now_ms();
    return state.seen && (is_late(state.seen, now) || now < atomic_load(&state.seen->quiet_ms));
}

/* Async-signal-safe: clock_gettime, write and _exit only. */
static void end_now(int signal)
{
    if (state.speaks && !was_away()) {
        char line[64 + sizeof state.left] = "cudist: stopped at once by ";
        const char *const name = cud_signals_name(signal);
        const size_t n = strlen(line), m = strlen(name), left = atomic_load(&state.left_bytes);
        memcpy(line + n, name, m);
        memcpy(line + n + m, state.left, left);
        line[n + m + left] = '\n';
        cud_line_write(line, n + m + left + 1);
    }
    _exit(CUD_ESTOPPED);
}

static void end_silently(int signal)
{
    (void)signal;
    _exit(CUD_ESTOPPED);
}

static void ask(int signal)
{
    if (signal == SIGINT)
        state.ints = state.ints + 1;
    if (state.ints > 1)
        end_now(signal);
    if (!state.asked)
        state.asked = signal;
}

static void set(const int *signals, size_t n, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < n; i++) {
        sigaction(signals[i], NULL, &before);
        if ((signals[i] == SIGINT || signals[i] == SIGHUP) && before.sa_handler == SIG_IGN)
            continue;                      /* a shell's background job, nohup: the terminal's are not for it */
        sigaction(signals[i], &action, NULL);
    }
}

static const int hurried[] = {SIGINT, SIGTERM, SIGHUP}, patient[] = {SIGUSR1, SIGUSR2, SIGXCPU};
#define SET(signals, handler) set(signals, sizeof(signals) / sizeof *(signals), handler)

void cud_signals_catch(bool speaks)
{
    state.speaks = speaks;
    SET(hurried, end_now);
    SET(patient, end_now);
}

void cud_signals_run(enum cud_launcher launcher, bool speaks, const struct cud_seen *seen)
{
    state.speaks = speaks;
    state.seen = seen;
    SET(hurried, launcher == CUD_BY_MPIRUN ? end_now : ask);
    SET(patient, ask);
}

void cud_signals_finish(void) { SET(hurried, ask); }
void cud_signals_hush(void) { SET(hurried, end_silently); }
void cud_signals_ignore(void) { SET(hurried, SIG_IGN); }

void cud_signals_default(void)
{
    SET(hurried, SIG_DFL);
    SET(patient, SIG_DFL);
}

void cud_signals_leave(const char *path)
{
    char shown[CUD_TEXT_SHOWN];
    atomic_store(&state.left_bytes, 0);
    if (!path)
        return;
    const int n = snprintf(state.left, sizeof state.left, "; %s is left, and the next run discards it",
                           cud_text_shown(path, shown));
    atomic_store(&state.left_bytes, n < (int)sizeof state.left ? (size_t)n : 0);
}

int cud_signals_asked(void)
{
    return state.asked;
}
