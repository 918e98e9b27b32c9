/* The values of random: (src/format/random.c has the parameters). */
#ifndef CUD_RANDOM_H
#define CUD_RANDOM_H

#include "cudist/type.h"

enum cud_dist { CUD_UNIFORM, CUD_NORMAL, CUD_INTEGER, CUD_INDEX, CUD_DISTS };

struct cud_random {
    enum cud_dist dist;
    uint64_t seed;
    int64_t first;                         /* integer: low */
    uint64_t range;                        /* integer: high - low */
    double start, scale;                   /* uniform: low and high - low; normal: mean and std */
};

/* Elements elem0 .. elem0 + elems - 1 to dst, which is aligned for its type.  Every element is a function of what r says, the
 * type, and its own number: uniform and normal of f16, bf16 and f32 take one word of Philox each, element i is word i % 4 of
 * block i / 4; the others take two, words 2 (i % 2) and the next of block i / 2, the lower half first. */
void cud_random_values(const struct cud_random *r, enum cud_type type, uint64_t elem0, uint64_t elems, void *dst);

#endif
