/* OUT.lock: one run at a time writes an output.
 *
 * The file says who: run id, host, pid and its start time, Slurm job.  It is held by a lock of its open file description where
 * the file system has those, and kept fresh by its time of change, which other hosts see. */
#ifndef CUD_LOCK_H
#define CUD_LOCK_H

#include <stdbool.h>
#include "cudist/err.h"

#define CUD_LOCK_FRESH 30                  /* seconds after which a silent owner on another host counts as dead */
#define CUD_LOCK_WHO 160

struct cud_lock;

/* Takes the lock, also from an owner that is dead; then `dead` says who that was, else it is "".  CUD_EEXISTS when the owner
 * lives.  A file of this name that is none of ours is refused. */
enum cud_status cud_lock_take(const char *path, const char *host, struct cud_lock **lock, char dead[CUD_LOCK_WHO],
                              struct cud_err *err);
/* Is it still ours?  Keeps it fresh.  To be called about once a second.  CUD_EFAILED: another run took it, or it is gone. */
enum cud_status cud_lock_check(struct cud_lock *lock, struct cud_err *err);
/* Removes the file if it is still ours.  NULL is fine. */
void cud_lock_drop(struct cud_lock *lock);

#endif
