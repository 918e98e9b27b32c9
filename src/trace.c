#include <stdlib.h>
#include "trace.h"

#define HALF ((uint64_t)1 << 15)           /* spans */
#define NEAR 50e-6                         /* seconds between two waits that are one */

struct cud_track {
    int lane;
    double began, last;                    /* the trace; the end of the last span */
    uint64_t added;                        /* ever */
    struct cud_span span[2 * HALF];        /* the second half is a ring */
};

const char *cud_part_name(int part)
{
    static const char *const name[] = {
        [CUD_PART_START] = "start", [CUD_PART_STREAM] = "stream", [CUD_PART_COMMIT] = "commit",
        [CUD_PART_BUFFERS] = "buffers", [CUD_PART_WAIT] = "wait",
        [CUD_PART_WINDOW] = "window", [CUD_PART_READ] = "read", [CUD_PART_COMPUTE] = "compute", [CUD_PART_WRITE] = "write",
        [CUD_PART_QUEUE] = "queue", [CUD_PART_PUT] = "put", [CUD_PART_STEPS] = "steps", [CUD_PART_STATS] = "stats", [CUD_PART_GET] = "get",
        [CUD_PART_HASH] = "hash", [CUD_PART_CONVERT] = "convert", [CUD_PART_LEFT_OUT] = "left out", [CUD_PART_STEP] = "step"};
    return name[part < CUD_PART_STEP ? part : CUD_PART_STEP];
}

/* Pages that no span comes to are never touched. */
struct cud_track *cud_track_make(int lane, double began)
{
    struct cud_track *const t = calloc(1, sizeof *t);
    if (t) {
        t->lane = lane;
        t->began = began;
    }
    return t;
}

void cud_track_free(struct cud_track *t) { free(t); }

static uint64_t place(uint64_t number) { return number < HALF ? number : HALF + number % HALF; }

void cud_track_add(struct cud_track *t, struct cud_span span, double from, double to)
{
    if (!t)
        return;
    struct cud_span *const last = t->added ? &t->span[place(t->added - 1)] : NULL;
    span.lane += t->lane;
    span.at = (int64_t)((from - t->began) * 1e9);
    span.took = (int64_t)((to - t->began) * 1e9) - span.at;
    if (span.part == CUD_PART_WAIT && last && last->part == CUD_PART_WAIT && from - t->last < NEAR)
        last->took = span.at + span.took - last->at;
    else
        t->span[place(t->added++)] = span;
    t->last = to;
}

bool cud_track_at(const struct cud_track *t, uint64_t i, struct cud_span *span)
{
    const uint64_t missing = t->added > 2 * HALF ? t->added - 2 * HALF : 0;
    if (missing && i == HALF) {
        const struct cud_span *const before = &t->span[HALF - 1];
        *span = (struct cud_span){.at = before->at + before->took, .rows = missing, .part = CUD_PART_LEFT_OUT, .lane = t->lane};
        return true;
    }
    const uint64_t number = i < HALF || !missing ? i : i - 1 + missing;
    if (number >= t->added)
        return false;
    *span = t->span[place(number)];
    return true;
}
