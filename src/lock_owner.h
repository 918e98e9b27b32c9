/* What a lock file says of its owner. */
#ifndef CUD_LOCK_OWNER_H
#define CUD_LOCK_OWNER_H

#include "lock.h"

#define CUD_OWNER_TEXT 1024

struct cud_owner {
    char run[33];                          /* 128 random bits */
    char host[64];
    long pid;
    uint64_t start;                        /* of the process, in clock ticks since boot; 0: not known */
    char job[64];                          /* SLURM_JOB_ID or "none" */
    unsigned files;                        /* that it has made, or found as a dead owner's */
    struct cud_file_id file[CUD_LOCK_FILES];
};

/* This process. */
enum cud_status cud_owner_make(const char *host, struct cud_owner *me, struct cud_err *err);
/* Of the files the last CUD_LOCK_FILES count. */
void cud_owner_add(struct cud_owner *owner, struct cud_file_id file);
/* On this host: is there still the process? */
bool cud_owner_runs(const struct cud_owner *owner);
/* "pid 5 on host n1, Slurm job 7" */
const char *cud_owner_who(const struct cud_owner *owner, char who[CUD_LOCK_WHO]);

/* The lock file's text, and its length. */
int cud_owner_text(const struct cud_owner *owner, char text[CUD_OWNER_TEXT]);
/* The other way; all zero when the text is empty or torn.  False: it is none of ours. */
bool cud_owner_parse(const char *text, struct cud_owner *owner);

#endif
