/* More words for kernels that work on rows, within ROWS only:
 *
 *   ROW_NEXT(p, n, spot, down)  the index of the element of p[0..n) that comes after `spot` (a cud_spot<T> variable, at first
 *                               {}), which moves there; n if there is none; JOINs first.  The greatest comes first, with down
 *                               the least; of equal ones that with the lowest index.  NaN is greater than infinity, but with
 *                               down it comes last too.  All lanes must call it, and all are told.
 */
#ifndef CUD_KERNELS_ROWS_H
#define CUD_KERNELS_ROWS_H

#include "kernel.h"

/* A number's place among all: a greater key is a better number; never 0.  -0 has the key of 0. */
template <bool down, class T> HELPER typename cud_bits<T>::type cud_key(T x)
{
    typedef typename cud_bits<T>::type U;
    const U sign = (U)1 << (8 * sizeof(T) - 1), u = BITS(x + T(0)), up = u & sign ? ~u : u | sign;
    return x == x ? down ? ~up : up : down ? U(1) : ~U(0);
}

/* The elements that come after this one: a lesser key, or the same at `next` or behind. */
template <class T> struct cud_spot {
    typename cud_bits<T>::type key = ~(typename cud_bits<T>::type)0;
    size_t next = 0;
};

#ifdef __CUDACC__
#include "rows_on_cuda.h"
#else
#include "rows_on_cpu.h"
#endif
#endif
