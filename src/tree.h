/* The arithmetic of one node of the statistics' tree; stats.c puts nodes together. */
#ifndef CUD_TREE_H
#define CUD_TREE_H

#include "stats.h"

/* An exact integer sum.  It fits: arrays have less than 2^63 bytes, so less than 2^60 elements of 8 bytes. */
__extension__ typedef __int128 cud_int128;
cud_int128 cud_summary_integer(const struct cud_summary *s);      /* the sum; CUD_REAL: of whole numbers of at most 32 bits */

void cud_node_none(struct cud_node *node);                        /* no elements: the digest of no bytes */
void cud_node_leaf(struct cud_node *node, enum cud_stats_kind kind, const struct cud_leaf *leaf);   /* lost and hash stay 0 */
void cud_node_hash(struct cud_node *node, const void *bytes, size_t n);
/* a, left of b, becomes their parent, one level above a.  Exact but for sum_lo of CUD_REAL and m2, which round. */
void cud_node_merge(struct cud_node *a, const struct cud_node *b, enum cud_stats_kind kind);
double cud_node_mean(const struct cud_node *node, enum cud_stats_kind kind);   /* of the finite values; there is at least one */

#endif
