/* Memory of devices and pinned memory (chapter 6.11), and what a pointer is (6.13).
 *
 * A device's memory is mapped twice: where kernels and callers see it, nobody may touch it, so that a host that follows a device
 * pointer is caught; we use the other mapping. */
#include <cstdlib>
#include <fcntl.h>
#include "rt.h"

namespace emu {

constexpr u64 ALIGN = 512, GAP = 512, PAGE = 4096;
static auto &pins = *new std::map<u64, u64>;
static auto &registered = *new std::set<u64>;      /* pins that are the caller's memory */

const std::map<u64, u64> &pinned() { return pins; }

static u64 round_up(u64 n, u64 to) { return (n + to - 1) / to * to; }

static bool lies_within(const std::map<u64, u64> &ranges, u64 address, size_t bytes)
{
    auto r = ranges.upper_bound(address);
    if (r == ranges.begin())
        return false;
    --r;
    return address + bytes <= r->first + r->second;
}

bool is_allocated(device *d, u64 address, size_t bytes) { return lies_within(d->allocations, address, bytes); }
bool is_pinned(u64 address, size_t bytes) { return lies_within(pins, address, bytes); }

u8 *for_host(u64 address)
{
    const device *const d = owner(address);
    return (u8 *)(d ? address - d->base + d->host : address);
}

/* New memory is all ones: NaN to whoever reads it unwritten. */
u64 allocate(device *d, size_t bytes)
{
    const u64 n = round_up(bytes, ALIGN);
    if (bytes > d->total || d->used + n > d->total)
        return 0;
    for (auto h = d->holes.begin(); h != d->holes.end(); ++h)
        if (h->second >= n + GAP) {
            const u64 address = h->first, rest = h->second - n - GAP;
            d->holes.erase(h);
            d->holes[address + n + GAP] = rest;
            d->used += n;
            d->allocations[address] = bytes;
            memset(for_host(address), 0xff, n);
            return address;
        }
    return 0;
}

/* Joins a hole with the one behind it. */
static void join(std::map<u64, u64> &holes, std::map<u64, u64>::iterator h)
{
    const auto next = std::next(h);
    if (next != holes.end() && h->first + h->second == next->first) {
        h->second += next->second;
        holes.erase(next);
    }
}

bool release(u64 address)
{
    device *const d = owner(address);
    const auto a = d ? d->allocations.find(address) : std::map<u64, u64>::iterator();
    if (!d || a == d->allocations.end())
        return false;
    const u64 n = round_up(a->second, ALIGN), from = round_up(address - d->base, PAGE), to = (address - d->base + n) & ~(PAGE - 1);
    if (to > from)                        /* its pages go back to the system, if it will have them */
        (void)!fallocate(d->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(to - from));
    d->used -= n;
    d->allocations.erase(a);
    d->holes[address] = n + GAP;
    const auto h = d->holes.find(address);
    join(d->holes, h);
    if (h != d->holes.begin())
        join(d->holes, std::prev(h));
    return true;
}

static cudaError_t allocate_for(void **p, size_t bytes, device *d)
{
    if (!p)
        return result(cudaErrorInvalidValue);
    *p = nullptr;
    if (bytes == 0)
        return result(cudaSuccess);
    const guard l(lock);
    *p = (void *)allocate(d, bytes);
    return result(*p ? cudaSuccess : cudaErrorMemoryAllocation);
}

static cudaError_t allocate_pinned(void **p, size_t bytes)
{
    if (posix_memalign(p, PAGE, bytes ? bytes : 1))
        return result(cudaErrorMemoryAllocation);
    const guard l(lock);
    pins[(u64)*p] = bytes;
    return result(cudaSuccess);
}

/* Locked. */
static bool unpin(void *p, bool is_registered)
{
    if (!pins.count((u64)p) || registered.count((u64)p) != is_registered)
        return false;
    pins.erase((u64)p);
    registered.erase((u64)p);
    if (!is_registered)
        free(p);
    return true;
}

}

using namespace emu;

extern "C" {

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    ENTER(d);
    return allocate_for(p, bytes, d);
}

cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t)
{
    ENTER(d);
    return allocate_for(p, bytes, d);
}

cudaError_t cudaMallocPitch(void **p, size_t *pitch, size_t bytes, size_t rows)
{
    ENTER(d);
    *pitch = round_up(bytes, ALIGN);
    return allocate_for(p, *pitch * rows, d);
}

/* It waits for all work of the device. */
cudaError_t cudaFree(void *p)
{
    ENTER(d);
    if (!p)
        return result(cudaSuccess);
    if (const cudaError_t e = synchronize(d))
        return e;
    const guard l(lock);
    return result(release((u64)p) || unpin(p, false) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t h)
{
    ENTER(d);
    stream_ref s;
    {
        const guard l(lock);
        s = find_stream(h);
    }
    if (!s)
        return result(cudaErrorInvalidResourceHandle);
    drain(s);
    const guard l(lock);
    return result(release((u64)p) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned)
{
    ENTER(d);
    return allocate_pinned(p, bytes);
}

cudaError_t cudaMallocHost(void **p, size_t bytes)
{
    ENTER(d);
    return allocate_pinned(p, bytes);
}

/* Pinned memory serves: both sides may use it. */
cudaError_t cudaMallocManaged(void **p, size_t bytes, unsigned)
{
    ENTER(d);
    return allocate_pinned(p, bytes);
}

cudaError_t cudaFreeHost(void *p)
{
    ENTER_ANY();
    if (!p)
        return result(cudaSuccess);
    if (!devices().empty())
        synchronize(devices()[current].get());
    const guard l(lock);
    return result(unpin(p, false) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned)
{
    ENTER(d);
    const guard l(lock);
    if (pins.count((u64)p))
        return result(cudaErrorHostMemoryAlreadyRegistered);
    pins[(u64)p] = bytes;
    registered.insert((u64)p);
    return result(cudaSuccess);
}

cudaError_t cudaHostUnregister(void *p)
{
    ENTER_ANY();
    const guard l(lock);
    return result(unpin(p, true) ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void **d, void *h, unsigned)
{
    ENTER_ANY();
    const guard l(lock);
    if (!is_pinned((u64)h, 1))
        return result(cudaErrorInvalidValue);
    *d = h;
    return result(cudaSuccess);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    ENTER(d);
    const guard l(lock);
    *total = d->total;
    *free_bytes = d->total - d->used;
    return result(cudaSuccess);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *a, const void *p)
{
    ENTER_ANY();
    const device *const of = owner((u64)p);
    const guard l(lock);
    memset(a, 0, sizeof *a);
    a->type = of ? cudaMemoryTypeDevice : is_pinned((u64)p, 1) ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
    a->device = of ? of->number : a->type == cudaMemoryTypeHost ? current : -1;
    a->devicePointer = a->type == cudaMemoryTypeUnregistered ? nullptr : const_cast<void *>(p);
    a->hostPointer = of ? nullptr : const_cast<void *>(p);
    return result(cudaSuccess);
}

/* Other processes do not see an emulated device. */
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *, void *) { return result(cudaErrorNotSupported); }
cudaError_t cudaIpcOpenMemHandle(void **, cudaIpcMemHandle_t, unsigned) { return result(cudaErrorNotSupported); }
cudaError_t cudaIpcCloseMemHandle(void *) { return result(cudaErrorNotSupported); }

}
