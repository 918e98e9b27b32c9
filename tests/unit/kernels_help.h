/* What the tests of the kernels share: every build there is, and numbers that come again. */
#ifndef KERNELS_HELP_H
#define KERNELS_HELP_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "registry.h"
#include "tap.h"

static const char *const isas[] = {"x86-64", "x86-64-v3", "x86-64-v4", "base", "reversed"};
enum { ISAS = sizeof isas / sizeof *isas };

/* The kernel in the build for isas[i]; NULL if there is no such build, or this CPU cannot run it. */
static inline const struct cud_kernel *kernel_of(int i, const char *name)
{
    const struct cud_kernel *const *k = cud_registry_build(isas[i]);
    for (; k && *k; k++)
        if (strcmp((*k)->name, name) == 0)
            return *k;
    return NULL;
}

static inline void say_missing(void)
{
    for (int i = 0; i < ISAS; i++)
        if (!cud_registry_build(isas[i]))
            printf("# build %s: not here\n", isas[i]);
}

/* splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}
static inline double random_unit(uint64_t *state) { return (double)(random_bits(state) >> 11) * 0x1p-53; }

static inline void *room(size_t bytes)
{
    void *const p = malloc(bytes ? bytes : 1);
    if (!p)
        abort();
    return p;
}

static inline uint64_t bits_of(double x) { uint64_t u; memcpy(&u, &x, sizeof u); return u; }
static inline uint32_t bits_of_f(float x) { uint32_t u; memcpy(&u, &x, sizeof u); return u; }

#define QUIET_F32 UINT32_C(0x7fc00000)
#define QUIET_F64 UINT64_C(0x7ff8000000000000)

#endif
