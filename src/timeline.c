/* The format: "Trace Event Format" of the Chromium project: complete events ("X") in microseconds, names by metadata ("M").
 * A process is a rank, a thread one of its threads or what one of its streams does. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "clock.h"
#include "json.h"
#include "timeline.h"

#define PIECE 1024                         /* spans a message: 40 KiB */
enum { TAG_SPANS = 103 };

struct origin {                            /* of a rank's trace */
    double began, wall;
    int32_t host, workers;                 /* host: its lowest rank */
};

struct piece {
    uint64_t n;                            /* 0: this was the last */
    struct cud_span span[PIECE];
};

/* ---- collecting */

enum cud_status cud_timeline_make(double began, struct cud_timeline *t, struct cud_err *err)
{
    struct timespec wall;
    const double now = cud_now();
    clock_gettime(CLOCK_REALTIME, &wall);
    t->began = began;
    t->wall = (double)wall.tv_sec + 1e-9 * (double)wall.tv_nsec - (now - began);
    t->track = calloc(1, sizeof *t->track);
    if (!t->track || !(t->track[0] = cud_track_make(0, began)))
        return FAIL(err, CUD_EFAILED, "no memory for a trace");
    t->tracks = 1;
    return CUD_OK;
}

enum cud_status cud_timeline_add(struct cud_timeline *t, unsigned workers, struct cud_err *err)
{
    struct cud_track **const more = realloc(t->track, (1 + workers) * sizeof *more);
    if (!more)
        return FAIL(err, CUD_EFAILED, "no memory for a trace");
    t->track = more;
    for (; t->tracks < 1 + workers; t->tracks++)
        if (!(t->track[t->tracks] = cud_track_make((int)t->tracks, t->began)))
            return FAIL(err, CUD_EFAILED, "no memory for a trace of %u threads; fewer --threads need less", workers);
    return CUD_OK;
}

void cud_timeline_free(struct cud_timeline *t)
{
    for (unsigned i = 0; i < t->tracks; i++)
        cud_track_free(t->track[i]);
    free(t->track);
    *t = (struct cud_timeline){0};
}

/* ---- writing */

struct out {
    struct cud_json json;                  /* .to is NULL if the file cannot be made */
    const struct cud_program *program;
    int rank;
    double shift;                          /* nanoseconds to add to the rank's times */
};

static void open_event(struct out *o, const char *name, const char *kind, int lane)
{
    struct cud_json *const j = &o->json;
    cud_json_open(j, NULL, '{', true);
    cud_json_string(j, "name", name);
    cud_json_string(j, "ph", kind);
    cud_json_count(j, "pid", (uint64_t)o->rank);
    cud_json_count(j, "tid", (uint64_t)(lane > CUD_LANE_DEVICE ? 2 * (lane - CUD_LANE_DEVICE) : lane > 0 ? 2 * lane - 1 : 0));
}

static void put_name(struct out *o, const char *what, int lane, const char *name)
{
    open_event(o, what, "M", lane);
    cud_json_open(&o->json, "args", '{', true);
    cud_json_string(&o->json, "name", name);
    cud_json_close(&o->json, '}');
    cud_json_close(&o->json, '}');
}

static void put_names(struct out *o, const struct cud_rank_facts *facts, int workers, bool shared)
{
    char name[160];
    snprintf(name, sizeof name, "rank %d, %s, %s", o->rank, facts->host, facts->device.name);
    put_name(o, "process_name", 0, name);
    put_name(o, "thread_name", 0, "main");
    for (int i = 1; i <= workers; i++) {
        snprintf(name, sizeof name, "worker %d", i);
        put_name(o, "thread_name", i, name);
        snprintf(name, sizeof name, "worker %d's stream", i);
        if (!shared)
            put_name(o, "thread_name", CUD_LANE_DEVICE + i, name);
    }
}

static const char *name_of(const struct cud_span *s, const struct cud_program *p, char name[96])
{
    const size_t i = (size_t)(s->part - CUD_PART_STEP);
    if (s->part == CUD_PART_LEFT_OUT)
        snprintf(name, 96, "%llu spans left out", (unsigned long long)s->rows);
    else if (s->part >= CUD_PART_STEP && i < p->steps)
        snprintf(name, 96, "step %zu (%.64s)", i + 1, p->step[i].kernel->name);
    else
        return cud_part_name(s->part);
    return name;
}

static void put_span(struct out *o, const struct cud_span *s)
{
    char name[96];
    struct cud_json *const j = &o->json;
    const uint64_t flat = o->program->flat ? cud_shape_cols(&o->program->in.shape) : 1, cols = flat ? flat : 1;
    const bool gap = s->part == CUD_PART_LEFT_OUT;
    open_event(o, name_of(s, o->program, name), gap ? "i" : "X", s->lane);
    cud_json_number(j, "ts", (double)(int64_t)((double)s->at + o->shift) / 1e3);
    if (gap)
        cud_json_string(j, "s", "t");
    else
        cud_json_number(j, "dur", (double)s->took / 1e3);
    if (s->rows && !gap) {
        cud_json_open(j, "args", '{', true);
        cud_json_count(j, "row0", s->row0 / cols);
        cud_json_count(j, "rows", (s->row0 + s->rows - 1) / cols - s->row0 / cols + 1);
        cud_json_close(j, '}');
    }
    cud_json_close(j, '}');
}

/* ---- from rank to rank */

static bool next_piece(const struct cud_timeline *t, unsigned *track, uint64_t *at, struct piece *p)
{
    for (p->n = 0; p->n < PIECE && *track < t->tracks;)
        if (cud_track_at(t->track[*track], *at, &p->span[p->n]))
            (*at)++, p->n++;
        else
            (*track)++, *at = 0;
    return p->n > 0;
}

static enum cud_status send_spans(const struct cud_timeline *t, struct cud_ranks *ranks, struct piece *p, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_message *m = NULL;
    unsigned track = 0;
    uint64_t at = 0;
    for (bool more = true; more;) {
        more = next_piece(t, &track, &at, p);
        TRY(cud_rank_send(ranks, 0, TAG_SPANS, p, sizeof *p, &m, err));
        TRY(cud_message_wait(&m, err));
    }
done:
    return status;
}

static enum cud_status take_spans(struct out *o, const struct cud_timeline *t, struct cud_ranks *ranks, struct piece *p,
                                  struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_message *m = NULL;
    unsigned track = 0;
    uint64_t at = 0;
    do {
        if (o->rank == 0) {
            (void)next_piece(t, &track, &at, p);
        } else {
            TRY(cud_rank_receive(ranks, o->rank, TAG_SPANS, p, sizeof *p, &m, err));
            TRY(cud_message_wait(&m, err));
        }
        for (uint64_t i = 0; o->json.to && i < p->n && i < PIECE; i++)
            put_span(o, &p->span[i]);
    } while (p->n);
done:
    return status;
}

/* Ranks of one host share a clock; other hosts' go by the clocks on the wall. */
static double nanoseconds_behind(const struct origin *a, const struct origin *b)
{
    return 1e9 * (a->host == b->host ? b->began - a->began : b->wall - a->wall);
}

static enum cud_status put_all(struct out *o, const struct cud_timeline *t, const struct origin *all, const struct cud_binding *b,
                               struct cud_ranks *ranks, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct piece p;
    double first = 0;
    for (int r = 1; r < b->ranks; r++)
        if (nanoseconds_behind(&all[0], &all[r]) < first)
            first = nanoseconds_behind(&all[0], &all[r]);
    for (o->rank = 0; o->rank < b->ranks; o->rank++) {
        o->shift = nanoseconds_behind(&all[0], &all[o->rank]) - first;
        if (o->json.to)
            put_names(o, &b->all[o->rank], all[o->rank].workers, b->device->shared);
        TRY(take_spans(o, t, ranks, &p, err));
    }
done:
    return status;
}

/* ---- the file */

static FILE *file_make(const char *path)
{
    if (unlink(path) && errno != ENOENT)
        return NULL;
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    FILE *const f = fd < 0 ? NULL : fdopen(fd, "w");
    if (fd >= 0 && !f)
        close(fd);
    return f;
}

static void file_end(struct cud_json *j, const char *tmp, const char *path)
{
    bool bad = !j->to;
    if (j->to) {
        cud_json_close(j, ']');
        cud_json_close(j, '}');
        fputc('\n', j->to);
        bad = ferror(j->to) != 0;
        bad = fclose(j->to) != 0 || bad;
        bad = bad || rename(tmp, path) != 0;
    }
    if (bad) {
        cud_note("warning: %s: the trace cannot be written: %s; the output is complete", path, strerror(errno));
        (void)unlink(tmp);
    }
}

static enum cud_status write_all(const struct cud_timeline *t, const struct origin *all, const char *path, const struct cud_binding *b,
                                 const struct cud_program *program, struct cud_ranks *ranks, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    char *tmp = NULL;
    if (asprintf(&tmp, "%s.tmp", path) < 0)
        tmp = NULL;
    struct out o = {.json = {.to = tmp ? file_make(tmp) : NULL, .first = true}, .program = program};
    if (o.json.to) {
        cud_json_open(&o.json, NULL, '{', false);
        cud_json_string(&o.json, "displayTimeUnit", "ms");
        cud_json_open(&o.json, "traceEvents", '[', false);
    }
    status = put_all(&o, t, all, b, ranks, err);
    file_end(&o.json, tmp, path);
    free(tmp);
    return status;
}

enum cud_status cud_timeline_write(const struct cud_timeline *t, const char *path, const struct cud_binding *binding,
                                   const struct cud_program *program, struct cud_ranks *ranks, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const bool zero = cud_rank_me(ranks) == 0;
    const struct origin mine = {t->began, t->wall, cud_rank_node_first(ranks), (int32_t)t->tracks - 1};
    struct origin *const all = zero ? calloc((size_t)binding->ranks, sizeof *all) : NULL;
    struct piece p;
    if (zero && !all)
        (void)FAIL(err, CUD_EFAILED, "no memory for the trace of %d ranks", binding->ranks);
    TRY(cud_rank_agree(ranks, err));
    TRY(cud_rank_gather(ranks, &mine, sizeof mine, all, err));
    status = zero ? write_all(t, all, path, binding, program, ranks, err) : send_spans(t, ranks, &p, err);
done:
    free(all);
    return status;
}
