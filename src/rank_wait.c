/* The one wait, and what goes on in it. */
#include <sched.h>
#include <string.h>
#include <time.h>
#include "rank_own.h"
#include "trace.h"

static void look_for_signals(struct cud_ranks *r)
{
    if (r->mine.signal || !(r->mine.signal = cud_signals_asked()))
        return;
    r->urgent = true;
    if (r->signal <= 0)
        r->signal = r->mine.signal;
}

void cud_ranks_turn(struct cud_ranks *r)
{
    const double now = cud_now();
    const double gap = r->timeout > 4 ? r->timeout / 4 : 1;
    if (now - r->last > gap)
        cud_ranks_excuse(r, now);
    r->last = now;
    cud_seen_now(&r->seen);
    cud_watchdog_beat(r->watchdog);
    look_for_signals(r);
    cud_mail_turn(r, now);
    cud_ranks_judge(r, now);
    if (now - r->lined >= 1) {
        r->lined = now;
        cud_ranks_line(r);
    }
}

/* Nothing at first, since most waits are short; then the others on this core; then sleeps of up to a millisecond. */
static void nap(unsigned tries)
{
    if (tries < 32)
        return;
    if (tries < 128) {
        sched_yield();
        return;
    }
    const unsigned doublings = (tries - 128) / 16;
    struct timespec t = {.tv_nsec = doublings >= 7 ? 1000000L : 10000L << doublings};
    nanosleep(&t, NULL);
}

void cud_ranks_wait(struct cud_ranks *r, bool (*done)(struct cud_ranks *r, void *arg), void *arg)
{
    const double from = r->track ? cud_now() : 0;
    unsigned tries = 0;
    for (; !done(r, arg); tries += tries < 1000) {
        cud_ranks_turn(r);
        nap(tries);
    }
    if (r->track && tries)
        cud_track_add(r->track, (struct cud_span){.part = CUD_PART_WAIT}, from, cud_now());
}

void cud_ranks_trace(struct cud_ranks *r, struct cud_track *track) { r->track = track; }

bool cud_ranks_test(struct cud_ranks *r, MPI_Request *request)
{
    int flag = 0;
    CUD_MPI(r, MPI_Test(request, &flag, MPI_STATUS_IGNORE));
    return flag != 0;
}

static bool request_done(struct cud_ranks *r, void *request)
{
    return cud_ranks_test(r, request);
}

void cud_ranks_complete(struct cud_ranks *r, MPI_Request *request)
{
    cud_ranks_wait(r, request_done, request);
}

enum cud_status cud_rank_pump(struct cud_ranks *r, const struct cud_report *mine, bool *others_failed, struct cud_err *err)
{
    const struct cud_report *before = &r->mine.report;
    const bool first_rows = cud_report_busy(mine) && before->row0 == before->row1 && before->rows_done == 0;
    if (memcmp(mine, before, sizeof *mine) != 0 || !cud_report_busy(mine))
        r->moved = cud_now();
    r->urgent |= first_rows || mine->phase != before->phase || mine->status != before->status;
    r->mine.report = *mine;
    cud_ranks_turn(r);
    *others_failed = r->failed;
    if (!r->signal)
        return CUD_OK;
    return FAIL(err, CUD_ESTOPPED, "stopped by %s before the end", cud_signals_name(r->signal));
}

const struct cud_report *cud_rank_report(const struct cud_ranks *r, int rank)
{
    return rank == r->me ? &r->mine.report : &r->peer[rank].letter.report;
}
