/* The CPU with a GPU's manners, for tests (CUDIST_STRICT=SEED): host code that is wrong on a GPU is wrong here.
 *
 * Device memory is unreadable but while queued work runs.  Work is done as late as the stream allows, by the thread that
 * waits; the seed lets some of it run earlier, at a random later call on the same stream. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "clock.h"
#include "launch.h"
#include "registry.h"

struct item {
    enum { COPY, KERNEL, MARK } kind;
    const struct cud_kernel *kernel;
    struct cud_call call;
    void *to;
    const void *from;
    size_t bytes;
    int what;                              /* a mark's */
};

struct room { struct room *next; void *p; size_t bytes; };

struct cud_dev {
    pthread_mutex_t lock;                  /* one stream runs at a time: memory is open to all while it does */
    struct room *rooms;
};

struct cud_stream {
    struct cud_dev *dev;
    struct item *item;
    size_t items, room;
    uint64_t random;
    size_t mark_room, marks;               /* that were come to */
    struct cud_mark *mark;
};

static enum cud_status count(int *devices, struct cud_err *err)
{
    (void)err;
    *devices = 1;
    return CUD_OK;
}

static void versions(int *driver, int *runtime) { *driver = *runtime = 0; }

static enum cud_status open_device(int device, struct cud_dev **dev, struct cud_err *err)
{
    (void)device;
    struct cud_dev *const d = calloc(1, sizeof *d);
    if (!d)
        return FAIL(err, CUD_EFAILED, "no memory for the strict device");
    pthread_mutex_init(&d->lock, NULL);
    *dev = d;
    return CUD_OK;
}

static void close_device(struct cud_dev *dev)
{
    if (!dev)
        return;
    pthread_mutex_destroy(&dev->lock);
    free(dev);
}

static enum cud_status facts(int device, struct cud_device_facts *f, struct cud_err *err)
{
    (void)device, (void)err;
    *f = (struct cud_device_facts){.name = "strict"};
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
    if (where == CUD_ON_HOST) {
        void *const host = malloc(bytes + !bytes);
        if (!host)
            return FAIL(err, CUD_EFAILED, "no memory for a buffer of %zu bytes", bytes);
        *p = host;
        return CUD_OK;
    }
    struct room *const r = malloc(sizeof *r);
    void *const new = mmap(NULL, bytes + !bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!r || new == MAP_FAILED) {
        free(r);
        return FAIL(err, CUD_EFAILED, "no memory for a device buffer of %zu bytes; a smaller --window or --batch needs less", bytes);
    }
    pthread_mutex_lock(&dev->lock);
    *r = (struct room){.next = dev->rooms, .p = new, .bytes = bytes + !bytes};
    dev->rooms = r;
    pthread_mutex_unlock(&dev->lock);
    *p = new;
    return CUD_OK;
}

static void release(struct cud_dev *dev, enum cud_memory where, void *p)
{
    if (where == CUD_ON_HOST || !p) {
        free(p);
        return;
    }
    pthread_mutex_lock(&dev->lock);
    for (struct room **at = &dev->rooms; *at; at = &(*at)->next)
        if ((*at)->p == p) {
            struct room *const r = *at;
            *at = r->next;
            munmap(r->p, r->bytes);
            free(r);
            break;
        }
    pthread_mutex_unlock(&dev->lock);
}

static void protect(const struct cud_dev *dev, int how)
{
    for (const struct room *r = dev->rooms; r; r = r->next)
        mprotect(r->p, r->bytes, how);
}

/* Does the first n queued items. */
static enum cud_status run(struct cud_stream *s, size_t n, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    pthread_mutex_lock(&s->dev->lock);
    protect(s->dev, PROT_READ | PROT_WRITE);
    for (size_t i = 0; i < n && status == CUD_OK; i++) {
        const struct item *const t = &s->item[i];
        const int code = t->kind == KERNEL ? t->kernel->launch(&t->call) : 0;
        if (t->kind == COPY && t->bytes)
            memcpy(t->to, t->from, t->bytes);
        if (t->kind == MARK && s->marks < s->mark_room)
            s->mark[s->marks++] = (struct cud_mark){.what = t->what, .at = cud_now()};
        if (code)
            status = cud_launch_failed(t->kernel, &t->call, code, err);
    }
    protect(s->dev, PROT_NONE);
    pthread_mutex_unlock(&s->dev->lock);
    if (s->items > n)                      /* without any there is no memory for them yet */
        memmove(s->item, s->item + n, (s->items - n) * sizeof *s->item);
    s->items -= n;
    return status;
}

static enum cud_status stream(struct cud_dev *dev, size_t marks, struct cud_stream **s, struct cud_err *err)
{
    struct cud_stream *const new = calloc(1, sizeof *new);
    if (new)
        new->mark = calloc(marks + 1, sizeof *new->mark);
    if (!new || !new->mark) {
        free(new);
        return FAIL(err, CUD_EFAILED, "no memory for a stream");
    }
    new->mark_room = marks;
    const char *const seed = getenv("CUDIST_STRICT");
    new->dev = dev;
    new->random = 0x9e3779b97f4a7c15u + (seed ? strtoull(seed, NULL, 10) : 0);
    *s = new;
    return CUD_OK;
}

static enum cud_status wait_for(struct cud_stream *s, struct cud_err *err) { return run(s, s->items, err); }

/* Whoever asks often enough sees it done. */
static enum cud_status ready(struct cud_stream *s, bool *is_ready, struct cud_err *err)
{
    const enum cud_status status = s->items ? run(s, 1, err) : CUD_OK;
    *is_ready = s->items == 0;
    return status;
}

static void *native(struct cud_stream *s)
{
    (void)s;
    return NULL;
}

static void stream_free(struct cud_stream *s)
{
    struct cud_err none = {0};
    if (!s)
        return;
    if (wait_for(s, &none) != CUD_OK)
        s->items = 0;
    free(s->item);
    free(s->mark);
    free(s);
}

static enum cud_status queue(struct cud_stream *s, const struct item *item, struct cud_err *err)
{
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;        /* Knuth's MMIX */
    if (s->items && s->random >> 61 == 0) {
        const enum cud_status status = run(s, 1 + (s->random >> 32) % s->items, err);
        if (status != CUD_OK)
            return status;
    }
    if (s->items == s->room) {
        const size_t more = s->room ? 2 * s->room : 32;
        struct item *const bigger = realloc(s->item, more * sizeof *bigger);
        if (!bigger)
            return FAIL(err, CUD_EFAILED, "no memory for a queue");
        s->item = bigger;
        s->room = more;
    }
    s->item[s->items++] = *item;
    return CUD_OK;
}

static enum cud_status copy(struct cud_stream *s, void *to, const void *from, size_t bytes, struct cud_err *err)
{
    return queue(s, &(struct item){.kind = COPY, .to = to, .from = from, .bytes = bytes}, err);
}

static enum cud_status launch(struct cud_stream *s, const struct cud_kernel *kernel, const struct cud_call *call, struct cud_err *err)
{
    return call->warm ? CUD_OK : queue(s, &(struct item){.kind = KERNEL, .kernel = kernel, .call = *call}, err);
}

static enum cud_status mark(struct cud_stream *s, int what, struct cud_err *err)
{
    return s->mark_room ? queue(s, &(struct item){.kind = MARK, .what = what}, err) : CUD_OK;
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
    return cud_registry_device("cpu")->gemm(NULL, why);
}

extern const struct cud_device cud_device_strict;
const struct cud_device cud_device_strict = {
    .name = "strict", .shared = false, .count = count, .versions = versions, .identify = facts, .open = open_device,
    .close = close_device, .facts = facts, .enter = enter, .alloc = alloc, .free = release, .stream = stream,
    .stream_free = stream_free, .put = copy, .get = copy, .launch = launch, .mark = mark, .wait = wait_for,
    .ready = ready, .native = native, .marks = marks, .range = range, .gemm = gemm,
};
