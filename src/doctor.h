/* --doctor: is all there that a run needs?  A table of checks, with the cure for what is not well. */
#ifndef CUD_DOCTOR_H
#define CUD_DOCTOR_H

#include "job.h"
#include "rank.h"

/* Collective.  Prints the table on rank 0's stdout, row by row.  Touches nothing that exists and leaves nothing behind; a check
 * takes no longer than the timeout.  *code, on rank 0: CUD_OK (warnings too), CUD_ENOGPU where a run would refuse for want of
 * GPUs, else CUD_EFAILED for problems.  err: it could not look. */
enum cud_status cud_doctor(const struct cud_job *job, struct cud_ranks *ranks, int *code, struct cud_err *err);

/* The ranks did not start, for this reason: the table that says so.  Returns the code. */
int cud_doctor_no_ranks(const struct cud_job *job, const struct cud_err *why);

#endif
