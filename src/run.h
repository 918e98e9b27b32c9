/* One run, from the job to the committed output. */
#ifndef CUD_RUN_H
#define CUD_RUN_H

#include "job.h"
#include "rank.h"

/* Collective.  All ranks return the same status; err names the rank that failed first. */
enum cud_status cud_run(const struct cud_job *job, struct cud_ranks *ranks, struct cud_err *err);

struct cud_outlook {
    uint64_t rows_in, out_bytes;           /* of the output: 0 where none is written */
    uint64_t windows;                      /* the most that a rank has */
    uint64_t buffer_bytes;                 /* of this rank */
};

/* Collective.  Does all that a run does before it makes a file or a window, and no more. */
enum cud_status cud_run_check(const struct cud_job *job, struct cud_ranks *ranks, struct cud_outlook *o,
                              struct cud_err *err);

#endif
