/* What each thread was at, for --trace: spans, in a buffer of fixed size a thread.  Where there are too many it keeps the first
 * ones and the last ones, half and half: how a run starts and how it ends. */
#ifndef CUD_TRACE_H
#define CUD_TRACE_H

#include <stdbool.h>
#include <stdint.h>

/* What a span is of. */
enum cud_part {
    CUD_PART_START, CUD_PART_STREAM, CUD_PART_COMMIT,             /* the run, on the main thread */
    CUD_PART_BUFFERS,                                             /* they are allocated, kernels are loaded */
    CUD_PART_WAIT,                                                /* for others, or for the device */
    CUD_PART_WINDOW, CUD_PART_READ, CUD_PART_COMPUTE, CUD_PART_WRITE,        /* a worker's window, and what that is made of */
    CUD_PART_QUEUE, CUD_PART_HASH,                                /* within computing: what the thread does for the device, and after it */
    CUD_PART_PUT, CUD_PART_STEPS, CUD_PART_STATS, CUD_PART_GET,   /* what the device does */
    CUD_PART_CONVERT,                                             /* beside the steps, within CUD_PART_STEPS */
    CUD_PART_LEFT_OUT,                                            /* rows: how many spans are missing here */
    CUD_PART_STEP                                                 /* + i: step i */
};
const char *cud_part_name(int part);       /* "read"; "step" for all of these */

struct cud_span {                          /* 40 plain bytes: sent to rank 0 */
    int64_t at, took;                      /* nanoseconds; at: since the trace began */
    uint64_t row0, rows;                   /* rows is 0: none in particular */
    int32_t part;
    int32_t lane;                          /* 0: the main thread; 1 + i: worker i; CUD_LANE_DEVICE more: its stream */
};
#define CUD_LANE_DEVICE 10000

struct cud_track;                          /* a thread's; one thread at a time uses it */
struct cud_track *cud_track_make(int lane, double began);         /* began: cud_now when the trace did.  NULL: no memory */
void cud_track_free(struct cud_track *t);                         /* NULL is fine */
/* from, to: cud_now's.  span: part and rows; lane is what to add to the track's.  A wait right behind a wait becomes one with it.
 * Does nothing where t is NULL. */
void cud_track_add(struct cud_track *t, struct cud_span span, double from, double to);
/* Span i of those kept, in the order they were added; false: there is none. */
bool cud_track_at(const struct cud_track *t, uint64_t i, struct cud_span *span);

#endif
