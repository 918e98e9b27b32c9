/* Programs: what their scratch must hold. */
#include "program.h"
#include "tap.h"

/* Steps that want 8 bytes of workspace for each row of a launch. */
static size_t work_bytes(const struct cud_step_facts *f, uint64_t rows)
{
    (void)f;
    return 8 * rows;
}

/* A step that sees all rows of a piece beside one that sees a batch at a time: there is room for the piece's. */
static void test_work(void)
{
    static const struct cud_kernel rows = {.name = "rows", .kind = CUD_ROWS, .in_place = true, .work_bytes = work_bytes};
    static const struct cud_kernel batches = {.name = "batches", .kind = CUD_BATCHES, .in_place = true, .work_bytes = work_bytes};
    static const struct { const struct cud_kernel *first, *second; uint64_t batch, want; const char *name; } t[] = {
        {&rows, &rows, 0, 8 * 1000, "rows: the whole piece"},
        {&batches, &batches, 100, 8 * 100, "batches: one"},
        {&batches, &rows, 100, 8 * 1000, "both: the whole piece"},
        {&batches, &batches, 5000, 8 * 1000, "a batch of more rows than there are"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct cud_step step[2] = {{.kernel = t[i].first}, {.kernel = t[i].second}};
        struct cud_program p = {.in = {.type = CUD_F32}, .out = {.type = CUD_F32}, .compute = CUD_F32, .rows = 1000, .cols_in = 1,
                                .cols_out = 1, .cols_widest = 1, .step = step, .steps = 2, .batch = t[i].batch};
        const uint64_t unit = t[i].batch ? t[i].batch : 1000;
        const uint64_t both = cud_scratch_bytes(&p, false, unit, 1000);
        step[0].kernel = step[1].kernel = &(struct cud_kernel){.kind = CUD_ROWS, .in_place = true};
        ok(both - cud_scratch_bytes(&p, false, unit, 1000) == t[i].want, "%s: %llu bytes of workspace", t[i].name,
           (unsigned long long)(both - cud_scratch_bytes(&p, false, unit, 1000)));
    }
}

int main(void)
{
    test_work();
    return done_testing();
}
