/* A device: a table of functions, none optional.  One backend a file: src/device/cpu.c, cuda.c, strict.c.
 *
 * Threads: open, close and the count are for the main thread.  Everything else may be called by any thread that has called
 * enter; a stream and what is queued on it belongs to one thread at a time. */
#ifndef CUDIST_DEVICE_H
#define CUDIST_DEVICE_H

#include "cudist/kernel.h"

struct cud_dev;                            /* an opened device: the backend's own */
struct cud_stream;                         /* work in order: the backend's own */
struct cud_image;                          /* kernels that were compiled while running: the backend's own */

enum cud_memory { CUD_ON_DEVICE, CUD_ON_HOST };   /* CUD_ON_HOST: pinned, for put and get */

struct cud_device_facts {                  /* plain bytes: sent between ranks */
    char name[64];                         /* "NVIDIA H200", "cpu" */
    char uuid[48];                         /* what tells two devices apart on any host; "" on the CPU */
    char kind[64];                         /* results of vendor libraries may differ between kinds: "sm_90", "x86-64-v4" */
    char pci[24];                          /* where it is plugged in, slices of one GPU alike: "0000:17:00.0"; "" on the CPU */
    uint64_t bytes_total, bytes_free;      /* 0: host memory */
};

/* A place in a stream's work. */
struct cud_mark {
    int what;                              /* the caller's word for what stands in front of it */
    double at;                             /* when the device came there: seconds of the host's monotonic clock */
};

struct cud_device {
    const char *name;                      /* "cpu", "cuda" */
    bool shared;                           /* device memory is host memory: put and get need not be called, work is done at once */

    enum cud_status (*count)(int *devices, struct cud_err *err);      /* no driver: 0, not an error */
    /* CUDA's numbers, 12040 for 12.4, of the driver (0: none) and of the runtime; both are 0 on the CPU. */
    void (*versions)(int *driver, int *runtime);
    /* All facts but bytes_free, and leaves the device alone: asked of every device, used or not. */
    enum cud_status (*identify)(int device, struct cud_device_facts *facts, struct cud_err *err);
    enum cud_status (*open)(int device, struct cud_dev **dev, struct cud_err *err);   /* binds the calling thread as enter does */
    void (*close)(struct cud_dev *dev);                               /* NULL is fine */
    enum cud_status (*facts)(int device, struct cud_device_facts *facts, struct cud_err *err);
    enum cud_status (*enter)(struct cud_dev *dev, struct cud_err *err);   /* the calling thread works on dev from now on */

    enum cud_status (*alloc)(struct cud_dev *dev, enum cud_memory where, size_t bytes, void **p, struct cud_err *err);
    void (*free)(struct cud_dev *dev, enum cud_memory where, void *p);    /* NULL is fine */
    /* marks: how many may be set between two waits; 0: mark does nothing. */
    enum cud_status (*stream)(struct cud_dev *dev, size_t marks, struct cud_stream **stream, struct cud_err *err);
    void (*stream_free)(struct cud_stream *stream);                   /* NULL is fine; waits for what is queued */

    /* Queued in order on the stream.  Host memory stays untouched until the stream is waited for. */
    enum cud_status (*put)(struct cud_stream *stream, void *device, const void *host, size_t bytes, struct cud_err *err);
    enum cud_status (*get)(struct cud_stream *stream, void *host, const void *device, size_t bytes, struct cud_err *err);
    /* call is copied; call->stream is set by the device. */
    enum cud_status (*launch)(struct cud_stream *stream, const struct cud_kernel *kernel, const struct cud_call *call,
                              struct cud_err *err);
    enum cud_status (*mark)(struct cud_stream *stream, int what, struct cud_err *err);
    enum cud_status (*wait)(struct cud_stream *stream, struct cud_err *err);   /* until all that is queued is done */
    enum cud_status (*ready)(struct cud_stream *stream, bool *ready, struct cud_err *err);       /* is it?  Does not wait */
    void *(*native)(struct cud_stream *stream);                       /* what vendors' libraries take: a cudaStream_t; NULL: none */
    /* After a wait: the marks set before it, in order, and how many.  They are forgotten then. */
    size_t (*marks)(struct cud_stream *stream, struct cud_mark *mark);

    /* For profilers: what the calling thread does from now on; NULL: what it did before that. */
    void (*range)(const char *name);

    /* Kernels that are compiled while running; NULL, all four, where there are none.
     * compile: CUDA C++ to an image for devices of a kind, "sm_90", which need not be there.  *image is malloc'ed; NULL where nothing
     * compiles it, and why says so.  find: a kernel that is declared extern "C", for cud_call.function; NULL if it has none. */
    enum cud_status (*compile)(const char *source, const char *kind, void **image, size_t *bytes, char why[200], struct cud_err *err);
    enum cud_status (*load)(struct cud_dev *dev, const void *image, struct cud_image **loaded, struct cud_err *err);
    const void *(*find)(struct cud_image *loaded, const char *name);
    void (*unload)(struct cud_image *loaded);                         /* NULL is fine */

    /* Multiplies matrices by a vendor's library, or NULL where there is none.  why says what was missing. */
    const struct cud_gemm *(*gemm)(struct cud_dev *dev, char why[200]);
};

#endif
