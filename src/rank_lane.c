/* The lane that is MPI's. */
#include <stdlib.h>
#include <string.h>
#include "rank_lane.h"
#include "rank_own.h"

struct place {
    struct cud_message *message;
    char *bytes;                           /* on rank 0 */
};

struct cud_lane {
    struct cud_ranks *ranks;
    struct cud_lane_facts facts;
    struct place place[];
};

static enum cud_status check_mpi(const struct cud_ranks *r, const struct cud_device *device, struct cud_err *err)
{
    (void)r, (void)device, (void)err;
    return CUD_OK;
}

/* Bytes that MPI may still fill stay where they are. */
static void close_lane(struct cud_lane *l)
{
    if (!l)
        return;
    for (unsigned i = 0; i < l->facts.places; i++)
        if (!l->place[i].message)
            free(l->place[i].bytes);
    free(l);
}

static enum cud_status open_lane(struct cud_ranks *r, const struct cud_lane_facts *facts, struct cud_lane **lane, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_lane *l = calloc(1, sizeof *l + facts->places * sizeof *l->place);
    bool good = l != NULL;
    if (l) {
        l->ranks = r;
        l->facts = *facts;
    }
    for (unsigned i = 0; good && r->me == 0 && i < facts->places; i++)
        good = (l->place[i].bytes = malloc(facts->bytes + 1)) != NULL;
    if (!good)
        (void)FAIL(err, CUD_EFAILED, "no memory for %u pieces of the output", facts->places);
    TRY(cud_rank_agree(r, err));
    *lane = l;
    l = NULL;
done:
    close_lane(l);
    return status;
}

static enum cud_status ready_lane(struct cud_lane *l, bool *ready, struct cud_err *err)
{
    (void)l, (void)err;
    *ready = true;
    return CUD_OK;
}

static enum cud_status send_piece(struct cud_lane *l, unsigned place, const void *bytes, size_t n, struct cud_err *err)
{
    return cud_rank_send(l->ranks, 0, l->facts.tag, bytes, n, &l->place[place].message, err);
}

static enum cud_status receive_piece(struct cud_lane *l, unsigned place, int from, size_t n, struct cud_err *err)
{
    return cud_rank_receive(l->ranks, from, l->facts.tag, l->place[place].bytes, n, &l->place[place].message, err);
}

static enum cud_status test_place(struct cud_lane *l, unsigned place, bool *done, struct cud_err *err)
{
    struct cud_message **const m = &l->place[place].message;
    *done = true;
    return *m ? cud_message_test(m, done, err) : CUD_OK;
}

static const char *bytes_of(const struct cud_lane *l, unsigned place) { return l->place[place].bytes; }

/* Each message that was sent is received yet. */
static void give_up(struct cud_lane *l) { (void)l; }

static const struct cud_lane_kind mpi = {
    .name = "mpi", .from_device = false, .check = check_mpi, .open = open_lane, .close = close_lane, .ready = ready_lane,
    .send = send_piece, .receive = receive_piece, .test = test_place, .bytes = bytes_of, .give_up = give_up,
};

const struct cud_lane_kind *cud_lane_kind(const char *name)
{
    return strcmp(name, mpi.name) == 0 ? &mpi : NULL;
}
