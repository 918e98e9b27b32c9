/* Marks, sums and spans: src/measure.c and src/trace.c, with a device that says what it is told. */
#include <stdio.h>
#include <string.h>
#include "clock.h"
#include "measure.h"
#include "tap.h"

static struct cud_mark scripted[16];
static size_t scripted_n;
static int depth, deepest;

static size_t marks(struct cud_stream *s, struct cud_mark *to)
{
    (void)s;
    for (size_t i = 0; i < scripted_n; i++)
        to[i] = scripted[i];
    return scripted_n;
}

static void range(const char *name)
{
    depth += name ? 1 : -1;
    deepest = depth > deepest ? depth : deepest;
}

static const struct cud_device gpu = {.name = "gpu", .shared = false, .marks = marks, .range = range};
static const struct cud_device cpu = {.name = "cpu", .shared = true, .marks = marks, .range = range};

static void script(double t, size_t n, const struct cud_mark *m)
{
    scripted_n = n;
    for (size_t i = 0; i < n; i++)
        scripted[i] = (struct cud_mark){.what = m[i].what, .at = t + m[i].at};
}

static bool near(double a, double b) { return a - b < 1e-9 && b - a < 1e-9; }

/* A window: two steps with a conversion in front; the last mark is later than now. */
static void sums(void)
{
    static const struct cud_mark window[] = {{CUD_PART_QUEUE, 0.125}, {CUD_PART_PUT, 0.25}, {CUD_PART_CONVERT, 0.3}, {CUD_PART_STEP, 0.4},
                                             {CUD_PART_STEP + 1, 0.5}, {CUD_PART_STATS, 0.75}, {CUD_PART_GET, 9}};
    struct cud_mark room[16];
    const double began = cud_now() - 1;
    struct cud_track *const t = cud_track_make(3, began);
    struct cud_measure m = {.device = &gpu, .track = t, .mark = room, .row0 = 70, .rows = 5};
    struct cud_span s, last = {0};
    char parts[64] = "";
    script(began, 7, window);
    cud_measure_marks(&m, NULL, began);
    ok(near(m.sum[CUD_SUM_PUT], 0.125) && near(m.sum[CUD_SUM_COMPUTE], 0.5), "put and kernel: %g, %g", m.sum[CUD_SUM_PUT],
       m.sum[CUD_SUM_COMPUTE]);
    ok(m.sum[CUD_SUM_GET] >= 0.25 && m.sum[CUD_SUM_GET] < 2, "a mark is not later than now: %g", m.sum[CUD_SUM_GET]);
    for (uint64_t i = 0; cud_track_at(t, i, &s); i++) {
        sprintf(parts + strlen(parts), "%d ", s.part);
        ok(s.lane == 3 + CUD_LANE_DEVICE && s.row0 == 70 && s.rows == 5, "span %d of the stream, with its rows", (int)i);
        last = s;
    }
    char want[64];
    sprintf(want, "%d %d %d %d %d %d %d ", CUD_PART_PUT, CUD_PART_STEPS, CUD_PART_CONVERT, CUD_PART_STEP, CUD_PART_STEP + 1,
            CUD_PART_STATS, CUD_PART_GET);
    ok(strcmp(parts, want) == 0, "the spans: %s, want %s", parts, want);
    ok(last.at == 750000000 && last.took >= 250000000, "nanoseconds: %lld", (long long)last.at);
    cud_track_free(t);
}

/* The host's part of it, and which of both counts where. */
static void host(void)
{
    static const enum cud_part parts[] = {CUD_PART_READ, CUD_PART_COMPUTE, CUD_PART_QUEUE, CUD_PART_WAIT, CUD_PART_HASH, CUD_PART_WRITE};
    const struct cud_device *const devices[] = {&gpu, &cpu};
    for (int d = 0; d < 2; d++) {
        struct cud_measure m = {.device = devices[d]};
        deepest = depth = 0;
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            cud_measure_to(&m, parts[i], cud_measure_from(&m, parts[i]) - 1 - (double)i);
        const bool shared = devices[d]->shared;
        ok(m.sum[CUD_SUM_READ] >= 1 && m.sum[CUD_SUM_READ] < 2 && m.sum[CUD_SUM_WRITE] >= 6 && m.sum[CUD_SUM_WRITE] < 7,
           "%s: read and write are the host's", devices[d]->name);
        ok(m.sum[CUD_SUM_PUT] == 0 && m.sum[CUD_SUM_GET] == 0, "%s: queueing is no copy", devices[d]->name);
        ok((m.sum[CUD_SUM_COMPUTE] >= 2) == shared && (m.sum[CUD_SUM_HASH] >= 5) == !shared, "%s: what computing is", devices[d]->name);
        ok(depth == 0 && deepest == 1, "%s: ranges end", devices[d]->name);
    }
}

static void bottleneck(void)
{
    static const char *const on_gpu[CUD_SUMS] = {"read", "put", "kernel", "get", "hash", "write"};
    for (int i = 0; i < CUD_SUMS; i++) {
        double sum[CUD_SUMS] = {1, 1, 1, 1, 1, 1};
        sum[i] = 2;
        ok(strcmp(cud_measure_bottleneck(sum, false), on_gpu[i]) == 0, "on a GPU it is %s", on_gpu[i]);
        if (i == CUD_SUM_COMPUTE)
            ok(strcmp(cud_measure_bottleneck(sum, true), "compute") == 0, "on the CPU it is compute");
    }
}

/* Waits in a row are one; a full track keeps both ends. */
static void track(void)
{
    enum { MANY = 100000, KEPT = 65536 };
    struct cud_track *const t = cud_track_make(1, 0);
    struct cud_span s, before = {0};
    const struct cud_span wait = {.part = CUD_PART_WAIT};
    bool rising = true;
    uint64_t n = 0, gap = 0;
    cud_track_add(t, wait, 1, 2);
    cud_track_add(t, wait, 2.00001, 3);
    cud_track_add(t, wait, 3.1, 4);
    ok(cud_track_at(t, 0, &s) && s.at == 1000000000 && s.took == 2000000000 && cud_track_at(t, 1, &s) && !cud_track_at(t, 2, &s),
       "waits in a row are one, waits apart are two");
    for (int i = 0; i < MANY; i++)
        cud_track_add(t, (struct cud_span){.part = CUD_PART_READ, .row0 = (uint64_t)i, .rows = 1}, 5 + i, 5.5 + i);
    for (; cud_track_at(t, n, &s); n++, before = s) {
        rising &= n == 0 || s.at > before.at || s.part == CUD_PART_LEFT_OUT;
        gap += s.part == CUD_PART_LEFT_OUT ? s.rows : 0;
    }
    ok(rising && n == KEPT + 1 && gap == MANY + 2 - KEPT, "a full one keeps the first and the last: %d, %d left out", (int)n, (int)gap);
    ok(before.row0 == MANY - 1, "the last is the last");
    cud_track_free(t);
    cud_track_add(NULL, wait, 1, 2);
}

int main(void)
{
    sums();
    host();
    bottleneck();
    track();
    return done_testing();
}
