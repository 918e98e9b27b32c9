/* What cudist knows: the tables that build-aux/tables.sh makes of tables.am. */
#ifndef CUD_REGISTRY_H
#define CUD_REGISTRY_H

#include "cudist/device.h"
#include "cudist/format.h"
#include "cudist/kernel.h"

/* The machines kernels were compiled for.  The CPU's are chosen at run time: the best this CPU has, or CUDIST_ISA
 * ("x86-64", "x86-64-v3", "x86-64-v4", "reversed"; for tests: all give the same bytes). */
const char *cud_registry_isa(void);
bool cud_registry_isa_known(const char *isa);                     /* built, and this CPU can run it */
/* All kernels of one build, NULL at the end; NULL: not built, or this CPU cannot run it. */
const struct cud_kernel *const *cud_registry_build(const char *isa);

/* machine: a device's name; "cuda", or else the CPU's best build.  NULL: no such kernel, or not built. */
const struct cud_kernel *cud_registry_kernel(const char *machine, const char *name);
/* As compiled for the CPU, internal ones too; NULL: past the end. */
const struct cud_kernel *cud_registry_kernel_at(size_t i);

const struct cud_format *cud_registry_format(const char *name);
const struct cud_format *cud_registry_format_at(size_t i);
/* The suffix of a file's name: ".npy" of a/b.npy; "" where there is none (a/b, a/.b, a.b/c). */
const char *cud_registry_suffix(const char *path);
/* The format that a file's suffix stands for, in upper case too; NULL: none. */
const struct cud_format *cud_registry_format_of(const char *path);
const struct cud_device *cud_registry_device(const char *name);   /* NULL: not built */

/* The name among the n that is the fewest edits away from what was typed; NULL if none is near. */
const char *cud_registry_nearest(const char *typed, const char *const *names, size_t n);

#endif
