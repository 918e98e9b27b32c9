/* Statistics: leaves, one fixed binary tree, forests of its nodes; the digest rides along.
 *
 * A leaf is CUD_LEAF elements of the output as stored; leaves restart at each unit (plan.h).  Node (level k, place j) covers
 * leaves j 2^k .. (j + 1) 2^k - 1.  Only true siblings merge, left first; so however a range of leaves came about, its
 * forest is the same bytes, at most 2 log2(leaves) nodes. */
#ifndef CUD_STATS_H
#define CUD_STATS_H

#include "cudist/kernel.h"

enum cud_nan { CUD_NAN_PROPAGATE, CUD_NAN_OMIT, CUD_NAN_FAIL };      /* --nan */
enum cud_stats_kind { CUD_REAL, CUD_SIGNED, CUD_UNSIGNED };       /* SIGNED: i64, UNSIGNED: u64, REAL: all others */

/* A node: 21 words of 8 bytes, no padding, sent and stored as it is (little-endian). */
struct cud_node {
    uint64_t finite, nan, pinf, ninf, first_nan, first_pinf, first_ninf, argmin, argmax;
    union cud_word min, max;
    union cud_word sum, sum_lo;            /* REAL: sum + sum_lo, about 106 bits.  Else: 128 bits, the upper half in sum */
    double m2;                             /* the sum of (x - mean)^2 */
    struct cud_lost lost;
    uint64_t hash[2];                      /* XXH3-128, upper half first: a leaf's bytes, or both children's canonical hashes */
    uint64_t level;
    uint64_t spare;                        /* 0 */
};

#define CUD_FOREST_MAX 128
struct cud_forest {
    uint64_t from, to;                     /* leaves from .. to - 1 */
    uint64_t n;
    struct cud_node node[CUD_FOREST_MAX];  /* only the first n are to be sent or written */
};
#define CUD_FOREST_BYTES(n) (3 * sizeof(uint64_t) + (size_t)(n) * sizeof(struct cud_node))

enum cud_stats_kind cud_stats_kind(enum cud_type type);

void cud_forest_start(struct cud_forest *f, uint64_t leaf);       /* the empty range before leaf */
/* The next leaf: its statistics, what its conversion lost, its bytes as stored. */
void cud_forest_add(struct cud_forest *f, enum cud_stats_kind kind, const struct cud_leaf *leaf, const struct cud_lost *lost,
                    const void *bytes, size_t n);
/* -1: next does not start where f ends. */
int cud_forest_join(struct cud_forest *f, enum cud_stats_kind kind, const struct cud_forest *next);
struct cud_node cud_forest_fold(const struct cud_forest *f, enum cud_stats_kind kind);   /* f->from must be 0 */

/* Forests that come in any order; neighbours become one.  Not thread-safe. */
struct cud_grove;
struct cud_grove *cud_grove_make(enum cud_stats_kind kind);       /* NULL: no memory */
void cud_grove_free(struct cud_grove *g);
enum cud_status cud_grove_add(struct cud_grove *g, const struct cud_forest *f, struct cud_err *err);
size_t cud_grove_count(const struct cud_grove *g);
/* The least number of a NaN in it, or CUD_NONE; and how many NaN a conversion has made 0. */
uint64_t cud_grove_first_nan(const struct cud_grove *g, uint64_t *to_zero);
/* In order of leaves.  Only CUD_FOREST_BYTES(n) of it are there. */
const struct cud_forest *cud_grove_at(const struct cud_grove *g, size_t i);

/* What rank 0 finishes with.  Moments are over finite values; with infinities or NaN present sum, mean and the rest follow
 * IEEE arithmetic (NaN, or inf of one sign); where NaN are omitted, as if there were none. */
struct cud_summary {
    enum cud_stats_kind kind;
    uint64_t count;                        /* all elements */
    uint64_t nan, pinf, ninf, first_nan, first_pinf, first_ninf, argmin, argmax;   /* CUD_NONE: none */
    union cud_word min, max;               /* undefined if argmin is CUD_NONE */
    union cud_word sum, sum_lo;            /* as in cud_node */
    double mean, variance, variance_sample, std, rms;   /* NaN with has_* false: undefined */
    bool has_mean, has_sample;             /* n > 0; n > 1; n is count, less nan where they are omitted */
    struct cud_lost lost;
    uint64_t digest[2];
};
void cud_stats_finish(const struct cud_node *all, enum cud_stats_kind kind, enum cud_nan policy, struct cud_summary *s);

#endif
