#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include "openblas.h"
#include "symbols.h"

#define SONAME "libopenblas.so.0"

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };            /* CBLAS's own numbers */

static struct {
    void (*sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
    void (*dgemm)(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
    char name[128];
} blas;                                    /* written once, by the main thread, before there are others */

static int run(const struct cud_gemm *self, const struct cud_product *p)
{
    (void)self;
    if (p->m > INT_MAX || p->n > INT_MAX || p->k > INT_MAX)
        return 1;
    const int m = (int)p->m, n = (int)p->n, k = (int)p->k, trans = p->b_rows_out ? TRANS : NO_TRANS, ldb = p->b_rows_out ? k : n;
    if (p->type == CUD_F32)
        blas.sgemm(ROW_MAJOR, NO_TRANS, trans, m, n, k, 1, p->a, k, p->b, ldb, 0, p->c, n);
    else
        blas.dgemm(ROW_MAJOR, NO_TRANS, trans, m, n, k, 1, p->a, k, p->b, ldb, 0, p->c, n);
    return 0;
}

static const char *error(int code)
{
    (void)code;
    return "a batch, a row or a layer has 2^31 elements or more";
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
    char *(*get_config)(void), *(*get_core)(void);
    void (*set_threads)(int);
    const struct cud_symbol symbols[] = {
        {"cblas_sgemm", &blas.sgemm}, {"cblas_dgemm", &blas.dgemm}, {"openblas_get_config", &get_config},
        {"openblas_get_corename", &get_core}, {"openblas_set_num_threads", &set_threads}};
    if (!cud_symbols_find(library, SONAME, symbols, sizeof symbols / sizeof *symbols, why))
        return false;
    set_threads(1);
    char version[64] = "";
    sscanf(get_config(), "%*s %63s", version);
    snprintf(blas.name, sizeof blas.name, "OpenBLAS %s (%s)", version, get_core());
    return true;
}

const struct cud_gemm *cud_openblas(char why[200])
{
    static struct cud_gemm gemm;
    if (!gemm.run && open_library(why))
        gemm = (struct cud_gemm){.name = blas.name, .run = run, .error = error};
    return gemm.run ? &gemm : NULL;
}
