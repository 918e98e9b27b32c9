/* The plan: who does which rows, in what windows.  Pure arithmetic, the same on every rank; no buffer exists yet.
 *
 * A unit is the least that is cut: one batch if a step sees batches; else 2^k rows of about 64 Ki elements (at least one
 * row); else, when rows do not matter, CUD_LEAF elements.  Units lie at fixed global places.  An extent is a run of units
 * that one rank does; a window is as many units of an extent as are worked on together. */
#ifndef CUD_PLAN_H
#define CUD_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include "cudist/err.h"

struct cud_plan_facts {                    /* what decides */
    uint64_t rows;                         /* flat: elements */
    uint64_t in_row_bytes, out_row_bytes;  /* out_row_bytes is 0 when nothing is written */
    uint64_t widest_cols;                  /* elements of the widest row */
    uint64_t batch;                        /* rows; 0: none */
    bool flat;
    bool ordered;                          /* rows must come out in order: windows go round the ranks */
    uint64_t window_bytes;                 /* wanted: of the wider of a window's input and output */
    uint64_t head_bytes;                   /* of the output file: extents meet at 1 MiB file offsets where they can */
    int ranks;
};

struct cud_plan {
    struct cud_plan_facts facts;
    uint64_t unit_rows, units;             /* the last unit may have fewer rows */
    uint64_t window_units;                 /* at least 1 */
};

struct cud_window {
    uint64_t row0, rows;                   /* rows > 0 */
    uint64_t unit0, units;
};

void cud_plan_make(const struct cud_plan_facts *facts, struct cud_plan *plan);
/* The k-th window of a rank, in the order it does them; false: it has no more.  Constant time. */
bool cud_plan_window(const struct cud_plan *plan, int rank, uint64_t k, struct cud_window *window);
uint64_t cud_plan_windows(const struct cud_plan *plan, int rank);
uint64_t cud_plan_windows_most(const struct cud_plan *plan);      /* the most that a rank has */
/* The k-th extent of a rank; false: no more.  Adjacent windows are one extent. */
bool cud_plan_extent(const struct cud_plan *plan, int rank, uint64_t k, struct cud_window *extent);
uint64_t cud_plan_rank_rows(const struct cud_plan *plan, int rank);

#endif
