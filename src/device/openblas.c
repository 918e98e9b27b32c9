#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "openblas.h"

#define SONAME "libopenblas.so.0"

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };            /* CBLAS's own numbers */

static struct {
    void (*sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
    void (*dgemm)(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
    char name[128];
} blas;                                    /* written once, by the main thread, before there are others */

static int run(const struct cud_gemm *self, void *stream, enum cud_type type, size_t m, size_t k, size_t n, const void *a,
               const void *b, bool b_rows_out, void *c)
{
    (void)self, (void)stream;
    if (m > INT_MAX || n > INT_MAX || k > INT_MAX)
        return 1;
    const int im = (int)m, in = (int)n, ik = (int)k, trans = b_rows_out ? TRANS : NO_TRANS, ldb = b_rows_out ? ik : in;
    if (type == CUD_F32)
        blas.sgemm(ROW_MAJOR, NO_TRANS, trans, im, in, ik, 1, a, ik, b, ldb ? ldb : 1, 0, c, in);
    else
        blas.dgemm(ROW_MAJOR, NO_TRANS, trans, im, in, ik, 1, a, ik, b, ldb ? ldb : 1, 0, c, in);
    return 0;
}

static void *symbol(void *library, const char *name, char why[200])
{
    void *const p = dlsym(library, name);
    if (!p)
        snprintf(why, 200, "%s has no %s", SONAME, name);
    return p;
}

static bool open_library(char why[200])
{
    /* A rank's threads share out batches: the library itself must not start any. */
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void *const library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, 200, "%s", dlerror());
        return false;
    }
    void *const s = symbol(library, "cblas_sgemm", why), *const d = symbol(library, "cblas_dgemm", why);
    void *const config = symbol(library, "openblas_get_config", why), *const core = symbol(library, "openblas_get_corename", why);
    void *const threads = symbol(library, "openblas_set_num_threads", why);
    if (!s || !d || !config || !core || !threads)
        return false;
    char *(*get_config)(void), *(*get_core)(void);
    void (*set_threads)(int);
    memcpy(&blas.sgemm, &s, sizeof s);     /* ISO C has no cast from void * to a function */
    memcpy(&blas.dgemm, &d, sizeof d);
    memcpy(&get_config, &config, sizeof config);
    memcpy(&get_core, &core, sizeof core);
    memcpy(&set_threads, &threads, sizeof threads);
    set_threads(1);
    char version[64] = "";
    sscanf(get_config(), "%*s %63s", version);
    snprintf(blas.name, sizeof blas.name, "OpenBLAS %s (%s)", version, get_core());
    return true;
}

const struct cud_gemm *cud_openblas(char why[200])
{
    static struct cud_gemm gemm;
    const char *const libs = getenv("CUDIST_LIBS");
    if (libs && strcmp(libs, "own") == 0) {
        snprintf(why, 200, "CUDIST_LIBS=own");
        return NULL;
    }
    if (!gemm.run && open_library(why))
        gemm = (struct cud_gemm){.name = blas.name, .run = run};
    return gemm.run ? &gemm : NULL;
}
