/* One run, from the job to the committed output. */
#ifndef CUD_RUN_H
#define CUD_RUN_H

#include "job.h"
#include "rank.h"

/* Collective.  All ranks return the same status; err names the rank that failed first. */
enum cud_status cud_run(const struct cud_job *job, struct cud_ranks *ranks, struct cud_err *err);

#endif
