/* The root way: windows to rank 0, in pieces, a head ahead of each.
 *
 * A sender sends the piece's bytes, on the lane, and a head, by MPI; of these at most FLIGHT are under way.  Rank 0 takes a head
 * only when it has a place for the piece, and only then asks for the bytes: what waits for it waits in the sender's own memory.
 * Each sender ends with a last head, which says how it ended. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sink_own.h"

#define TAG_HEAD 31
#define TAG_BYTES 32
#define PIECE ((uint64_t)4 << 20)
#define FLIGHT 4
#define HELD 64                            /* windows a rank may have handed over */
#define PUT_ONCE ((uint64_t)1 << 20)       /* to stdout, a turn */

struct head {                              /* the forest, if any, follows it */
    uint64_t row0, rows;                   /* of the window; rows only in the window's last piece, else 0 */
    uint64_t offset, bytes;                /* of the piece, from the window's first byte */
    int32_t status, last;                  /* last: no more comes, and why */
    uint64_t forest;                       /* bytes of it */
};
#define HEAD_MAX (sizeof(struct head) + CUD_FOREST_BYTES(CUD_FOREST_MAX))

struct held {                              /* a window handed over */
    struct cud_window window;
    const char *bytes;
    const struct cud_forest *forest;
    void *ticket;
};

struct ring { unsigned first, n; };        /* of an array: the oldest, and how many */

enum piece_state { PIECE_HEAD, PIECE_TOLD, PIECE_BYTES, PIECE_THERE };   /* TOLD: the head is there, bytes not asked for */

/* A piece under way.  On rank 0: one that comes, or a window of its own (bytes is then the window's). */
struct piece {
    enum piece_state state;
    unsigned place;                        /* its own, on the lane */
    struct cud_message *head_message;
    char *head;                            /* HEAD_MAX bytes */
    const char *bytes;                     /* rank 0 */
    uint64_t put;                          /* bytes of it already in stdout */
    int from;
    bool own;                              /* rank 0's */
};

struct cud_root {
    struct held held[HELD];
    struct ring holding;                   /* windows not yet given back */
    unsigned started;                      /* of these, those of which all pieces are under way */
    uint64_t offset;                       /* bytes of the next one that are under way */
    unsigned given;                        /* the first so many are done with */
    uint64_t passed;                       /* windows, in all */
    uint64_t mine;                         /* windows this rank must pass */

    struct cud_lane *lane;                 /* NULL: no other ranks */
    struct piece piece[FLIGHT];
    struct ring flying;

    bool over;                             /* nothing more is to be written: someone gave up */
    int32_t status;                        /* with what */
    bool said;                             /* the last head is under way */

    /* rank 0 */
    int ended;                             /* ranks that sent their last head */
    uint64_t next, windows;                /* to stdout: the window that is taken next, of all of them */
    unsigned char *first;                  /* to stdout: the file's head */
    uint64_t first_put;                    /* bytes of it written */
};

static struct piece *piece_at(struct cud_root *r, unsigned i) { return &r->piece[(r->flying.first + i) % FLIGHT]; }
static struct held *held_at(struct cud_root *r, unsigned i) { return &r->held[(r->holding.first + i) % HELD]; }
static struct head *head_of(struct piece *p) { return (struct head *)(void *)p->head; }

static void ring_drop(struct ring *ring, unsigned size)
{
    ring->first = (ring->first + 1) % size;
    ring->n--;
}

static uint64_t min64(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* ---- made and freed */

/* Of the longest one. */
static uint64_t piece_bytes(const struct cud_plan *plan)
{
    return min64(PIECE, min64(plan->window_units * plan->unit_rows, plan->facts.rows) * plan->facts.out_row_bytes);
}

uint64_t cud_sink_pieces_bytes(const struct cud_plan *plan) { return FLIGHT * piece_bytes(plan); }

enum cud_status cud_root_make(struct cud_sink *s, const unsigned char *head, struct cud_err *err)
{
    const struct cud_plan *plan = s->plan;
    struct cud_root *r = s->root = calloc(1, sizeof *r);
    bool good = r != NULL;
    for (unsigned i = 0; good && i < FLIGHT; i++) {
        r->piece[i].place = i;
        good = (r->piece[i].head = calloc(1, HEAD_MAX)) != NULL;
    }
    if (good && s->me == 0 && s->to_stdout && (good = (r->first = malloc(s->head_bytes + 1)) != NULL))
        memcpy(r->first, head, s->head_bytes);
    if (!good)
        return FAIL(err, CUD_EFAILED, "no memory for %d pieces of the output", FLIGHT);
    r->mine = cud_plan_windows(plan, s->me);
    for (int rank = 0; rank < s->count; rank++)
        r->windows += cud_plan_windows(plan, rank);
    return CUD_OK;
}

enum cud_status cud_root_open(struct cud_sink *s, struct cud_err *err)
{
    const struct cud_lane_facts facts = { .device = s->device, .dev = s->dev, .places = FLIGHT, .bytes = piece_bytes(s->plan),
                                          .tag = TAG_BYTES };
    return s->kind->open(s->ranks, &facts, &s->root->lane, err);
}

/* A head that MPI may still read or fill stays where it is. */
void cud_root_free(struct cud_sink *s)
{
    struct cud_root *r = s->root;
    if (!r)
        return;
    for (int i = 0; i < FLIGHT; i++)
        if (!r->piece[i].head_message)
            free(r->piece[i].head);
    if (r->lane)
        s->kind->close(r->lane);
    free(r->first);
    free(r);
}

/* ---- windows handed over */

enum cud_status cud_sink_pass(struct cud_sink *s, const struct cud_window *w, const void *bytes,
                              const struct cud_forest *forest, void *ticket, bool *taken, struct cud_err *err)
{
    struct cud_root *r = s->root;
    *taken = false;
    if (r->over)
        return FAIL(err, CUD_EFAILED, "%s: a window came after the end", s->name);
    if (r->holding.n == HELD)
        return CUD_OK;
    *held_at(r, r->holding.n++) = (struct held){ .window = *w, .bytes = bytes, .ticket = ticket,
                                                 .forest = s->plan->facts.ordered ? forest : NULL };
    r->passed++;
    *taken = true;
    return CUD_OK;
}

void *cud_sink_sent(struct cud_sink *s)
{
    struct cud_root *r = s->root;
    if (!r || !r->given)
        return NULL;
    void *ticket = held_at(r, 0)->ticket;
    ring_drop(&r->holding, HELD);
    r->given--;
    r->started--;
    return ticket;
}

/* What was handed over and is not under way will not be. */
static void held_give_back(struct cud_root *r)
{
    if (r->over && r->flying.n == 0)
        r->given = r->started = r->holding.n;
}

/* ---- a sender */

static enum cud_status send_piece(struct cud_sink *s, const struct head *head, const struct cud_forest *forest,
                                  const char *bytes, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_root *r = s->root;
    struct piece *p = piece_at(r, r->flying.n);
    *head_of(p) = *head;
    if (forest)
        memcpy(p->head + sizeof *head, forest, head->forest);
    if (head->bytes)
        TRY(s->kind->send(r->lane, p->place, bytes, head->bytes, err));
    r->flying.n++;
    TRY(cud_rank_send(s->ranks, 0, TAG_HEAD, p->head, sizeof *head + head->forest, &p->head_message, err));
done:
    return status;
}

/* The next piece of the window whose turn it is.  Its head goes behind its bytes: once rank 0 asks for them they must come. */
static enum cud_status send_next(struct cud_sink *s, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_root *r = s->root;
    const struct held *h = held_at(r, r->started);
    uint64_t all = h->window.rows * s->row_bytes, n = min64(PIECE, all - r->offset);
    bool end = r->offset + n == all;
    struct head head = { .row0 = h->window.row0, .rows = end ? h->window.rows : 0, .offset = r->offset, .bytes = n };
    if (end && h->forest)
        head.forest = CUD_FOREST_BYTES(h->forest->n);
    TRY(send_piece(s, &head, head.forest ? h->forest : NULL, h->bytes + r->offset, err));
    r->offset = end ? 0 : r->offset + n;
    r->started += end;
done:
    return status;
}

static enum cud_status send_end(struct cud_sink *s, struct cud_err *err)
{
    struct cud_root *r = s->root;
    r->said = true;
    return send_piece(s, &(struct head){ .status = r->status, .last = 1 }, NULL, NULL, err);
}

/* The oldest pieces that have left. */
static enum cud_status sent_pieces(struct cud_sink *s, bool *idle, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_root *r = s->root;
    while (r->flying.n) {
        struct piece *p = piece_at(r, 0);
        bool head = true, bytes = true;
        if (p->head_message)
            TRY(cud_message_test(&p->head_message, &head, err));
        TRY(s->kind->test(r->lane, p->place, &bytes, err));
        if (!head || !bytes)
            break;
        r->given += head_of(p)->rows > 0;  /* windows leave in the order they came */
        ring_drop(&r->flying, FLIGHT);
        *idle = false;
    }
done:
    return status;
}

static enum cud_status sender_turn(struct cud_sink *s, bool *idle, bool *done, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_root *r = s->root;
    bool ready = true;
    TRY(sent_pieces(s, idle, err));
    while (!r->over && r->flying.n < FLIGHT && r->started < r->holding.n) {
        TRY(s->kind->ready(r->lane, &ready, err));
        if (!ready)
            break;
        TRY(send_next(s, err));
        *idle = false;
    }
    if (!r->said && r->flying.n < FLIGHT && (r->over || (r->passed == r->mine && r->started == r->holding.n)))
        TRY(send_end(s, err));
    held_give_back(r);
    *done = r->said && r->flying.n == 0;
done:
    return status;
}

/* ---- rank 0: taking */

static struct piece *piece_new(struct cud_root *r)
{
    struct piece *p = piece_at(r, r->flying.n++);
    p->put = 0;
    p->own = false;
    return p;
}

/* A window of rank 0's own takes its place in the queue. */
static enum cud_status take_own(struct cud_root *r, const struct cud_sink *s, struct cud_grove *grove, struct cud_err *err)
{
    const struct held *h = held_at(r, r->started++);
    struct piece *p = piece_new(r);
    *head_of(p) = (struct head){ .row0 = h->window.row0, .rows = h->window.rows, .bytes = h->window.rows * s->row_bytes };
    p->own = true;
    p->bytes = h->bytes;
    p->state = PIECE_THERE;
    r->next++;
    return h->forest ? cud_grove_add(grove, h->forest, err) : CUD_OK;
}

/* Whose head may come now: a rank's, anyone's (-1), or nobody's (-2: it is rank 0's own turn). */
static int whose_turn(const struct cud_sink *s)
{
    const struct cud_root *r = s->root;
    if (!s->to_stdout || r->over || r->next == r->windows)
        return -1;
    int rank = (int)(r->next % (uint64_t)s->count);
    return rank ? rank : -2;
}

/* One head at a time: only when it is there is it known whether the next is of the same window. */
static enum cud_status take_next(struct cud_sink *s, struct cud_grove *grove, bool *idle, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_root *r = s->root;
    bool found = false;
    size_t n = 0;
    int from = whose_turn(s);
    if (r->flying.n == FLIGHT || (r->flying.n && piece_at(r, r->flying.n - 1)->state == PIECE_HEAD))
        return CUD_OK;
    if (from == -2) {
        if (r->started < r->holding.n) {
            *idle = false;
            return take_own(r, s, grove, err);
        }
        return CUD_OK;
    }
    if (r->ended < s->count - 1)
        TRY(cud_rank_probe(s->ranks, from, TAG_HEAD, &found, &from, &n, err));
    if (!found)
        return CUD_OK;
    struct piece *p = piece_new(r);
    p->state = PIECE_HEAD;
    p->from = from;
    *idle = false;
    assert(n <= HEAD_MAX);
    TRY(cud_rank_receive(s->ranks, from, TAG_HEAD, p->head, n, &p->head_message, err));
done:
    return status;
}

static void last_head(struct cud_root *r, const struct head *head)
{
    r->flying.n--;                         /* it is the newest */
    r->ended++;
    if (head->status == CUD_OK)
        return;
    r->over = true;                        /* what is still to come is of no use */
    r->status = head->status;
}

/* The newest piece's head is there. */
static enum cud_status take_head(struct cud_sink *s, struct piece *p, struct cud_grove *grove, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_root *r = s->root;
    const struct head *head = head_of(p);
    if (head->last) {
        last_head(r, head);
        return CUD_OK;
    }
    r->next += head->rows > 0;
    p->state = head->bytes ? PIECE_TOLD : PIECE_THERE;
    if (head->forest && !r->over)
        TRY(cud_grove_add(grove, (const struct cud_forest *)(const void *)(p->head + sizeof *head), err));
done:
    return status;
}

/* *ready: the lane takes more; once it does not, later pieces wait for this one. */
static enum cud_status take_bytes(struct cud_sink *s, struct piece *p, bool *ready, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_lane *lane = s->root->lane;
    if (*ready)
        TRY(s->kind->ready(lane, ready, err));
    if (!*ready)
        return CUD_OK;
    TRY(s->kind->receive(lane, p->place, p->from, head_of(p)->bytes, err));
    p->bytes = s->kind->bytes(lane, p->place);
    p->state = PIECE_BYTES;
done:
    return status;
}

static enum cud_status take_pieces(struct cud_sink *s, struct cud_grove *grove, bool *idle, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_root *r = s->root;
    bool ready = true;
    for (unsigned i = 0; i < r->flying.n; i++) {
        struct piece *p = piece_at(r, i);
        const enum piece_state before = p->state;
        bool done = false;
        if (p->state == PIECE_HEAD) {
            TRY(cud_message_test(&p->head_message, &done, err));
            if (done)
                TRY(take_head(s, p, grove, err));
        }
        if (p->state == PIECE_TOLD) {
            TRY(take_bytes(s, p, &ready, err));
        } else if (p->state == PIECE_BYTES) {
            TRY(s->kind->test(r->lane, p->place, &done, err));
            p->state = done ? PIECE_THERE : PIECE_BYTES;
        }
        *idle = *idle && !done && p->state == before;
    }
done:
    return status;
}

/* ---- rank 0: putting */

/* stdout takes more now, or within a millisecond. */
static bool may_put(const struct cud_sink *s)
{
    struct pollfd ready = { .fd = s->fd, .events = POLLOUT };
    return poll(&ready, 1, 1) > 0;
}

/* To stdout, as much as it takes without much waiting, but not so much that messages would wait. */
static enum cud_status put_some(struct cud_sink *s, const char *bytes, uint64_t n, uint64_t *put, struct cud_err *err)
{
    uint64_t end = min64(n, *put + PUT_ONCE);
    while (*put < end && (s->patient || may_put(s))) {
        ssize_t k = write(s->fd, bytes + *put, min64(end - *put, s->patient ? PUT_ONCE : PIPE_BUF));
        if (k < 0 && errno == EAGAIN && !may_put(s))
            break;
        if (k < 0 && errno != EINTR && errno != EAGAIN)
            return FAIL(err, CUD_EFAILED, "stdout: %s", errno == EPIPE ? "its reader has gone" : strerror(errno));
        *put += k > 0 ? (uint64_t)k : 0;
    }
    return CUD_OK;
}

/* Puts the oldest piece; *gone: all of it. */
static enum cud_status put_piece(struct cud_sink *s, struct piece *p, bool *gone, bool *idle, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct head *head = head_of(p);
    uint64_t before = p->put;
    *gone = true;
    if (s->root->over)
        return CUD_OK;
    if (s->to_stdout) {
        TRY(put_some(s, p->bytes, head->bytes, &p->put, err));
        *gone = p->put == head->bytes;
        *idle = *idle && p->put == before;
    } else {
        TRY(cud_sink_put(s, s->head_bytes + head->row0 * s->row_bytes + head->offset, head->bytes, p->bytes, err));
    }
    if (*gone)
        atomic_fetch_add(&s->rows_put, head->rows);
done:
    return status;
}

static enum cud_status put_pieces(struct cud_sink *s, bool *idle, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_root *r = s->root;
    bool gone = true;
    if (s->to_stdout && !r->over && r->first_put < s->head_bytes) {
        TRY(put_some(s, (const char *)r->first, s->head_bytes, &r->first_put, err));
        gone = r->first_put == s->head_bytes;
    }
    while (gone && r->flying.n && piece_at(r, 0)->state == PIECE_THERE) {
        TRY(put_piece(s, piece_at(r, 0), &gone, idle, err));
        if (!gone)
            break;
        r->given += piece_at(r, 0)->own;
        ring_drop(&r->flying, FLIGHT);
        *idle = false;
    }
done:
    return status;
}

static enum cud_status first_turn(struct cud_sink *s, struct cud_grove *grove, bool *idle, bool *done, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_root *r = s->root;
    TRY(take_pieces(s, grove, idle, err));
    TRY(take_next(s, grove, idle, err));
    TRY(put_pieces(s, idle, err));
    held_give_back(r);
    bool all = atomic_load(&s->rows_put) == s->rows && (!s->to_stdout || r->first_put == s->head_bytes);
    *done = r->ended == s->count - 1 && r->flying.n == 0 && (r->over || all);
done:
    return status;
}

/* ---- all ranks */

enum cud_status cud_sink_turn(struct cud_sink *s, struct cud_grove *grove, bool *idle, bool *done, struct cud_err *err)
{
    *idle = *done = true;
    if (!s->root)
        return CUD_OK;
    *done = false;
    return s->me ? sender_turn(s, idle, done, err) : first_turn(s, grove, idle, done, err);
}

void cud_sink_give_up(struct cud_sink *s, enum cud_status status)
{
    if (!s || !s->root)
        return;
    s->root->over = true;
    s->root->status = status;
    if (s->root->lane)
        s->kind->give_up(s->root->lane);
}
