/* Launches and what is known of a kernel (chapters 6.8 and 6.9). */
#include <cstdio>
#include "rt.h"

namespace emu {

constexpr size_t SHARED = 49152, SHARED_MOST = 98304;
constexpr u64 MOST_INSTRUCTIONS = 200000000000;

struct configuration {
    dim3 grid, block;
    size_t dynamic;
    cudaStream_t s;
};
static thread_local std::vector<configuration> configurations;    /* of <<<>>> */

/* The limits of compute capability 7.5 (programming guide, "Compute Capabilities"). */
static cudaError_t check(const configuration &c, const function *f, const ptx::kernel *k)
{
    const u64 threads = (u64)c.block.x * c.block.y * c.block.z;
    if (!threads || !c.grid.x || !c.grid.y || !c.grid.z || threads > 1024 || c.block.z > 64 || c.grid.x > 0x7fffffff ||
        c.grid.y > 65535 || c.grid.z > 65535)
        return cudaErrorInvalidConfiguration;
    const size_t most = f->most_dynamic ? (size_t)f->most_dynamic : SHARED - std::min(SHARED, k->shared_bytes);
    if ((k->max_threads && threads > k->max_threads) || c.dynamic > most || k->shared_bytes + c.dynamic > SHARED_MOST)
        return cudaErrorInvalidValue;
    if (!k->error.empty()) {
        fprintf(stderr, "cudaemu: kernel %s: %s\n", k->name.c_str(), k->error.c_str());
        return cudaErrorInvalidPtx;
    }
    return cudaSuccess;
}

/* Kernels may touch what their device has allocated, its peers, and all pinned memory; as it is when they start. */
static bool set_ranges(ptx::launch &l, int number)
{
    const guard g(lock);
    const device *const d = devices()[number].get();
    const auto add = [&](const device *of) {
        for (const auto &[address, bytes] : of->allocations)
            l.ranges.push_back({address, address + bytes, (int64_t)(of->host - of->base)});
    };
    add(d);
    for (int peer : d->peers)
        add(devices()[peer].get());
    for (const auto &[address, bytes] : pinned())
        l.ranges.push_back({address, address + bytes, 0});
    return d->sticky == cudaSuccess;
}

static void run(ptx::launch &l, int number)
{
    if (const int code = injected_work("kernel"))
        set_sticky(number, code, "CUDAEMU_FAIL: kernel " + l.k->name);
    if (!set_ranges(l, number))
        return;
    try {
        ptx::run(l);
    } catch (const ptx::fault &f) {
        set_sticky(number, f.code, f.text);
    }
}

/* Locked.  The function's kernel on the current device, or NULL with *e. */
static const ptx::kernel *kernel_of(const function *f, cudaError_t *e)
{
    const ptx::kernel *k = nullptr;
    try {
        k = f ? find_kernel(f, current) : nullptr;
        *e = k ? cudaSuccess : f && f->from->texts.empty() ? cudaErrorNoKernelImageForDevice : cudaErrorInvalidDeviceFunction;
    } catch (const std::exception &x) {
        fprintf(stderr, "cudaemu: PTX: %s\n", x.what());
        *e = cudaErrorInvalidPtx;
    }
    return k;
}

static cudaError_t launch(const void *handle, const configuration &c, void **arguments)
{
    auto l = std::make_shared<ptx::launch>();
    stream_ref s;
    {
        const guard g(lock);
        const function *const f = find_function(handle);
        cudaError_t e;
        const ptx::kernel *const k = kernel_of(f, &e);
        s = find_stream(c.s);
        if (k && (!s || s->device != current))
            e = cudaErrorInvalidResourceHandle;
        if (e == cudaSuccess)
            e = check(c, f, k);
        if (e == cudaSuccess && !f->asked_about && setting("CUDAEMU_WARM", 0)) {
            fprintf(stderr, "cudaemu: kernel %s was not loaded before its launch\n", k->name.c_str());
            e = cudaErrorInvalidDeviceFunction;
        }
        if (e != cudaSuccess)
            return result(e);
        l->k = k;
    }
    const unsigned grid[] = {c.grid.x, c.grid.y, c.grid.z}, block[] = {c.block.x, c.block.y, c.block.z};
    memcpy(l->grid, grid, sizeof grid);
    memcpy(l->block, block, sizeof block);
    l->dynamic_bytes = c.dynamic;
    l->most_instructions = setting("CUDAEMU_MAX_INS", MOST_INSTRUCTIONS);
    l->reverse = setting("CUDAEMU_REVERSE", 0);
    l->params.resize(l->k->param_bytes + 8);
    for (size_t n = 0; n < l->k->params.size(); n++)
        memcpy(&l->params[l->k->params[n].offset], arguments[n], l->k->params[n].bytes);
    push(s, [l, number = current] { run(*l, number); });
    return result(cudaSuccess);
}

static cudaError_t set_attribute(const void *handle, cudaFuncAttribute a, int value)
{
    const guard l(lock);
    function *const f = find_function(handle);
    if (!f)
        return result(cudaErrorInvalidDeviceFunction);
    if (a != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return result(cudaSuccess);
    if (value < 0 || (size_t)value > SHARED_MOST)
        return result(cudaErrorInvalidValue);
    f->most_dynamic = value;
    return result(cudaSuccess);
}

}

using namespace emu;

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t dynamic, void *s)
{
    configurations.push_back({grid, block, dynamic, (cudaStream_t)s});
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *dynamic, void *s)
{
    if (configurations.empty())
        return result(cudaErrorMissingConfiguration);
    const configuration c = configurations.back();
    configurations.pop_back();
    *grid = c.grid;
    *block = c.block;
    *dynamic = c.dynamic;
    *(cudaStream_t *)s = c.s;
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *k, const void *stub)
{
    *k = (cudaKernel_t)stub;
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **arguments, size_t dynamic, cudaStream_t s)
{
    ENTER(d);
    return launch(f, {grid, block, dynamic, s}, arguments);
}

/* What <<<>>> comes to since CUDA 12. */
cudaError_t __cudaLaunchKernel(cudaKernel_t k, dim3 grid, dim3 block, void **arguments, size_t dynamic, cudaStream_t s)
{
    return cudaLaunchKernel((const void *)k, grid, block, arguments, dynamic, s);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, const void *handle)
{
    ENTER(d);
    const guard l(lock);
    cudaError_t e;
    function *const f = find_function(handle);
    const ptx::kernel *const k = kernel_of(f, &e);
    if (!k)
        return result(e);
    f->asked_about = true;
    memset(a, 0, sizeof *a);
    a->maxThreadsPerBlock = k->max_threads ? (int)k->max_threads : 1024;
    a->sharedSizeBytes = k->shared_bytes;
    a->localSizeBytes = k->local_bytes;
    a->numRegs = 32;
    a->ptxVersion = a->binaryVersion = 75;
    a->maxDynamicSharedSizeBytes = (int)(SHARED - std::min(SHARED, k->shared_bytes));
    return result(cudaSuccess);
}

cudaError_t cudaFuncSetAttribute(const void *handle, cudaFuncAttribute a, int value)
{
    ENTER_ANY();
    return set_attribute(handle, a, value);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t k, cudaFuncAttribute a, int value, int)
{
    ENTER_ANY();
    return set_attribute((const void *)k, a, value);
}

cudaError_t cudaFuncSetCacheConfig(const void *, cudaFuncCache) { return result(cudaSuccess); }

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int threads, size_t)
{
    ENTER_ANY();
    *blocks = threads > 0 ? 1024 / threads : 1;
    return result(cudaSuccess);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *, int threads, size_t, unsigned)
{
    ENTER_ANY();
    *blocks = threads > 0 ? 1024 / threads : 1;
    return result(cudaSuccess);
}

}
