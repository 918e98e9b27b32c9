#include "clock.h"
#include "measure.h"

/* Two looks at the clock would be a hundredth of what the CPU takes for a piece of a window. */
static bool skips(const struct cud_measure *m, enum cud_part part)
{
    return m->device->shared && !m->track && (part == CUD_PART_QUEUE || part == CUD_PART_WAIT || part == CUD_PART_HASH);
}

double cud_measure_from(const struct cud_measure *m, enum cud_part part)
{
    if (skips(m, part))
        return 0;
    m->device->range(cud_part_name(part));
    return cud_now();
}

/* Which sum the host's time goes to; CUD_SUMS: none. */
static enum cud_sum sum_of(const struct cud_measure *m, enum cud_part part)
{
    switch (part) {
    case CUD_PART_READ: return CUD_SUM_READ;
    case CUD_PART_WRITE: return CUD_SUM_WRITE;
    case CUD_PART_COMPUTE: return m->device->shared ? CUD_SUM_COMPUTE : CUD_SUMS;
    case CUD_PART_HASH: return m->device->shared ? CUD_SUMS : CUD_SUM_HASH;
    default: return CUD_SUMS;
    }
}

void cud_measure_to(struct cud_measure *m, enum cud_part part, double from)
{
    if (skips(m, part))
        return;
    const double to = cud_now();
    const enum cud_sum sum = sum_of(m, part);
    m->device->range(NULL);
    if (!m->device->shared || (part != CUD_PART_QUEUE && part != CUD_PART_WAIT))    /* there the marks tell of these */
        cud_track_add(m->track, (struct cud_span){.part = part, .row0 = m->row0, .rows = m->rows}, from, to);
    if (sum != CUD_SUMS)
        m->sum[sum] += to - from;
}

/* ---- marks */

static double clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

static bool is_of_steps(int part) { return part == CUD_PART_CONVERT || part >= CUD_PART_STEP; }

/* What is between two marks.  A clock of the device's may be off by some microseconds: never outside of `from` and `to`. */
static void add(struct cud_measure *m, int part, const struct cud_mark *a, const struct cud_mark *b)
{
    const int lane = m->device->shared ? 0 : CUD_LANE_DEVICE;
    cud_track_add(m->track, (struct cud_span){.part = part, .lane = lane, .row0 = m->row0, .rows = m->rows}, a->at, b->at);
    if (m->device->shared || part == CUD_PART_CONVERT || part >= CUD_PART_STEP)
        return;
    m->sum[part == CUD_PART_PUT ? CUD_SUM_PUT : part == CUD_PART_GET ? CUD_SUM_GET : CUD_SUM_COMPUTE] += b->at - a->at;
}

void cud_measure_marks(struct cud_measure *m, struct cud_stream *stream, double from)
{
    if (!m->mark)
        return;
    const double to = cud_now();
    const size_t n = m->device->marks(stream, m->mark);
    for (size_t i = 0; i < n; i++)
        m->mark[i].at = clamp(m->mark[i].at, from, to);
    for (size_t i = 1; i < n; i++) {
        size_t last = i;                   /* of the steps in a row */
        while (last + 1 < n && is_of_steps(m->mark[last].what) && is_of_steps(m->mark[last + 1].what))
            last++;
        if (is_of_steps(m->mark[i].what) && !is_of_steps(m->mark[i - 1].what))
            add(m, CUD_PART_STEPS, &m->mark[i - 1], &m->mark[last]);
        add(m, m->mark[i].what, &m->mark[i - 1], &m->mark[i]);
    }
}

const char *cud_measure_bottleneck(const double sum[CUD_SUMS], bool shared)
{
    static const char *const name[CUD_SUMS] = {"read", "put", "kernel", "get", "hash", "write"};
    int most = 0;
    for (int i = 1; i < CUD_SUMS; i++)
        if (sum[i] > sum[most])
            most = i;
    return shared && most == CUD_SUM_COMPUTE ? "compute" : name[most];
}
