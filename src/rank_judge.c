/* Who is stuck.
 *
 * In this order, a second apart, as the one brings the other about: rank 0 judges the others by their silence; they judge
 * rank 0 by its silence, the lowest of them first, so that one line comes out; every rank judges its own rows; rank 0 judges,
 * when nobody's report changes, who has not come to a meeting.  A rank that was away itself (stopped, or busy outside of MPI)
 * hears what has come in before it judges. */
#include <stdio.h>
#include <string.h>
#include "rank_own.h"

#define LOOK_EVERY 0.25                    /* seconds */
#define PATIENCE 1.0                       /* letters come a second apart: a host's ranks fall silent within so much */

static const char *who_text(int rank, const char *host, const char *device, char text[200])
{
    if (device[0])
        snprintf(text, 200, "rank %d (host %s, %s)", rank, host, device);
    else
        snprintf(text, 200, "rank %d (host %s)", rank, host);
    return text;
}

static const char *where_text(const struct cud_ranks *r, const struct cud_report *report, bool meeting, char text[120])
{
    const unsigned long long row = r->row ? r->row : 1;
    if (meeting)
        snprintf(text, 120, "it was waiting for the others");
    else if (report->phase == CUD_PHASE_STREAM && report->row0 < report->row1)
        snprintf(text, 120, "it was at rows %llu to %llu", report->row0 / row, (report->row1 - 1) / row);
    else if (report->phase == CUD_PHASE_STREAM)
        snprintf(text, 120, "it had done %llu of its %llu rows", report->rows_done / row, report->rows_all / row);
    else
        snprintf(text, 120, "it was %s", report->phase == CUD_PHASE_START ? "starting" :
                 report->phase == CUD_PHASE_COMMIT ? "completing the output" : "ending");
    return text;
}

void cud_ranks_describe(const struct cud_ranks *r, int rank, char who[200], char where[120])
{
    if (rank == r->me) {
        who_text(rank, r->host, r->mine.device, who);
        where_text(r, &r->mine.report, r->mine.meeting, where);
    } else if (r->me == 0) {
        who_text(rank, r->peer[rank].host, r->peer[rank].letter.device, who);
        where_text(r, &r->peer[rank].letter.report, r->peer[rank].letter.meeting, where);
    } else {
        who_text(rank, r->zero_host, r->answer.device, who);
        where_text(r, &r->answer.report, r->answer.meeting, where);
    }
}

static _Noreturn void stuck(struct cud_ranks *r, int rank, const char *what)
{
    char who[200], where[120];
    cud_ranks_describe(r, rank, who, where);
    cud_ranks_end(r, "%s %s for %g s; %s; the job ends (--timeout %g)", who, what, r->timeout, where, r->timeout);
}

/* The lowest of those that have come to the fewest meetings; -1: all have come to the same. */
static int latecomer(const struct cud_ranks *r)
{
    int late = 0;
    bool differ = false;
    for (int i = 1; i < r->count; i++) {
        differ |= r->peer[i].letter.meetings != r->peer[late].letter.meetings;
        if (r->peer[i].letter.meetings < r->peer[late].letter.meetings)
            late = i;
    }
    return differ ? late : -1;
}

static void judge_others(struct cud_ranks *r, double now)
{
    int worst = 0, silent = 0;
    for (int i = 1; i < r->count; i++) {
        const struct cud_peer *peer = &r->peer[i];
        if (peer->letter.bye)
            continue;
        silent += now - peer->heard > r->timeout;
        if (!worst || peer->heard < r->peer[worst].heard)
            worst = i;
    }
    if (worst && now - r->peer[worst].heard > r->timeout + PATIENCE) {
        char what[80] = "was not heard from";
        if (silent > 1)
            snprintf(what, sizeof what, "and %d other%s were not heard from", silent - 1, silent > 2 ? "s" : "");
        stuck(r, worst, what);
    }
    if (r->count == 1 || now - r->all_moved <= r->timeout + 4 * PATIENCE)
        return;
    const int late = latecomer(r);
    if (late >= 0)
        stuck(r, late, "kept the others waiting");
    stuck(r, r->me, "and all others got no further");
}

static void judge_zero(struct cud_ranks *r, double now)
{
    const double patience = r->timeout + (r->me == 1 ? 2 : 5) * PATIENCE;
    if (!r->answer.bye && now - r->heard > patience)
        stuck(r, 0, "was not heard from");
}

bool cud_report_busy(const struct cud_report *report)
{
    return report->phase == CUD_PHASE_STREAM && report->status == CUD_OK && report->row0 < report->row1 &&
           report->rows_done < report->rows_all;
}

void cud_ranks_judge(struct cud_ranks *r, double now)
{
    if (r->timeout <= 0 || now - r->here < PATIENCE || now - r->judged < LOOK_EVERY)
        return;
    r->judged = now;
    if (cud_report_busy(&r->mine.report) && !r->mine.meeting && now - r->moved > r->timeout + 3 * PATIENCE)
        stuck(r, r->me, "made no progress");
    if (r->me == 0)
        judge_others(r, now);
    else
        judge_zero(r, now);
}

static void renew(double *since, double at_least)
{
    if (*since < at_least)
        *since = at_least;
}

void cud_ranks_excuse(struct cud_ranks *r, double now)
{
    const double at_least = now - r->timeout / 2;
    r->here = now;
    renew(&r->moved, at_least);
    renew(&r->all_moved, at_least);
    renew(&r->heard, at_least);
    for (int i = 1; r->peer && i < r->count; i++)
        renew(&r->peer[i].heard, at_least);
}

void cud_ranks_line(struct cud_ranks *r)
{
    char who[200], where[120];
    cud_ranks_describe(r, r->me, who, where);
    cud_watchdog_line(r->watchdog, "cudist: %s is stuck in a call that did not return for %g s; %s; the job ends "
                      "(--timeout %g)\n", who, r->timeout + 5, where, r->timeout);
}
