/* NCCL, opened at run time: its calls, as nccl.h of 2.14 declares them, the first version with communicators that do not block.
 *
 * Only the main thread calls it.  A communicator that does not block returns CUD_NCCL_IN_PROGRESS from its calls; until
 * async_error gives CUD_NCCL_DONE nothing of a send or a receive is on its stream, and no other call may be made but abort. */
#ifndef CUD_DEVICE_NCCL_H
#define CUD_DEVICE_NCCL_H

#include <stddef.h>

#define CUD_NCCL_SONAME "libnccl.so.2"

struct ncclComm;                           /* NCCL's own */
struct cud_nccl_id { char bytes[128]; };   /* ncclUniqueId */

enum { CUD_NCCL_DONE = 0, CUD_NCCL_REMOTE_ERROR = 6, CUD_NCCL_IN_PROGRESS = 7 };      /* of ncclResult_t */
enum { CUD_NCCL_CHAR = 0 };                /* of ncclDataType_t */

struct cud_nccl_config {                   /* ncclConfig_t of 2.14: later ones know it by its size and version */
    size_t size;
    unsigned magic, version;
    int blocking;
};
#define CUD_NCCL_NOT_BLOCKING \
    (struct cud_nccl_config){.size = sizeof(struct cud_nccl_config), .magic = 0xcafebeef, .version = 21400}

struct cud_nccl {
    char name[32];                         /* "NCCL 2.28.9" */
    int (*get_version)(int *version);
    int (*get_unique_id)(struct cud_nccl_id *id);
    int (*init)(struct ncclComm **comm, int ranks, struct cud_nccl_id id, int rank, struct cud_nccl_config *config);
    int (*async_error)(struct ncclComm *comm, int *state);
    int (*finalize)(struct ncclComm *comm);
    int (*destroy)(struct ncclComm *comm);
    int (*abort)(struct ncclComm *comm);
    int (*send)(const void *from, size_t n, int type, int peer, struct ncclComm *comm, void *stream);
    int (*receive)(void *to, size_t n, int type, int peer, struct ncclComm *comm, void *stream);
    const char *(*error)(int code);
    const char *(*last_error)(struct ncclComm *comm);
};

/* NULL: why says what is missing.  soname: CUD_NCCL_SONAME but in tests. */
const struct cud_nccl *cud_nccl_open(const char *soname, char why[200]);

#endif
