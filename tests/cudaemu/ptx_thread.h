/* Threads and blocks while they run, and how instructions get at values and memory. */
#ifndef CUDAEMU_PTX_THREAD_H
#define CUDAEMU_PTX_THREAD_H

#include <cstring>
#include <type_traits>
#include <vector>
#include "ptx.h"

namespace ptx {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using u128 = unsigned __int128;
using s128 = __int128;
using f16 = _Float16;

/* Generic addresses (section 5.1): windows for shared and local memory far above any real address. */
constexpr u64 SHARED_WINDOW = 1ull << 60, LOCAL_WINDOW = 2ull << 60, WINDOWS = ~0ull << 60;

struct block {
    const launch *l;
    const kernel *k;
    std::vector<u8> shared;
    std::vector<thread> threads;
    u32 number[3];
};

struct thread {
    u64 *slots = nullptr;
    u32 pc = 0;
    int state = NEXT;                     /* else where it waits, or EXIT */
    u32 carry = 0;                        /* CC.CF (section 9.7.2) */
    const ins *at = nullptr;              /* what it waits at */
    range last{1, 0, 0};                  /* of global memory, touched last */
    u8 *local = nullptr;
    block *b = nullptr;
    u32 id[3] = {}, linear = 0;
};

[[noreturn]] void fail(int code, const std::string &text);
std::string hex(u64 v);

/* The host address of n bytes at address a; a fault if they are not the kernel's to touch. */
u8 *at_global(thread &t, u64 a, unsigned n);
u8 *at_shared(thread &t, u64 a, unsigned n);
u8 *at_local(thread &t, u64 a, unsigned n);
u8 *at_param(thread &t, u64 a, unsigned n);
u8 *at_generic(thread &t, u64 a, unsigned n);
u8 *at_space(thread &t, int where, u64 a, unsigned n);

template <class T> inline T get(u64 slot)
{
    T x;
    memcpy(&x, &slot, sizeof x);
    return x;
}
template <class T> inline void put(u64 &slot, T x)
{
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>)
        slot = (u64)(s64)x;
    else {
        slot = 0;
        memcpy(&slot, &x, sizeof x);
    }
}

/* A float that an instruction has computed: NaN is the one canonical NaN of a GPU (sections 9.7.3 and 9.7.4), which differs from
 * an x86's; f64 keeps its payload. */
template <class T> inline void put_float(u64 &slot, T x)
{
    put<T>(slot, x);
    if (x != x && sizeof(T) < 8)
        slot = sizeof(T) == 4 ? 0x7fffffff : 0x7fff;
}

}
#endif
