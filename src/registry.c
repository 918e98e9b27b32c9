#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "registry.h"
#include "tables.inc"

/* Best first.  The names of the levels are those of the x86-64 psABI. */
static const struct { const char *isa; const struct cud_kernel *const *kernels; } builds[] = {
#ifdef HAVE_X86_LEVELS
    {"x86-64-v4", kernels_cpu_v4},
    {"x86-64-v3", kernels_cpu_v3},
    {"x86-64", kernels_cpu_v1},
#else
    {"base", kernels_cpu_v1},
#endif
    {"reversed", kernels_cpu_rev},
};
enum { BUILDS = sizeof builds / sizeof *builds };

static bool runs(const char *isa)
{
#ifdef HAVE_X86_LEVELS
    if (strcmp(isa, "x86-64-v4") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (strcmp(isa, "x86-64-v3") == 0)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
               __builtin_cpu_supports("fma");
#endif
    (void)isa;
    return true;
}

const struct cud_kernel *const *cud_registry_build(const char *isa)
{
    for (int i = 0; i < BUILDS; i++)
        if (strcmp(builds[i].isa, isa) == 0)
            return runs(isa) ? builds[i].kernels : NULL;
    return NULL;
}

bool cud_registry_isa_known(const char *isa) { return cud_registry_build(isa) != NULL; }

const char *cud_registry_isa(void)
{
    const char *const asked = getenv("CUDIST_ISA");
    if (asked && cud_registry_isa_known(asked))
        return asked;
    for (int i = 0; i < BUILDS; i++)
        if (runs(builds[i].isa))
            return builds[i].isa;
    return builds[BUILDS - 1].isa;
}

static const struct cud_kernel *const *table(const char *machine)
{
#ifdef HAVE_CUDA
    if (strcmp(machine, "cuda") == 0)
        return kernels_cuda;
#endif
    return strcmp(machine, "cuda") == 0 ? NULL : cud_registry_build(cud_registry_isa());
}

const struct cud_kernel *cud_registry_kernel(const char *machine, const char *name)
{
    const struct cud_kernel *const *k = table(machine);
    for (; k && *k; k++)
        if (strcmp((*k)->name, name) == 0)
            return *k;
    return NULL;
}

const struct cud_kernel *cud_registry_kernel_at(size_t i)
{
    return i < sizeof kernels_cpu_v1 / sizeof *kernels_cpu_v1 ? table("cpu")[i] : NULL;
}

const struct cud_format *cud_registry_format_at(size_t i)
{
    return i < sizeof formats / sizeof *formats ? formats[i] : NULL;
}

const struct cud_format *cud_registry_format(const char *name)
{
    for (size_t i = 0; formats[i]; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

const char *cud_registry_suffix(const char *path)
{
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path, *const dot = strrchr(name, '.');
    return dot && dot > name ? dot : name + strlen(name);
}

/* One of the words of a list. */
static bool among(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *s = list; *s; s += strcspn(s, " "), s += strspn(s, " "))
        if (strcspn(s, " ") == n && strncasecmp(s, word, n) == 0)
            return true;
    return false;
}

const struct cud_format *cud_registry_format_of(const char *path)
{
    for (size_t i = 0; formats[i]; i++)
        if (among(formats[i]->suffixes, cud_registry_suffix(path)))
            return formats[i];
    return NULL;
}

static const struct cud_device *device_in(const struct cud_device *const *d, const char *name)
{
    for (; *d; d++)
        if (strcmp((*d)->name, name) == 0)
            return *d;
    return NULL;
}

const struct cud_device *cud_registry_device(const char *name)
{
    const struct cud_device *const d = device_in(devices, name);
#ifdef HAVE_CUDA
    return d ? d : device_in(devices_cuda, name);
#else
    return d;
#endif
}
