/* A worker: a thread with a window's memory, which reads, computes and writes, one after the other. */
#include <stdlib.h>
#include "number.h"
#include "pipe_own.h"

static uint64_t in_bytes(const struct cud_program *p, uint64_t rows) { return rows * p->cols_in * cud_type_bytes(p->in.type); }
static uint64_t out_bytes(const struct cud_program *p, uint64_t rows) { return rows * p->cols_out * cud_type_bytes(p->out.type); }

static uint64_t window_rows(const struct cud_plan *plan)
{
    return cud_min64(plan->window_units * plan->unit_rows, plan->facts.rows);
}

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
    *host = b.host + sizeof(struct cud_worker);
    *device = b.dev_in + b.dev_out + cud_scratch_bytes(program, shared, plan->unit_rows, window_rows(plan));
}

/* Marks tell what the device does when: always of a GPU, whose parts are long; of the CPU for a trace. */
static enum cud_status make_stream(struct cud_worker *w, struct cud_track *track, struct cud_err *err)
{
    const struct cud_pipe_facts *const f = w->pipe->f;
    const struct cud_device *const d = f->binding->device;
    const size_t marks = !d->shared || track ? 3 + cud_program_marks(f->program) : 0;
    w->measure = (struct cud_measure){.device = d, .track = track};
    if (marks && !(w->measure.mark = calloc(marks, sizeof *w->measure.mark)))
        return FAIL(err, CUD_EFAILED, "no memory for a worker");
    return d->stream(f->binding->dev, marks, &w->stream, err);
}

enum cud_status cud_worker_make(struct cud_worker *w, struct cud_pipe *pipe, struct cud_track *track, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_pipe_facts *const f = pipe->f;
    const struct cud_device *const d = f->binding->device;
    const struct buffers b = buffers_of(f->program, f->plan, d->shared);
    struct cud_dev *const dev = f->binding->dev;
    void *leaf = NULL, *lost = NULL;
    w->pipe = pipe;
    TRY(make_stream(w, track, err));
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

void cud_worker_free(struct cud_worker *w)
{
    if (!w->pipe || w->state == WINDOW_PASSED)    /* MPI may still read it: the run has failed and is about to end */
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
    free(w->measure.mark);
}

/* ---- a worker's window */

/* Where the window is read to, computed and taken from.  Rows of no bytes have no place in a file. */
static void place_window(struct cud_worker *w)
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

static enum cud_status read_window(struct cud_worker *w, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_pipe_facts *const f = w->pipe->f;
    const double t = cud_measure_from(&w->measure, CUD_PART_READ);
    const uint64_t cols = f->program->cols_in;
    place_window(w);
    if (!w->mapped)
        status = cud_input_read(f->input, w->window.row0 * cols, w->window.rows * cols,
                                f->binding->device->shared ? w->dev_in : w->host, err);
    atomic_fetch_add(&w->pipe->bytes_read, in_bytes(f->program, w->window.rows));
    cud_measure_to(&w->measure, CUD_PART_READ, t);
    return status;
}

static void leave_window(struct cud_worker *w)
{
    const uint64_t cols = w->pipe->f->program->cols_in;
    if (w->mapped)
        cud_input_unmap(w->pipe->f->input, w->window.row0 * cols, w->window.rows * cols);
    w->mapped = false;
}

/* The leaves of a piece that begins at row `at` of the window, to the forest; leaves restart at each unit. */
static void add_leaves(struct cud_worker *w, uint64_t at, uint64_t rows)
{
    const struct cud_program *const p = w->pipe->f->program;
    const size_t elem = cud_type_bytes(p->out.type);
    const uint64_t unit = w->pipe->f->plan->unit_rows;
    size_t k = 0;
    for (uint64_t r = 0; r < rows; r += unit) {
        const uint64_t elems = cud_min64(unit, rows - r) * p->cols_out;
        const char *const bytes = w->bytes + out_bytes(p, at + r);
        for (uint64_t e = 0; e < elems; e += CUD_LEAF, k++)
            cud_forest_add(&w->forest, w->pipe->kind, &w->leaf[k], &w->lost[k], bytes + e * elem,
                           cud_min64(CUD_LEAF, elems - e) * elem);
    }
}

/* Everything is queued on the worker's stream, which keeps the order. */
static enum cud_status queue_piece(struct cud_worker *w, const struct cud_piece *piece, uint64_t at, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_pipe_facts *const f = w->pipe->f;
    const struct cud_device *const d = f->binding->device;
    const uint64_t in = in_bytes(f->program, at), out = out_bytes(f->program, at);
    TRY(d->mark(w->stream, CUD_PART_QUEUE, err));
    if (!d->shared) {
        TRY(d->put(w->stream, (char *)w->dev_in + in, (char *)w->host + in, in_bytes(f->program, piece->rows), err));
        TRY(d->mark(w->stream, CUD_PART_PUT, err));
    }
    TRY(cud_program_run(f->loaded, w->scratch, w->stream, piece, err));
    if (!d->shared) {
        TRY(d->get(w->stream, (char *)w->host + out, piece->out, out_bytes(f->program, piece->rows), err));
        TRY(d->mark(w->stream, CUD_PART_GET, err));
    }
done:
    return status;
}

static enum cud_status compute_piece(struct cud_worker *w, uint64_t at, uint64_t rows, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_program *const p = w->pipe->f->program;
    const struct cud_piece piece = {.row0 = w->window.row0 + at, .rows = rows, .in = w->in + in_bytes(p, at),
                                    .out = w->out + out_bytes(p, at), .leaf = w->leaf, .lost = w->lost};
    const double queued = cud_measure_from(&w->measure, CUD_PART_QUEUE);
    TRY(queue_piece(w, &piece, at, err));
    cud_measure_to(&w->measure, CUD_PART_QUEUE, queued);
    double t = cud_measure_from(&w->measure, CUD_PART_WAIT);
    TRY(w->measure.device->wait(w->stream, err));
    cud_measure_to(&w->measure, CUD_PART_WAIT, t);
    cud_measure_marks(&w->measure, w->stream, queued);
    t = cud_measure_from(&w->measure, CUD_PART_HASH);
    add_leaves(w, at, rows);
    cud_measure_to(&w->measure, CUD_PART_HASH, t);
done:
    return status;
}

/* Where rows do not matter the window is cut between elements. */
static void say_rows(const struct cud_worker *w, struct cud_err *err)
{
    const struct cud_program *const p = w->pipe->f->program;
    const uint64_t cols = p->flat ? cud_shape_cols(&p->in.shape) : 1, row0 = w->window.row0 / cols;
    cud_err_at(err, "rows %llu to %llu", (unsigned long long)row0,
               (unsigned long long)((w->window.row0 + w->window.rows - 1) / cols));
}

static enum cud_status compute_window(struct cud_worker *w, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_pipe_facts *const f = w->pipe->f;
    const double t = cud_measure_from(&w->measure, CUD_PART_COMPUTE);
    const uint64_t step = cud_scratch_rows(w->scratch);
    cud_forest_start(&w->forest, w->window.unit0 * cud_program_leaves(f->program, f->plan->unit_rows, f->plan->unit_rows));
    for (uint64_t at = 0; at < w->window.rows; at += step)
        TRY(compute_piece(w, at, cud_min64(step, w->window.rows - at), err));
done:
    if (status != CUD_OK)
        say_rows(w, err);
    cud_measure_to(&w->measure, CUD_PART_COMPUTE, t);
    return status;
}

/* A write of mapped bytes that are gone by now fails too, and that is not the output's fault. */
static enum cud_status write_window(struct cud_worker *w, struct cud_err *err)
{
    const double t = cud_measure_from(&w->measure, CUD_PART_WRITE);
    struct cud_err why = {0};
    enum cud_status status = cud_sink_write(w->pipe->f->sink, w->window.row0, w->window.rows, w->bytes, &why);
    cud_measure_to(&w->measure, CUD_PART_WRITE, t);
    if (status == CUD_OK || (w->mapped && (status = cud_input_still(w->pipe->f->input, err)) != CUD_OK))
        return status;
    *err = why;
    return (enum cud_status)why.status;
}

/* Offers the window to the main thread and waits until it is given back. */
static void offer_window(struct cud_worker *w)
{
    struct cud_pipe *const p = w->pipe;
    const double t = cud_measure_from(&w->measure, CUD_PART_WRITE);
    pthread_mutex_lock(&p->lock);
    w->state = WINDOW_OFFERED;
    pthread_cond_signal(&p->changed);
    while (w->state != WINDOW_FREE && !atomic_load(&p->stop))
        pthread_cond_wait(&p->freed, &p->lock);
    pthread_mutex_unlock(&p->lock);
    cud_measure_to(&w->measure, CUD_PART_WRITE, t);
}

/* Windows are taken in the order of their rows, so what is before the NaN is in somebody's hands.  Where rank 0
 * writes all rows it waits for all of them, its own too: they all go. */
static void look_for_nan(const struct cud_worker *w)
{
    struct cud_pipe *const p = w->pipe;
    if (!p->f->nan_fails || cud_sink_by_main(p->f->sink) || cud_sink_gathers(p->f->sink))
        return;
    for (uint64_t i = 0; i < w->forest.n; i++)
        if (w->forest.node[i].nan)
            atomic_store(&p->enough, true);
}

static enum cud_status do_window(struct cud_worker *w, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_pipe *const p = w->pipe;
    w->measure.row0 = w->window.row0;
    w->measure.rows = w->window.rows;
    const double t = cud_measure_from(&w->measure, CUD_PART_WINDOW);
    TRY(read_window(w, err));
    TRY(compute_window(w, err));
    if (w->mapped)
        TRY(cud_input_whole(p->f->input, err));
    look_for_nan(w);
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
    cud_measure_to(&w->measure, CUD_PART_WINDOW, t);
    return status;
}

void *cud_worker_run(void *arg)
{
    struct cud_worker *const w = arg;
    struct cud_pipe *const p = w->pipe;
    enum cud_status status = p->f->binding->device->enter(p->f->binding->dev, &w->err);
    while (status == CUD_OK && !atomic_load(&p->stop) && !atomic_load(&p->enough)) {
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
