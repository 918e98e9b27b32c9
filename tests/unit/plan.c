/* The plan: every row is done once, in whole units, by tables and by sweeps. */
#include <stdlib.h>
#include <string.h>
#include "cudist/kernel.h"
#include "plan.h"
#include "tap.h"

/* Goes over all windows of all ranks: each starts where some other ended, units are whole, nothing is left out or doubled. */
static int covers(const struct cud_plan *p)
{
    unsigned char *const seen = calloc(p->units + 1, 1);
    uint64_t rows = 0;
    int good = 1;
    for (int r = 0; r < p->facts.ranks; r++) {
        struct cud_window w, e = {0};
        uint64_t k = 0, mine = 0, at_end = 0;
        for (; cud_plan_window(p, r, k, &w); k++) {
            good &= w.rows > 0 && w.units > 0 && w.units <= p->window_units && w.unit0 + w.units <= p->units;
            good &= w.row0 == w.unit0 * p->unit_rows;
            const int last = w.unit0 + w.units == p->units;
            good &= w.rows == (last ? p->facts.rows - w.row0 : w.units * p->unit_rows);
            good &= p->facts.ordered || k == 0 || w.row0 == at_end;
            at_end = w.row0 + w.rows;
            for (uint64_t u = 0; good && u < w.units; u++)
                good &= !seen[w.unit0 + u]++;
            mine += w.rows;
        }
        good &= k == cud_plan_windows(p, r) && mine == cud_plan_rank_rows(p, r) && !cud_plan_window(p, r, k + 1, &w);
        uint64_t by_extent = 0;
        for (uint64_t i = 0; cud_plan_extent(p, r, i, &e); i++)
            by_extent += e.rows;
        good &= by_extent == mine;
        rows += mine;
    }
    for (uint64_t u = 0; u < p->units; u++)
        good &= seen[u] == 1;
    free(seen);
    return good && rows == p->facts.rows;
}

static struct cud_plan plan_of(struct cud_plan_facts f)
{
    struct cud_plan p;
    cud_plan_make(&f, &p);
    return p;
}

static void test_sweep(void)
{
    static const uint64_t rows[] = {0, 1, 2, 7, 4095, 4096, 4097, 100003, 1000000};
    static const uint64_t widths[] = {1, 3, 16, 784, 70000};
    static const uint64_t batches[] = {0, 1, 32, 1000, 5000000000u};
    static const uint64_t windows[] = {1, 4096, 65536, 1 << 20};
    static const int ranks[] = {1, 2, 3, 5, 8, 64, 1000};
    size_t bad = 0, all = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < sizeof widths / sizeof *widths; j++)
            for (size_t b = 0; b < sizeof batches / sizeof *batches; b++)
                for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
                    for (size_t n = 0; n < sizeof ranks / sizeof *ranks; n++)
                        for (int ordered = 0; ordered < 2; ordered++) {
                            if (rows[i] * widths[j] > 20000000)
                                continue;
                            const struct cud_plan p = plan_of((struct cud_plan_facts){
                                .rows = rows[i], .in_row_bytes = 4 * widths[j], .out_row_bytes = 4 * widths[j],
                                .widest_cols = widths[j], .batch = batches[b], .flat = widths[j] == 1 && !batches[b],
                                .ordered = ordered, .window_bytes = windows[w], .head_bytes = 128, .ranks = ranks[n]});
                            all++;
                            bad += !covers(&p);
                        }
    ok(bad == 0 && all > 1000, "%zu plans cover every row once, %zu do not", all, bad);
}

static void test_units(void)
{
    struct cud_plan p = plan_of((struct cud_plan_facts){.rows = 1 << 20, .in_row_bytes = 4, .out_row_bytes = 4, .widest_cols = 1,
                                                        .flat = true, .window_bytes = 1 << 20, .ranks = 1});
    ok(p.unit_rows == CUD_LEAF && p.window_units == 64, "flat: a unit is a leaf");
    p = plan_of((struct cud_plan_facts){.rows = 1000, .in_row_bytes = 3136, .out_row_bytes = 40, .widest_cols = 784,
                                        .window_bytes = 1 << 20, .ranks = 1});
    ok(p.unit_rows == 64 && p.window_units == 5, "rows of 784: 64 a unit, five units a MiB");
    p = plan_of((struct cud_plan_facts){.rows = 1000, .in_row_bytes = 4000000, .out_row_bytes = 4, .widest_cols = 1000000,
                                        .window_bytes = 1 << 20, .ranks = 1});
    ok(p.unit_rows == 1 && p.window_units == 1, "rows wider than a window: one row");
    p = plan_of((struct cud_plan_facts){.rows = 1000, .in_row_bytes = 64, .out_row_bytes = 64, .widest_cols = 16, .batch = 32,
                                        .window_bytes = 1 << 20, .ranks = 1});
    ok(p.unit_rows == 32, "a batch is a unit");
    p = plan_of((struct cud_plan_facts){.rows = 10, .in_row_bytes = 64, .out_row_bytes = 64, .widest_cols = 16,
                                        .batch = UINT64_MAX / 2, .window_bytes = 1 << 20, .ranks = 1});
    ok(p.unit_rows == 10 && p.units == 1, "a batch longer than the array: all of it");
}

static void test_borders(void)
{
    const struct cud_plan p = plan_of((struct cud_plan_facts){.rows = 1 << 26, .in_row_bytes = 4, .out_row_bytes = 4,
        .widest_cols = 1, .flat = true, .window_bytes = 1 << 20, .head_bytes = 128, .ranks = 7});
    int near = 1;
    for (int r = 1; r < 7; r++) {
        struct cud_window e;
        near &= cud_plan_extent(&p, r, 0, &e) && (128 + e.row0 * 4) % (1 << 20) >= (1 << 20) - CUD_LEAF * 4;
    }
    ok(near, "extents meet in the unit that holds a 1 MiB file offset");
}

int main(void)
{
    test_units();
    test_borders();
    test_sweep();
    return done_testing();
}
