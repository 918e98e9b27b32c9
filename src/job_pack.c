/* A job as bytes.  Both ways walk the same list of fields, so that what is packed is what is unpacked. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "job.h"

#define MAGIC "cudist job " PACKAGE_VERSION
#define ABSENT UINT64_MAX                  /* the length of a NULL string */

struct wire {
    bool packing;
    unsigned char *bytes;
    size_t n, room;                        /* unpacking: room is what there is, n what was read */
    bool no_memory, broken;
};

static void raw(struct wire *w, void *p, size_t n)
{
    if (w->broken || w->no_memory || n == 0)
        return;
    if (w->packing && w->room - w->n < n) {
        size_t room = 2 * w->room + n;
        unsigned char *more = realloc(w->bytes, room);
        w->no_memory = !more;
        if (!more)
            return;
        w->bytes = more;
        w->room = room;
    }
    w->broken = w->room - w->n < n;
    if (w->broken)
        return;
    memcpy(w->packing ? w->bytes + w->n : p, w->packing ? p : w->bytes + w->n, n);
    w->n += n;
}

/* A number from 0 to most. */
static uint64_t number(struct wire *w, uint64_t value, uint64_t most)
{
    raw(w, &value, sizeof value);
    w->broken |= value > most;
    return w->broken ? 0 : value;
}

static void flag(struct wire *w, bool *value) { *value = number(w, *value, 1) == 1; }

static void text(struct wire *w, char **s)
{
    uint64_t n = number(w, w->packing && *s ? strlen(*s) : ABSENT, UINT64_MAX);
    if (n == ABSENT || w->broken || w->no_memory)
        return;
    if (!w->packing) {
        w->broken = n > w->room - w->n;
        if (w->broken)
            return;
        *s = calloc(n + 1, 1);
        w->no_memory = !*s;
    }
    raw(w, *s, n);
    w->broken |= !w->packing && *s && strlen(*s) != n;
}

/* So many entries follow, each of 8 bytes or more.  Unpacking: makes room for them. */
static void *list(struct wire *w, size_t *count, void *entries, size_t bytes)
{
    uint64_t n = number(w, *count, w->packing ? UINT64_MAX : (w->room - w->n) / 8);
    if (w->packing || w->broken || n == 0)
        return entries;
    entries = calloc(n, bytes);
    w->no_memory |= !entries;
    *count = entries ? n : 0;
    return entries;
}

static void shape(struct wire *w, struct cud_shape *s)
{
    s->ndim = (unsigned)number(w, s->ndim, CUD_DIMS_MAX);
    for (unsigned i = 0; i < s->ndim; i++)
        s->dim[i] = number(w, s->dim[i], UINT64_MAX);
}

static void fields(struct wire *w, struct cud_job *job)
{
    job->action = (enum cud_action)number(w, job->action, CUD_INFO);
    text(w, &job->info);
    job->input = list(w, &job->inputs, job->input, sizeof *job->input);
    for (size_t i = 0; i < job->inputs; i++)
        text(w, &job->input[i]);
    job->step = list(w, &job->steps, job->step, sizeof *job->step);
    for (size_t i = 0; i < job->steps; i++) {
        job->step[i].kind = (char)number(w, (uint64_t)job->step[i].kind, 127);
        text(w, &job->step[i].text);
    }
    flag(w, &job->default_step);
    flag(w, &job->given.has_type);
    flag(w, &job->given.has_shape);
    flag(w, &job->given.has_offset);
    job->given.type = (enum cud_type)number(w, job->given.type, CUD_TYPES - 1);
    shape(w, &job->given.shape);
    job->given.offset = number(w, job->given.offset, UINT64_MAX);
    text(w, &job->output);
    text(w, &job->result);
    text(w, &job->trace);
    flag(w, &job->force);
    flag(w, &job->has_out_type);
    job->out_type = (enum cud_type)number(w, job->out_type, CUD_TYPES - 1);
    job->write = (enum cud_write)number(w, job->write, CUD_WRITE_ROOT);
    job->nan = (enum cud_nan)number(w, job->nan, CUD_NAN_FAIL);
    text(w, &job->device);
    text(w, &job->comm);
    flag(w, &job->share_gpus);
    job->batch = number(w, job->batch, UINT64_MAX);
    job->window = number(w, job->window, UINT64_MAX);
    job->threads = (unsigned)number(w, job->threads, UINT32_MAX);
    raw(w, &job->timeout, sizeof job->timeout);
    raw(w, &job->progress, sizeof job->progress);
    flag(w, &job->dry_run);
    job->verbose = (int)number(w, (uint64_t)(job->verbose + 1), 3) - 1;
    text(w, &job->job_file);
}

enum cud_status cud_job_pack(const struct cud_job *job, void **bytes, size_t *n, struct cud_err *err)
{
    struct wire w = {.packing = true};
    char magic[] = MAGIC;
    struct cud_job copy = *job;            /* packing changes nothing, but the list of fields serves both ways */
    raw(&w, magic, sizeof magic);
    fields(&w, &copy);
    if (w.no_memory) {
        free(w.bytes);
        return FAIL(err, CUD_EFAILED, "no memory for the job's %zu bytes", w.n);
    }
    *bytes = w.bytes;
    *n = w.n;
    return CUD_OK;
}

static bool whole(const struct cud_job *job)
{
    for (size_t i = 0; i < job->inputs; i++)
        if (!job->input[i])
            return false;
    for (size_t i = 0; i < job->steps; i++)
        if (!job->step[i].text)
            return false;
    return job->output && job->result && job->device && job->comm;
}

enum cud_status cud_job_unpack(const void *bytes, size_t n, struct cud_job *job, struct cud_err *err)
{
    struct wire w = {.bytes = (unsigned char *)bytes, .room = n};
    struct cud_job made = {.action = CUD_RUN};
    char magic[sizeof MAGIC] = "";
    raw(&w, magic, sizeof magic);
    if (w.broken || memcmp(magic, MAGIC, sizeof magic) != 0)
        return FAIL(err, CUD_EFAILED, "rank 0 runs another version of cudist than this rank (" PACKAGE_VERSION "): install the "
                    "same on all hosts");
    fields(&w, &made);
    if (!w.broken && !w.no_memory && w.n == n && whole(&made)) {
        *job = made;
        return CUD_OK;
    }
    cud_job_free(&made);
    if (w.no_memory)
        return FAIL(err, CUD_EFAILED, "no memory for the job");
    return FAIL(err, CUD_EFAILED, "the job that rank 0 sent is damaged (%zu bytes)", n);
}
