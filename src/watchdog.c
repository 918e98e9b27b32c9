#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "watchdog.h"

#define TICK_NS 250000000L

struct cud_watchdog {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;                             /* under lock */
    atomic_ulong beats;
    atomic_long limit;                     /* ticks; 0: never */
    /* The main thread fills the one and then points to it; it comes back to the other only after two lines, a second apart,
     * and the thread reads only when the main thread has not come by for much longer. */
    char line[2][1024];
    atomic_uint current;
};

/* False: the thread is to end. */
static bool tick(struct cud_watchdog *w)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += TICK_NS;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&w->lock);
    int rc = 0;
    while (!w->stop && rc == 0)
        rc = pthread_cond_timedwait(&w->wake, &w->lock, &until);
    bool stop = w->stop;
    pthread_mutex_unlock(&w->lock);
    return !stop;
}

static void *watch(void *arg)
{
    struct cud_watchdog *w = arg;
    unsigned long seen = atomic_load(&w->beats);
    for (long still = 0; tick(w); still++) {
        unsigned long beats = atomic_load(&w->beats);
        if (beats != seen)
            still = 0;
        seen = beats;
        long limit = atomic_load(&w->limit);
        if (limit > 0 && still >= limit) {
            const char *line = w->line[atomic_load(&w->current)];
            cud_line_write(line, strlen(line));
            _exit(CUD_EFAILED);
        }
    }
    return NULL;
}

enum cud_status cud_watchdog_start(struct cud_watchdog **watchdog, struct cud_err *err)
{
    struct cud_watchdog *w = calloc(1, sizeof *w);
    if (!w)
        return FAIL(err, CUD_EFAILED, "no memory for the watchdog");
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &steady);
    pthread_condattr_destroy(&steady);
    pthread_mutex_init(&w->lock, NULL);

    sigset_t all, before;                  /* signals are for the other threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&w->thread, NULL, watch, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc) {
        free(w);
        return FAIL(err, CUD_EFAILED, "cannot start the watchdog thread: %s", strerror(rc));
    }
    *watchdog = w;
    return CUD_OK;
}

void cud_watchdog_stop(struct cud_watchdog *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

void cud_watchdog_beat(struct cud_watchdog *w)
{
    atomic_fetch_add(&w->beats, 1);
}

void cud_watchdog_limit(struct cud_watchdog *w, double seconds)
{
    cud_watchdog_beat(w);
    double ticks = seconds * 1e9 / TICK_NS;
    atomic_store(&w->limit, seconds <= 0 ? 0 : ticks >= 1e15 ? 1000000000000000L : (long)ticks + 1);
}

void cud_watchdog_line(struct cud_watchdog *w, const char *format, ...)
{
    unsigned next = 1 - atomic_load(&w->current);
    va_list args;
    va_start(args, format);
    vsnprintf(w->line[next], sizeof w->line[next], format, args);
    va_end(args);
    atomic_store(&w->current, next);
}
