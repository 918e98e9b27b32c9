#include <string.h>
#include "number.h"
#include "prepare.h"
#include "text.h"

/* What a line is about, then the facts; names on the left as in the result. */
static void print_name(const char *name, FILE *to) { fprintf(to, "%-8s ", name); }

static void print_fact(const char *name, const char *fact, const char *end, FILE *to)
{
    print_name(name, to);
    cud_text_put(fact, to);
    fputs(end, to);
}

static void print_array(const struct cud_array *a, FILE *to)
{
    char shape[CUD_SHAPE_TEXT], size[32];
    uint64_t bytes = 0;
    (void)cud_shape_bytes(&a->shape, cud_type_bytes(a->type), &bytes);
    fprintf(to, ": %s %s%s, %s\n", cud_shape_text(&a->shape, shape), cud_type_name(a->type),
            a->swapped ? " (other byte order)" : "", cud_number_bytes(bytes, size));
}

static const char *name_of(const char *path)
{
    return strcmp(path, "none") == 0 ? "not written" : strcmp(path, "-") == 0 ? "stdout" : path;
}

static void print_output(const struct cud_job *job, const struct cud_prepared *p, FILE *to)
{
    print_fact("output", name_of(job->output), "", to);
    print_array(&p->program.out, to);
    if (p->format)
        fprintf(to, "%-8s as %s; %s\n", "", p->format->name,
                p->direct ? "each rank writes its own rows (direct)" : "rank 0 writes all rows (root)");
    if (strcmp(p->write, "root") == 0 && p->plan.facts.ranks > 1)
        fprintf(to, "%-8s %s%s%s\n", "comm", p->lane->name, p->why_not[0] ? "; nccl cannot be used: " : "", p->why_not);
    print_fact("result", name_of(job->result), "\n", to);
}

static void print_windows(const struct cud_prepared *p, const char *rows, FILE *to)
{
    const struct cud_plan *const plan = &p->plan;
    const uint64_t most = cud_min64(plan->window_units * plan->unit_rows, plan->facts.rows);
    const bool shared = p->binding.device->shared;
    char in[32], out[32];
    print_name("unit", to);
    fprintf(to, "%llu %s%s, never cut\n", (unsigned long long)plan->unit_rows, rows, p->program.batch ? ", a batch" : "");
    print_name("window", to);
    fprintf(to, "%llu %s at a time: %s in, %s out\n", (unsigned long long)most, rows,
            cud_number_bytes(most * plan->facts.in_row_bytes, in), cud_number_bytes(most * plan->facts.out_row_bytes, out));
    print_name("threads", to);
    fprintf(to, "%u a rank\n", p->binding.threads);
    print_name("memory", to);
    fprintf(to, "%s a rank for windows", cud_number_bytes(p->host_bytes + (shared ? p->device_bytes : 0), in));
    fprintf(to, shared ? "\n" : " on the host, %s on the GPU\n", cud_number_bytes(p->device_bytes, out));
}

static void print_ranks(const struct cud_prepared *p, const char *rows, FILE *to)
{
    enum { SHOWN = 16 };
    fprintf(to, "\n  %4s  %-16s %-20s %7s  %s\n", "rank", "host", "device", "windows", rows);
    for (int r = 0; r < p->plan.facts.ranks && r < SHOWN; r++) {
        struct cud_window e;
        const struct cud_rank_facts *const f = &p->binding.all[r];
        fprintf(to, "  %4d  %-16s %-20.20s %7llu  ", r, f->host, f->device.name,
                (unsigned long long)cud_plan_windows(&p->plan, r));
        if (!cud_plan_extent(&p->plan, r, 0, &e))
            fprintf(to, "none\n");
        else if (p->plan.facts.ordered && p->plan.facts.ranks > 1)
            fprintf(to, "%llu, every %dth window\n", (unsigned long long)cud_plan_rank_rows(&p->plan, r), p->plan.facts.ranks);
        else
            fprintf(to, "%llu to %llu\n", (unsigned long long)e.row0, (unsigned long long)(e.row0 + e.rows - 1));
    }
    if (p->plan.facts.ranks > SHOWN)
        fprintf(to, "  ... and %d more\n", p->plan.facts.ranks - SHOWN);
}

void cud_dry_run_print(const struct cud_job *job, const struct cud_prepared *p, FILE *to)
{
    const char *const rows = p->program.flat ? "elements" : "rows";
    for (size_t i = 0; i < job->inputs; i++)
        print_fact(i ? "  and" : "input", job->input[i], i + 1 < job->inputs ? "\n" : "", to);
    print_array(&p->input.array, to);
    for (size_t i = 0; i < p->program.steps; i++)
        print_fact("step", p->program.step[i].text, "\n", to);
    print_output(job, p, to);
    print_windows(p, rows, to);
    print_ranks(p, rows, to);
}
