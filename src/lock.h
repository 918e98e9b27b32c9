/* OUT.lock: one run at a time writes an output.
 *
 * The file says who: run id, host, pid and its start time, Slurm job; and which files that run has made, so that what a killed
 * one left can be told from anything else of such a name.  It is held by a lock of its open file description where the file
 * system has those, and kept fresh by its time of change, which other hosts see. */
#ifndef CUD_LOCK_H
#define CUD_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include "cudist/err.h"

#define CUD_LOCK_FRESH 30                  /* seconds after which a silent owner on another host counts as dead */
#define CUD_LOCK_WHO 160
#define CUD_LOCK_FILES 8                   /* the last so many are named */

struct cud_lock;

struct cud_file_id { uint64_t ino, born; };           /* born: nanoseconds since 1970; 0: the file system does not say */

/* What a lock found in place says; all zero: there was none. */
struct cud_left {
    bool found;
    char who[CUD_LOCK_WHO];                /* whose it is; "" if that was never written */
    unsigned files;
    struct cud_file_id file[2 * CUD_LOCK_FILES];      /* of two locks */
};

/* Takes the lock, also from an owner that is dead; what that one left is added to *left.  CUD_EEXISTS when the owner lives.  A
 * file of this name that is none of ours is refused. */
enum cud_status cud_lock_take(const char *path, const char *host, struct cud_lock **lock, struct cud_left *left,
                              struct cud_err *err);
/* Only looks: adds to *left what a lock of that name says, be its owner alive or dead. */
void cud_lock_look(const char *path, struct cud_left *left);
/* Is the file of this name one of those?  An empty one counts where a lock was found: it was made just before the kill. */
bool cud_left_has(const struct cud_left *left, const char *path);
/* Writes into the lock that this run has made the file of this name, just now. */
enum cud_status cud_lock_claim(struct cud_lock *lock, const char *path, struct cud_err *err);
/* Is it still ours?  Keeps it fresh.  To be called about once a second.  CUD_EFAILED: another run took it, or it is gone. */
enum cud_status cud_lock_check(struct cud_lock *lock, struct cud_err *err);
/* Removes the file if it is still ours; leave: leaves it as a killed run does.  NULL is fine. */
void cud_lock_drop(struct cud_lock *lock, bool leave);

#endif
