#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "clock.h"
#include "pipe.h"
#include "prepare.h"
#include "result.h"
#include "run.h"
#include "signals.h"
#include "sink.h"
#include "timeline.h"

enum { TAG_SIZE = 101, TAG_FORESTS = 102 };     /* apart from the sink's */

struct run {
    const struct cud_job *job;
    struct cud_ranks *ranks;
    struct cud_prepared p;
    struct cud_sink *sink;
    struct cud_grove *grove;
    struct cud_pipe_sums sums;             /* rank 0, after gather: of all ranks */
    struct cud_timeline timeline;
    bool only_looks;                       /* --doctor, which has a look at the disk of its own */
    double began, streaming, streamed, closed;
    char started[32];
};

/* ---- partials to rank 0 */


static size_t grove_bytes(const struct cud_grove *g)
{
    size_t n = 0;
    for (size_t i = 0; i < cud_grove_count(g); i++)
        n += CUD_FOREST_BYTES(cud_grove_at(g, i)->n);
    return n;
}

static enum cud_status send_grove(struct run *r, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_message *m = NULL;
    uint64_t n = grove_bytes(r->grove);
    char *const bytes = malloc(n + 1), *at = bytes;
    if (!bytes)
        return FAIL(err, CUD_EFAILED, "no memory for %llu bytes of statistics", (unsigned long long)n);
    for (size_t i = 0; i < cud_grove_count(r->grove); i++) {
        const struct cud_forest *const f = cud_grove_at(r->grove, i);
        memcpy(at, f, CUD_FOREST_BYTES(f->n));
        at += CUD_FOREST_BYTES(f->n);
    }
    TRY(cud_rank_send(r->ranks, 0, TAG_SIZE, &n, sizeof n, &m, err));
    TRY(cud_message_wait(&m, err));
    if (n)
        TRY(cud_rank_send(r->ranks, 0, TAG_FORESTS, bytes, n, &m, err));
    if (n)
        TRY(cud_message_wait(&m, err));
done:
    free(bytes);
    return status;
}

static enum cud_status join_forests(struct cud_grove *grove, const char *bytes, size_t n, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    for (size_t at = 0; at < n;) {
        struct cud_forest f;
        memcpy(&f, bytes + at, CUD_FOREST_BYTES(0));
        memcpy(&f, bytes + at, CUD_FOREST_BYTES(f.n));
        TRY(cud_grove_add(grove, &f, err));
        at += CUD_FOREST_BYTES(f.n);
    }
done:
    return status;
}

/* One rank after the other: rank 0's memory does not grow with their number. */
static enum cud_status receive_grove(struct run *r, int from, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_message *m = NULL;
    uint64_t n = 0;
    char *bytes = NULL;
    TRY(cud_rank_receive(r->ranks, from, TAG_SIZE, &n, sizeof n, &m, err));
    TRY(cud_message_wait(&m, err));
    bytes = malloc(n + 1);
    if (!bytes)
        TRY(FAIL(err, CUD_EFAILED, "no memory for %llu bytes of statistics", (unsigned long long)n));
    if (n) {
        TRY(cud_rank_receive(r->ranks, from, TAG_FORESTS, bytes, n, &m, err));
        TRY(cud_message_wait(&m, err));
    }
    TRY(join_forests(r->grove, bytes, n, err));
done:
    free(bytes);
    return status;
}

static enum cud_status gather(struct run *r, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const int me = cud_rank_me(r->ranks), count = cud_rank_count(r->ranks);
    struct cud_pipe_sums *const all = calloc((size_t)count, sizeof *all);
    if (!all)
        (void)FAIL(err, CUD_EFAILED, "no memory for the sums of %d ranks", count);
    TRY(cud_rank_agree(r->ranks, err));
    TRY(cud_rank_gather(r->ranks, &r->sums, sizeof r->sums, all, err));
    for (int i = 1; me == 0 && i < count; i++) {
        r->sums.bytes_read += all[i].bytes_read;
        r->sums.bytes_written += all[i].bytes_written;
        r->sums.rows += all[i].rows;
        for (int k = 0; k < CUD_SUMS; k++)
            r->sums.part[k] += all[i].part[k];
    }
    if (me != 0)
        TRY(send_grove(r, err));
    for (int i = 1; me == 0 && i < count; i++)
        TRY(receive_grove(r, i, err));
done:
    free(all);
    return status;
}

/* ---- the end, on rank 0 */

/* --nan fail.  All rows before the first NaN have been looked at, if not those behind it. */
static enum cud_status check_nan(const struct run *r, struct cud_err *err)
{
    const uint64_t cols = cud_shape_cols(&r->p.program.out.shape);
    uint64_t to_zero = 0;
    if (r->job->nan != CUD_NAN_FAIL)
        return CUD_OK;
    const uint64_t at = cud_grove_first_nan(r->grove, &to_zero);
    if (at != CUD_NONE && cols > 1)
        return FAIL(err, CUD_ECHECK, "row %llu, column %llu: a NaN in the output, and --nan is fail: it is not kept (--nan propagate "
                    "or omit would)", (unsigned long long)(at / cols), (unsigned long long)(at % cols));
    if (at != CUD_NONE)
        return FAIL(err, CUD_ECHECK, "row %llu: a NaN in the output, and --nan is fail: it is not kept (--nan propagate or omit would)",
                    (unsigned long long)at);
    if (to_zero)
        return FAIL(err, CUD_ECHECK, "%llu NaN would be 0 in the output, as %s has none, and --nan is fail: it is not kept (--out-dtype "
                    "f32 or f64 tells the first row)", (unsigned long long)to_zero, cud_type_name(r->p.program.out.type));
    return CUD_OK;
}

static enum cud_status fold(const struct run *r, struct cud_summary *s, struct cud_err *err)
{
    const struct cud_program *const p = &r->p.program;
    const enum cud_stats_kind kind = cud_stats_kind(p->out.type);
    static struct cud_forest none;
    const uint64_t leaves = p->rows ? cud_program_leaves(p, r->p.plan.unit_rows, p->rows) : 0;
    const struct cud_forest *const f = leaves ? cud_grove_at(r->grove, 0) : &none;
    if (leaves && (cud_grove_count(r->grove) != 1 || f->from != 0 || f->to != leaves))
        return FAIL(err, CUD_EFAILED, "the statistics of some rows are missing: this is a fault of cudist, please report it");
    const struct cud_node all = cud_forest_fold(f, kind);
    cud_stats_finish(&all, kind, r->job->nan, s);
    return CUD_OK;
}

static void warn(const struct cud_summary *s, const struct cud_program *p, enum cud_nan policy)
{
    const uint64_t cols = cud_shape_cols(&p->out.shape);
    if (s->nan)
        cud_note("warning: %llu NaN in the output, the first in row %llu: sum, mean and the like are %s",
                 (unsigned long long)s->nan, (unsigned long long)(s->first_nan / (cols ? cols : 1)),
                 policy == CUD_NAN_OMIT ? "without them" : "NaN too");
    const char *const type = cud_type_name(p->out.type);
    if (s->lost.saturated && cud_type_is_float(p->out.type))
        cud_note("warning: %s does not hold all of the output's values: %llu finite ones became infinite", type,
                 (unsigned long long)s->lost.saturated);
    else if (s->lost.saturated || s->lost.nan_to_zero)
        cud_note("warning: %s does not hold all of the output's values: %llu out of range, %llu NaN made 0", type,
                 (unsigned long long)s->lost.saturated, (unsigned long long)s->lost.nan_to_zero);
}

/* Whoever stops reading early has read enough. */
static enum cud_status check_printed(FILE *to, struct cud_err *err)
{
    errno = 0;
    if ((fflush(to) != 0 || ferror(to)) && errno != EPIPE)
        return FAIL(err, CUD_EFAILED, "writing to %s failed: %s", to == stdout ? "stdout" : "stderr", strerror(errno));
    return CUD_OK;
}

static enum cud_status finish(struct run *r, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_summary summary;
    char *json = NULL;
    size_t n = 0;
    const struct cud_job *const job = r->job;
    const bool writes = r->p.format != NULL;
    TRY(fold(r, &summary, err));
    struct cud_run_facts facts = {
        .program = &r->p.program, .summary = &summary, .binding = &r->p.binding, .mpi_library = cud_rank_library(r->ranks),
        .vendor_library = cud_loaded_vendor(r->p.loaded), .output = job->output, .write = r->p.write,
        .comm = r->p.lane->name,
        .window_bytes = r->p.plan.window_units * r->p.plan.unit_rows *
                        (r->p.plan.facts.in_row_bytes > r->p.plan.facts.out_row_bytes ? r->p.plan.facts.in_row_bytes
                                                                                    : r->p.plan.facts.out_row_bytes),
        .start = r->streaming - r->began, .stream = r->streamed - r->streaming, .commit = r->closed - r->streamed,
        .bytes_read = r->sums.bytes_read, .bytes_written = writes ? r->sums.bytes_written : 0,
        .bottleneck = cud_measure_bottleneck(r->sums.part, r->p.binding.device->shared)};
    memcpy(facts.started, r->started, sizeof facts.started);
    TRY(cud_result_json(&facts, &json, &n, err));
    TRY(cud_sink_commit(r->sink, json, n, err));
    cud_signals_ignore();                  /* it is done */
    warn(&summary, &r->p.program, job->nan);
    if (job->verbose >= 0) {
        FILE *const to = strcmp(job->result, "-") == 0 || strcmp(job->output, "-") == 0 ? stderr : stdout;
        cud_result_print(&facts, to);
        TRY(check_printed(to, err));
    }
done:
    free(json);
    return status;
}

/* ---- the whole */

/* Every file that this run reads: inputs, arrays of steps, the job file. */
static char **files_read(const struct run *r, size_t *n)
{
    const struct cud_job *const job = r->job;
    const struct cud_program *const g = &r->p.program;
    char **const file = calloc(job->inputs + g->steps * CUD_ARRAYS_MAX + 1, sizeof *file);
    *n = 0;
    for (size_t i = 0; file && i < job->inputs; i++)
        file[(*n)++] = job->input[i];
    for (size_t i = 0; file && i < g->steps; i++)
        for (size_t k = 0; k < CUD_ARRAYS_MAX; k++)
            if (g->step[i].array_path[k])
                file[(*n)++] = g->step[i].array_path[k];
    if (file && job->job_file)
        file[(*n)++] = job->job_file;
    return file;
}

/* Collective but for a dry run, where rank 0 only looks. */
static enum cud_status open_sink(struct run *r, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_job *const job = r->job;
    size_t n = 0;
    char **const file = files_read(r, &n);
    if (!file)
        (void)FAIL(err, CUD_EFAILED, "no memory for the names of %zu inputs", job->inputs);
    const struct cud_sink_facts facts = {
        .path = job->output, .result = job->result, .trace = job->trace, .force = job->force, .direct = r->p.direct,
        .room = !r->only_looks, .head = r->p.head, .head_bytes = r->p.head_bytes, .row_bytes = r->p.plan.facts.out_row_bytes,
        .rows = r->p.program.rows, .inputs = n,
        .input = file, .plan = &r->p.plan, .lane = r->p.lane, .device = r->p.binding.device, .dev = r->p.binding.dev};
    TRY(cud_rank_agree(r->ranks, err));
    if (!job->dry_run)
        TRY(cud_sink_open(&facts, r->ranks, &r->sink, err));
    else if (cud_rank_me(r->ranks) == 0)
        (void)cud_sink_check(&facts, err);
    TRY(cud_rank_agree(r->ranks, err));
done:
    free(file);
    return status;
}

static double end_phase(const struct run *r, enum cud_part part, double from)
{
    const double now = cud_now();
    cud_track_add(r->timeline.track ? r->timeline.track[0] : NULL, (struct cud_span){.part = part}, from, now);
    return now;
}

static enum cud_status stream(struct run *r, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_pipe_facts facts = {
        .input = &r->p.input, .program = &r->p.program, .loaded = r->p.loaded, .binding = &r->p.binding, .plan = &r->p.plan,
        .sink = r->sink, .ranks = r->ranks, .nan_fails = r->job->nan == CUD_NAN_FAIL,
        .progress = r->job->progress, .quiet = r->job->verbose < 0};
    cud_ranks_row(r->ranks, r->p.program.flat ? cud_shape_cols(&r->p.program.in.shape) : 1);
    r->grove = cud_grove_make(cud_stats_kind(r->p.program.out.type));
    if (!r->grove)
        (void)FAIL(err, CUD_EFAILED, "no memory for the statistics");
    else if (r->job->trace)
        (void)cud_timeline_add(&r->timeline, cud_pipe_workers(&facts), err);
    facts.track = r->timeline.track;
    TRY(cud_rank_agree(r->ranks, err));
    r->streaming = end_phase(r, CUD_PART_START, r->began);
    if (cud_pipe_run(&facts, r->grove, &r->sums, err) == CUD_OK)
        (void)cud_input_still(&r->p.input, err);       /* a mapped page that lost its end reads as zeros */
    TRY(cud_rank_agree(r->ranks, err));
    r->streamed = end_phase(r, CUD_PART_STREAM, r->streaming);
    TRY(gather(r, err));
    if (cud_rank_me(r->ranks) == 0)
        (void)check_nan(r, err);
    TRY(cud_rank_agree(r->ranks, err));
    cud_ranks_phase(r->ranks, CUD_PHASE_COMMIT);
    (void)cud_sink_close(r->sink, err);
    TRY(cud_rank_agree(r->ranks, err));
    r->closed = cud_now();
done:
    return status;
}

static enum cud_status start_trace(struct run *r, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    if (!r->job->trace || r->job->dry_run)
        return CUD_OK;
    (void)cud_timeline_make(r->began, &r->timeline, err);
    TRY(cud_rank_agree(r->ranks, err));
    cud_ranks_trace(r->ranks, r->timeline.track[0]);
done:
    return status;
}

/* Collective. */
static enum cud_status write_trace(struct run *r, struct cud_err *err)
{
    if (!r->timeline.track)
        return CUD_OK;
    (void)end_phase(r, CUD_PART_COMMIT, r->streamed);
    cud_ranks_trace(r->ranks, NULL);
    return cud_timeline_write(&r->timeline, r->job->trace, &r->p.binding, &r->p.program, r->ranks, err);
}

static void note_steps(const struct cud_job *job, const struct cud_program *p)
{
    if (job->default_step)
        cud_note("note: no step was given: doing -k scale:factor=2 (-k copy takes the values as they are; --help shows more)");
    for (size_t i = 0; i < p->steps; i++)
        if (p->in.shape.ndim < 2 && p->step[i].kernel->kind == CUD_ROWS && p->step[i].facts.cols == 1) {
            cud_note("note: step '%s' is done to each row, and the rows of an array of one dimension are single elements",
                     p->step[i].kernel->name);
            return;
        }
}

static void set_started(struct run *r)
{
    const time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(r->started, sizeof r->started, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

enum cud_status cud_run_check(const struct cud_job *job, struct cud_ranks *ranks, struct cud_outlook *o,
                              struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_job dry = *job;
    struct run r = {.job = &dry, .ranks = ranks, .only_looks = true};
    const struct cud_prepared *const p = &r.p;
    dry.dry_run = true;
    TRY(cud_prepare(&dry, ranks, &r.p, err));
    TRY(open_sink(&r, err));
    *o = (struct cud_outlook){
        .rows_in = cud_shape_rows(&p->input.array.shape), .windows = cud_plan_windows_most(&p->plan),
        .buffer_bytes = p->host_bytes + p->device_bytes,
        .out_bytes = p->format ? p->head_bytes + p->program.rows * p->plan.facts.out_row_bytes : 0};
done:
    cud_prepared_free(&r.p);
    return status;
}

enum cud_status cud_run(const struct cud_job *job, struct cud_ranks *ranks, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct run r = {.job = job, .ranks = ranks, .began = cud_now()};
    const int me = cud_rank_me(ranks);
    set_started(&r);
    cud_note_quiet(job->verbose < 0);
    cud_ranks_timeout(ranks, job->timeout);
    TRY(start_trace(&r, err));
    TRY(cud_prepare(job, ranks, &r.p, err));
    if (me == 0 && job->verbose > 0 && !job->dry_run)
        cud_dry_run_print(job, &r.p, stderr);
    TRY(open_sink(&r, err));
    if (me == 0)
        note_steps(job, &r.p.program);
    if (job->dry_run) {
        if (me == 0) {
            cud_dry_run_print(job, &r.p, stdout);
            (void)check_printed(stdout, err);
        }
        TRY(cud_rank_agree(ranks, err));
        goto done;
    }
    TRY(stream(&r, err));
    cud_signals_finish();                  /* a run that has all its rows is not stopped half way into its commit: */
    TRY(cud_rank_agree(ranks, err));       /* it begins when no rank would end at once any more */
    if (me == 0)
        (void)finish(&r, err);
    TRY(cud_rank_agree(ranks, err));
    TRY(write_trace(&r, err));
done:
    cud_ranks_trace(ranks, NULL);
    cud_timeline_free(&r.timeline);
    cud_sink_free(r.sink);
    cud_grove_free(r.grove);
    cud_prepared_free(&r.p);
    return status;
}
