/* Which rank takes which GPU, as a pure function of what the ranks see. */
#ifndef CUD_BIND_GPUS_H
#define CUD_BIND_GPUS_H

#include <stdbool.h>
#include <stdint.h>
#include "cudist/err.h"

#define CUD_SEEN_MAX 32                    /* GPUs of a rank; more are not looked at */

struct cud_seen {                          /* plain bytes */
    int32_t node;                          /* the lowest rank of this host */
    int32_t devices;
    char uuid[CUD_SEEN_MAX][48];           /* in the order of this rank's device numbers; "": only the number tells */
};

/* Of the calling process; node is left alone. */
enum cud_status cud_gpus_look(struct cud_seen *seen, struct cud_err *err);

/* Every rank takes a GPU that it sees and that no other rank of its host has taken; with share several ranks may take one,
 * as evenly as what they see allows.  number[rank]: the rank's own number of its GPU, or -1.  As many ranks as possible are
 * served, the lower ones first; where all see the same GPUs, a host's i-th rank takes the i-th.
 * Returns the ranks that were served, -1 when there is no memory. */
int cud_bind_gpus(const struct cud_seen *seen, int ranks, bool share, int *number);

#endif
