/* What a run needs against what is free, before any window or array of a step is allocated. */
#ifndef CUD_FIT_H
#define CUD_FIT_H

#include "prepare.h"

/* Collective.  Makes p->plan, workers, host_bytes and device_bytes.  Where --window was not given, and memory is short, windows
 * are smaller than usual (the bytes of results do not depend on them).  CUD_EINPUT: it does not fit; says needed, free and cures. */
enum cud_status cud_fit(const struct cud_job *job, struct cud_ranks *ranks, struct cud_prepared *p, struct cud_err *err);

#endif
