/* Point to point: messages of the sinks.  They are on MPI_COMM_WORLD, letters have a communicator of their own. */
#include <stdlib.h>
#include "rank_own.h"

static enum cud_status make(struct cud_ranks *r, struct cud_message **m, struct cud_err *err)
{
    struct cud_message *new = r->spare;
    if (new)
        r->spare = new->next;
    else if (!(new = malloc(sizeof *new)))
        return FAIL(err, CUD_EFAILED, "no memory for a message");
    *new = (struct cud_message){.ranks = r, .request = MPI_REQUEST_NULL};
    *m = new;
    return CUD_OK;
}

enum cud_status cud_rank_send(struct cud_ranks *r, int to, int tag, const void *bytes, size_t n, struct cud_message **m,
                              struct cud_err *err)
{
    const enum cud_status status = make(r, m, err);
    if (status == CUD_OK)
        CUD_MPI(r, MPI_Isend(bytes, (int)n, MPI_BYTE, to, tag, MPI_COMM_WORLD, &(*m)->request));
    return status;
}

enum cud_status cud_rank_receive(struct cud_ranks *r, int from, int tag, void *bytes, size_t n, struct cud_message **m,
                                 struct cud_err *err)
{
    const enum cud_status status = make(r, m, err);
    if (status == CUD_OK)
        CUD_MPI(r, MPI_Irecv(bytes, (int)n, MPI_BYTE, from, tag, MPI_COMM_WORLD, &(*m)->request));
    return status;
}

enum cud_status cud_rank_probe(struct cud_ranks *r, int from, int tag, bool *found, int *who, size_t *n, struct cud_err *err)
{
    int flag = 0, bytes = 0;
    MPI_Status state;
    (void)err;
    CUD_MPI(r, MPI_Iprobe(from < 0 ? MPI_ANY_SOURCE : from, tag, MPI_COMM_WORLD, &flag, &state));
    *found = flag != 0;
    if (flag) {
        CUD_MPI(r, MPI_Get_count(&state, MPI_BYTE, &bytes));
        *who = state.MPI_SOURCE;
        *n = (size_t)bytes;
    }
    return CUD_OK;
}

static bool message_done(struct cud_ranks *r, void *arg)
{
    struct cud_message **m = arg;
    if (!cud_ranks_test(r, &(*m)->request))
        return false;
    r->mine.messages++;
    (*m)->next = r->spare;
    r->spare = *m;
    *m = NULL;
    return true;
}

enum cud_status cud_message_test(struct cud_message **m, bool *done, struct cud_err *err)
{
    (void)err;
    *done = message_done((*m)->ranks, m);
    return CUD_OK;
}

enum cud_status cud_message_wait(struct cud_message **m, struct cud_err *err)
{
    (void)err;
    cud_ranks_wait((*m)->ranks, message_done, m);
    return CUD_OK;
}
