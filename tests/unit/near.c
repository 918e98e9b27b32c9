/* The CPUs near a GPU, on machines that hwloc is told of: two NUMA nodes, with the even and the odd ones of 8 CPUs
 * as many machines number them, a GPU in a slot of each, one in a slot that is near to both. */
#include "config.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bind_near.h"
#include "tests/tap.h"

#ifdef HAVE_HWLOC

static struct cud_cpus cpus_of(uint64_t mask)
{
    return (struct cud_cpus){.mask = {mask}};
}

static void finds(const char *what, const char *pci, uint64_t may, enum cud_near want, uint64_t want_mask)
{
    struct cud_cpus near = {0};
    const struct cud_cpus mine = cpus_of(may);
    const enum cud_near got = cud_near_find(pci, &mine, &near);
    if (!ok(got == want && near.mask[0] == want_mask, "%s", what))
        printf("# %d, CPUs %llx\n", got, (unsigned long long)near.mask[0]);
}

/* hwloc's own format.  Its small parser, for where libxml is not, wants "; here ' stands for that. */
__attribute__((format(printf, 2, 3))) static void put(FILE *f, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (const char *c = text; *c; c++)
        putc(*c == '\'' ? '"' : *c, f);
}

static void put_object(FILE *f, const char *type, int os, int gp, unsigned cpus, unsigned node)
{
    put(f, "<object type='%s' os_index='%d' cpuset='0x%x' complete_cpuset='0x%x' allowed_cpuset='0x%x' nodeset='0x%x' "
        "complete_nodeset='0x%x' allowed_nodeset='0x%x' gp_index='%d'", type, os, cpus, cpus, cpus, node, node, node, gp);
}

static void put_slot(FILE *f, int gp, int bus)
{
    put(f, "<object type='PCIDev' gp_index='%d' pci_busid='0000:%02x:00.0' pci_type='0302 [10de:2330] [10de:16c1] a1' "
        "pci_link_speed='0.000000'/>\n", gp, bus);
}

static void put_package(FILE *f, int number)
{
    const unsigned cpus = number ? 0xaa : 0x55, node = 1u << number;
    put_object(f, "Package", number, 10 + number, cpus, node);
    put(f, ">\n");
    put_object(f, "NUMANode", number, 20 + number, cpus, node);
    put(f, " local_memory='1073741824'/>\n");
    for (int c = number; c < 8; c += 2) {
        put_object(f, "PU", c, 30 + c, 1u << c, node);
        put(f, "/>\n");
    }
    put_slot(f, 50 + number, number ? 0x81 : 0x17);
    put(f, "</object>\n");
}

static void put_machine(const char *path)
{
    FILE *const f = fopen(path, "w");
    put(f, "<?xml version='1.0' encoding='UTF-8'?>\n<!DOCTYPE topology SYSTEM 'hwloc2.dtd'>\n<topology version='2.0'>\n");
    put_object(f, "Machine", 0, 1, 0xff, 3);
    put(f, ">\n");
    put_package(f, 0);
    put_package(f, 1);
    put_slot(f, 60, 0xc1);
    put(f, "</object>\n</topology>\n");
    fclose(f);
}

/* On this machine, with its real CPUs: this thread loses those that are not near, if it has both. */
static void binds(void)
{
    struct cud_cpus before, after, want;
    cud_cpus_look(&before);
    const enum cud_near found = cud_near_find("0000:17:00.0", &before, &want);
    ok(cud_near_bind("0000:17:00.0") == found, "binding says what it found");
    cud_cpus_look(&after);
    const struct cud_cpus *const should = found == CUD_NEAR_SOME ? &want : &before;
    ok(memcmp(after.mask, should->mask, sizeof after.mask) == 0, "of %d CPUs the thread has %d", cud_cpus_count(&before),
       cud_cpus_count(&after));
}

int main(void)
{
    char path[] = "/tmp/near-XXXXXX";
    if (close(mkstemp(path)) != 0)
        return 99;
    put_machine(path);
    setenv("HWLOC_XMLFILE", path, 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    finds("the first node's GPU", "0000:17:00.0", 0xff, CUD_NEAR_SOME, 0x55);
    finds("the second node's GPU", "0000:81:00.0", 0xff, CUD_NEAR_SOME, 0xaa);
    finds("a slot of the whole machine", "0000:c1:00.0", 0xff, CUD_NEAR_ALL, 0xff);
    finds("some of the near CPUs may be used", "0000:17:00.0", 0x3c, CUD_NEAR_SOME, 0x14);
    finds("all that may be used are near", "0000:17:00.0", 0x05, CUD_NEAR_ALL, 0x05);
    finds("none that may be used is near", "0000:17:00.0", 0x0a, CUD_NEAR_NONE, 0);
    finds("CPUs that are not in the plan are not near", "0000:17:00.0", 0xf01, CUD_NEAR_SOME, 0x01);
    finds("no such slot", "0000:18:00.0", 0xff, CUD_NEAR_UNKNOWN, 0);
    finds("no slot", "", 0xff, CUD_NEAR_UNKNOWN, 0);
    binds();
    setenv("HWLOC_THISSYSTEM", "0", 1);
    finds("another machine's plan", "0000:17:00.0", 0xff, CUD_NEAR_UNKNOWN, 0);
    unlink(path);
    unsetenv("HWLOC_XMLFILE");
    setenv("HWLOC_SYNTHETIC", "numa:2 pu:4", 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    finds("a machine without slots", "0000:17:00.0", 0xff, CUD_NEAR_UNKNOWN, 0);
    return done_testing();
}

#else

int main(void)
{
    struct cud_cpus near = {0};
    const struct cud_cpus may = {.mask = {0xff}};
    ok(cud_near_find("0000:17:00.0", &may, &near) == CUD_NEAR_NO_HWLOC, "without hwloc nothing is known");
    ok(cud_near_bind("0000:17:00.0") == CUD_NEAR_NO_HWLOC, "and nothing is bound");
    return done_testing();
}

#endif
