/* The lanes that are MPI's: from host memory, and from a GPU's, where MPI can (cuda-mpi). */
#include <dlfcn.h>
#include <stdio.h>
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

static bool mpi_usable(const struct cud_ranks *r, char why[CUD_WHY])
{
    (void)r, (void)why;
    return true;
}

/* Open MPI's, and MPICH's; others may not have it.  A wrong guess would be a crash, not an error. */
static bool cuda_mpi_usable(const struct cud_ranks *r, char why[CUD_WHY])
{
    int (*supported)(void) = NULL;
    void *const p = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
    memcpy(&supported, &p, sizeof p);      /* ISO C has no cast from void * to a function */
    snprintf(why, CUD_WHY, "%s takes no memory of GPUs (%s)", r->library, p ? "MPIX_Query_cuda_support() says so" :
             "it has no MPIX_Query_cuda_support()");
    return supported && supported() == 1;
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

static enum cud_status open_lane(struct cud_ranks *r, const struct cud_lane_facts *facts, struct cud_lane **lane,
                                 struct cud_err *err)
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

/* In both rank 0 receives into host memory: MPI sees to that. */
#define MPI_LANE .open = open_lane, .close = close_lane, .ready = ready_lane, .send = send_piece, .receive = receive_piece, \
    .test = test_place, .bytes = bytes_of, .give_up = give_up
static const struct cud_lane_kind mpi = {.name = "mpi", .from_device = false, .usable = mpi_usable, MPI_LANE};
static const struct cud_lane_kind cuda_mpi = {.name = "cuda-mpi", .from_device = true, .usable = cuda_mpi_usable, MPI_LANE};

extern const struct cud_lane_kind cud_lane_nccl;

const struct cud_lane_kind *cud_lane_kind(const char *name)
{
    static const struct cud_lane_kind *const kinds[] = {&mpi, &cuda_mpi, &cud_lane_nccl};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}
