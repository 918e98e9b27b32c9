/* The runtime half: the CUDA runtime API, as NVIDIA's "CUDA Runtime API" reference says (its chapter 6), on the CPU.
 *
 * All state is under one lock.  A stream is a queue and a thread.  Nothing is ever torn down: threads may outlive main(). */
#ifndef CUDAEMU_RT_H
#define CUDAEMU_RT_H

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <cuda_runtime_api.h>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>
#include "ptx.h"

namespace emu {

using u8 = uint8_t;
using u32 = uint32_t;
using u64 = uint64_t;
using guard = std::lock_guard<std::mutex>;

extern std::mutex &lock;                  /* "Locked.": to be called with it held */
extern std::condition_variable &changed;  /* some stream has done something */
u64 setting(const char *name, u64 otherwise);     /* a number from the environment */

/* ---- streams */

struct stream {
    int device;
    bool blocking;                        /* waits for the default stream, and that for it */
    bool stop = false;
    u64 queued = 0, done = 0;
    std::deque<std::function<void()>> queue;
    std::condition_variable wake;
};
using stream_ref = std::shared_ptr<stream>;

stream_ref make_stream(int device, bool blocking);
/* Locked.  Of the current device for the default stream; NULL for what is no stream. */
stream_ref find_stream(cudaStream_t h);
/* Queues work; its number, for wait_for. */
u64 push(const stream_ref &s, std::function<void()> work);
void wait_for(const stream_ref &s, u64 number);
void drain(const stream_ref &s);

/* ---- devices */

constexpr u64 WINDOW = 64ull << 30;       /* addresses of one device */

struct device {
    int number, physical;
    u64 base = 0;                         /* device addresses: no access for the host */
    u64 host = 0;                         /* the same memory for us */
    int fd = -1;
    size_t used = 0, total = 0;
    std::map<u64, u64> allocations, holes;    /* address: bytes */
    cudaError_t sticky = cudaSuccess;     /* it stays until cudaDeviceReset */
    stream_ref default_stream;
    std::set<stream_ref> streams;
    std::set<int> peers;
};

std::vector<std::unique_ptr<device>> &devices();
extern thread_local int current;
device *owner(u64 address);               /* NULL: not a device's */
cudaError_t synchronize(device *d);
void set_sticky(int device, int code, const std::string &text);

/* ---- errors */

cudaError_t result(cudaError_t e);        /* keeps it for cudaGetLastError */
void forget_error();
/* What CUDAEMU_FAIL wants of this call, or cudaSuccess. */
cudaError_t injected(const char *call);
/* The same for kernels and copies as they run: a code for set_sticky, or 0. */
int injected_work(const char *what);
/* How a call begins: *d is the current device, unless something is wrong with it or the call is to fail. */
cudaError_t enter(const char *call, device **d);
#define ENTER(d)                                            \
    device *d;                                              \
    if (const cudaError_t error_ = enter(__func__, &d))     \
    return error_
/* For calls that work without a good device. */
#define ENTER_ANY()                                         \
    if (const cudaError_t error_ = injected(__func__))      \
    return error_

/* ---- memory; all Locked. */

u64 allocate(device *d, size_t bytes);    /* 0: there is not so much */
bool release(u64 address);                /* of a device; false: never allocated */
bool is_allocated(device *d, u64 address, size_t bytes);
bool is_pinned(u64 address, size_t bytes);
const std::map<u64, u64> &pinned();
u8 *for_host(u64 address);                /* where the host finds it */

/* rows of bytes; pitches are of no meaning for one row. */
struct copying {
    u64 to, from;
    size_t bytes, rows, to_pitch, from_pitch;
    cudaMemcpyKind kind;
};
cudaError_t copy(const copying &c, cudaStream_t s, bool async);

/* ---- modules */

/* PTX texts that came together: read for each device when first needed. */
struct image {
    std::vector<std::string> texts;
    std::map<int, std::vector<ptx::module>> modules;      /* by device */
};
/* Of the devices: the newest that the program brings PTX for, 90 for 9.0; at least 75. */
int architecture();

struct function {
    image *from;
    std::string name;
    int most_dynamic = 0;                 /* cudaFuncAttributeMaxDynamicSharedMemorySize */
    bool asked_about = false;             /* cudaFuncGetAttributes: where loading is lazy, it is loaded then */
};
/* All Locked. */
const std::vector<ptx::module> &modules_of(image *i, int device);
function *find_function(const void *handle);              /* a host stub, or cudaKernel_t */
function *find_library_function(const void *handle);
const ptx::kernel *find_kernel(const function *f, int device);
const ptx::variable *find_variable(image *i, const std::string &name, int device);
void forget_modules(int device);
void free_variables(image *i);

}
#endif
