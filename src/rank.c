/* The end of a job of ranks, and what a rank knows of itself. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "rank_own.h"

void cud_ranks_timeout(struct cud_ranks *r, double seconds)
{
    const double now = cud_now();
    r->timeout = seconds > 0 ? seconds : 0;
    r->last = r->here = r->moved = r->all_moved = r->heard = now;
    for (int i = 0; r->peer && i < r->count; i++)
        r->peer[i].heard = now;
    cud_ranks_line(r);
    cud_seen_now(&r->seen);
    atomic_store(&r->seen.limit_ms, r->count > 1 ? (long long)(1000 * r->timeout) : 0);
    cud_watchdog_limit(r->watchdog, r->timeout > 0 ? r->timeout + 5 : 0);
}

void cud_ranks_device(struct cud_ranks *r, const char *device)
{
    snprintf(r->mine.device, sizeof r->mine.device, "%s", device);
    r->urgent = true;
}

void cud_ranks_row(struct cud_ranks *r, uint64_t elems)
{
    r->row = elems;
}

void cud_ranks_phase(struct cud_ranks *r, enum cud_phase phase)
{
    r->mine.report.phase = phase;
    r->urgent = true;
    cud_ranks_line(r);
}

int cud_ranks_finish(struct cud_ranks *r, int code)
{
    const int me = r->me;
    cud_signals_ignore();                  /* what there was to say is said */
    r->mine.report.phase = CUD_PHASE_END;
    cud_mail_end(r);
    /* A peer that dies now can keep MPI_Finalize waiting: only the watchdog is left to see that. */
    cud_watchdog_line(r->watchdog, "cudist: rank %d (host %s) waited in vain for the other ranks to end MPI; the job ends "
                      "(--timeout %g)\n", me, r->host, r->timeout);
    cud_watchdog_beat(r->watchdog);
    cud_ranks_end_mpi();
    cud_watchdog_stop(r->watchdog);
    cud_mail_free(r);
    while (r->spare) {
        struct cud_message *next = r->spare->next;
        free(r->spare);
        r->spare = next;
    }
    free(r);
    return me == 0 ? code : 0;
}

static _Noreturn void end_job(struct cud_ranks *r, int code)
{
    cud_signals_ignore();                  /* the launcher's TERM comes while MPI_Abort waits for it */
    if (r->watchdog) {                     /* MPI_Abort itself may hang where the network is gone */
        cud_watchdog_line(r->watchdog, "%s", "");
        cud_watchdog_limit(r->watchdog, 10);
    }
    MPI_Abort(MPI_COMM_WORLD, code);
    _exit(code);
}

_Noreturn void cud_ranks_abort(struct cud_ranks *r, const struct cud_err *err)
{
    cud_say(err->rank >= 0 ? err->rank : r->me, "%s", err->text);
    end_job(r, err->status ? err->status : CUD_EFAILED);
}

/* The launcher will send TERM to rank 0, which would say so; unless it is stuck, it hears in time that it need not. */
static void tell_zero(struct cud_ranks *r)
{
    const double until = cud_now() + 0.5;
    r->mine.ending = 1;
    r->urgent = true;
    while (r->me != 0 && !r->answer.ending && cud_now() < until) {
        cud_mail_turn(r, cud_now());
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

_Noreturn void cud_ranks_end(struct cud_ranks *r, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!r->ending) {                      /* else MPI has failed while this rank told of its end */
        r->ending = true;
        cud_say(-1, "%s", text);
        tell_zero(r);
    }
    end_job(r, CUD_EFAILED);
}

void cud_ranks_check(struct cud_ranks *r, const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int n = 0;
    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &n);
    cud_ranks_end(r, "rank %d (host %s): %.*s: %s; the job ends", r->me, r->host, (int)strcspn(call, "("), call, text);
}

int cud_rank_me(const struct cud_ranks *r)
{
    return r->me;
}

int cud_rank_count(const struct cud_ranks *r)
{
    return r->count;
}

int cud_rank_node_me(const struct cud_ranks *r)
{
    return r->node_me;
}

int cud_rank_node_count(const struct cud_ranks *r)
{
    return r->node_count;
}

int cud_rank_node_first(const struct cud_ranks *r)
{
    return r->node_first;
}

const char *cud_rank_host(const struct cud_ranks *r)
{
    return r->host;
}

const char *cud_rank_library(const struct cud_ranks *r)
{
    return r->library;
}

const char *cud_rank_launcher(const struct cud_ranks *r)
{
    return r->launcher;
}
