/* f16 and bf16 as bits. */
#ifndef CUDAEMU_PTX_HALF_H
#define CUDAEMU_PTX_HALF_H

#include "ptx_thread.h"

namespace ptx {

/* The upper half of an f32. */
struct bf16 {
    u16 bits;
    bf16() = default;
    explicit bf16(float x) : bits(0x7fff)
    {
        u32 u;
        memcpy(&u, &x, sizeof u);
        if (x == x)
            bits = u16((u + 0x7fff + (u >> 16 & 1)) >> 16);   /* to nearest, ties to even */
    }
    operator float() const
    {
        const u32 u = u32(bits) << 16;
        float x;
        memcpy(&x, &u, sizeof x);
        return x;
    }
};

}
#endif
