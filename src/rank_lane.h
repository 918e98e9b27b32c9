/* Lanes: how pieces of windows travel to rank 0 (--comm).  Main thread only.
 *
 * A lane has places.  Each holds one piece at a time: one that this rank sends to rank 0, or that rank 0 receives into host
 * memory which belongs to the place.  The pieces of a rank must be received in the order in which they were sent. */
#ifndef CUD_RANK_LANE_H
#define CUD_RANK_LANE_H

#include "cudist/device.h"
#include "rank.h"

struct cud_lane;                           /* an open one: the kind's own */

struct cud_lane_facts {
    const struct cud_device *device;       /* where the senders' bytes are, if the kind is from_device */
    struct cud_dev *dev;
    unsigned places;
    size_t bytes;                          /* of a piece, at most */
    int tag;                               /* of its messages, where they are MPI's: no other has it */
};

#define CUD_WHY 320

struct cud_lane_kind {
    const char *name;                      /* as --comm spells it */
    bool from_device;                      /* send takes a GPU's memory */
    bool between_gpus;                     /* no two ranks may be on one, and on rank 0's there must be room for the places */

    bool (*usable)(const struct cud_ranks *r, char why[CUD_WHY]);     /* by this rank, not collective; else why not */
    /* Collective: everyone has it, or leaves with the same error. */
    enum cud_status (*open)(struct cud_ranks *r, const struct cud_lane_facts *facts, struct cud_lane **lane,
                            struct cud_err *err);
    void (*close)(struct cud_lane *lane);

    /* May a piece be sent or received now?  If not, later. */
    enum cud_status (*ready)(struct cud_lane *lane, bool *ready, struct cud_err *err);
    /* To rank 0.  The bytes stay untouched until test says done. */
    enum cud_status (*send)(struct cud_lane *lane, unsigned place, const void *bytes, size_t n, struct cud_err *err);
    /* On rank 0: a piece that was sent, or is about to be. */
    enum cud_status (*receive)(struct cud_lane *lane, unsigned place, int from, size_t n, struct cud_err *err);
    /* *done: nothing is under way in this place. */
    enum cud_status (*test)(struct cud_lane *lane, unsigned place, bool *done, struct cud_err *err);
    const char *(*bytes)(const struct cud_lane *lane, unsigned place);        /* rank 0: what was received */
    /* The run fails or stops: what comes is of no use any more.  Where the lane cannot end what is under way, it forgets it:
     * from then on all is done at once. */
    void (*give_up)(struct cud_lane *lane);
};

const struct cud_lane_kind *cud_lane_kind(const char *name);      /* NULL: there is none of that name */

#endif
