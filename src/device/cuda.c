/* A CUDA GPU: a thin map to the runtime API.  CUDA's errors become ours here and nowhere else. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cublaslt.h"
#include "launch.h"
#include "registry.h"

struct cud_dev { int number; };
struct cud_stream { cudaStream_t stream; };

/* what: what was being done, with the facts. */
static enum cud_status check(cudaError_t code, const char *what, struct cud_err *err)
{
    return code == cudaSuccess ? CUD_OK : FAIL(err, CUD_EFAILED, "%s: %s (%s)", what, cudaGetErrorString(code), cudaGetErrorName(code));
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

static enum cud_status enter(struct cud_dev *dev, struct cud_err *err)
{
    return check(cudaSetDevice(dev->number), "choosing the GPU", err);
}

static enum cud_status open_device(int device, struct cud_dev **dev, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_dev *d = malloc(sizeof *d);
    if (!d)
        return FAIL(err, CUD_EFAILED, "no memory for a device");
    d->number = device;
    TRY(enter(d, err));
    TRY(check(cudaFree(NULL), "starting the GPU", err));       /* makes the context now, not in the first window */
    *dev = d;
    d = NULL;
done:
    free(d);
    return status;
}

static void close_device(struct cud_dev *dev) { free(dev); }

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
    TRY(check(cudaGetDeviceProperties(&p, device), "asking the GPU what it is", err));
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
    TRY(check(cudaSetDevice(device), "choosing the GPU", err));
    TRY(check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking the GPU for its memory", err));
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

static enum cud_status stream(struct cud_dev *dev, struct cud_stream **s, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_stream *new = malloc(sizeof *new);
    (void)dev;
    if (!new)
        return FAIL(err, CUD_EFAILED, "no memory for a stream");
    TRY(check(cudaStreamCreateWithFlags(&new->stream, cudaStreamNonBlocking), "making a stream", err));
    *s = new;
    new = NULL;
done:
    free(new);
    return status;
}

static void stream_free(struct cud_stream *s)
{
    if (!s)
        return;
    (void)cudaStreamSynchronize(s->stream);
    (void)cudaStreamDestroy(s->stream);
    free(s);
}

static enum cud_status put(struct cud_stream *s, void *device, const void *host, size_t bytes, struct cud_err *err)
{
    return check(bytes ? cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, s->stream) : cudaSuccess, "copying to the GPU", err);
}

static enum cud_status get(struct cud_stream *s, void *host, const void *device, size_t bytes, struct cud_err *err)
{
    return check(bytes ? cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, s->stream) : cudaSuccess, "copying from the GPU", err);
}

static enum cud_status launch(struct cud_stream *s, const struct cud_kernel *kernel, const struct cud_call *call, struct cud_err *err)
{
    struct cud_call c = *call;
    char what[100];
    c.stream = s->stream;
    snprintf(what, sizeof what, "starting kernel %s", kernel->name);
    const int code = kernel->launch(&c);
    return code < 0 ? cud_launch_failed(kernel, &c, code, err) : check((cudaError_t)code, what, err);
}

static enum cud_status wait_for(struct cud_stream *s, struct cud_err *err)
{
    return check(cudaStreamSynchronize(s->stream), "working on the GPU", err);
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

extern const struct cud_device cud_device_cuda;
const struct cud_device cud_device_cuda = {
    .name = "cuda", .shared = false, .count = count, .identify = identify, .open = open_device, .close = close_device,
    .facts = facts, .enter = enter, .alloc = alloc, .free = release, .stream = stream, .stream_free = stream_free,
    .put = put, .get = get, .launch = launch, .wait = wait_for, .gemm = gemm,
};
