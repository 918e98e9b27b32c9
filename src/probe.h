/* May ranks of several hosts write one file?  --write auto asks. */
#ifndef CUD_PROBE_H
#define CUD_PROBE_H

#include <stdbool.h>
#include "rank.h"

/* Is this statfs(2) type of a file system whose clients see each other's writes by the byte?  Lustre, GPFS, BeeGFS, CephFS.  NFS is
 * not: its clients write back whole pages and can undo a neighbour's bytes. */
bool cud_probe_coherent(unsigned long f_type);

/* Collective.  Rank 0 makes a file of a fresh name in folder, and every rank looks for what is in it, for two seconds: *shared
 * tells whether all found it.  That a rank did not is no error. */
enum cud_status cud_probe_shared(struct cud_ranks *ranks, const char *folder, bool *shared, struct cud_err *err);

#endif
