/* The output: OUT.part until it is complete.  Two ways, the same bytes: direct (each rank writes its rows at their final
 * place) and root (rows go to rank 0, which writes them to a file in any order, or to stdout in the order of rows).  Commit is
 * apart.
 *
 * The root way, main thread of each rank: cud_sink_pass what is finished, cud_sink_turn, cud_sink_sent until it gives NULL,
 * again until turn says done.  A rank that fails or stops calls cud_sink_give_up, then turn and sent until done: only then does
 * no message that it sent or must take lie about. */
#ifndef CUD_SINK_H
#define CUD_SINK_H

#include "plan.h"
#include "rank.h"
#include "rank_lane.h"
#include "stats.h"

struct cud_sink;

/* Bytes of the pieces that rank 0 has in hand at most. */
uint64_t cud_sink_pieces_bytes(const struct cud_plan *plan);

struct cud_sink_facts {
    const char *path;                      /* absolute; "-": stdout (never direct); "none" */
    const char *result;                    /* absolute; "-", "none" */
    const char *trace;                     /* absolute; NULL.  Only checked here */
    bool force, direct;
    bool room;                             /* cud_sink_check refuses where too little is free (a run learns it by reserving) */
    const struct cud_lane_kind *lane;      /* the root way: how rows go to rank 0; from where, if it takes them from a device */
    const struct cud_device *device;
    struct cud_dev *dev;
    const struct cud_plan *plan;           /* outlives the sink; for stdout it is ordered */
    const unsigned char *head;             /* the bytes in front of the first element */
    size_t head_bytes;
    uint64_t row_bytes, rows;              /* of the output */
    size_t inputs;
    char *const *input;                    /* paths: an output must not be one of them (device and inode) */
};

/* Collective.  Rank 0 takes the locks (OUT.lock; for a result that is not OUT.json one of its own), discards what a dead run
 * left (with a note), makes OUT.part at full size with its head; then, when direct, the others open it.  Nothing that existed
 * is touched but what a dead run's lock names as its own.  Everything is allocated here: rank 0 of a root sink takes at most 4
 * pieces of 4 MiB.
 * Refused: CUD_EEXISTS, OUT, OUT.json or the result exist and there is no force, an OUT.part or RESULT.tmp is there that no
 * dead run's lock names, or another run holds a lock; CUD_EUSAGE, one
 * of them is an input, is not a regular file (links too: the link would be replaced), is wanted twice, or its folder is not
 * there or cannot be written.  Everyone leaves with the same error.  SIGPIPE and SIGXFSZ are ignored from here on. */
enum cud_status cud_sink_open(const struct cud_sink_facts *facts, struct cud_ranks *ranks, struct cud_sink **sink,
                              struct cud_err *err);

/* Rank 0: all that open would refuse about names, without making or locking anything. */
enum cud_status cud_sink_check(const struct cud_sink_facts *facts, struct cud_err *err);

/* Any thread, when not cud_sink_by_main: rows at their place.  Starts writeback early.  "none": does nothing. */
enum cud_status cud_sink_write(struct cud_sink *sink, uint64_t row0, uint64_t rows, const void *bytes, struct cud_err *err);
bool cud_sink_gathers(const struct cud_sink *sink);           /* cud_sink_turn has to be called often: rows travel, or go to stdout */
bool cud_sink_by_main(const struct cud_sink *sink);   /* windows must be given to cud_sink_pass by the main thread instead */

bool cud_sink_from_device(const struct cud_sink *sink);       /* the bytes of cud_sink_pass must be device memory */

/* Main thread, when cud_sink_by_main: hands a finished window of the plan on; with an ordered plan, this rank's windows in
 * their order.  Not blocking: *taken says that the window is being sent or written (`bytes` and `forest` stay untouched until
 * cud_sink_sent gives them back), false: try again later.  With an ordered plan the forest travels too, and rank 0 joins it
 * (its own as well) into the grove that turn is given; else it stays with the rank, which keeps it in a grove of its own.
 * ticket: anything but NULL. */
enum cud_status cud_sink_pass(struct cud_sink *sink, const struct cud_window *w, const void *bytes,
                              const struct cud_forest *forest, void *ticket, bool *taken, struct cud_err *err);
void *cud_sink_sent(struct cud_sink *sink);           /* a ticket whose window is done with, or NULL */
/* Main thread: moves what is in flight; on rank 0 receives and writes what others send, joining their forests into grove.
 * *idle: nothing happened, sleep a little.  *done: all rows this rank must send were sent (rank 0: all rows have been written);
 * or, after anyone gave up, nothing is in flight any more.  Not the root way: done at once.  Never blocks for long, not even on
 * a full pipe. */
enum cud_status cud_sink_turn(struct cud_sink *sink, struct cud_grove *grove, bool *idle, bool *done, struct cud_err *err);
/* Main thread: this rank fails or stops (or heard that another did).  Root way: rank 0 is told that no more comes; rank 0
 * itself from now on throws away what still comes.  Then call turn until done.  May be called twice. */
void cud_sink_give_up(struct cud_sink *sink, enum cud_status status);

/* Main thread, once a second on rank 0: are the locks and OUT.part still ours?  Keeps the locks fresh. */
enum cud_status cud_sink_check_ours(struct cud_sink *sink, struct cud_err *err);

/* Each rank: syncs and closes its own descriptor.  (Collective only in that all must have done it before commit.)  Main
 * thread: the ranks hear of this one while the disk is at work.  CUD_ESTOPPED: asked to stop meanwhile. */
enum cud_status cud_sink_close(struct cud_sink *sink, struct cud_err *err);
/* Rank 0, after all ranks agreed: renames OUT.part to OUT; the result (json: n bytes; to stdout where it is "-", nowhere where
 * it is "none") comes up last.  Refuses when a lock or OUT.part is no longer ours.  A replaced OUT's old OUT.json and old
 * result go before it does.  Calls no MPI: any thread. */
enum cud_status cud_sink_commit(struct cud_sink *sink, const char *json, size_t n, struct cud_err *err);
/* Every rank, always: frees; rank 0 removes its locks, and without a commit OUT.part.  NULL is fine. */
void cud_sink_free(struct cud_sink *sink);

#endif
