/* Letters to rank 0 and its answers. */
#include <stdlib.h>
#include <string.h>
#include "rank_own.h"

#define TAG_LETTER 1
#define TAG_ANSWER 2
#define EVERY 1.0                          /* seconds between letters */
#define LETTERS_A_TURN 256

static bool moved(const struct cud_letter *a, const struct cud_letter *b)
{
    return memcmp(&a->report, &b->report, sizeof a->report) != 0 || a->meetings != b->meetings || a->messages != b->messages;
}

/* What a letter says about the whole job. */
static void note(struct cud_ranks *r, const struct cud_letter *letter)
{
    const int status = letter->report.status;
    if (letter->signal && r->signal <= 0)
        r->signal = letter->signal;
    if (status == CUD_ESTOPPED && !r->signal)
        r->signal = -1;
    if (status != CUD_OK && status != CUD_ESTOPPED)
        r->failed = true;
    if (letter->ending)
        cud_signals_hush();
}

/* ---- rank 0 */

static void post_inbox(struct cud_ranks *r)
{
    CUD_MPI(r, MPI_Irecv(&r->inbox, sizeof r->inbox, MPI_BYTE, MPI_ANY_SOURCE, TAG_LETTER, r->mail, &r->inbox_request));
}

/* The last answer to this rank has arrived, or it would not have written again; but MPI may not know yet: then later. */
static void answer(struct cud_ranks *r, int rank)
{
    struct cud_peer *peer = &r->peer[rank];
    if (!cud_ranks_test(r, &peer->request))
        return;
    peer->answer = (struct cud_answer){
        .report = r->mine.report, .signal = r->signal, .failed = r->failed, .meeting = r->mine.meeting,
        .bye = peer->letter.bye, .ending = peer->letter.ending};
    memcpy(peer->answer.device, r->mine.device, sizeof peer->answer.device);
    CUD_MPI(r, MPI_Isend(&peer->answer, sizeof peer->answer, MPI_BYTE, rank, TAG_ANSWER, r->mail, &peer->request));
    peer->owed = false;
    r->owed--;
}

static void take_letter(struct cud_ranks *r, int rank, double now)
{
    struct cud_peer *peer = &r->peer[rank];
    if (moved(&peer->letter, &r->inbox))
        r->all_moved = now;
    peer->letter = r->inbox;
    peer->heard = now;
    note(r, &peer->letter);
    peer->owed = true;
    r->owed++;
    r->byes += peer->letter.bye;
    answer(r, rank);
}

static void turn_of_zero(struct cud_ranks *r, double now)
{
    if (moved(&r->peer[0].letter, &r->mine))
        r->all_moved = now;
    r->peer[0].letter = r->mine;
    note(r, &r->mine);
    for (int i = 1; r->owed > 0 && i < r->count; i++)
        if (r->peer[i].owed)
            answer(r, i);
    for (int i = 0; i < LETTERS_A_TURN && r->inbox_request != MPI_REQUEST_NULL; i++) {
        int flag;
        MPI_Status from;
        CUD_MPI(r, MPI_Test(&r->inbox_request, &flag, &from));
        if (!flag)
            break;
        take_letter(r, from.MPI_SOURCE, now);
        if (r->byes < r->count - 1)
            post_inbox(r);
    }
}

/* ---- the others */

static void write_letter(struct cud_ranks *r, double now)
{
    r->sent = r->mine;
    CUD_MPI(r, MPI_Irecv(&r->answer, sizeof r->answer, MPI_BYTE, 0, TAG_ANSWER, r->mail, &r->mail_request[0]));
    CUD_MPI(r, MPI_Isend(&r->sent, sizeof r->sent, MPI_BYTE, 0, TAG_LETTER, r->mail, &r->mail_request[1]));
    r->sent_at = now;
    r->urgent = false;
}

static void take_answer(struct cud_ranks *r, double now)
{
    r->heard = now;
    if (r->answer.signal && r->signal <= 0)
        r->signal = r->answer.signal;
    if (r->answer.failed)
        r->failed = true;
}

static void turn_of_other(struct cud_ranks *r, double now)
{
    if (r->mail_request[0] != MPI_REQUEST_NULL || r->mail_request[1] != MPI_REQUEST_NULL) {
        int flag;
        MPI_Status nobody_asks[2];         /* MPICH's constant for it looks too small to GCC */
        CUD_MPI(r, MPI_Testall(2, r->mail_request, &flag, nobody_asks));
        if (!flag)
            return;
        take_answer(r, now);
    }
    if (!r->answer.bye && (r->urgent || now - r->sent_at >= EVERY))
        write_letter(r, now);
}

void cud_mail_turn(struct cud_ranks *r, double now)
{
    if (r->mail == MPI_COMM_NULL)          /* still starting */
        return;
    if (r->me == 0)
        turn_of_zero(r, now);
    else
        turn_of_other(r, now);
}

/* ---- start and end */

static enum cud_status swap_hosts(struct cud_ranks *r, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    char *all = NULL;
    if (r->me == 0 && !(all = malloc((size_t)r->count * sizeof r->host)))
        TRY(FAIL(err, CUD_EFAILED, "no memory for the names of %d hosts", r->count));
    TRY(cud_rank_gather(r, r->host, sizeof r->host, all, err));
    for (int i = 0; all && i < r->count; i++)
        memcpy(r->peer[i].host, all + (size_t)i * sizeof r->host, sizeof r->host);
    memcpy(r->zero_host, r->host, sizeof r->host);
    TRY(cud_rank_bcast(r, r->zero_host, sizeof r->zero_host, err));
done:
    free(all);
    return status;
}

enum cud_status cud_mail_start(struct cud_ranks *r, struct cud_err *err)
{
    r->inbox_request = r->mail_request[0] = r->mail_request[1] = MPI_REQUEST_NULL;
    r->last = r->here = r->moved = r->all_moved = r->heard = cud_now();
    if (r->me == 0) {
        if (!(r->peer = calloc((size_t)r->count, sizeof *r->peer)))
            return FAIL(err, CUD_EFAILED, "no memory for the reports of %d ranks", r->count);
        for (int i = 0; i < r->count; i++) {
            r->peer[i].request = MPI_REQUEST_NULL;
            r->peer[i].heard = r->heard;
        }
        if (r->count > 1)
            post_inbox(r);
    }
    return swap_hosts(r, err);
}

static bool all_said_bye(struct cud_ranks *r, void *arg)
{
    (void)arg;
    if (r->me != 0)
        return r->answer.bye && r->mail_request[0] == MPI_REQUEST_NULL;
    if (r->byes < r->count - 1 || r->owed > 0)
        return false;
    for (int i = 1; i < r->count; i++)
        if (!cud_ranks_test(r, &r->peer[i].request))
            return false;
    return true;
}

void cud_mail_end(struct cud_ranks *r)
{
    r->mine.bye = 1;
    r->urgent = true;
    cud_ranks_wait(r, all_said_bye, NULL);
}

void cud_mail_free(struct cud_ranks *r)
{
    free(r->peer);
    r->peer = NULL;
}
