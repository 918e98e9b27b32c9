#include "cudist/kernel.h"
#include "number.h"
#include "plan.h"

#define UNIT_ELEMS 65536                   /* of the widest row: 256 KiB of f32, which stays in a core's own cache */
#define BORDER ((uint64_t)1 << 20)         /* file offsets where extents meet, if they can: pages and stripes have one writer */

static uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

static uint64_t unit_rows(const struct cud_plan_facts *f)
{
    uint64_t rows = 1;
    if (f->batch)
        return f->batch < f->rows ? f->batch : f->rows ? f->rows : 1;
    if (f->flat)
        return CUD_LEAF;
    while (2 * rows * (f->widest_cols ? f->widest_cols : 1) <= UNIT_ELEMS)
        rows *= 2;
    return rows;
}

/* As many whole units as the wanted bytes hold. */
static uint64_t window_units(const struct cud_plan *p)
{
    const struct cud_plan_facts *const f = &p->facts;
    const uint64_t widest = f->in_row_bytes > f->out_row_bytes ? f->in_row_bytes : f->out_row_bytes;
    const uint64_t rows = f->window_bytes / (widest ? widest : 1), units = rows / p->unit_rows;
    return units ? units : 1;
}

void cud_plan_make(const struct cud_plan_facts *facts, struct cud_plan *plan)
{
    *plan = (struct cud_plan){.facts = *facts};
    plan->unit_rows = unit_rows(facts);
    plan->units = ceil_div(facts->rows, plan->unit_rows);
    plan->window_units = window_units(plan);
}

/* The first unit of a rank's block: an even share, moved down to the last unit that starts at a border of the file, if there
 * is one near (within a quarter of a share). */
static uint64_t block_start(const struct cud_plan *p, int rank)
{
    const uint64_t n = (uint64_t)p->facts.ranks, r = (uint64_t)rank;
    if (r == 0)
        return 0;
    if (r >= n)
        return p->units;
    const uint64_t even = p->units / n * r + p->units % n * r / n;
    const uint64_t unit_bytes = p->unit_rows * p->facts.out_row_bytes;
    if (unit_bytes == 0 || unit_bytes >= BORDER)
        return even;
    const uint64_t offset = p->facts.head_bytes + even * unit_bytes, past = offset % BORDER;
    const uint64_t back = ceil_div(past, unit_bytes);       /* the unit that holds the border, or starts there */
    return past && back <= p->units / n / 4 ? even - back : even;
}

static struct cud_window of_units(const struct cud_plan *p, uint64_t unit0, uint64_t units)
{
    struct cud_window w = {.unit0 = unit0, .units = units, .row0 = unit0 * p->unit_rows};
    const uint64_t left = p->facts.rows - w.row0;
    w.rows = units > left / p->unit_rows ? left : units * p->unit_rows;
    return w;
}

bool cud_plan_window(const struct cud_plan *p, int rank, uint64_t k, struct cud_window *window)
{
    if (p->facts.ordered) {
        const uint64_t all = ceil_div(p->units, p->window_units), n = (uint64_t)p->facts.ranks;
        if (k > all / n || k * n + (uint64_t)rank >= all)
            return false;
        const uint64_t unit0 = (k * n + (uint64_t)rank) * p->window_units;
        *window = of_units(p, unit0, cud_min64(p->window_units, p->units - unit0));
        return true;
    }
    const uint64_t from = block_start(p, rank), to = block_start(p, rank + 1);
    if (k >= ceil_div(to - from, p->window_units))
        return false;
    const uint64_t unit0 = from + k * p->window_units;
    *window = of_units(p, unit0, cud_min64(p->window_units, to - unit0));
    return true;
}

uint64_t cud_plan_windows(const struct cud_plan *p, int rank)
{
    if (p->facts.ordered) {
        const uint64_t all = ceil_div(p->units, p->window_units), n = (uint64_t)p->facts.ranks;
        return all / n + (all % n > (uint64_t)rank);
    }
    return ceil_div(block_start(p, rank + 1) - block_start(p, rank), p->window_units);
}

uint64_t cud_plan_windows_most(const struct cud_plan *p)
{
    const uint64_t n = (uint64_t)p->facts.ranks;
    if (p->facts.ordered)
        return ceil_div(ceil_div(p->units, p->window_units), n);
    return ceil_div(ceil_div(p->units, n), p->window_units);
}

bool cud_plan_extent(const struct cud_plan *p, int rank, uint64_t k, struct cud_window *extent)
{
    if (p->facts.ordered && p->facts.ranks > 1)
        return cud_plan_window(p, rank, k, extent);
    const uint64_t from = block_start(p, rank), to = block_start(p, rank + 1);
    if (k > 0 || from == to)
        return false;
    *extent = of_units(p, from, to - from);
    return true;
}

uint64_t cud_plan_rank_rows(const struct cud_plan *p, int rank)
{
    const uint64_t n = cud_plan_windows(p, rank);
    struct cud_window w;
    if (!p->facts.ordered)
        return cud_plan_extent(p, rank, 0, &w) ? w.rows : 0;
    if (n == 0 || !cud_plan_window(p, rank, n - 1, &w))
        return 0;
    return (n - 1) * p->window_units * p->unit_rows + w.rows;
}
