/* Control groups: where limits lie, and what a memory limit leaves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cgroup.h"
#include "memory.h"
#include "tests/tap.h"

static void folder(const char *controller, const char *line, const char *expected)
{
    char text[CUD_CGROUP_PATH];
    cud_cgroup_folder(line, controller, text);
    if (!ok(strcmp(text, expected) == 0, "%s: %.*s -> \"%s\"", controller, (int)strcspn(line, "\n"), line, expected))
        printf("# got \"%s\"\n", text);
}

static char here[] = "/tmp/cgroup-XXXXXX";

static void put(const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", here, name);
    FILE *const f = text ? fopen(path, "w") : NULL;
    if (f) {
        fputs(text, f);
        fclose(f);
    } else {
        unlink(path);
    }
}

static void leaves(const char *what, uint64_t expected)
{
    const uint64_t got = cud_memory_of_group(here);
    if (!ok(got == expected, "%s", what))
        printf("# got %llu\n", (unsigned long long)got);
}

static void memory(void)
{
    leaves("no files: no limit", UINT64_MAX);
    put("memory.max", "max\n");
    put("memory.current", "700\n");
    leaves("version 2, no limit", UINT64_MAX);
    put("memory.max", "1000\n");
    leaves("version 2, a limit", 300);
    put("memory.stat", "anon 400\nfile 300\nactive_anon 400\ninactive_file 200\nactive_file 50\n");
    leaves("version 2, files' pages do not count", 550);
    put("memory.high", "900\n");
    leaves("version 2, a lower limit above which it is slowed down", 450);
    put("memory.current", "2000\n");
    leaves("version 2, full", 0);
    put("memory.max", NULL);
    put("memory.high", NULL);
    put("memory.current", NULL);
    put("memory.limit_in_bytes", "9223372036854771712\n");
    put("memory.usage_in_bytes", "700\n");
    leaves("version 1, no limit", UINT64_MAX);
    put("memory.limit_in_bytes", "1000\n");
    put("memory.stat", "inactive_file 1\nactive_file 2\ntotal_inactive_file 100\ntotal_active_file 20\n");
    leaves("version 1, a limit", 420);
    put("memory.limit_in_bytes", NULL);
    put("memory.usage_in_bytes", NULL);
    put("memory.stat", NULL);
}

int main(void)
{
    folder("cpu", "0::/user.slice/x.scope\n", "/sys/fs/cgroup/user.slice/x.scope");
    folder("memory", "0::/\n", "/sys/fs/cgroup/");
    folder("cpu", "4:cpu,cpuacct:/docker/x\n", "/sys/fs/cgroup/cpu/docker/x");
    folder("cpu", "4:cpuacct,cpu:/y\n", "/sys/fs/cgroup/cpu/y");
    folder("memory", "4:memory:/y\n", "/sys/fs/cgroup/memory/y");
    folder("cpu", "4:memory:/y\n", "");
    folder("cpu", "3:cpuset:/z\n", "");
    folder("cpu", "nonsense", "");
    if (!mkdtemp(here))
        return 99;
    memory();
    ok(rmdir(here) == 0, "nothing is left");
    ok(cud_memory_available() > 0 && cud_memory_look().host < UINT64_MAX, "this machine: %llu MiB",
       (unsigned long long)cud_memory_available() >> 20);
    return done_testing();
}
