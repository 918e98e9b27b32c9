#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "clock.h"
#include "number.h"
#include "pipe_own.h"
#include "progress.h"

struct turn {                              /* the main thread's own state */
    struct cud_progress progress;
    double locked;                         /* when the lock was last looked at */
    uint64_t next;                         /* the window to be passed on next, where order matters */
};

static void stop_workers(struct cud_pipe *p)
{
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->stop, true);
    pthread_cond_broadcast(&p->freed);
    pthread_mutex_unlock(&p->lock);
}

/* The rows that workers are at; none while all of them wait for the sink: then it is not this rank that is slow. */
static void rows_at(struct cud_pipe *p, const struct cud_worker *w, unsigned workers, struct cud_report *r)
{
    struct cud_window at;
    bool any = false;
    pthread_mutex_lock(&p->lock);
    for (unsigned i = 0; i < workers; i++)
        any |= w[i].state == WINDOW_FREE;
    any &= p->running > 0;
    pthread_mutex_unlock(&p->lock);
    const int me = cud_rank_me(p->f->ranks);
    const uint64_t taken = cud_min64(atomic_load(&p->next), cud_plan_windows(p->f->plan, me));
    if (any && cud_plan_window(p->f->plan, me, taken > workers ? taken - workers : 0, &at))
        r->row0 = at.row0;
    r->row1 = r->row0;
    if (any && taken && cud_plan_window(p->f->plan, me, taken - 1, &at))
        r->row1 = at.row0 + at.rows;
}

static struct cud_report report_of(struct cud_pipe *p, const struct cud_worker *w, unsigned workers)
{
    struct cud_report r = {.phase = CUD_PHASE_STREAM, .rows_all = cud_plan_rank_rows(p->f->plan, cud_rank_me(p->f->ranks))};
    r.rows_done = atomic_load(&p->rows_done);
    r.bytes_read = atomic_load(&p->bytes_read);
    r.bytes_written = atomic_load(&p->bytes_written);
    pthread_mutex_lock(&p->lock);
    r.status = p->err.status;
    pthread_mutex_unlock(&p->lock);
    rows_at(p, w, workers, &r);
    return r;
}

static void tell_progress(struct cud_pipe *p, struct turn *t, const struct cud_report *mine)
{
    uint64_t rows = mine->rows_done, bytes = mine->bytes_read;
    if (cud_rank_me(p->f->ranks) != 0)
        return;
    for (int r = 1; r < cud_rank_count(p->f->ranks); r++) {
        rows += cud_rank_report(p->f->ranks, r)->rows_done;
        bytes += cud_rank_report(p->f->ranks, r)->bytes_read;
    }
    const uint64_t row = cud_max64(1, p->f->program->flat ? cud_shape_cols(&p->f->program->in.shape) : 1);
    cud_progress_tick(&t->progress, rows / row, p->f->plan->facts.rows / row, bytes);
}

static void take_back(struct cud_pipe *p)
{
    pthread_mutex_lock(&p->lock);
    for (struct cud_worker *w; (w = cud_sink_sent(p->f->sink));) {
        w->state = WINDOW_FREE;
        pthread_cond_broadcast(&p->freed);
    }
    pthread_mutex_unlock(&p->lock);
}

/* Windows that workers offer go to the sink; those it is done with go back. */
static enum cud_status pass_windows(struct cud_pipe *p, struct turn *t, struct cud_worker *w, unsigned workers,
                                    struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const bool ordered = p->f->plan->facts.ordered;
    pthread_mutex_lock(&p->lock);
    for (unsigned i = 0; i < workers; i++) {
        bool taken = false;
        if (w[i].state != WINDOW_OFFERED || (ordered && w[i].number != t->next))
            continue;
        const void *const bytes = cud_sink_from_device(p->f->sink) ? w[i].out : w[i].bytes;
        TRY(cud_sink_pass(p->f->sink, &w[i].window, bytes, &w[i].forest, &w[i], &taken, err));
        w[i].state = taken ? WINDOW_PASSED : WINDOW_OFFERED;
        t->next += taken;
    }
done:
    pthread_mutex_unlock(&p->lock);
    take_back(p);
    return status;
}

/* Waits for a change, but not long: MPI has no file descriptor to wait for. */
static void nap(struct cud_pipe *p, long microseconds)
{
    struct timespec until;
    const double t = p->f->track ? cud_now() : 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += microseconds * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&p->lock);
    const bool alone = p->running == 0;
    if (!alone)
        pthread_cond_timedwait(&p->changed, &p->lock, &until);
    pthread_mutex_unlock(&p->lock);
    if (alone)
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    if (p->f->track)
        cud_track_add(p->f->track[0], (struct cud_span){.part = CUD_PART_WAIT}, t, cud_now());
}

static bool workers_running(struct cud_pipe *p)
{
    pthread_mutex_lock(&p->lock);
    const bool any = p->running > 0;
    pthread_mutex_unlock(&p->lock);
    return any;
}

static void nap_while_working(struct cud_pipe *p)
{
    if (workers_running(p))
        nap(p, 10000);
}

/* One turn of the main thread.  *sent: the sink has all that this rank gives it, or takes. */
static enum cud_status turn(struct cud_pipe *p, struct turn *t, struct cud_worker *w, unsigned workers, bool *sent,
                            struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    bool others_failed = false, idle = true;
    const bool by_main = cud_sink_by_main(p->f->sink);
    const struct cud_report mine = report_of(p, w, workers);
    TRY(cud_rank_pump(p->f->ranks, &mine, &others_failed, err));
    if (others_failed)
        stop_workers(p);
    tell_progress(p, t, &mine);
    if (cud_now() - t->locked > 1) {
        t->locked = cud_now();
        TRY(cud_sink_check_ours(p->f->sink, err));
    }
    TRY(cud_sink_turn(p->f->sink, p->grove, &idle, sent, err));
    if (by_main)
        TRY(pass_windows(p, t, w, workers, err));
    if (!cud_sink_gathers(p->f->sink))
        nap_while_working(p);
    else if (idle)
        nap(p, 200);
done:
    return status;
}

/* Not all rows come: until nothing that was sent or must be taken lies about.  The others hear of it, and stop too. */
static void drain(struct cud_pipe *p, enum cud_status why)
{
    bool idle = true, done = false, others_failed;
    struct cud_err none = {0};
    cud_sink_give_up(p->f->sink, why);
    for (;;) {
        struct cud_report mine = report_of(p, NULL, 0);
        if (mine.status == CUD_OK)
            mine.status = (int32_t)why;
        if (cud_sink_turn(p->f->sink, p->grove, &idle, &done, &none) == CUD_EFAILED || done)
            break;
        take_back(p);
        if (cud_rank_pump(p->f->ranks, &mine, &others_failed, &none) == CUD_EFAILED)
            break;
        if (idle)
            nap(p, 200);
    }
    take_back(p);
}

static enum cud_status watch(struct cud_pipe *p, struct cud_worker *w, unsigned workers, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct turn t = {.locked = cud_now()};
    bool sent = false;
    cud_progress_start(&t.progress, p->f->progress, p->f->quiet || cud_rank_me(p->f->ranks) != 0);
    while (status == CUD_OK && !atomic_load(&p->stop) && (workers_running(p) || !sent))
        status = turn(p, &t, w, workers, &sent, err);
    cud_progress_end(&t.progress);
    if (status != CUD_OK || atomic_load(&p->stop)) {
        stop_workers(p);
        drain(p, status != CUD_OK ? status : CUD_EFAILED);
    }
    return status;
}

/* The bytes of a rank's sums, after all workers are gone. */
static void sum_up(struct cud_pipe *p, const struct cud_worker *w, unsigned workers, struct cud_pipe_sums *sums)
{
    *sums = (struct cud_pipe_sums){.bytes_read = atomic_load(&p->bytes_read), .bytes_written = atomic_load(&p->bytes_written),
                                   .rows = atomic_load(&p->rows_done)};
    for (unsigned i = 0; w && i < workers; i++)
        for (int k = 0; k < CUD_SUMS; k++)
            sums->part[k] += w[i].measure.sum[k];
}

static enum cud_status start_workers(struct cud_pipe *p, struct cud_worker *w, unsigned workers, unsigned *started,
                                     struct cud_err *err)
{
    for (*started = 0; *started < workers; (*started)++) {
        pthread_mutex_lock(&p->lock);
        p->running++;
        pthread_mutex_unlock(&p->lock);
        const int code = pthread_create(&w[*started].thread, NULL, cud_worker_run, &w[*started]);
        if (code) {
            p->running--;
            return FAIL(err, CUD_EFAILED, "cannot start a thread: %s; a smaller --threads may help", strerror(code));
        }
    }
    return CUD_OK;
}

static void pipe_init(struct cud_pipe *p)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, &monotonic);
    pthread_cond_init(&p->freed, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* Where windows wait to be sent, one more keeps the others busy. */
unsigned cud_pipe_workers(const struct cud_pipe_facts *f)
{
    return (unsigned)cud_min64(f->binding->threads + cud_sink_by_main(f->sink), cud_plan_windows(f->plan, cud_rank_me(f->ranks)));
}

enum cud_status cud_pipe_run(const struct cud_pipe_facts *f, struct cud_grove *grove, struct cud_pipe_sums *sums,
                             struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_pipe p = {.f = f, .grove = grove, .kind = cud_stats_kind(f->program->out.type)};
    const unsigned workers = cud_pipe_workers(f);
    struct cud_worker *w = NULL;
    unsigned started = 0;
    const double t = cud_now();
    pipe_init(&p);
    w = calloc(workers + 1, sizeof *w);
    if (!w)
        status = FAIL(err, CUD_EFAILED, "no memory for %u workers", workers);
    for (unsigned i = 0; i < workers && status == CUD_OK; i++)
        status = cud_worker_make(&w[i], &p, f->track ? f->track[1 + i] : NULL, err);
    if (status == CUD_OK && workers > 0)
        status = cud_program_warm(f->loaded, w->scratch, w->stream, w->dev_in, w->dev_out ? w->dev_out : w->dev_in, err);
    cud_track_add(f->track ? f->track[0] : NULL, (struct cud_span){.part = CUD_PART_BUFFERS}, t, cud_now());
    if (status == CUD_OK)
        status = start_workers(&p, w, workers, &started, err);
    if (status != CUD_OK) {
        stop_workers(&p);
        drain(&p, status);
    } else {
        status = watch(&p, w, workers, err);
    }
    for (unsigned i = 0; i < started; i++)
        pthread_join(w[i].thread, NULL);
    sum_up(&p, w, workers, sums);
    if (p.err.status != CUD_OK && (status == CUD_OK || status == CUD_ESTOPPED)) {
        *err = p.err;
        status = (enum cud_status)p.err.status;
    }
    for (unsigned i = 0; w && i < workers; i++)
        cud_worker_free(&w[i]);
    free(w);
    pthread_cond_destroy(&p.freed);
    pthread_cond_destroy(&p.changed);
    pthread_mutex_destroy(&p.lock);
    return status;
}
