/* All that a kernel file includes, and all the vocabulary it needs.  A kernel is written once: as CUDA for nvcc, as plain C++
 * for the CPU.  docs/kernels-internals.md has an example of each kind.
 *
 * A launch is cut among blocks of LANES lanes; a lane is a thread on a GPU.
 *
 *   MAP(x, y, n, v, f)    y[i] = f, an expression of v = x[i], for every i below n; y may be x if its elements are as long
 *   EACH(i, n)            every element once, in any order; a body writes what belongs to its i only
 *   TILES(t, n)           every tile once, one block of lanes to a tile
 *   ROWS(r, n, cols)      every row once, a team of lanes to a row: 1, 32 or a block, as suits so many columns
 *
 * Within TILES or ROWS all lanes run all statements; what is declared there is each lane's own.  And:
 *
 *   MAP_OF(x, y, n, v, f) the same as MAP, shared out among the lanes
 *   EACH_OF(i, n)         every i below n once, shared out among the lanes; integers may be summed up in a lane's variable
 *   EACH_PAIR(r, m, c, n, pitch)   the same for every r < m, c < n; the constant pitch is not below n
 *   JOIN()                waits for all lanes: between writing something shared and reading it in another lane
 *   ONCE()                one lane only
 *   ROW_SUM(p, n)         the sum of p[0..n) as a double, in one fixed order (below); JOINs first; ROWS only
 *   ROW_SUM_BY(f, n)      the same of f(0), ..., f(n - 1), a function that gives doubles
 *   ROW_GREATEST(k, f, n)  the greatest of the integers f(0), ..., f(n - 1), and of k, the least there is; JOINs first; ROWS only
 *   ROW_MOST(p, n)        the greatest of p[0..n) that is not NaN, -inf if none; JOINs first; ROWS only
 *
 * Within TILES only:
 *
 *   SHARED(T, a, n)       an array the lanes share
 *   PRIVATE(T, a, n)      arrays of n that outlive phases, each lane's its own: MINE(a, i, l) points to element i of lane l
 *   PHASE(l)              run by every lane l; JOINs at its end
 *   PHASE_TO(l, n)        lanes below n only
 *   PACKS(l) PACKS_TO(l, n)   the same, a pack of neighbouring lanes at a time, l is the first of them (n: a multiple of 16)
 *   TOTAL(v)              the sum of the lanes' unsigned ints v, told to all
 *   FIND(a, v, n)         the first of a[0..n) that equals v, or n, told to all;  FIND_NAN(a, n) the first that is NaN
 *
 *   pack<T>               one T (float or double) for each lane of a pack, at most 16, with + - * and:
 *     LOAD(p) STORE(p, v)       from and to memory;  STORE_TO(p, v, n)  the first n at most;  WIDE(p)  LOAD as doubles
 *     ALL(x)                    x in every lane
 *     LESSER GREATER(a, b)      a < b ? a : b;  a > b ? a : b (so b if they are equal or either is NaN).  Also of one T
 *     PLUS(a, b)                a + b, of doubles, by the machine's other units: faster where sums are many
 *     IF_LESS(a, b, x, y)       a < b ? x : y
 *     MAGNITUDE(a)              a without its sign.  Also of one T
 *
 * What is done to many elements one operation after the other, as in expr.cu (no lanes share anything there):
 *
 *   STRIPS(at, m, n)      strips of m <= STRIP neighbouring elements, at is the first: as many as stay in the first cache, on a
 *                         GPU one for each lane;  STRIP_ARRAY(T, a, k) an array of k strips
 *   EACH_IN_CHUNK(l)      a strip's arrays are whole chunks of CHUNK elements: a loop over one
 *
 * Anywhere: UNROLL before a loop of few turns, BITS(x) and FROM_BITS<T>(u) (a float's bits as an integer and back), QUIET(x) (x;
 * the one quiet NaN for a NaN).  On the host: INDEX_MAX(type), the last of the whole numbers from 0 on that this type has
 * without a gap.
 *
 * Why the bytes are the same everywhere: no contraction to fma; every sum has one fixed order, whatever the width of a pack
 * or of a block; lanes meet only where they JOIN.  A phase must not depend on the order of lanes: one build runs EACH, TILES
 * and PHASE backwards.  ROW_SUM's order: below 32 elements, one after the other; up to 4096, lane l adds elements l, l + 32,
 * ... and the lanes are added in a tree; beyond, pieces of 4096 are so summed, lane w of 8 adds pieces w, w + 8, ..., and the
 * 8 are added in a tree.  All sums start at +0 and are of doubles. */
#ifndef CUD_KERNELS_KERNEL_H
#define CUD_KERNELS_KERNEL_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "cudist/kernel.h"

#define LANES 256
#define ROW_LANES 32
#define ROW_PIECE 4096
#define ROW_PIECES 8
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

#ifdef __CUDACC__
#include "on_cuda.h"
#else
#include "on_cpu.h"
#endif

template <class T> struct cud_bits;
template <> struct cud_bits<float> { typedef uint32_t type; };
template <> struct cud_bits<double> { typedef uint64_t type; };
template <class T> HELPER typename cud_bits<T>::type BITS(T x)
{
    typename cud_bits<T>::type u;
    memcpy(&u, &x, sizeof u);
    return u;
}
template <class T> HELPER T FROM_BITS(typename cud_bits<T>::type u)
{
    T x;
    memcpy(&x, &u, sizeof x);
    return x;
}

template <class T> HELPER T cud_nan();
template <> HELPER_OF float cud_nan<float>() { return FROM_BITS<float>(0x7fc00000); }
template <> HELPER_OF double cud_nan<double>() { return FROM_BITS<double>(0x7ff8000000000000); }
template <class T> HELPER T QUIET(T x) { return x == x ? x : cud_nan<T>(); }

#ifndef __CUDACC_RTC__                      /* the host's part */
static inline uint64_t INDEX_MAX(enum cud_type type) { return (uint64_t)1 << (type == CUD_F64 ? 53 : 24); }
#endif

/* A step's launch function for call->type, of a template for the type. */
#define BY_TYPE(launch) \
    [](const struct cud_call *c) -> int { return c->type == CUD_F64 ? launch<double>(c) : launch<float>(c); }

/* EXPORT(name, .brief = ..., ...): the kernel as the host sees it, one in each file, under the file's name. */
#define EXPORT(k, ...) EXPORT_(k, CUD_SUFFIX, __VA_ARGS__)
#define EXPORT_(k, s, ...) EXPORT__(k, s, __VA_ARGS__)
#define EXPORT__(k, s, ...)                                             \
    extern "C" {                                                        \
    extern const struct cud_kernel cud_kernel_##k##_##s;                \
    const struct cud_kernel cud_kernel_##k##_##s = {.name = #k, __VA_ARGS__}; \
    }

#endif
