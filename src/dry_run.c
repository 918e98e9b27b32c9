#include <string.h>
#include "prepare.h"
#include "text.h"

static double mib(uint64_t bytes) { return (double)bytes / (1 << 20); }

static void print_ranks(const struct cud_prepared *p, FILE *to)
{
    enum { SHOWN = 16 };
    fprintf(to, "\n  %4s  %-16s %-20s %7s  %s\n", "rank", "host", "device", "windows", "rows");
    for (int r = 0; r < p->plan.facts.ranks && r < SHOWN; r++) {
        struct cud_window e;
        const struct cud_rank_facts *const f = &p->binding.all[r];
        fprintf(to, "  %4d  %-16s %-20.20s %7llu  ", r, f->host, f->device.name, (unsigned long long)cud_plan_windows(&p->plan, r));
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

static void print_fact(const char *what, const char *fact, const char *end, FILE *to)
{
    fprintf(to, "%-8s ", what);
    cud_text_put(fact, to);
    fputs(end, to);
}

static void print_array(const char *what, const char *path, const struct cud_array *a, FILE *to)
{
    char text[CUD_SHAPE_TEXT];
    uint64_t bytes = 0;
    (void)cud_shape_bytes(&a->shape, cud_type_bytes(a->type), &bytes);
    print_fact(what, path, "", to);
    fprintf(to, ": %s %s%s, %.1f MiB\n", cud_shape_text(&a->shape, text), cud_type_name(a->type),
            a->swapped ? " (other byte order)" : "", mib(bytes));
}

void cud_dry_run_print(const struct cud_job *job, const struct cud_prepared *p, FILE *to)
{
    const struct cud_plan *const plan = &p->plan;
    print_array("input", job->input[0], &p->input.array, to);
    for (size_t i = 1; i < job->inputs; i++)
        print_fact("    and", job->input[i], "\n", to);
    for (size_t i = 0; i < p->program.steps; i++)
        print_fact("step", p->program.step[i].text, "\n", to);
    print_array("output", job->output, &p->program.out, to);
    print_fact("result", job->result, "\n", to);
    fprintf(to, "%-8s %s%s%s\n", "write", p->write, p->format ? ", as " : "", p->format ? p->format->name : "");
    if (strcmp(p->write, "root") == 0 && plan->facts.ranks > 1)
        fprintf(to, "%-8s %s%s%s\n", "comm", p->lane->name, p->why_not[0] ? "; nccl cannot be used: " : "", p->why_not);
    fprintf(to, "%-8s %llu %s, %s\n", "unit", (unsigned long long)plan->unit_rows, p->program.flat ? "elements" : "rows",
            p->program.batch ? "a batch" : "the least that is cut");
    fprintf(to, "%-8s %llu units, %.3f MiB in, %.3f MiB out\n", "window", (unsigned long long)plan->window_units,
            mib(plan->window_units * plan->unit_rows * plan->facts.in_row_bytes),
            mib(plan->window_units * plan->unit_rows * plan->facts.out_row_bytes));
    fprintf(to, "%-8s %u a rank, %.1f MiB of buffers on the host%s\n", "threads", p->binding.threads,
            mib(p->host_bytes + (p->binding.device->shared ? p->device_bytes : 0)), p->binding.device->shared ? "" : " and");
    if (!p->binding.device->shared)
        fprintf(to, "%-8s %.1f MiB on the device\n", "", mib(p->device_bytes));
    print_ranks(p, to);
}
