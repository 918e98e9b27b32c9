/* Copies and fills (chapter 6.11), as synchronous as "API synchronization behavior" (chapter 2) says. */
#include "rt.h"

namespace emu {

/* One end of a copy. */
struct end {
    bool of_device, is_pinned;
};

/* Locked.  False: not all of it is allocated. */
static bool look_at(u64 address, size_t bytes, end *e)
{
    device *const d = owner(address);
    *e = {d != nullptr, is_pinned(address, bytes)};
    return !d || is_allocated(d, address, bytes);
}

static bool fits(cudaMemcpyKind kind, const end &to, const end &from)
{
    switch (kind) {
    case cudaMemcpyHostToDevice: return to.of_device && !from.of_device;
    case cudaMemcpyDeviceToHost: return !to.of_device && from.of_device;
    case cudaMemcpyHostToHost: return !to.of_device && !from.of_device;
    case cudaMemcpyDeviceToDevice: return (to.of_device || to.is_pinned) && (from.of_device || from.is_pinned);
    default: return true;
    }
}

static void copy_rows(const copying &c, const u8 *from, int device)
{
    if (const int code = injected_work("copy"))
        set_sticky(device, code, "CUDAEMU_FAIL: copy");
    {
        const guard l(lock);
        if (devices()[device]->sticky != cudaSuccess)
            return;
    }
    for (size_t row = 0; row < c.rows; row++)
        memmove(for_host(c.to) + row * c.to_pitch, from + row * c.from_pitch, c.bytes);
}

static cudaError_t copy_checked(copying c, cudaStream_t h, bool async)
{
    const size_t to_bytes = c.to_pitch * (c.rows - 1) + c.bytes, from_bytes = c.from_pitch * (c.rows - 1) + c.bytes;
    stream_ref s;
    end to, from;
    {
        const guard l(lock);
        s = find_stream(h);
        if (!s)
            return result(cudaErrorInvalidResourceHandle);
        if (!look_at(c.to, to_bytes, &to) || !look_at(c.from, from_bytes, &from) || !fits(c.kind, to, from))
            return result(cudaErrorInvalidValue);
    }
    const int device = current;
    const bool pageable_in = !from.of_device && !from.is_pinned, pageable_out = !to.of_device && !to.is_pinned;
    u64 number;
    if (pageable_in && to.of_device && async) {        /* staged at once, so the caller may change it */
        const std::vector<u8> staged((const u8 *)c.from, (const u8 *)c.from + from_bytes);
        number = push(s, [=] { copy_rows(c, staged.data(), device); });
    } else
        number = push(s, [=] { copy_rows(c, for_host(c.from), device); });
    if (async && !pageable_out)
        return result(cudaSuccess);       /* what goes wrong is told later */
    wait_for(s, number);
    const guard l(lock);
    return result(devices()[device]->sticky);
}

cudaError_t copy(const copying &c, cudaStream_t h, bool async)
{
    if (c.bytes == 0 || c.rows == 0)
        return result(cudaSuccess);
    if (c.kind < cudaMemcpyHostToHost || c.kind > cudaMemcpyDefault)
        return result(cudaErrorInvalidMemcpyDirection);
    return !c.to || !c.from ? result(cudaErrorInvalidValue) : copy_checked(c, h, async);
}

static copying flat(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    return {(u64)to, (u64)from, bytes, 1, bytes, bytes, kind};
}

static cudaError_t fill(void *p, int byte, size_t bytes, cudaStream_t h)
{
    stream_ref s;
    {
        const guard l(lock);
        end e;
        s = find_stream(h);
        if (!s)
            return result(cudaErrorInvalidResourceHandle);
        if (!look_at((u64)p, bytes, &e) || !(e.of_device || e.is_pinned))
            return result(cudaErrorInvalidValue);
    }
    if (bytes)
        push(s, [=] { memset(for_host((u64)p), byte, bytes); });
    return result(cudaSuccess);
}

}

using namespace emu;

extern "C" {

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    ENTER(d);
    return copy(flat(to, from, bytes, kind), nullptr, false);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t s)
{
    ENTER(d);
    return copy(flat(to, from, bytes, kind), s, true);
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t bytes, size_t rows,
                         cudaMemcpyKind kind)
{
    ENTER(d);
    return copy({(u64)to, (u64)from, bytes, rows, to_pitch, from_pitch, kind}, nullptr, false);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t bytes, size_t rows,
                              cudaMemcpyKind kind, cudaStream_t s)
{
    ENTER(d);
    return copy({(u64)to, (u64)from, bytes, rows, to_pitch, from_pitch, kind}, s, true);
}

cudaError_t cudaMemcpyPeer(void *to, int, const void *from, int, size_t bytes)
{
    ENTER(d);
    return copy(flat(to, from, bytes, cudaMemcpyDeviceToDevice), nullptr, false);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int, const void *from, int, size_t bytes, cudaStream_t s)
{
    ENTER(d);
    return copy(flat(to, from, bytes, cudaMemcpyDeviceToDevice), s, true);
}

cudaError_t cudaMemset(void *p, int byte, size_t bytes)
{
    ENTER(d);
    return fill(p, byte, bytes, nullptr);
}

cudaError_t cudaMemsetAsync(void *p, int byte, size_t bytes, cudaStream_t s)
{
    ENTER(d);
    return fill(p, byte, bytes, s);
}

}
