/* What a worker's time goes to: sums for the result's bottleneck, spans for --trace, ranges for profilers. */
#ifndef CUD_MEASURE_H
#define CUD_MEASURE_H

#include "cudist/device.h"
#include "trace.h"

/* Where there may be a bottleneck.  On a shared device PUT, GET and HASH are 0, and all of it is COMPUTE. */
enum cud_sum { CUD_SUM_READ, CUD_SUM_PUT, CUD_SUM_COMPUTE, CUD_SUM_GET, CUD_SUM_HASH, CUD_SUM_WRITE, CUD_SUMS };

struct cud_measure {                       /* of one worker */
    const struct cud_device *device;
    struct cud_track *track;               /* NULL: no --trace */
    struct cud_mark *mark;                 /* room for the stream's; NULL: it has none */
    double sum[CUD_SUMS];                  /* seconds */
    uint64_t row0, rows;                   /* the window */
};

/* A part begins; the time.  Parts within a window's computing are measured on the CPU for a trace only (else it is 0): there they
 * are short. */
double cud_measure_from(const struct cud_measure *m, enum cud_part part);
void cud_measure_to(struct cud_measure *m, enum cud_part part, double from);
/* The stream was waited for: takes its marks.  from: before the first thing was queued. */
void cud_measure_marks(struct cud_measure *m, struct cud_stream *stream, double from);

/* "read", "kernel": the greatest of the sums. */
const char *cud_measure_bottleneck(const double sum[CUD_SUMS], bool shared);

#endif
