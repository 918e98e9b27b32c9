/* --trace: the spans of all ranks in one file of Chrome's trace events, which Perfetto and chrome://tracing show. */
#ifndef CUD_TIMELINE_H
#define CUD_TIMELINE_H

#include "bind.h"
#include "step.h"
#include "trace.h"

struct cud_timeline {                      /* of this rank; all zero: no --trace */
    double began, wall;                    /* the same moment by cud_now and by the clock on the wall */
    struct cud_track **track;              /* track[0]: the main thread's, then the workers'; NULL: nothing is traced */
    unsigned tracks;
};

/* The main thread's track; then those of so many workers. */
enum cud_status cud_timeline_make(double began, struct cud_timeline *t, struct cud_err *err);
enum cud_status cud_timeline_add(struct cud_timeline *t, unsigned workers, struct cud_err *err);
void cud_timeline_free(struct cud_timeline *t);

/* Collective.  Rank 0 takes the spans of one rank after the other in pieces, and writes them to path.tmp, which becomes path; if it
 * cannot, it warns: the output is complete by then. */
enum cud_status cud_timeline_write(const struct cud_timeline *t, const char *path, const struct cud_binding *binding,
                                   const struct cud_program *program, struct cud_ranks *ranks, struct cud_err *err);

#endif
