/* A CUDA GPU: a thin map to the runtime API.  CUDA's errors become ours here and nowhere else. */
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "clock.h"
#include "cublaslt.h"
#include "launch.h"
#include "nvrtc.h"
#include "registry.h"

struct cud_dev {
    int number;
    cudaEvent_t origin;                    /* what marks are measured from, and when that was */
    double origin_at;
    _Atomic(const char *) step;            /* the one that was queued last, by whichever thread */
};

struct cud_stream {
    struct cud_dev *dev;
    cudaStream_t stream;
    cudaEvent_t done;                      /* all that was queued before the last wait */
    const char *step;                      /* the one that was queued last since then */
    size_t room, marks;
    cudaEvent_t *mark;                     /* room of them */
    int *what;
    cudaEvent_t base;                      /* instead of the device's origin, once that is long ago: base_at > 0 */
    double base_at;
};

/* What to do, where that can be said. */
static const char *cure(cudaError_t code)
{
    if (code == cudaErrorNoKernelImageForDevice)
        return "; build cudist with a GENCODE for this GPU (README.md)";
    if (code == cudaErrorInsufficientDriver || code == cudaErrorUnsupportedPtxVersion)
        return "; the driver is older than the CUDA toolkit that cudist was built with: update it, or build with an older one";
    if (code >= cudaErrorIllegalAddress && code <= cudaErrorLaunchFailure)      /* as a rule, what a kernel did wrong */
        return "; with CUDA_LAUNCH_BLOCKING=1 the message names the very step";
    return "";
}

/* what: what was being done. */
static enum cud_status check(int gpu, cudaError_t code, const char *what, struct cud_err *err)
{
    return code == cudaSuccess ? CUD_OK : FAIL(err, CUD_EFAILED, "GPU %d: %s: %s (%s)%s", gpu, what, cudaGetErrorString(code),
                                               cudaGetErrorName(code), cure(code));
}

/* An error of work that was queued is told by a call that comes later, and by all that come after that. */
static bool was_earlier(const struct cud_stream *s, cudaError_t code)
{
    const cudaError_t now = cudaStreamQuery(s->stream);
    (void)cudaGetLastError();
    return now == code;
}

/* The same for calls that queue, or wait for what was queued. */
static enum cud_status check_queue(const struct cud_stream *s, cudaError_t code, const char *what, struct cud_err *err)
{
    if (code == cudaSuccess)
        return CUD_OK;
    const char *const step = s->step ? s->step : atomic_load(&s->dev->step);
    if (!was_earlier(s, code) || !step)
        return check(s->dev->number, code, what, err);
    return FAIL(err, CUD_EFAILED, "GPU %d: %s or what was queued before it: %s (%s)%s", s->dev->number, step, cudaGetErrorString(code),
                cudaGetErrorName(code), cure(code));
}

static enum cud_status count(int *devices, struct cud_err *err)
{
    (void)err;
    int n = 0;                             /* no driver: the call fails and leaves n alone */
    if (cudaGetDeviceCount(&n) != cudaSuccess) {
        (void)cudaGetLastError();
        n = 0;
    }
    *devices = n;
    return CUD_OK;
}

static void versions(int *driver, int *runtime)
{
    *driver = *runtime = 0;
    (void)cudaDriverGetVersion(driver);
    (void)cudaRuntimeGetVersion(runtime);
}

static enum cud_status enter(struct cud_dev *dev, struct cud_err *err)
{
    return check(dev->number, cudaSetDevice(dev->number), "choosing it", err);
}

/* An event, and the host's time of it.  Twice: the first time all is slow. */
static enum cud_status set_origin(struct cud_dev *d, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    TRY(check(d->number, cudaEventCreateWithFlags(&d->origin, cudaEventDefault), "making an event", err));
    for (int i = 0; i < 2; i++) {
        const double before = cud_now();
        TRY(check(d->number, cudaEventRecord(d->origin, cudaStreamLegacy), "marking a place", err));
        TRY(check(d->number, cudaEventSynchronize(d->origin), "waiting for it", err));
        d->origin_at = (before + cud_now()) / 2;
    }
done:
    return status;
}

static void close_device(struct cud_dev *dev)
{
    if (dev && dev->origin)
        (void)cudaEventDestroy(dev->origin);
    free(dev);
}

static enum cud_status open_device(int device, struct cud_dev **dev, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_dev *d = calloc(1, sizeof *d);
    if (!d)
        return FAIL(err, CUD_EFAILED, "no memory for a device");
    d->number = device;
    TRY(enter(d, err));
    TRY(check(device, cudaFree(NULL), "starting it", err));    /* makes the context now, not in the first window */
    TRY(set_origin(d, err));
    *dev = d;
    d = NULL;
done:
    close_device(d);
    return status;
}

static void uuid_text(const struct cudaDeviceProp *p, char uuid[48])
{
    char *at = uuid + snprintf(uuid, 48, "GPU-");
    for (int i = 0; i < 16; i++)
        at += sprintf(at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (unsigned char)p->uuid.bytes[i]);
}

/* cudaGetDeviceProperties makes no context. */
static enum cud_status identify(int device, struct cud_device_facts *f, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cudaDeviceProp p;
    TRY(check(device, cudaGetDeviceProperties(&p, device), "asking what it is", err));
    *f = (struct cud_device_facts){.bytes_total = p.totalGlobalMem};
    snprintf(f->name, sizeof f->name, "%.63s", p.name);
    snprintf(f->kind, sizeof f->kind, "sm_%d%d", p.major, p.minor);
    snprintf(f->pci, sizeof f->pci, "%04x:%02x:%02x.0", (unsigned)p.pciDomainID, (unsigned)p.pciBusID, (unsigned)p.pciDeviceID);
    uuid_text(&p, f->uuid);
done:
    return status;
}

static enum cud_status facts(int device, struct cud_device_facts *f, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    size_t free_bytes = 0, total_bytes = 0;
    TRY(identify(device, f, err));
    TRY(check(device, cudaSetDevice(device), "choosing it", err));
    TRY(check(device, cudaMemGetInfo(&free_bytes, &total_bytes), "asking for its memory", err));
    f->bytes_total = total_bytes;
    f->bytes_free = free_bytes;
done:
    return status;
}

static enum cud_status alloc(struct cud_dev *dev, enum cud_memory where, size_t bytes, void **p, struct cud_err *err)
{
    void *new = NULL;
    const cudaError_t code = where == CUD_ON_HOST ? cudaHostAlloc(&new, bytes + !bytes, cudaHostAllocPortable)
                                                  : cudaMalloc(&new, bytes + !bytes);
    if (code != cudaSuccess) {
        size_t free_bytes = 0, total_bytes = 0;
        (void)cudaGetLastError();
        (void)cudaMemGetInfo(&free_bytes, &total_bytes);
        return FAIL(err, CUD_EFAILED, "GPU %d: no %s for a buffer of %zu bytes (%zu of %zu are free): %s; a smaller --window, --batch or "
                    "--threads needs less", dev->number, where == CUD_ON_HOST ? "pinned memory" : "memory", bytes, free_bytes,
                    total_bytes, cudaGetErrorString(code));
    }
    *p = new;
    return CUD_OK;
}

static void release(struct cud_dev *dev, enum cud_memory where, void *p)
{
    (void)dev;
    if (p)
        (void)(where == CUD_ON_HOST ? cudaFreeHost(p) : cudaFree(p));
}

static void stream_free(struct cud_stream *s)
{
    if (!s)
        return;
    if (s->stream) {
        (void)cudaStreamSynchronize(s->stream);
        (void)cudaStreamDestroy(s->stream);
    }
    if (s->done)
        (void)cudaEventDestroy(s->done);
    if (s->base)
        (void)cudaEventDestroy(s->base);
    for (size_t i = 0; s->mark && i < s->room; i++)
        if (s->mark[i])
            (void)cudaEventDestroy(s->mark[i]);
    free(s->mark);
    free(s->what);
    free(s);
}

static enum cud_status make_marks(struct cud_stream *s, size_t marks, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    s->mark = calloc(marks, sizeof *s->mark);
    s->what = calloc(marks, sizeof *s->what);
    if (!s->mark || !s->what)
        return FAIL(err, CUD_EFAILED, "no memory for a stream");
    s->room = marks;
    TRY(check(s->dev->number, cudaEventCreateWithFlags(&s->base, cudaEventDefault), "making an event", err));
    for (size_t i = 0; i < marks; i++)
        TRY(check(s->dev->number, cudaEventCreateWithFlags(&s->mark[i], cudaEventDefault), "making an event", err));
done:
    return status;
}

/* A thread that waits for the event sleeps: there are more threads than CPUs, and readers and writers need these. */
static enum cud_status stream(struct cud_dev *dev, size_t marks, struct cud_stream **s, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_stream *new = calloc(1, sizeof *new);
    if (!new)
        return FAIL(err, CUD_EFAILED, "no memory for a stream");
    new->dev = dev;
    TRY(check(dev->number, cudaStreamCreateWithFlags(&new->stream, cudaStreamNonBlocking), "making a stream", err));
    TRY(check(dev->number, cudaEventCreateWithFlags(&new->done, cudaEventBlockingSync | cudaEventDisableTiming), "making an event", err));
    if (marks)
        TRY(make_marks(new, marks, err));
    *s = new;
    new = NULL;
done:
    stream_free(new);
    return status;
}

static enum cud_status put(struct cud_stream *s, void *device, const void *host, size_t bytes, struct cud_err *err)
{
    return check_queue(s, bytes ? cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, s->stream) : cudaSuccess,
                       "copying to it", err);
}

static enum cud_status get(struct cud_stream *s, void *host, const void *device, size_t bytes, struct cud_err *err)
{
    return check_queue(s, bytes ? cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, s->stream) : cudaSuccess,
                       "copying from it", err);
}

static enum cud_status launch(struct cud_stream *s, const struct cud_kernel *kernel, const struct cud_call *call, struct cud_err *err)
{
    struct cud_call c = *call;
    char what[400];
    c.stream = s->stream;
    snprintf(what, sizeof what, "%s: kernel %s cannot be %s", call->step ? call->step : "its own work", kernel->name,
             call->warm ? "loaded" : "started");
    if (call->step) {                      /* a part of it may be queued when the next part fails */
        s->step = call->step;
        atomic_store_explicit(&s->dev->step, call->step, memory_order_relaxed);
    }
    const int code = kernel->launch(&c);
    return code < 0 ? cud_launch_failed(kernel, &c, code, err) : check_queue(s, (cudaError_t)code, what, err);
}

static enum cud_status wait_for(struct cud_stream *s, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    TRY(check_queue(s, cudaEventRecord(s->done, s->stream), "marking the end of the work", err));
    TRY(check_queue(s, cudaEventSynchronize(s->done), "waiting for it", err));
    s->step = NULL;
done:
    return status;
}

static enum cud_status ready(struct cud_stream *s, bool *is_ready, struct cud_err *err)
{
    const cudaError_t code = cudaStreamQuery(s->stream);
    *is_ready = code == cudaSuccess;
    return check_queue(s, code == cudaErrorNotReady ? cudaSuccess : code, "working on it", err);
}

static void *native(struct cud_stream *s) { return s->stream; }
static enum cud_status mark(struct cud_stream *s, int what, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    if (s->marks == s->room)
        return CUD_OK;
    TRY(check_queue(s, cudaEventRecord(s->mark[s->marks], s->stream), "marking a place", err));
    s->what[s->marks++] = what;
done:
    return status;
}

/* CUDA gives the time between two events in milliseconds as a float: half a microsecond is lost after 8 s, so from then on the
 * stream measures from an event of its own. */
static size_t marks(struct cud_stream *s, struct cud_mark *to)
{
    enum { LONG = 8000 };
    const size_t n = s->marks;
    const cudaEvent_t base = s->base_at > 0 ? s->base : s->dev->origin;
    const double base_at = s->base_at > 0 ? s->base_at : s->dev->origin_at;
    float ms = 0;
    for (size_t i = 0; i < n; i++) {
        if (cudaEventElapsedTime(&ms, base, s->mark[i]) != cudaSuccess)
            ms = 0;
        to[i] = (struct cud_mark){.what = s->what[i], .at = base_at + 1e-3 * ms};
    }
    if (n && ms > LONG) {
        const cudaEvent_t spare = s->base;
        s->base = s->mark[n - 1];
        s->base_at = to[n - 1].at;
        s->mark[n - 1] = spare;
    }
    s->marks = 0;
    return n;
}

/* NVTX does next to nothing while no profiler is there. */
static void range(const char *name)
{
    if (name)
        (void)nvtxRangePushA(name);
    else
        (void)nvtxRangePop();
}

static const struct cud_gemm *gemm(struct cud_dev *dev, char why[200])
{
    struct cud_device_facts f;
    struct cud_err err = {0};
    if (facts(dev->number, &f, &err) == CUD_OK)
        return cud_cublaslt(f.kind, why);
    snprintf(why, 200, "%.199s", err.text);
    return NULL;
}

/* The driver takes machine code for its own kind, and PTX where it has none; both are in what NVRTC made. */
static enum cud_status load(struct cud_dev *dev, const void *image, struct cud_image **loaded, struct cud_err *err)
{
#if CUDART_VERSION >= 12080
    const struct cud_nvrtc_image *const i = image;
    cudaLibrary_t library = NULL;
    cudaError_t code = cudaLibraryLoadData(&library, cud_nvrtc_machine_code(i), NULL, NULL, 0, NULL, NULL, 0);
    if (code != cudaSuccess)
        code = cudaLibraryLoadData(&library, cud_nvrtc_ptx(i), NULL, NULL, 0, NULL, NULL, 0);
    (void)cudaGetLastError();
    *loaded = (struct cud_image *)library;
    return check(dev->number, code, "loading what was compiled for it", err);
#else
    (void)image, (void)loaded;
    return check(dev->number, cudaErrorNotSupported, "loading what was compiled for it", err);
#endif
}

static const void *find(struct cud_image *loaded, const char *name)
{
#if CUDART_VERSION >= 12080
    cudaKernel_t kernel;
    if (cudaLibraryGetKernel(&kernel, (cudaLibrary_t)loaded, name) == cudaSuccess)
        return (const void *)kernel;
    (void)cudaGetLastError();
#else
    (void)loaded, (void)name;
#endif
    return NULL;
}

static void unload(struct cud_image *loaded)
{
#if CUDART_VERSION >= 12080
    if (loaded)
        (void)cudaLibraryUnload((cudaLibrary_t)loaded);
#else
    (void)loaded;
#endif
}

extern const struct cud_device cud_device_cuda;
const struct cud_device cud_device_cuda = {
    .name = "cuda", .shared = false, .count = count, .versions = versions, .identify = identify, .open = open_device, .close = close_device,
    .facts = facts, .enter = enter, .alloc = alloc, .free = release, .stream = stream, .stream_free = stream_free,
    .put = put, .get = get, .launch = launch, .mark = mark, .wait = wait_for, .ready = ready, .native = native,
    .marks = marks, .range = range, .compile = cud_nvrtc_compile, .load = load, .find = find, .unload = unload, .gemm = gemm,
};
