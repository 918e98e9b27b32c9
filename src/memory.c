#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup.h"
#include "memory.h"
#include "number.h"

/* "max", and in version 1 a number near 2^63, mean that there is none. */
static uint64_t limit_of(const char *folder, const char *name)
{
    char text[64];
    cud_cgroup_text(folder, name, text, sizeof text);
    const uint64_t limit = *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : UINT64_MAX;
    return limit >= (uint64_t)1 << 62 ? UINT64_MAX : limit;
}

static uint64_t number_of(const char *folder, const char *name)
{
    char text[64];
    cud_cgroup_text(folder, name, text, sizeof text);
    return strtoull(text, NULL, 10);
}

/* Pages of files, which the system takes back where memory is short.  Version 1 gives sums with the groups below as total_. */
static uint64_t cache_of(const char *folder, const char *prefix)
{
    char path[CUD_CGROUP_PATH + 16], line[128], inactive[48], active[48];
    uint64_t sum = 0, n;
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    snprintf(inactive, sizeof inactive, "%sinactive_file %%" SCNu64, prefix);
    snprintf(active, sizeof active, "%sactive_file %%" SCNu64, prefix);
    FILE *const f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, inactive, &n) == 1 || sscanf(line, active, &n) == 1)
            sum += n;
    if (f)
        fclose(f);
    return sum;
}

static uint64_t rest(uint64_t limit, uint64_t used, uint64_t cache)
{
    used -= cud_min64(used, cache);
    return limit == UINT64_MAX ? limit : limit - cud_min64(limit, used);
}

uint64_t cud_memory_of_group(const char *folder)
{
    const uint64_t two = cud_min64(limit_of(folder, "memory.max"), limit_of(folder, "memory.high"));
    const uint64_t one = limit_of(folder, "memory.limit_in_bytes");
    return cud_min64(rest(two, number_of(folder, "memory.current"), cache_of(folder, "")),
                     rest(one, number_of(folder, "memory.usage_in_bytes"), cache_of(folder, "total_")));
}

static void look_at_group(const char *folder, void *least)
{
    uint64_t *const most = least;
    *most = cud_min64(*most, cud_memory_of_group(folder));
}

struct cud_memory_left cud_memory_look(void)
{
    struct cud_memory_left m = {UINT64_MAX, UINT64_MAX};
    uint64_t kib;
    char line[128];
    FILE *const f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) == 1)
            m.host = kib << 10;
    if (f)
        fclose(f);
    cud_cgroup_each("memory", look_at_group, &m.group);
    return m;
}

uint64_t cud_memory_available(void)
{
    const struct cud_memory_left m = cud_memory_look();
    return cud_min64(m.host, m.group);
}
