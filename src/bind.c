#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include "bind.h"
#include "bind_cpus.h"
#include "bind_gpus.h"
#include "bind_near.h"
#include "registry.h"

#define WORKERS_OF_A_GPU 4                 /* so that disk, both copies and the kernels overlap */
#define TABLE_LINES 32

struct look {                              /* what one rank sees, sent to rank 0; plain bytes */
    char host[64], version[32], machine[32];
    struct cud_cpus cpus;
    struct cud_seen gpus;
};

struct choice {                            /* what rank 0 answers each */
    int32_t cuda, number, cpus, hosts;
};

static bool may_use_gpus(const struct cud_job *job)
{
    return strcmp(job->device, "cpu") != 0;
}

static enum cud_status look(const struct cud_job *job, const struct cud_ranks *ranks, struct look *l, struct cud_err *err)
{
    struct utsname system;
    snprintf(l->host, sizeof l->host, "%s", cud_rank_host(ranks));
    snprintf(l->version, sizeof l->version, "%s", PACKAGE_VERSION);
    snprintf(l->machine, sizeof l->machine, "%.31s", uname(&system) == 0 ? system.machine : "unknown");
    cud_cpus_look(&l->cpus);
    l->cpus.node = l->gpus.node = cud_rank_node_first(ranks);
    return may_use_gpus(job) ? cud_gpus_look(&l->gpus, err) : CUD_OK;
}

static enum cud_status check_same(const struct look *all, int ranks, struct cud_err *err)
{
    for (int r = 1; r < ranks; r++) {
        if (strcmp(all[r].version, all[0].version) != 0)
            return FAIL(err, CUD_EFAILED, "rank 0 (host %s) is cudist %s, rank %d (host %s) is cudist %s: install the same "
                        "on all hosts", all[0].host, all[0].version, r, all[r].host, all[r].version);
        if (strcmp(all[r].machine, all[0].machine) != 0)
            return FAIL(err, CUD_EFAILED, "rank 0 (host %s) runs on %s, rank %d (host %s) on %s: one run needs one "
                        "architecture", all[0].host, all[0].machine, r, all[r].host, all[r].machine);
    }
    return CUD_OK;
}

/* ---- rank 0: GPUs or not, and which */

static void table_line(const struct look *l, int rank, int number)
{
    char list[600] = "";
    size_t at = 0;
    for (int d = 0; d < l->gpus.devices && at < sizeof list - 64; d++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%d %.12s", d ? ", " : "", d, l->gpus.uuid[d]);
    if (number >= 0)
        cud_say(-1, "  %4d  %-16s  sees %s; takes %d", rank, l->host, list, number);
    else
        cud_say(-1, "  %4d  %-16s  sees %s; gets none", rank, l->host, list[0] ? list : "no GPU");
}

/* A long table is cut: then those without a GPU come first. */
static void show_table(const struct look *all, int ranks, const int *number)
{
    int lines = 0;
    cud_say(-1, "  rank  host              GPUs");
    for (int pass = 0; pass < (ranks > TABLE_LINES ? 2 : 1); pass++)
        for (int r = 0; r < ranks; r++)
            if ((ranks <= TABLE_LINES || (number[r] >= 0) == pass) && lines++ < TABLE_LINES)
                table_line(&all[r], r, number[r]);
    if (lines > TABLE_LINES)
        cud_say(-1, "  and %d more ranks", lines - TABLE_LINES);
}

static enum cud_status refuse(const struct cud_job *job, int ranks, int served, struct cud_err *err)
{
    if (job->share_gpus)
        return FAIL(err, CUD_ENOGPU, "%d of %d ranks see no GPU at all: start ranks only where GPUs are, or use the CPUs "
                    "(-d cpu)", ranks - served, ranks);
    return FAIL(err, CUD_ENOGPU, "there is no GPU of its own for %d of %d ranks: start fewer ranks (here %d), let ranks share "
                "GPUs (--share-gpus), or use the CPUs (-d cpu)", ranks - served, ranks, served);
}

/* *cuda: every rank has the GPU number[rank]. */
static enum cud_status choose(const struct cud_job *job, const struct look *all, int ranks, bool *cuda, int *number,
                              struct cud_err *err)
{
    int any = 0;
    struct cud_seen *seen = calloc((size_t)ranks, sizeof *seen);
    for (int r = 0; seen && r < ranks; r++) {
        seen[r] = all[r].gpus;
        any += seen[r].devices > 0;
    }
    const int served = seen ? cud_bind_gpus(seen, ranks, job->share_gpus, number) : -1;
    free(seen);
    if (served < 0)
        return FAIL(err, CUD_EFAILED, "no memory to match %d ranks and their GPUs", ranks);

    const bool wanted = strcmp(job->device, "cuda") == 0;
    *cuda = served == ranks;
    if (*cuda || (!any && !wanted))
        return CUD_OK;
    if (!cud_registry_device("cuda"))
        return FAIL(err, CUD_ENOGPU, "this cudist was built without CUDA: build it where nvcc is, or use the CPUs (-d cpu)");
    if (!any)
        return FAIL(err, CUD_ENOGPU, "no rank sees a GPU (does nvidia-smi show one there? did the job ask for GPUs?): "
                    "use the CPUs (-d cpu)");
    show_table(all, ranks, number);
    return refuse(job, ranks, served, err);
}

static enum cud_status decide(const struct cud_job *job, const struct look *all, int ranks, struct choice *choice,
                              struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    bool cuda = false;
    int hosts = 0;
    struct cud_cpus *seen = calloc((size_t)ranks, sizeof *seen);
    int *number = calloc((size_t)ranks, sizeof *number), *cpus = calloc((size_t)ranks, sizeof *cpus);
    if (!seen || !number || !cpus)
        TRY(FAIL(err, CUD_EFAILED, "no memory to bind %d ranks", ranks));
    TRY(check_same(all, ranks, err));
    for (int r = 0; r < ranks; r++) {
        seen[r] = all[r].cpus;
        hosts += seen[r].node == r;
    }
    cud_bind_cpus(seen, ranks, cpus);
    if (may_use_gpus(job))
        TRY(choose(job, all, ranks, &cuda, number, err));
    for (int r = 0; r < ranks; r++)
        choice[r] = (struct choice){.cuda = cuda, .number = cuda ? number[r] : 0, .cpus = cpus[r], .hosts = hosts};
done:
    free(seen);
    free(number);
    free(cpus);
    return status;
}

/* ---- all ranks */

static enum cud_status learn(const struct cud_job *job, struct cud_ranks *ranks, struct choice *mine, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const int n = cud_rank_count(ranks), me = cud_rank_me(ranks);
    struct look *l = calloc(1, sizeof *l), *all = me == 0 ? calloc((size_t)n, sizeof *all) : NULL;
    struct choice *choice = calloc((size_t)n, sizeof *choice);
    if (!l || !choice || (me == 0 && !all))
        status = FAIL(err, CUD_EFAILED, "no memory to bind %d ranks", n);
    else
        status = look(job, ranks, l, err);
    TRY(cud_rank_agree(ranks, err));
    TRY(cud_rank_gather(ranks, l, sizeof *l, all, err));
    if (me == 0)
        status = decide(job, all, n, choice, err);
    TRY(cud_rank_agree(ranks, err));
    TRY(cud_rank_bcast(ranks, choice, (size_t)n * sizeof *choice, err));
    *mine = choice[me];
done:
    free(l);
    free(all);
    free(choice);
    return status;
}

const struct cud_device *cud_bind_backend(bool cuda)
{
    return cud_registry_device(cuda ? "cuda" : getenv("CUDIST_STRICT") ? "strict" : "cpu");
}

static enum cud_status open_device(struct cud_ranks *ranks, const struct choice *mine, struct cud_binding *b,
                                   struct cud_rank_facts *facts, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    char name[96];
    if (!(b->device = cud_bind_backend(mine->cuda)))
        return FAIL(err, CUD_EFAILED, "this cudist was built without the device %s", mine->cuda ? "cuda" : "strict");
    TRY(b->device->identify(mine->number, &facts->device, err));
    if (facts->device.pci[0])              /* before any buffer, and any thread of the driver's */
        (void)cud_near_bind(facts->device.pci);
    TRY(b->device->open(mine->number, &b->dev, err));
    TRY(b->device->facts(mine->number, &facts->device, err));
    snprintf(name, sizeof name, mine->cuda ? "%s:%d %s" : "%s", b->device->name, mine->number, facts->device.name);
    cud_ranks_device(ranks, name);
done:
    return status;
}

static void fill_facts(const struct cud_ranks *ranks, const struct choice *mine, struct cud_rank_facts *f)
{
    struct utsname system;
    f->rank = cud_rank_me(ranks);
    f->node_rank = cud_rank_node_me(ranks);
    f->node = cud_rank_node_first(ranks);
    f->device_number = mine->number;
    f->cpus = mine->cpus;
    snprintf(f->host, sizeof f->host, "%s", cud_rank_host(ranks));
    snprintf(f->version, sizeof f->version, "%s", PACKAGE_VERSION);
    snprintf(f->machine, sizeof f->machine, "%.31s", uname(&system) == 0 ? system.machine : "unknown");
}

unsigned cud_bind_threads(const struct cud_job *job, bool shared, int cpus)
{
    if (job->threads > 0)
        return job->threads;
    return shared ? (unsigned)cpus : WORKERS_OF_A_GPU;
}

enum cud_status cud_bind(const struct cud_job *job, struct cud_ranks *ranks, struct cud_binding *binding, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct choice mine = {0};
    struct cud_rank_facts facts = {0};
    struct cud_binding b = {.ranks = cud_rank_count(ranks)};
    TRY(learn(job, ranks, &mine, err));
    fill_facts(ranks, &mine, &facts);
    status = open_device(ranks, &mine, &b, &facts, err);
    if (status == CUD_OK && !(b.all = calloc((size_t)b.ranks, sizeof *b.all)))
        status = FAIL(err, CUD_EFAILED, "no memory for the facts of %d ranks", b.ranks);
    TRY(cud_rank_agree(ranks, err));
    TRY(cud_rank_allgather(ranks, &facts, sizeof facts, b.all, err));
    b.hosts = mine.hosts;
    b.threads = cud_bind_threads(job, b.device->shared, mine.cpus);
    *binding = b;
    b = (struct cud_binding){0};
done:
    cud_binding_free(&b);
    return status;
}

bool cud_binding_share(const struct cud_binding *binding, int *a, int *b)
{
    const struct cud_rank_facts *const f = binding->all;
    for (int i = 0; i < binding->ranks; i++)
        for (int k = i + 1; k < binding->ranks; k++)
            if (f[i].device.pci[0] && f[k].node == f[i].node && strcmp(f[k].device.pci, f[i].device.pci) == 0) {
                *a = i;
                *b = k;
                return true;
            }
    return false;
}

void cud_binding_free(struct cud_binding *binding)
{
    if (binding->dev)
        binding->device->close(binding->dev);
    free(binding->all);
    *binding = (struct cud_binding){0};
}
