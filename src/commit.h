/* The files of an output: what may be there before, OUT.part while it is made, and the commit.  Rank 0 only; no MPI. */
#ifndef CUD_COMMIT_H
#define CUD_COMMIT_H

#include <sys/types.h>
#include "lock.h"
#include "sink.h"

struct cud_target {                        /* all zero: nothing */
    char *path, *part, *lock_path, *mark;  /* OUT, OUT.part, OUT.lock, OUT.json; NULL: no output file */
    char *result, *result_tmp;             /* NULL: no result file */
    bool result_stdout, force;
    struct cud_lock *lock;
    bool made;                             /* OUT.part is there, and this is what is ours: */
    dev_t dev;
    ino_t ino;
};

/* Refuses what must not be written (see cud_sink_open).  Makes nothing. */
enum cud_status cud_target_check(const struct cud_sink_facts *facts, struct cud_target *t, struct cud_err *err);
/* Takes the lock, discards a stale OUT.part, makes OUT.part at full size with its head.  *fd: open for writing. */
enum cud_status cud_target_make(const struct cud_sink_facts *facts, const char *host, struct cud_target *t, int *fd,
                                struct cud_err *err);
/* OUT.part, which all have synced, becomes OUT; the result is written last. */
enum cud_status cud_target_commit(struct cud_target *t, const char *json, size_t n, struct cud_err *err);
/* Frees; without a commit removes OUT.part and the lock. */
void cud_target_close(struct cud_target *t);

/* Writes all of it: pieces of at most 1 GiB, short counts, EINTR.  0, or errno. */
int cud_write_at(int fd, const void *bytes, uint64_t n, uint64_t offset);

#endif
