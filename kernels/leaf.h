/* How a call's elements are cut into leaves (stats, convert): CUD_LEAF at a time, from each unit's start anew. */
#ifndef CUD_KERNELS_LEAF_H
#define CUD_KERNELS_LEAF_H

#include "kernel.h"

/* Leaves of n elements in units of `unit`. */
HELPER_BOTH size_t leaf_count(size_t n, size_t unit)
{
    return n ? n / unit * CEIL_DIV(unit, CUD_LEAF) + CEIL_DIV(n % unit, CUD_LEAF) : 0;
}

/* Leaf t starts at element *start; its length is returned. */
HELPER int leaf_find(size_t t, size_t n, size_t unit, size_t *start)
{
    const size_t each = CEIL_DIV(unit, CUD_LEAF), at = t % each * CUD_LEAF, from = t / each * unit + at;
    const size_t left = n - from < unit - at ? n - from : unit - at;
    *start = from;
    return left < CUD_LEAF ? (int)left : CUD_LEAF;
}

#endif
