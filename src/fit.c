#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fit.h"
#include "memory.h"
#include "number.h"
#include "pipe.h"
#include "sink.h"

#define WINDOW_SHARED ((uint64_t)1 << 20)       /* of the CPU: fewer calls than smaller ones, and still in the cache */
#define WINDOW_DEVICE ((uint64_t)32 << 20)      /* of a GPU: long enough for PCIe */
#define WINDOW_LEAST ((uint64_t)1 << 20)        /* chosen for a GPU with little memory */

struct room { uint64_t host, device; };         /* bytes that are free for one rank; device is UINT64_MAX on the CPU */

/* ---- what is free */

/* Ranks on this rank's GPU. */
static int sharers(const struct cud_binding *b, int me)
{
    int n = 0;
    for (int r = 0; r < b->ranks; r++)
        n += strcmp(b->all[r].host, b->all[me].host) == 0 && strcmp(b->all[r].device.uuid, b->all[me].device.uuid) == 0;
    return n;
}

/* The device is asked again: by now all ranks that share it have started it. */
static enum cud_status look(const struct cud_binding *b, struct cud_ranks *ranks, struct room *room, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const int me = cud_rank_me(ranks);
    struct cud_device_facts now;
    *room = (struct room){.host = cud_memory_available() / (uint64_t)cud_rank_node_count(ranks), .device = UINT64_MAX};
    if (b->device->shared)
        return CUD_OK;
    TRY(b->device->facts(b->all[me].device_number, &now, err));
    if (now.bytes_total)
        room->device = now.bytes_free / (uint64_t)sharers(b, me);
done:
    return status;
}

/* Collective.  The tightest rank's. */
static enum cud_status least_room(struct cud_ranks *ranks, const struct room *mine, struct room *least, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const int n = cud_rank_count(ranks);
    struct room *const all = calloc((size_t)n, sizeof *all);
    if (!all)
        (void)FAIL(err, CUD_EFAILED, "no memory for the facts of %d ranks", n);
    TRY(cud_rank_agree(ranks, err));
    TRY(cud_rank_allgather(ranks, mine, sizeof *mine, all, err));
    *least = all[0];
    for (int r = 1; r < n; r++)
        *least = (struct room){cud_min64(least->host, all[r].host), cud_min64(least->device, all[r].device)};
done:
    free(all);
    return status;
}

/* ---- what is needed */

static void plan(const struct cud_job *job, int ranks, uint64_t window, struct cud_prepared *p)
{
    const struct cud_program *const g = &p->program;
    const bool shared = p->binding.device->shared;
    const struct cud_plan_facts facts = {
        .rows = g->rows, .in_row_bytes = g->cols_in * cud_type_bytes(g->in.type),
        .out_row_bytes = g->cols_out * cud_type_bytes(g->out.type), .widest_cols = g->cols_widest, .batch = g->batch,
        .flat = g->flat, .ordered = strcmp(job->output, "-") == 0, .head_bytes = p->head_bytes, .ranks = ranks,
        .window_bytes = window};
    cud_plan_make(&facts, &p->plan);
    cud_pipe_bytes(g, &p->plan, shared, &p->host_bytes, &p->device_bytes);
    const uint64_t windows = cud_plan_windows_most(&p->plan);
    const bool passed_on = p->format && !p->direct && (ranks > 1 || facts.ordered);    /* one more works while these are sent */
    p->workers = cud_min64(windows, p->binding.threads + passed_on);
    p->host_bytes *= p->workers;
    p->device_bytes = p->device_bytes * p->workers + cud_program_bytes(g);
    if (p->lane->between_gpus)             /* rank 0 takes pieces; all plan alike */
        p->device_bytes += cud_sink_pieces_bytes(&p->plan);
}

static uint64_t host_bytes(const struct cud_prepared *p)
{
    return p->host_bytes + (p->binding.device->shared ? p->device_bytes : 0);
}

/* What an automatic window takes leaves as much to others. */
static bool is_roomy(const struct cud_prepared *p, const struct room *room)
{
    return host_bytes(p) <= room->host / 2 && p->device_bytes <= room->device / 2;
}

/* ---- does it fit? */

/* What would take less, of what can still be less. */
static const char *cures(const struct cud_prepared *p, int ranks_here, const char *what, char text[128])
{
    const bool windows = p->plan.window_units > 1, batch = !windows && p->program.batch > 1, threads = p->workers > 1;
    const bool ranks = ranks_here > 1;
    const struct { bool helps; const char *what; } cure[] = {{windows, "a smaller --window"}, {batch, "a smaller --batch"},
                                                             {threads, "fewer --threads"}, {ranks, "fewer ranks a host"}};
    int left = windows + batch + threads + ranks;
    if (left == 0) {
        snprintf(text, 128, "a row must fit: it takes a %s with more memory, or shorter rows", what);
        return text;
    }
    int n = snprintf(text, 128, "less is needed with ");
    for (int i = 0; left > 0; i++)
        if (cure[i].helps)
            n += snprintf(text + n, 128 - (size_t)n, "%s%s", cure[i].what, --left ? " or " : "");
    return text;
}

static enum cud_status check_host(const struct cud_prepared *p, struct cud_ranks *ranks, const struct room *room,
                                  struct cud_err *err)
{
    const int here = cud_rank_node_count(ranks);
    const unsigned long long rows = p->plan.window_units * p->plan.unit_rows;
    char text[128], needed[32], left[32];
    if (host_bytes(p) <= room->host)
        return CUD_OK;
    return FAIL(err, CUD_EINPUT, "windows of %llu row%s take %s for the ranks of host %s, which has %s available; %s", rows,
                rows == 1 ? "" : "s", cud_number_bytes((uint64_t)here * host_bytes(p), needed), cud_rank_host(ranks),
                cud_number_bytes((uint64_t)here * room->host, left), cures(p, here, "host", text));
}

static enum cud_status check_device(const struct cud_prepared *p, struct cud_ranks *ranks, const struct room *room,
                                    struct cud_err *err)
{
    const int me = cud_rank_me(ranks), on_it = sharers(&p->binding, me);
    const uint64_t arrays = cud_program_bytes(&p->program);
    const unsigned long long rows = p->plan.window_units * p->plan.unit_rows;
    char text[128], needed[32], of_arrays[32], left[32];
    if (p->device_bytes <= room->device)
        return CUD_OK;
    return FAIL(err, CUD_EINPUT, "GPU %d of host %s: a rank needs %s (%s for arrays of steps, the rest for windows of %llu row%s), "
                "but %s are free for each of the %d that use it; %s", p->binding.all[me].device_number, cud_rank_host(ranks),
                cud_number_bytes(p->device_bytes, needed), cud_number_bytes(arrays, of_arrays), rows, rows == 1 ? "" : "s",
                cud_number_bytes(room->device, left), on_it,
                arrays > room->device ? "use a GPU with more memory, or the CPUs (-d cpu)" : cures(p, on_it, "GPU", text));
}

enum cud_status cud_fit(const struct cud_job *job, struct cud_ranks *ranks, struct cud_prepared *p, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct room mine = {0}, least = {0};
    uint64_t window = job->window ? job->window : p->binding.device->shared ? WINDOW_SHARED : WINDOW_DEVICE;
    (void)look(&p->binding, ranks, &mine, err);
    TRY(cud_rank_agree(ranks, err));
    TRY(least_room(ranks, &mine, &least, err));
    plan(job, cud_rank_count(ranks), window, p);
    while (!job->window && window > WINDOW_LEAST && !is_roomy(p, &least))
        plan(job, cud_rank_count(ranks), window /= 2, p);
    if (check_host(p, ranks, &mine, err) == CUD_OK)
        (void)check_device(p, ranks, &mine, err);
    TRY(cud_rank_agree(ranks, err));
done:
    return status;
}
