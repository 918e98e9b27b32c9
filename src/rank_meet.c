/* Collectives: each starts as a nonblocking one and ends in the one wait. */
#include <limits.h>
#include <stdlib.h>
#include "rank_own.h"

/* Meetings are counted, so that rank 0 can tell who has not come. */
static void enter(struct cud_ranks *r)
{
    r->mine.meetings++;
    r->mine.meeting = 1;
}

static enum cud_status leave(struct cud_ranks *r)
{
    r->mine.meeting = 0;
    r->moved = cud_now();
    return CUD_OK;
}

static void bcast_from(struct cud_ranks *r, int root, void *bytes, size_t n)
{
    for (size_t at = 0; at < n; at += r->piece) {
        const int k = (int)(n - at < r->piece ? n - at : r->piece);
        MPI_Request request;
        CUD_MPI(r, MPI_Ibcast((char *)bytes + at, k, MPI_BYTE, root, MPI_COMM_WORLD, &request));
        cud_ranks_complete(r, &request);
    }
}

enum cud_status cud_rank_bcast(struct cud_ranks *r, void *bytes, size_t n, struct cud_err *err)
{
    (void)err;
    enter(r);
    bcast_from(r, 0, bytes, n);
    return leave(r);
}

enum cud_status cud_rank_bcast_any(struct cud_ranks *r, void **bytes, size_t *n, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    uint64_t size = r->me == 0 ? *n : 0;
    void *mine = NULL;
    TRY(cud_rank_bcast(r, &size, sizeof size, err));
    if (r->me != 0 && !(mine = malloc(size ? size : 1)))
        status = FAIL(err, CUD_EFAILED, "no memory for %llu bytes", (unsigned long long)size);
    TRY(cud_rank_agree(r, err));
    TRY(cud_rank_bcast(r, r->me == 0 ? *bytes : mine, size, err));
    if (r->me != 0) {
        *bytes = mine;
        *n = size;
        mine = NULL;
    }
done:
    free(mine);
    return status;
}

/* k bytes of each rank to where they belong among its n. */
static void gather_piece(struct cud_ranks *r, const void *mine, size_t k, void *all, size_t n)
{
    MPI_Datatype block, spaced;
    MPI_Request request;
    CUD_MPI(r, MPI_Type_contiguous((int)k, MPI_BYTE, &block));
    CUD_MPI(r, MPI_Type_create_resized(block, 0, (MPI_Aint)n, &spaced));
    CUD_MPI(r, MPI_Type_commit(&spaced));
    CUD_MPI(r, MPI_Igather(mine, (int)k, MPI_BYTE, all, 1, spaced, 0, MPI_COMM_WORLD, &request));
    cud_ranks_complete(r, &request);
    MPI_Type_free(&block);
    MPI_Type_free(&spaced);
}

enum cud_status cud_rank_gather(struct cud_ranks *r, const void *mine, size_t n, void *all, struct cud_err *err)
{
    (void)err;
    enter(r);
    for (size_t at = 0; at < n; at += r->piece) {
        const size_t k = n - at < r->piece ? n - at : r->piece;
        gather_piece(r, (const char *)mine + at, k, r->me == 0 ? (char *)all + at : NULL, n);
    }
    return leave(r);
}

/* By way of rank 0: the nonblocking allgathers of MPIs send ranks * ranks messages. */
enum cud_status cud_rank_allgather(struct cud_ranks *r, const void *mine, size_t n, void *all, struct cud_err *err)
{
    enum cud_status status = cud_rank_gather(r, mine, n, all, err);
    return status == CUD_OK ? cud_rank_bcast(r, all, n * (size_t)r->count, err) : status;
}

/* The order of errors: by rank, but whoever was only asked to stop comes after all that failed. */
static int place_of(const struct cud_ranks *r, const struct cud_err *err)
{
    if (err->status == CUD_OK)
        return INT_MAX;
    return err->status == CUD_ESTOPPED ? r->count + r->me : r->me;
}

enum cud_status cud_rank_agree(struct cud_ranks *r, struct cud_err *err)
{
    MPI_Request request;
    const int mine = place_of(r, err);
    int lowest = INT_MAX;
    enter(r);
    if (err->status != CUD_OK && r->mine.report.status == CUD_OK) {
        r->mine.report.status = err->status;
        r->urgent = true;                  /* those that still work need not go on */
    }
    CUD_MPI(r, MPI_Iallreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request));
    cud_ranks_complete(r, &request);
    if (lowest == INT_MAX)
        return leave(r);
    bcast_from(r, lowest % r->count, err, sizeof *err);
    err->rank = lowest % r->count;
    r->broken = true;
    (void)leave(r);
    return (enum cud_status)err->status;
}
