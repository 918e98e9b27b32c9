/* The files of an output: what may be there before, OUT.part while it is made, and the commit.  Rank 0 only; no MPI. */
#ifndef CUD_COMMIT_H
#define CUD_COMMIT_H

#include <sys/types.h>
#include "lock.h"
#include "sink.h"

enum { CUD_TARGET_LOCKS = 2 };             /* of the output and of the result, where that is not the output's own */

struct cud_target {                        /* all zero: nothing */
    char *path, *part, *mark;              /* OUT, OUT.part, OUT.json; NULL: no output file */
    char *result, *result_tmp;             /* NULL: no result file */
    char *lock_path[CUD_TARGET_LOCKS];     /* NULL: none */
    struct cud_lock *lock[CUD_TARGET_LOCKS];
    char *trace, *trace_tmp;               /* NULL: no --trace */
    bool result_stdout, force;
    struct cud_left left;                  /* what dead owners of these locks left */
    bool again;                            /* an OUT among that, which is made again: it stays until it is replaced */
    bool made;                             /* OUT.part is there, and this is what is ours: */
    dev_t dev;
    ino_t ino;
    uint64_t bytes;                        /* its length from the beginning on */
};

/* Refuses what must not be written (see cud_sink_open).  Makes nothing. */
enum cud_status cud_target_check(const struct cud_sink_facts *facts, struct cud_target *t, struct cud_err *err);
/* Is there room for so many bytes?  Quotas are not known. */
enum cud_status cud_target_check_room(const struct cud_target *t, uint64_t bytes, struct cud_err *err);
/* Takes the locks, discards what a dead run left, makes OUT.part at full size with its head.  *fd: open for writing, or as it
 * was where there is no output file. */
enum cud_status cud_target_make(const struct cud_sink_facts *facts, const char *host, struct cud_target *t, int *fd,
                                struct cud_err *err);
/* Are the locks and OUT.part still ours?  Keeps the locks fresh. */
enum cud_status cud_target_check_ours(const struct cud_target *t, struct cud_err *err);
/* OUT.part, which all have synced, becomes OUT; the result is written last. */
enum cud_status cud_target_commit(struct cud_target *t, const char *json, size_t n, struct cud_err *err);
/* Frees; without a commit removes OUT.part and the locks. */
void cud_target_close(struct cud_target *t);

/* Of what cud_target_check refuses, that which may come up meanwhile, or goes by what t->left says. */
enum cud_status cud_target_check_absent(const struct cud_target *t, struct cud_err *err);
/* Is OUT that of a run which was killed just before its result was in place? */
bool cud_target_is_unfinished(const struct cud_target *t);
/* The folder that a name is in: malloc'ed, the caller frees; NULL: no memory. */
char *cud_folder_of(const char *path);

/* Writes all of it: pieces of at most 1 GiB, short counts, EINTR.  0, or errno. */
int cud_write_at(int fd, const void *bytes, uint64_t n, uint64_t offset);

#endif
