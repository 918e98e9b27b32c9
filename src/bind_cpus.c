#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include "bind_cpus.h"
#include "cgroup.h"

double cud_cpus_quota(const char *text)
{
    double quota, period;
    if (sscanf(text, "%lf %lf", &quota, &period) != 2 || quota <= 0 || period <= 0)
        return 0;
    return quota / period;
}

static void look_at_group(const char *folder, void *least)
{
    char text[128], quota[48], period[48];
    double *const most = least;
    cud_cgroup_text(folder, "cpu.max", text, sizeof text);
    if (!text[0]) {
        cud_cgroup_text(folder, "cpu.cfs_quota_us", quota, sizeof quota);
        cud_cgroup_text(folder, "cpu.cfs_period_us", period, sizeof period);
        snprintf(text, sizeof text, "%s %s", quota, period);
    }
    const double q = cud_cpus_quota(text);
    if (q > 0 && (*most == 0 || q < *most))
        *most = q;
}

void cud_cpus_look(struct cud_cpus *cpus)
{
    cpu_set_t set[CUD_CPUS_MAX / CPU_SETSIZE];
    memset(cpus->mask, 0, sizeof cpus->mask);
    cpus->quota = 0;
    if (sched_getaffinity(0, sizeof set, set) == 0) {
        for (int c = 0; c < CUD_CPUS_MAX; c++)
            if (CPU_ISSET_S((size_t)c, sizeof set, set))
                cpus->mask[c / 64] |= (uint64_t)1 << (c % 64);
    } else {
        cpus->mask[0] = 1;
    }
    cud_cgroup_each("cpu", look_at_group, &cpus->quota);
}

int cud_cpus_count(const struct cud_cpus *cpus)
{
    int n = 0;
    for (int i = 0; i < CUD_CPUS_MAX / 64; i++)
        n += __builtin_popcountll(cpus->mask[i]);
    return n;
}

bool cud_cpus_bind(const struct cud_cpus *cpus)
{
    cpu_set_t set[CUD_CPUS_MAX / CPU_SETSIZE];
    memset(set, 0, sizeof set);
    for (int c = 0; c < CUD_CPUS_MAX; c++)
        if (cpus->mask[c / 64] >> (c % 64) & 1)
            CPU_SET_S((size_t)c, sizeof set, set);
    return sched_setaffinity(0, sizeof set, set) == 0;
}

static void count_users(const struct cud_cpus *seen, int ranks, int node, int *users, int *members)
{
    memset(users, 0, CUD_CPUS_MAX * sizeof *users);
    *members = 0;
    for (int r = node; r < ranks; r++) {
        if (seen[r].node != node)
            continue;
        ++*members;
        for (int c = 0; c < CUD_CPUS_MAX; c++)
            users[c] += (int)(seen[r].mask[c / 64] >> (c % 64) & 1);
    }
}

/* What is this rank's when each CPU is cut in equal parts. */
static double share_of(const struct cud_cpus *seen, const int *users)
{
    double share = 0;
    for (int c = 0; c < CUD_CPUS_MAX; c++)
        if (seen->mask[c / 64] >> (c % 64) & 1)
            share += 1.0 / users[c];
    return share;
}

void cud_bind_cpus(const struct cud_cpus *seen, int ranks, int *cpus)
{
    static const double almost = 1e-6;     /* 3 * (1.0 / 3) is 1 */
    int users[CUD_CPUS_MAX], members;
    for (int node = 0; node < ranks; node++) {
        if (seen[node].node != node)
            continue;
        count_users(seen, ranks, node, users, &members);
        double given = 0;                  /* parts add up along the ranks, so that of 8 CPUs 3 ranks get 2, 3 and 3 */
        for (int r = node; r < ranks; r++) {
            if (seen[r].node != node)
                continue;
            const double before = given;
            given += share_of(&seen[r], users);
            double mine = floor(given + almost) - floor(before + almost);
            const double limit = floor(seen[r].quota / members + almost);
            if (seen[r].quota > 0 && limit < mine)
                mine = limit;
            cpus[r] = mine < 1 ? 1 : (int)mine;
        }
    }
}
