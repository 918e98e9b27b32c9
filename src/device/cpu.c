/* The CPU: device memory is host memory, work is done when it is queued, by the calling thread. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include "clock.h"
#include "launch.h"
#include "openblas.h"
#include "registry.h"

#define PAGE 4096

struct cud_dev { int number; };
struct cud_stream {
    size_t room, marks;
    struct cud_mark mark[];
};

static struct cud_dev the_cpu;             /* holds nothing: only its address is used */

static enum cud_status count(int *devices, struct cud_err *err)
{
    (void)err;
    *devices = 1;
    return CUD_OK;
}

static void versions(int *driver, int *runtime) { *driver = *runtime = 0; }

static enum cud_status open_device(int device, struct cud_dev **dev, struct cud_err *err)
{
    (void)device, (void)err;
    *dev = &the_cpu;
    return CUD_OK;
}

static void close_device(struct cud_dev *dev) { (void)dev; }

static enum cud_status facts(int device, struct cud_device_facts *f, struct cud_err *err)
{
    (void)device, (void)err;
    *f = (struct cud_device_facts){.name = "cpu"};
    snprintf(f->kind, sizeof f->kind, "%s", cud_registry_isa());
    return CUD_OK;
}

static enum cud_status enter(struct cud_dev *dev, struct cud_err *err)
{
    (void)dev, (void)err;
    return CUD_OK;
}

static enum cud_status alloc(struct cud_dev *dev, enum cud_memory where, size_t bytes, void **p, struct cud_err *err)
{
    (void)dev, (void)where;
    if (bytes > SIZE_MAX - PAGE)
        return FAIL(err, CUD_EINPUT, "a buffer of %zu bytes does not fit in memory", bytes);
    void *const new = aligned_alloc(PAGE, (bytes + PAGE) / PAGE * PAGE);
    if (!new)
        return FAIL(err, CUD_EFAILED, "no memory for a buffer of %zu bytes; a smaller --window or --batch needs less", bytes);
    *p = new;
    return CUD_OK;
}

static void release(struct cud_dev *dev, enum cud_memory where, void *p)
{
    (void)dev, (void)where;
    free(p);
}

static enum cud_status stream(struct cud_dev *dev, size_t marks, struct cud_stream **s, struct cud_err *err)
{
    (void)dev;
    struct cud_stream *const new = calloc(1, sizeof *new + marks * sizeof *new->mark);
    if (!new)
        return FAIL(err, CUD_EFAILED, "no memory for a stream");
    new->room = marks;
    *s = new;
    return CUD_OK;
}

static void stream_free(struct cud_stream *s) { free(s); }

static enum cud_status copy(struct cud_stream *s, void *to, const void *from, size_t bytes, struct cud_err *err)
{
    (void)s, (void)err;
    if (to != from && bytes)
        memmove(to, from, bytes);
    return CUD_OK;
}

static enum cud_status launch(struct cud_stream *s, const struct cud_kernel *kernel, const struct cud_call *call, struct cud_err *err)
{
    (void)s;
    const int code = kernel->launch(call);
    return code ? cud_launch_failed(kernel, call, code, err) : CUD_OK;
}

static enum cud_status wait_for(struct cud_stream *s, struct cud_err *err)
{
    (void)s, (void)err;
    return CUD_OK;
}

static enum cud_status ready(struct cud_stream *s, bool *is_ready, struct cud_err *err)
{
    (void)s, (void)err;
    *is_ready = true;
    return CUD_OK;
}

static void *native(struct cud_stream *s)
{
    (void)s;
    return NULL;
}

static enum cud_status mark(struct cud_stream *s, int what, struct cud_err *err)
{
    (void)err;
    if (s->marks < s->room)
        s->mark[s->marks++] = (struct cud_mark){.what = what, .at = cud_now()};
    return CUD_OK;
}

static size_t marks(struct cud_stream *s, struct cud_mark *to)
{
    const size_t n = s->marks;
    if (n)
        memcpy(to, s->mark, n * sizeof *to);
    s->marks = 0;
    return n;
}

static void range(const char *name) { (void)name; }

static const struct cud_gemm *gemm(struct cud_dev *dev, char why[200])
{
    (void)dev;
    return cud_openblas(why);
}

extern const struct cud_device cud_device_cpu;
const struct cud_device cud_device_cpu = {
    .name = "cpu", .shared = true, .count = count, .versions = versions, .identify = facts, .open = open_device, .close = close_device,
    .facts = facts, .enter = enter, .alloc = alloc, .free = release, .stream = stream, .stream_free = stream_free,
    .put = copy, .get = copy, .launch = launch, .mark = mark, .wait = wait_for, .ready = ready, .native = native,
    .marks = marks, .range = range, .gemm = gemm,
};
