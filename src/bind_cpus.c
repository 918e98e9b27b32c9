#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bind_cpus.h"

/* "0::/user.slice" (version 2), "4:cpu,cpuacct:/docker/x" (version 1). */
void cud_cgroup_folder(const char *line, char folder[512])
{
    const char *names = strchr(line, ':');
    const char *path = names ? strchr(names + 1, ':') : NULL;
    folder[0] = '\0';
    if (!path)
        return;
    const int n = (int)strcspn(path + 1, "\n");
    if (path == names + 1) {
        snprintf(folder, 512, "/sys/fs/cgroup%.*s", n, path + 1);
        return;
    }
    for (const char *c = names; c < path; c += 1 + strcspn(c + 1, ",:"))
        if (strncmp(c + 1, "cpu", 3) == 0 && (c[4] == ',' || c[4] == ':'))
            snprintf(folder, 512, "/sys/fs/cgroup/cpu%.*s", n, path + 1);
}

double cud_cgroup_quota(const char *text)
{
    double quota, period;
    if (sscanf(text, "%lf %lf", &quota, &period) != 2 || quota <= 0 || period <= 0)
        return 0;
    return quota / period;
}

/* The text of one or two small files, a space between. */
static void read_text(const char *folder, const char *name, char *text, size_t room)
{
    char path[640];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "re");
    const size_t n = f ? fread(text, 1, room - 1, f) : 0;
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (f)
        fclose(f);
}

static double quota_of(const char *folder)
{
    char text[128], quota[48], period[48];
    read_text(folder, "cpu.max", text, sizeof text);
    if (!text[0]) {
        read_text(folder, "cpu.cfs_quota_us", quota, sizeof quota);
        read_text(folder, "cpu.cfs_period_us", period, sizeof period);
        snprintf(text, sizeof text, "%s %s", quota, period);
    }
    return cud_cgroup_quota(text);
}

/* The least along the way up: a limit holds for all below it. */
static double least_quota(char *folder)
{
    double least = 0;
    for (;;) {
        const double q = quota_of(folder);
        if (q > 0 && (least == 0 || q < least))
            least = q;
        char *slash = strrchr(folder, '/');
        if (!slash || strcmp(folder, "/sys/fs/cgroup") == 0)
            return least;
        *slash = '\0';
    }
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

    char line[512], folder[512];
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f && fgets(line, sizeof line, f)) {
        cud_cgroup_folder(line, folder);
        const double q = folder[0] ? least_quota(folder) : 0;
        if (q > 0 && (cpus->quota == 0 || q < cpus->quota))
            cpus->quota = q;
    }
    if (f)
        fclose(f);
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
