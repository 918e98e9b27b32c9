/* The lane that is NCCL's: from GPU to GPU, and on rank 0 from there to pinned memory.
 *
 * NCCL waits for ever by itself.  So its communicator does not block, its state is looked at each time that anything is asked
 * here, rank 0 has a deadline for what it receives, and when the run fails the communicator is aborted, which ends all that is
 * under way.  An abort must not hang either: the watchdog has an eye on it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device/nccl.h"
#include "rank_lane.h"
#include "rank_own.h"

#define GRACE 10.0                         /* seconds for what should take none: calls that block, the end, others' errors */
#define PATIENCE 3.0                       /* seconds without any progress, once the run fails, until the abort */
#define LATER 2.0                          /* after the timeout: first silent ranks are judged */

enum place_state { PLACE_FREE, PLACE_CALLED, PLACE_QUEUED };      /* CALLED: the call is in progress, nothing is queued yet */

struct place {
    enum place_state state;
    struct cud_stream *stream;
    void *device, *host;                   /* rank 0: what is received, and where it goes then */
    size_t bytes;
    int from;
    bool receives;
    uint64_t number;                       /* in the order in which they began */
};

struct cud_lane {
    struct cud_ranks *ranks;
    struct cud_lane_facts facts;
    const struct cud_nccl *nccl;
    struct ncclComm *comm;                 /* NULL: not yet, or no more */
    struct place *calling;                 /* NULL: no call is in progress */
    uint64_t begun;
    double moved, looked;                  /* when something got through, or had a reason to start; when we looked last */
    double gone;                           /* since when NCCL says that another rank is; else 0 */
    double leaving;                        /* since when the run fails; else 0 */
    bool failed;                           /* an error was said */
    const char *cause;                     /* NCCL's, or NULL */
    int state;                             /* at the last look while it was opened or closed */
    struct place place[];
};

static bool nccl_usable(const struct cud_ranks *r, char why[CUD_WHY])
{
    char what[200];
    (void)r;
    if (cud_nccl_open(CUD_NCCL_SONAME, what))
        return true;
    snprintf(why, CUD_WHY, "%s (install NVIDIA's libnccl2, or set LD_LIBRARY_PATH)", what);
    return false;
}

/* ---- an end that does not hang */

/* Sooner than the other ranks take this one for dead. */
static double grace(const struct cud_lane *l)
{
    const double half = l->ranks->timeout / 2;
    return half > 0 && half < GRACE ? half : GRACE;
}

/* A call that may block. */
static int guarded(struct cud_lane *l, const char *name, int (*call)(struct ncclComm *comm))
{
    struct cud_ranks *const r = l->ranks;
    char who[200], where[120];
    cud_ranks_describe(r, r->me, who, where);
    cud_watchdog_line(r->watchdog, "cudist: %s is stuck in %s, which did not return for %g s%s%s; %s; the job ends\n", who,
                      name, grace(l), l->cause ? "; before, NCCL had failed: " : "", l->cause ? l->cause : "", where);
    cud_watchdog_limit(r->watchdog, grace(l));
    const int code = call(l->comm);
    cud_watchdog_limit(r->watchdog, r->timeout > 0 ? r->timeout + 5 : 0);
    cud_ranks_line(r);
    return code;
}

/* Nothing is under way any more. */
static void drop(struct cud_lane *l)
{
    if (!l->comm)
        return;
    (void)guarded(l, "ncclCommAbort", l->nccl->abort);
    l->comm = NULL;
    l->calling = NULL;
    for (unsigned i = 0; i < l->facts.places; i++)
        l->place[i].state = PLACE_FREE;
}

/* ---- errors */

static enum cud_status fail(struct cud_lane *l, int code, struct cud_err *err)
{
    char who[200], where[120];
    const char *const last = l->nccl->last_error(l->comm);
    cud_ranks_describe(l->ranks, l->ranks->me, who, where);
    l->cause = l->nccl->error(code);
    return FAIL(err, CUD_EFAILED, "NCCL failed on %s: %s%s%.300s; %s; --comm mpi does without NCCL", who, l->cause,
                last && *last ? ": " : "", last ? last : "", where);
}

/* A GPU's error may come from any work on it, a kernel's too: the rows are those that the rank has in hand. */
static enum cud_status check_gpu(struct cud_lane *l, enum cud_status status, struct cud_err *err)
{
    char who[200], where[120];
    if (status != CUD_OK) {
        cud_ranks_describe(l->ranks, l->ranks->me, who, where);
        cud_err_at(err, "%s", where);
    }
    return status;
}

/* That another rank has gone is not the cause: that rank says it, or its death ends the job. */
static enum cud_status check_state(struct cud_lane *l, int state, double now, struct cud_err *err)
{
    if (state == CUD_NCCL_DONE || state == CUD_NCCL_IN_PROGRESS)
        return CUD_OK;
    if (l->gone <= 0)
        l->gone = now;
    return state == CUD_NCCL_REMOTE_ERROR && now - l->gone < grace(l) ? CUD_OK : fail(l, state, err);
}

/* Seconds since something got through; a rank that was away itself blames nobody for that time. */
static double waited(struct cud_lane *l, double now)
{
    const double timeout = l->ranks->timeout;
    if (now - l->looked > (timeout > 4 ? timeout / 4 : 1))
        l->moved = now;
    l->looked = now;
    return now - l->moved;
}

static bool overdue(struct cud_lane *l, double now)
{
    const double so_long = waited(l, now), timeout = l->ranks->timeout;
    return timeout > 0 && so_long > timeout + LATER;
}

/* The one that was first. */
static const struct place *oldest_receive(const struct cud_lane *l)
{
    const struct place *oldest = NULL;
    for (const struct place *p = l->place; p < l->place + l->facts.places; p++)
        if (p->state != PLACE_FREE && p->receives && (!oldest || p->number < oldest->number))
            oldest = p;
    return oldest;
}

/* What rank 0 has asked for was on its way already: it must come.  (A sender may have to wait as long as rank 0 likes.) */
static enum cud_status check_deadline(struct cud_lane *l, double now, struct cud_err *err)
{
    struct cud_ranks *const r = l->ranks;
    const struct place *const p = oldest_receive(l);
    char who[200], where[120];
    if (!overdue(l, now) || !p)
        return CUD_OK;
    cud_ranks_describe(r, p->from, who, where);
    return FAIL(err, CUD_EFAILED, "the rows of %s did not come through NCCL for %g s; %s; the job ends (--timeout %g); --comm mpi "
                "does without NCCL", who, r->timeout, where, r->timeout);
}

/* ---- turns */

/* The call is through: what was received goes on to the host. */
static enum cud_status queue_rest(struct cud_lane *l, struct cud_err *err)
{
    struct place *const p = l->calling;
    l->calling = NULL;
    p->state = PLACE_QUEUED;
    return p->receives ? check_gpu(l, l->facts.device->get(p->stream, p->host, p->device, p->bytes, err), err) : CUD_OK;
}

static enum cud_status look_closely(struct cud_lane *l, double now, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    int state = CUD_NCCL_IN_PROGRESS;
    const int code = l->nccl->async_error(l->comm, &state);
    TRY(check_state(l, code != CUD_NCCL_DONE ? code : state, now, err));
    if (state == CUD_NCCL_DONE && l->calling)
        TRY(queue_rest(l, err));
    TRY(check_deadline(l, now, err));
done:
    return status;
}

/* Once the run fails, further errors are of no interest: what was the first is known, and no other rank may wait for this one.
 * found: in *why. */
static enum cud_status weigh(struct cud_lane *l, enum cud_status found, const struct cud_err *why, struct cud_err *err)
{
    const double since = l->moved > l->leaving ? l->moved : l->leaving;
    l->failed |= found != CUD_OK;
    if (l->leaving <= 0) {
        if (found != CUD_OK && err->status == CUD_OK)
            *err = *why;
        return found;
    }
    if (l->failed || l->gone > 0 || cud_now() - since > PATIENCE)
        drop(l);
    return CUD_OK;
}

static enum cud_status look(struct cud_lane *l, struct cud_err *err)
{
    struct cud_err why = {0};
    return l->comm ? weigh(l, look_closely(l, cud_now(), &why), &why, err) : CUD_OK;
}

static enum cud_status ready_lane(struct cud_lane *l, bool *ready, struct cud_err *err)
{
    const enum cud_status status = look(l, err);
    *ready = !l->comm || (!l->calling && l->gone <= 0);
    return status;
}

static enum cud_status begin(struct cud_lane *l, unsigned place, bool receives, int code, struct cud_err *err)
{
    struct place *const p = &l->place[place];
    const double now = cud_now();
    if (!oldest_receive(l))
        l->moved = now;
    p->state = PLACE_CALLED;
    p->receives = receives;
    p->number = l->begun++;
    l->calling = p;
    struct cud_err why = {0};
    return weigh(l, check_state(l, code, now, &why), &why, err);
}

static enum cud_status send_piece(struct cud_lane *l, unsigned place, const void *bytes, size_t n, struct cud_err *err)
{
    if (!l->comm)
        return CUD_OK;
    void *const stream = l->facts.device->native(l->place[place].stream);
    return begin(l, place, false, l->nccl->send(bytes, n, CUD_NCCL_CHAR, 0, l->comm, stream), err);
}

static enum cud_status receive_piece(struct cud_lane *l, unsigned place, int from, size_t n, struct cud_err *err)
{
    struct place *const p = &l->place[place];
    p->from = from;
    p->bytes = n;
    if (!l->comm)
        return CUD_OK;
    void *const stream = l->facts.device->native(p->stream);
    return begin(l, place, true, l->nccl->receive(p->device, n, CUD_NCCL_CHAR, from, l->comm, stream), err);
}

static enum cud_status test_place(struct cud_lane *l, unsigned place, bool *done, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct place *const p = &l->place[place];
    struct cud_err why = {0};
    bool through = false;
    TRY(look(l, err));
    if (p->state == PLACE_QUEUED)
        TRY(weigh(l, check_gpu(l, l->facts.device->ready(p->stream, &through, &why), &why), &why, err));
    if (through) {
        p->state = PLACE_FREE;
        l->moved = cud_now();
        l->ranks->mine.messages++;
    }
done:
    *done = p->state == PLACE_FREE;
    return status;
}

static const char *bytes_of(const struct cud_lane *l, unsigned place) { return l->place[place].host; }

static void give_up(struct cud_lane *l)
{
    struct cud_err ignored = {0};
    if (l->leaving <= 0)
        l->leaving = cud_now();
    (void)look(l, &ignored);
}

/* ---- opening */

static enum cud_status lane_make(struct cud_ranks *r, const struct cud_lane_facts *f, struct cud_lane **lane, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    char why[200];
    struct cud_lane *const l = *lane = calloc(1, sizeof *l + f->places * sizeof *l->place);
    if (!l)
        return FAIL(err, CUD_EFAILED, "no memory for %u pieces of the output", f->places);
    l->ranks = r;
    l->facts = *f;
    if (!(l->nccl = cud_nccl_open(CUD_NCCL_SONAME, why)))
        return FAIL(err, CUD_ENOGPU, "%s", why);
    for (struct place *p = l->place; p < l->place + f->places; p++) {
        TRY(f->device->stream(f->dev, 0, &p->stream, err));
        if (r->me != 0)
            continue;
        TRY(f->device->alloc(f->dev, CUD_ON_DEVICE, f->bytes, &p->device, err));
        TRY(f->device->alloc(f->dev, CUD_ON_HOST, f->bytes, &p->host, err));
    }
done:
    return status;
}

/* Not in progress any more. */
static bool settled(struct cud_lane *l)
{
    int state = CUD_NCCL_IN_PROGRESS;
    const int code = l->nccl->async_error(l->comm, &state);
    l->state = code != CUD_NCCL_DONE ? code : state;
    return l->state != CUD_NCCL_IN_PROGRESS;
}

/* It is known how it ends: it is there, has failed, or another rank has, or the deadline is over. */
static bool connected(struct cud_ranks *r, void *arg)
{
    struct cud_lane *const l = arg;
    const double now = cud_now();
    const bool is_settled = settled(l), late = overdue(l, now);
    if (l->state == CUD_NCCL_REMOTE_ERROR && l->gone <= 0)
        l->gone = now;
    if (l->gone > 0)
        return r->failed || now - l->gone > grace(l);
    return is_settled || r->failed || late;
}

/* Until all ranks have come, or one has failed: that one's error comes with the next agree. */
static enum cud_status connect_all(struct cud_lane *l, struct cud_err *err)
{
    struct cud_ranks *const r = l->ranks;
    char who[200], where[120];
    l->moved = l->looked = cud_now();
    cud_ranks_wait(r, connected, l);
    if (l->state == CUD_NCCL_DONE || r->failed)
        return CUD_OK;
    if (l->state != CUD_NCCL_IN_PROGRESS)
        return fail(l, l->state, err);
    cud_ranks_describe(r, r->me, who, where);
    return FAIL(err, CUD_EFAILED, "%s waited for NCCL to bring the ranks together, in vain for %g s; the job ends (--timeout %g); "
                "--comm mpi does without NCCL", who, r->timeout, r->timeout);
}

static enum cud_status connect(struct cud_lane *l, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_ranks *const r = l->ranks;
    struct cud_nccl_config config = CUD_NCCL_NOT_BLOCKING;
    struct cud_nccl_id id = {{0}};
    int code = r->me == 0 ? l->nccl->get_unique_id(&id) : CUD_NCCL_DONE;
    if (code != CUD_NCCL_DONE)
        (void)fail(l, code, err);
    TRY(cud_rank_agree(r, err));
    TRY(cud_rank_bcast(r, &id, sizeof id, err));
    code = l->nccl->init(&l->comm, r->count, id, r->me, &config);
    if (code == CUD_NCCL_DONE || code == CUD_NCCL_IN_PROGRESS)
        (void)connect_all(l, err);
    else
        (void)fail(l, code, err);
    TRY(cud_rank_agree(r, err));
done:
    return status;
}

/* ---- closing */

static bool finalized(struct cud_ranks *r, void *arg)
{
    struct cud_lane *const l = arg;
    (void)r;
    return settled(l) || cud_now() - l->moved > grace(l);
}

/* When all is well everyone comes here; else some have aborted, and the others must not wait for them. */
static void leave(struct cud_lane *l)
{
    if (l->comm && !l->ranks->broken && !l->calling) {
        l->moved = cud_now();
        l->state = l->nccl->finalize(l->comm);
        if (l->state == CUD_NCCL_IN_PROGRESS)
            cud_ranks_wait(l->ranks, finalized, l);
        if (l->state == CUD_NCCL_DONE) {
            (void)guarded(l, "ncclCommDestroy", l->nccl->destroy);
            l->comm = NULL;
        }
    }
    drop(l);
}

static void close_lane(struct cud_lane *l)
{
    if (!l)
        return;
    leave(l);
    for (struct place *p = l->place; p < l->place + l->facts.places; p++) {
        l->facts.device->stream_free(p->stream);
        l->facts.device->free(l->facts.dev, CUD_ON_DEVICE, p->device);
        l->facts.device->free(l->facts.dev, CUD_ON_HOST, p->host);
    }
    free(l);
}

static enum cud_status open_lane(struct cud_ranks *r, const struct cud_lane_facts *facts, struct cud_lane **lane,
                                 struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_lane *l = NULL;
    (void)lane_make(r, facts, &l, err);
    TRY(cud_rank_agree(r, err));
    TRY(connect(l, err));
    *lane = l;
    l = NULL;
done:
    close_lane(l);
    return status;
}

extern const struct cud_lane_kind cud_lane_nccl;
const struct cud_lane_kind cud_lane_nccl = {
    .name = "nccl", .from_device = true, .between_gpus = true, .usable = nccl_usable, .open = open_lane, .close = close_lane,
    .ready = ready_lane, .send = send_piece, .receive = receive_piece, .test = test_place, .bytes = bytes_of, .give_up = give_up,
};
