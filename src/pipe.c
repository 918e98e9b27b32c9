#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "clock.h"
#include "pipe.h"
#include "progress.h"

/* A window belongs to its worker but while it is OFFERED and until the sink gives it back; then it is FREE again. */
enum state { FREE, OFFERED, PASSED };

struct pipe {
    const struct cud_pipe_facts *f;
    struct cud_grove *grove;
    enum cud_stats_kind kind;
    pthread_mutex_t lock;                  /* of what follows, and of grove */
    pthread_cond_t changed;                /* for the main thread: a worker has offered a window or ended */
    pthread_cond_t freed;                  /* for the workers */
    int running;                           /* workers */
    struct cud_err err;                    /* the first worker's that failed */
    atomic_uint_fast64_t next;             /* the next window to take */
    atomic_uint_fast64_t rows_done, bytes_read, bytes_written;
    atomic_bool stop;
};

struct worker {
    struct pipe *pipe;
    pthread_t thread;
    struct cud_stream *stream;
    struct cud_scratch *scratch;
    void *host, *dev_in, *dev_out;         /* buffers; host is NULL where the device is shared */
    const char *in;                        /* the window on the device; where the device is shared perhaps the file's own bytes */
    char *out;                             /* what it becomes, there; perhaps in */
    const char *bytes;                     /* and on the host */
    bool mapped;
    struct cud_leaf *leaf;
    struct cud_lost *lost;
    struct cud_forest forest;
    struct cud_window window;
    uint64_t number;                       /* the window's, in the rank's order */
    enum state state;                      /* under the pipe's lock */
    double read, compute, write;
    struct cud_err err;
};

static uint64_t min64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t in_bytes(const struct cud_program *p, uint64_t rows) { return rows * p->cols_in * cud_type_bytes(p->in.type); }
static uint64_t out_bytes(const struct cud_program *p, uint64_t rows) { return rows * p->cols_out * cud_type_bytes(p->out.type); }

static uint64_t window_rows(const struct cud_plan *plan) { return min64(plan->window_units * plan->unit_rows, plan->facts.rows); }

/* ---- a worker's buffers */

struct buffers { uint64_t host, dev_in, dev_out; };   /* bytes; 0: none */

/* Where the device is shared, out is apart from in, since in may be the file itself; pages that are never touched cost nothing. */
static struct buffers buffers_of(const struct cud_program *p, const struct cud_plan *plan, bool shared)
{
    const uint64_t rows = window_rows(plan), in = in_bytes(p, rows), out = out_bytes(p, rows);
    const bool apart = shared ? !cud_program_passes(p) : !cud_program_in_place(p);
    struct buffers b = {.dev_in = in, .dev_out = apart ? out : 0};
    if (!shared)                           /* what comes back may lie on what was sent: it is long gone */
        b.host = in > out ? in : out;
    return b;
}

void cud_pipe_bytes(const struct cud_program *program, const struct cud_plan *plan, bool shared, uint64_t *host, uint64_t *device)
{
    const struct buffers b = buffers_of(program, plan, shared);
    *host = b.host + sizeof(struct worker);
    *device = b.dev_in + b.dev_out + cud_scratch_bytes(program, shared, plan->unit_rows, window_rows(plan));
}

static enum cud_status worker_make(struct worker *w, struct pipe *pipe, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_pipe_facts *const f = pipe->f;
    const struct cud_device *const d = f->binding->device;
    const struct buffers b = buffers_of(f->program, f->plan, d->shared);
    struct cud_dev *const dev = f->binding->dev;
    void *leaf = NULL, *lost = NULL;
    w->pipe = pipe;
    TRY(d->stream(dev, &w->stream, err));
    TRY(cud_scratch_make(f->loaded, f->plan->unit_rows, window_rows(f->plan), &w->scratch, err));
    TRY(d->alloc(dev, CUD_ON_DEVICE, b.dev_in, &w->dev_in, err));
    if (b.dev_out)
        TRY(d->alloc(dev, CUD_ON_DEVICE, b.dev_out, &w->dev_out, err));
    if (b.host)
        TRY(d->alloc(dev, CUD_ON_HOST, b.host, &w->host, err));
    const uint64_t leaves = 1 + cud_program_leaves(f->program, f->plan->unit_rows, cud_scratch_rows(w->scratch));
    TRY(d->alloc(dev, CUD_ON_HOST, leaves * sizeof *w->leaf, &leaf, err));
    w->leaf = leaf;
    TRY(d->alloc(dev, CUD_ON_HOST, leaves * sizeof *w->lost, &lost, err));
    w->lost = lost;
done:
    return status;
}

static void worker_free(struct worker *w)
{
    if (!w->pipe || w->state == PASSED)    /* MPI may still read it: the run has failed and is about to end */
        return;
    const struct cud_device *const d = w->pipe->f->binding->device;
    struct cud_dev *const dev = w->pipe->f->binding->dev;
    d->stream_free(w->stream);
    cud_scratch_free(w->scratch);
    d->free(dev, CUD_ON_HOST, w->host);
    d->free(dev, CUD_ON_DEVICE, w->dev_out);
    d->free(dev, CUD_ON_DEVICE, w->dev_in);
    d->free(dev, CUD_ON_HOST, w->leaf);
    d->free(dev, CUD_ON_HOST, w->lost);
}

/* ---- a worker's window */

/* Where the window is read to, computed and taken from.  Rows of no bytes have no place in a file. */
static void place_window(struct worker *w)
{
    const struct cud_pipe_facts *const f = w->pipe->f;
    const uint64_t cols = f->program->cols_in;
    const bool shared = f->binding->device->shared, passes = cud_program_passes(f->program);
    /* What MPI or a pipe takes later must not be a file's own bytes: nobody could say whose fault it was that they are gone. */
    const bool may_map = shared && cols && !(passes && cud_sink_by_main(f->sink));
    const void *const map = may_map ? cud_input_map(f->input, w->window.row0 * cols, w->window.rows * cols) : NULL;
    w->mapped = map != NULL;
    w->in = map ? map : w->dev_in;
    if (passes)
        w->out = (char *)w->in;            /* nothing is written there */
    else
        w->out = w->dev_out && (map || !cud_program_in_place(f->program)) ? w->dev_out : w->dev_in;
    w->bytes = shared ? w->out : w->host;
}

static enum cud_status read_window(struct worker *w, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_pipe_facts *const f = w->pipe->f;
    const double t = cud_now();
    const uint64_t cols = f->program->cols_in;
    place_window(w);
    if (!w->mapped)
        status = cud_input_read(f->input, w->window.row0 * cols, w->window.rows * cols,
                                f->binding->device->shared ? w->dev_in : w->host, err);
    atomic_fetch_add(&w->pipe->bytes_read, in_bytes(f->program, w->window.rows));
    w->read += cud_now() - t;
    return status;
}

static void leave_window(struct worker *w)
{
    const uint64_t cols = w->pipe->f->program->cols_in;
    if (w->mapped)
        cud_input_unmap(w->pipe->f->input, w->window.row0 * cols, w->window.rows * cols);
    w->mapped = false;
}

/* The leaves of a piece that begins at row `at` of the window, to the forest; leaves restart at each unit. */
static void add_leaves(struct worker *w, uint64_t at, uint64_t rows)
{
    const struct cud_program *const p = w->pipe->f->program;
    const size_t elem = cud_type_bytes(p->out.type);
    const uint64_t unit = w->pipe->f->plan->unit_rows;
    size_t k = 0;
    for (uint64_t r = 0; r < rows; r += unit) {
        const uint64_t elems = min64(unit, rows - r) * p->cols_out;
        const char *const bytes = w->bytes + out_bytes(p, at + r);
        for (uint64_t e = 0; e < elems; e += CUD_LEAF, k++)
            cud_forest_add(&w->forest, w->pipe->kind, &w->leaf[k], &w->lost[k], bytes + e * elem, min64(CUD_LEAF, elems - e) * elem);
    }
}

static enum cud_status compute_piece(struct worker *w, uint64_t at, uint64_t rows, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_pipe_facts *const f = w->pipe->f;
    const struct cud_device *const d = f->binding->device;
    const uint64_t in = in_bytes(f->program, at), out = out_bytes(f->program, at);
    const struct cud_piece piece = {.row0 = w->window.row0 + at, .rows = rows, .in = w->in + in, .out = w->out + out,
                                    .leaf = w->leaf, .lost = w->lost};
    if (!d->shared)
        TRY(d->put(w->stream, (char *)w->dev_in + in, (char *)w->host + in, in_bytes(f->program, rows), err));
    TRY(cud_program_run(f->loaded, w->scratch, w->stream, &piece, err));
    if (!d->shared)
        TRY(d->get(w->stream, (char *)w->host + out, w->out + out, out_bytes(f->program, rows), err));
    TRY(d->wait(w->stream, err));
    add_leaves(w, at, rows);
done:
    return status;
}

/* Where rows do not matter the window is cut between elements. */
static void say_rows(const struct worker *w, struct cud_err *err)
{
    const struct cud_program *const p = w->pipe->f->program;
    const uint64_t cols = p->flat ? cud_shape_cols(&p->in.shape) : 1, row0 = w->window.row0 / cols;
    cud_err_at(err, "rows %llu to %llu", (unsigned long long)row0,
               (unsigned long long)((w->window.row0 + w->window.rows - 1) / cols));
}

static enum cud_status compute_window(struct worker *w, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_pipe_facts *const f = w->pipe->f;
    const double t = cud_now();
    const uint64_t step = cud_scratch_rows(w->scratch);
    cud_forest_start(&w->forest, w->window.unit0 * cud_program_leaves(f->program, f->plan->unit_rows, f->plan->unit_rows));
    for (uint64_t at = 0; at < w->window.rows; at += step)
        TRY(compute_piece(w, at, min64(step, w->window.rows - at), err));
done:
    if (status != CUD_OK)
        say_rows(w, err);
    w->compute += cud_now() - t;
    return status;
}

/* A write of mapped bytes that are gone by now fails too, and that is not the output's fault. */
static enum cud_status write_window(struct worker *w, struct cud_err *err)
{
    const double t = cud_now();
    struct cud_err why = {0};
    enum cud_status status = cud_sink_write(w->pipe->f->sink, w->window.row0, w->window.rows, w->bytes, &why);
    w->write += cud_now() - t;
    if (status == CUD_OK || (w->mapped && (status = cud_input_still(w->pipe->f->input, err)) != CUD_OK))
        return status;
    *err = why;
    return (enum cud_status)why.status;
}

/* Offers the window to the main thread and waits until it is given back. */
static void offer_window(struct worker *w)
{
    struct pipe *const p = w->pipe;
    const double t = cud_now();
    pthread_mutex_lock(&p->lock);
    w->state = OFFERED;
    pthread_cond_signal(&p->changed);
    while (w->state != FREE && !atomic_load(&p->stop))
        pthread_cond_wait(&p->freed, &p->lock);
    pthread_mutex_unlock(&p->lock);
    w->write += cud_now() - t;
}

static enum cud_status do_window(struct worker *w, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct pipe *const p = w->pipe;
    TRY(read_window(w, err));
    TRY(compute_window(w, err));
    if (w->mapped)
        TRY(cud_input_whole(p->f->input, err));
    if (cud_sink_by_main(p->f->sink))
        offer_window(w);
    else
        TRY(write_window(w, err));
    if (!p->f->plan->facts.ordered) {      /* else the forest goes with the window */
        pthread_mutex_lock(&p->lock);
        status = cud_grove_add(p->grove, &w->forest, err);
        pthread_mutex_unlock(&p->lock);
    }
    atomic_fetch_add(&p->rows_done, w->window.rows);
    atomic_fetch_add(&p->bytes_written, out_bytes(p->f->program, w->window.rows));
done:
    leave_window(w);
    return status;
}

static void *work(void *arg)
{
    struct worker *const w = arg;
    struct pipe *const p = w->pipe;
    enum cud_status status = p->f->binding->device->enter(p->f->binding->dev, &w->err);
    while (status == CUD_OK && !atomic_load(&p->stop)) {
        w->number = atomic_fetch_add(&p->next, 1);
        if (!cud_plan_window(p->f->plan, cud_rank_me(p->f->ranks), w->number, &w->window))
            break;
        status = do_window(w, &w->err);
    }
    pthread_mutex_lock(&p->lock);
    if (status != CUD_OK && p->err.status == CUD_OK)
        p->err = w->err;
    if (status != CUD_OK)
        atomic_store(&p->stop, true);
    p->running--;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- the main thread meanwhile */

struct turn {                              /* the main thread's own state */
    struct cud_progress progress;
    double locked;                         /* when the lock was last looked at */
    uint64_t next;                         /* the window to be passed on next, where order matters */
};

static void stop_workers(struct pipe *p)
{
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->stop, true);
    pthread_cond_broadcast(&p->freed);
    pthread_mutex_unlock(&p->lock);
}

/* The rows that workers are at; none while all of them wait for the sink: then it is not this rank that is slow. */
static void rows_at(struct pipe *p, const struct worker *w, unsigned workers, struct cud_report *r)
{
    struct cud_window at;
    bool any = false;
    pthread_mutex_lock(&p->lock);
    for (unsigned i = 0; i < workers; i++)
        any |= w[i].state == FREE;
    any &= p->running > 0;
    pthread_mutex_unlock(&p->lock);
    const int me = cud_rank_me(p->f->ranks);
    const uint64_t taken = min64(atomic_load(&p->next), cud_plan_windows(p->f->plan, me));
    if (any && cud_plan_window(p->f->plan, me, taken > workers ? taken - workers : 0, &at))
        r->row0 = at.row0;
    r->row1 = r->row0;
    if (any && taken && cud_plan_window(p->f->plan, me, taken - 1, &at))
        r->row1 = at.row0 + at.rows;
}

static struct cud_report report_of(struct pipe *p, const struct worker *w, unsigned workers)
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

static void tell_progress(struct pipe *p, struct turn *t, const struct cud_report *mine)
{
    uint64_t rows = mine->rows_done, bytes = mine->bytes_read;
    if (cud_rank_me(p->f->ranks) != 0)
        return;
    for (int r = 1; r < cud_rank_count(p->f->ranks); r++) {
        rows += cud_rank_report(p->f->ranks, r)->rows_done;
        bytes += cud_rank_report(p->f->ranks, r)->bytes_read;
    }
    cud_progress_tick(&t->progress, rows, p->f->plan->facts.rows, bytes);
}

static void take_back(struct pipe *p)
{
    pthread_mutex_lock(&p->lock);
    for (struct worker *w; (w = cud_sink_sent(p->f->sink));) {
        w->state = FREE;
        pthread_cond_broadcast(&p->freed);
    }
    pthread_mutex_unlock(&p->lock);
}

/* Windows that workers offer go to the sink; those it is done with go back. */
static enum cud_status pass_windows(struct pipe *p, struct turn *t, struct worker *w, unsigned workers, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const bool ordered = p->f->plan->facts.ordered;
    pthread_mutex_lock(&p->lock);
    for (unsigned i = 0; i < workers; i++) {
        bool taken = false;
        if (w[i].state != OFFERED || (ordered && w[i].number != t->next))
            continue;
        const void *const bytes = cud_sink_from_device(p->f->sink) ? w[i].out : w[i].bytes;
        TRY(cud_sink_pass(p->f->sink, &w[i].window, bytes, &w[i].forest, &w[i], &taken, err));
        w[i].state = taken ? PASSED : OFFERED;
        t->next += taken;
    }
done:
    pthread_mutex_unlock(&p->lock);
    take_back(p);
    return status;
}

/* Waits for a change, but not long: MPI has no file descriptor to wait for. */
static void nap(struct pipe *p, long microseconds)
{
    struct timespec until;
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
}

static bool workers_running(struct pipe *p)
{
    pthread_mutex_lock(&p->lock);
    const bool any = p->running > 0;
    pthread_mutex_unlock(&p->lock);
    return any;
}

static void nap_while_working(struct pipe *p)
{
    if (workers_running(p))
        nap(p, 10000);
}

/* One turn of the main thread.  *sent: the sink has all that this rank gives it, or takes. */
static enum cud_status turn(struct pipe *p, struct turn *t, struct worker *w, unsigned workers, bool *sent, struct cud_err *err)
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
    if (!by_main)
        nap_while_working(p);
    else if (idle)
        nap(p, 200);
done:
    return status;
}

/* Not all rows come: until nothing that was sent or must be taken lies about. */
static void drain(struct pipe *p, enum cud_status why)
{
    bool idle = true, done = false, others_failed;
    struct cud_err none = {0};
    cud_sink_give_up(p->f->sink, why);
    for (;;) {
        const struct cud_report mine = report_of(p, NULL, 0);
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

static enum cud_status watch(struct pipe *p, struct worker *w, unsigned workers, struct cud_err *err)
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
static void sum_up(struct pipe *p, const struct worker *w, unsigned workers, struct cud_pipe_sums *sums)
{
    *sums = (struct cud_pipe_sums){.bytes_read = atomic_load(&p->bytes_read), .bytes_written = atomic_load(&p->bytes_written),
                                   .rows = atomic_load(&p->rows_done)};
    for (unsigned i = 0; w && i < workers; i++) {
        sums->read += w[i].read;
        sums->compute += w[i].compute;
        sums->write += w[i].write;
    }
}

static enum cud_status start_workers(struct pipe *p, struct worker *w, unsigned workers, unsigned *started, struct cud_err *err)
{
    for (*started = 0; *started < workers; (*started)++) {
        pthread_mutex_lock(&p->lock);
        p->running++;
        pthread_mutex_unlock(&p->lock);
        const int code = pthread_create(&w[*started].thread, NULL, work, &w[*started]);
        if (code) {
            p->running--;
            return FAIL(err, CUD_EFAILED, "cannot start a thread: %s; a smaller --threads may help", strerror(code));
        }
    }
    return CUD_OK;
}

static void pipe_init(struct pipe *p)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, &monotonic);
    pthread_cond_init(&p->freed, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

enum cud_status cud_pipe_run(const struct cud_pipe_facts *f, struct cud_grove *grove, struct cud_pipe_sums *sums, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct pipe p = {.f = f, .grove = grove, .kind = cud_stats_kind(f->program->out.type)};
    const uint64_t windows = cud_plan_windows(f->plan, cud_rank_me(f->ranks));
    /* Where windows wait to be sent, one more keeps the others busy. */
    const unsigned workers = (unsigned)min64(f->binding->threads + cud_sink_by_main(f->sink), windows);
    struct worker *w = NULL;
    unsigned started = 0;
    pipe_init(&p);
    w = calloc(workers + 1, sizeof *w);
    if (!w)
        status = FAIL(err, CUD_EFAILED, "no memory for %u workers", workers);
    for (unsigned i = 0; i < workers && status == CUD_OK; i++)
        status = worker_make(&w[i], &p, err);
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
        worker_free(&w[i]);
    free(w);
    pthread_cond_destroy(&p.freed);
    pthread_cond_destroy(&p.changed);
    pthread_mutex_destroy(&p.lock);
    return status;
}
