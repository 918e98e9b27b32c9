/* Ranks and devices: who works on what. */
#ifndef CUD_BIND_H
#define CUD_BIND_H

#include "cudist/device.h"
#include "job.h"
#include "rank.h"

struct cud_rank_facts {                    /* one a rank, gathered everywhere; plain bytes */
    int32_t rank, node_rank, device_number, cpus;      /* cpus: how many this rank may use */
    int32_t node;                          /* the lowest rank of its host */
    char host[64];
    char version[32];                      /* of cudist */
    char machine[32];                      /* "x86_64" */
    struct cud_device_facts device;
};

struct cud_binding {
    const struct cud_device *device;       /* the backend */
    struct cud_dev *dev;                   /* opened */
    struct cud_rank_facts *all;            /* of every rank, in order */
    int ranks, hosts;
    unsigned threads;                      /* workers of this rank */
};

/* Collective.  --device auto: no rank sees a GPU: cpu; every rank gets its own: cuda; otherwise CUD_ENOGPU with the table and
 * the cures.  Refuses mixed versions of cudist and mixed architectures.  On a GPU the calling thread moves near it
 * (bind_near.h). */
enum cud_status cud_bind(const struct cud_job *job, struct cud_ranks *ranks, struct cud_binding *binding, struct cud_err *err);
/* Two ranks that are on one GPU, or on slices of one, the lowest first.  False: there are none. */
bool cud_binding_share(const struct cud_binding *binding, int *a, int *b);
/* What --doctor asks for besides. */
const struct cud_device *cud_bind_backend(bool cuda);             /* NULL: not built */
unsigned cud_bind_threads(const struct cud_job *job, bool shared, int cpus);       /* of a rank; shared: as of the device */

void cud_binding_free(struct cud_binding *binding);               /* all zero is fine */

#endif
