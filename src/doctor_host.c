/* What a rank may use of its host: CPUs, memory, limits, the library of the CPU's matrix products. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "cgroup.h"
#include "doctor_own.h"
#include "memory.h"

#define MEMORY_LEAST ((uint64_t)256 << 20)     /* a rank: MPI, its windows and some room */
#define LOCKED_LEAST ((uint64_t)64 << 20)      /* InfiniBand pins what it sends */
#define FILES_LEAST 64                         /* besides those that grow with ranks and inputs */

static double gib(uint64_t bytes) { return (double)bytes / (1 << 30); }

/* ---- CPUs */

struct use {                               /* of one host, by its ranks together */
    int host;                              /* CPUs that there are for this job */
    int may;                               /* and that any rank may use */
    int threads;
};

/* "0-3,8" is 5 CPUs. */
static int cpus_in_list(const char *text)
{
    int n = 0, from, to, letters;
    for (; sscanf(text, "%d%n", &from, &letters) == 1; text += strspn(text, ",")) {
        text += letters;
        to = from;
        if (*text == '-' && sscanf(text, "-%d%n", &to, &letters) == 1)
            text += letters;
        n += to - from + 1;
    }
    return n;
}

static void look_at_cpuset(const char *folder, void *least)
{
    static const char *const names[] = {"cpuset.cpus.effective", "cpuset.effective_cpus"};
    char text[4096];
    int *const most = least;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cud_cgroup_text(folder, names[i], text, sizeof text);
        const int n = cpus_in_list(text);
        if (n > 0 && n < *most)
            *most = n;
    }
}

static struct use use_of_host(const struct cud_doctor *d, const struct cud_cpus *all, const int *cpus)
{
    struct cud_cpus any = {0};
    struct use u = {.host = (int)sysconf(_SC_NPROCESSORS_ONLN)};
    cud_cgroup_each("cpuset", look_at_cpuset, &u.host);
    for (int r = 0; r < d->count; r++) {
        if (d->first[r] != d->first[d->me])
            continue;
        u.threads += (int)cud_bind_threads(d->job, !d->cuda, cpus[r]);
        for (int i = 0; i < CUD_CPUS_MAX / 64; i++)
            any.mask[i] |= all[r].mask[i];
    }
    u.may = cud_cpus_count(&any);
    return u;
}

static void judge_cpus(const struct cud_doctor *d, const struct cud_cpus *mine, unsigned threads, const struct use *u,
                       struct cud_finding *f)
{
    static const char unbind[] = "mpirun --bind-to none, or more CPUs a task (srun --cpus-per-task)";
    char quota[64] = "";
    if (mine->quota > 0)
        snprintf(quota, sizeof quota, ", a quota of %g", mine->quota);
    cud_fine(f, "%u thread%s a rank; it may use %d of the host's %d CPUs%s", threads, threads > 1 ? "s" : "",
             cud_cpus_count(mine), u->host, quota);
    if (!d->cuda && u->threads > u->may)
        cud_find(f, CUD_WARNING, u->may * 2 <= u->host ? unbind : "fewer ranks, or a smaller --threads",
                 "%d threads of the host's ranks share %d CPUs%s", u->threads, u->may, quota);
    else if (d->job->threads == 0 && u->may * 2 <= u->host && u->threads > 0 && (!d->cuda || u->may < u->threads))
        cud_find(f, CUD_WARNING, unbind, "%u thread%s a rank: the launcher lets the host's ranks use %d of its %d CPUs",
                 threads, threads > 1 ? "s" : "", u->may, u->host);
}

void cud_check_cpus(struct cud_doctor *d, struct cud_finding *f)
{
    struct cud_cpus mine = {.node = d->first[d->me]};
    cud_cpus_look(&mine);
    int *const cpus = calloc((size_t)d->count, sizeof *cpus);
    if (!cpus)
        (void)FAIL(&d->err, CUD_EFAILED, "no memory for the CPUs of %d ranks", d->count);
    struct cud_cpus *const all = cud_doctor_all(d, &mine, sizeof mine);
    if (all) {
        cud_bind_cpus(all, d->count, cpus);
        const struct use u = use_of_host(d, all, cpus);
        judge_cpus(d, &mine, cud_bind_threads(d->job, !d->cuda, cpus[d->me]), &u, f);
    }
    free(cpus);
    free(all);
}

/* ---- memory */

static rlim_t limit_of(int what)
{
    struct rlimit limit;
    return getrlimit((__rlimit_resource_t)what, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

void cud_check_memory(struct cud_doctor *d, struct cud_finding *f)
{
    const struct cud_memory_left left = cud_memory_look();
    const uint64_t ranks = (uint64_t)cud_rank_node_count(d->ranks), all = left.host < left.group ? left.host : left.group;
    const rlim_t space = limit_of(RLIMIT_AS);
    if (space != RLIM_INFINITY)
        cud_find(f, CUD_WARNING, "ulimit -v unlimited", "addresses are limited to %.2f GiB (ulimit -v): GPUs and mapped files "
                 "need far more than they use", gib(space));
    if (!cud_doctor_speaks(d) || all == UINT64_MAX)
        return;
    cud_find(f, all / ranks < MEMORY_LEAST ? CUD_WARNING : CUD_FINE, "fewer ranks on a host, or a larger limit (Slurm: --mem)",
             "%.1f GiB for %" PRIu64 " rank%s of the host%s", gib(all), ranks, ranks > 1 ? "s" : "",
             left.group < left.host ? ", by its control group's limit" : "");
}

/* ---- limits */

void cud_check_locked(struct cud_doctor *d, struct cud_finding *f)
{
    const rlim_t limit = limit_of(RLIMIT_MEMLOCK);
    if (access("/dev/infiniband", F_OK) != 0 || d->hosts == 1)
        return;
    if (limit == RLIM_INFINITY || limit >= LOCKED_LEAST)
        cud_fine(f, "enough for InfiniBand");
    else
        cud_find(f, CUD_WARNING, "ulimit -l unlimited where the ranks start (Slurm: PropagateResourceLimitsExcept=MEMLOCK)",
                 "at most %.1f MiB, too little for InfiniBand", (double)limit / (1 << 20));
}

/* Between hosts a rank has a socket or two to each other rank. */
void cud_check_files(struct cud_doctor *d, struct cud_finding *f)
{
    const rlim_t limit = limit_of(RLIMIT_NOFILE), needs = FILES_LEAST + d->job->inputs + 2 * (rlim_t)d->count;
    char cure[64];
    snprintf(cure, sizeof cure, "ulimit -n %llu", (unsigned long long)needs);
    if (limit == RLIM_INFINITY || limit >= needs)
        cud_fine(f, "a rank may have enough of them");
    else
        cud_find(f, CUD_WARNING, cure, "at most %llu a rank (ulimit -n), and it may need %llu", (unsigned long long)limit,
                 (unsigned long long)needs);
}

/* ---- matrix products: a run with dense refuses ranks that would give different last bits */

void cud_check_gemm(struct cud_doctor *d, struct cud_finding *f)
{
    char why[200] = "", mine[300];
    const struct cud_gemm *const gemm = d->dev ? d->device->gemm(d->dev, why) : NULL;
    snprintf(mine, sizeof mine, "%s on %s", gemm ? gemm->name : "", gemm ? d->facts.kind : "");
    char (*const all)[300] = cud_doctor_all(d, mine, sizeof mine);
    if (all && d->dev && strcmp(all[0], mine) != 0)
        cud_find(f, CUD_WARNING, "the same library on hosts of one kind, or CUDIST_LIBS=own everywhere",
                 "matrix products by %s, not as on rank 0: a job with dense is refused", gemm ? mine : "cudist's own kernel");
    else if (all && d->dev && gemm)
        cud_fine(f, "matrix products by %s", gemm->name);
    else if (all && d->dev)
        cud_fine(f, "matrix products by cudist's own kernel (%s)", why);
    free(all);
}
