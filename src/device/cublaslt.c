/* cuBLASLt speaks of matrices by columns.  A row-major m x n matrix is its column-major n x m one, so c = a b is asked for as
 * c' = b' a', where b' has the bytes of b.
 *
 * The algorithm is the library's first choice for a shape.  What it may depend on is the same for all windows: alignments are
 * those of a row, not of the pointers, and the workspace has one size.  So a batch has the same bytes wherever it is done. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cublaslt.h"
#include "symbols.h"

/* The library's own numbers and shapes: cublas_api.h, cublasLt.h, library_types.h.  tests/cudaemu/cublaslt.cpp compares them. */
enum { R_32F = 0, R_64F = 1, COMPUTE_32F = 68, COMPUTE_32F_FAST_TF32 = 77, COMPUTE_64F = 70, OP_T = 1 };
enum { DESC_TRANSA = 3, PREF_WORKSPACE = 1, PREF_ALIGNMENT_A = 5, PREF_ALIGNMENT_B, PREF_ALIGNMENT_C, PREF_ALIGNMENT_D };
enum { NOT_SUPPORTED = 15 };

struct algo { uint64_t data[8]; };
struct choice { struct algo algo; size_t workspace; int status; float waves; int reserved[4]; };

static const char *const sonames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};

static struct {
    int (*create)(void **handle);
    size_t (*version)(void);
    const char *(*status_name)(int);
    int (*desc_create)(void **desc, int compute, int scale);
    int (*desc_set)(void *desc, int attribute, const void *value, size_t bytes);
    int (*desc_destroy)(void *desc);
    int (*layout_create)(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld);
    int (*layout_destroy)(void *layout);
    int (*pref_create)(void **pref);
    int (*pref_set)(void *pref, int attribute, const void *value, size_t bytes);
    int (*pref_destroy)(void *pref);
    int (*choose)(void *handle, void *desc, void *a, void *b, void *c, void *d, void *pref, int asked, struct choice *, int *found);
    int (*matmul)(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout,
                  const void *beta, const void *c, void *c_layout, void *d, void *d_layout, const struct algo *, void *workspace,
                  size_t bytes, void *stream);
} lt;                                      /* written once, by the main thread, before there are others */

static const struct cud_symbol symbols[] = {
    {"cublasLtCreate", &lt.create},
    {"cublasLtGetVersion", &lt.version},
    {"cublasLtGetStatusName", &lt.status_name},
    {"cublasLtMatmulDescCreate", &lt.desc_create},
    {"cublasLtMatmulDescSetAttribute", &lt.desc_set},
    {"cublasLtMatmulDescDestroy", &lt.desc_destroy},
    {"cublasLtMatrixLayoutCreate", &lt.layout_create},
    {"cublasLtMatrixLayoutDestroy", &lt.layout_destroy},
    {"cublasLtMatmulPreferenceCreate", &lt.pref_create},
    {"cublasLtMatmulPreferenceSetAttribute", &lt.pref_set},
    {"cublasLtMatmulPreferenceDestroy", &lt.pref_destroy},
    {"cublasLtMatmulAlgoGetHeuristic", &lt.choose},
    {"cublasLtMatmul", &lt.matmul},
};

struct shape { size_t m, k, n; enum cud_type type; bool b_rows_out, tf32; };

/* How products of one shape are done. */
struct plan {
    struct shape shape;
    void *desc, *a, *b, *c;                /* a, b: the library's first and second, so of our b and a */
    struct algo algo;
};

#define PLANS 64                           /* two for each step: full batches, and the last one */

struct lt_gemm {
    struct cud_gemm gemm;
    void *handle;
    char name[160];
    pthread_mutex_t lock;                  /* of plans while one is added; the workers' */
    int plans;
    struct plan plan[PLANS];
};

/* ---- a plan */

static void plan_free(struct plan *p)
{
    if (p->desc)
        lt.desc_destroy(p->desc);
    void *const layouts[] = {p->a, p->b, p->c};
    for (int i = 0; i < 3; i++)
        if (layouts[i])
            lt.layout_destroy(layouts[i]);
}

/* Of rows of so many bytes, in memory whose start is aligned as well as any: at most 256. */
static uint32_t alignment(uint64_t row_bytes)
{
    const uint64_t lowest = row_bytes & -row_bytes;
    return (uint32_t)(lowest < 256 ? lowest : 256);
}

static int choose(const struct lt_gemm *g, struct plan *p)
{
    const struct shape *const s = &p->shape;
    const size_t each = cud_type_bytes(s->type), work = CUD_GEMM_WORK;
    const uint32_t of_a = 256, of_b = alignment(s->k * each), of_c = alignment(s->n * each);   /* weights begin an allocation */
    struct choice best = {0};
    void *pref = NULL;
    int found = 0, code = lt.pref_create(&pref);
    if (code)
        return code;
    const struct { int attribute; const void *value; size_t bytes; } set[] = {
        {PREF_WORKSPACE, &work, sizeof work}, {PREF_ALIGNMENT_A, &of_a, sizeof of_a}, {PREF_ALIGNMENT_B, &of_b, sizeof of_b},
        {PREF_ALIGNMENT_C, &of_c, sizeof of_c}, {PREF_ALIGNMENT_D, &of_c, sizeof of_c},
    };
    for (size_t i = 0; i < sizeof set / sizeof *set && !code; i++)
        code = lt.pref_set(pref, set[i].attribute, set[i].value, set[i].bytes);
    if (!code)
        code = lt.choose(g->handle, p->desc, p->a, p->b, p->c, p->c, pref, 1, &best, &found);
    lt.pref_destroy(pref);
    p->algo = best.algo;
    return code ? code : found ? best.status : NOT_SUPPORTED;
}

static int plan_make(const struct lt_gemm *g, const struct shape *s, struct plan *p)
{
    const int type = s->type == CUD_F64 ? R_64F : R_32F, op = OP_T;
    const int64_t k = (int64_t)s->k, n = (int64_t)s->n;
    int code = 0;
    *p = (struct plan){.shape = *s};
    if ((code = lt.desc_create(&p->desc, s->type == CUD_F64 ? COMPUTE_64F : s->tf32 ? COMPUTE_32F_FAST_TF32 : COMPUTE_32F, type)) ||
        (s->b_rows_out && (code = lt.desc_set(p->desc, DESC_TRANSA, &op, sizeof op))) ||
        (code = s->b_rows_out ? lt.layout_create(&p->a, type, s->k, s->n, k) : lt.layout_create(&p->a, type, s->n, s->k, n)) ||
        (code = lt.layout_create(&p->b, type, s->k, s->m, k)) || (code = lt.layout_create(&p->c, type, s->n, s->m, n)) ||
        (code = choose(g, p)))
        plan_free(p);
    return code;
}

static bool same(const struct shape *a, const struct shape *b)
{
    return a->m == b->m && a->k == b->k && a->n == b->n && a->type == b->type && a->b_rows_out == b->b_rows_out && a->tf32 == b->tf32;
}

/* *kept: the plan stays the object's; else the caller frees it. */
static int plan_find(struct lt_gemm *g, const struct shape *s, struct plan *p, bool *kept)
{
    int code = 0;
    *kept = true;
    pthread_mutex_lock(&g->lock);
    for (int i = 0; i < g->plans; i++)
        if (same(&g->plan[i].shape, s)) {
            *p = g->plan[i];
            goto done;
        }
    code = plan_make(g, s, p);
    if (!code && (*kept = g->plans < PLANS))
        g->plan[g->plans++] = *p;
done:
    pthread_mutex_unlock(&g->lock);
    return code;
}

/* ---- the product */

static int run(const struct cud_gemm *self, const struct cud_product *q)
{
    struct lt_gemm *const g = (struct lt_gemm *)(void *)self;
    const struct shape s = {q->m, q->k, q->n, q->type, q->b_rows_out, q->tf32};
    const float one = 1, zero = 0;
    const double one_f64 = 1, zero_f64 = 0;
    const bool f64 = q->type == CUD_F64;
    struct plan p;
    bool kept = true;
    int code = plan_find(g, &s, &p, &kept);
    if (code)
        return code;
    code = lt.matmul(g->handle, p.desc, f64 ? (const void *)&one_f64 : &one, q->b, p.a, q->a, p.b, f64 ? (const void *)&zero_f64 : &zero,
                     q->c, p.c, q->c, p.c, &p.algo, q->work, CUD_GEMM_WORK, q->stream);
    if (!kept)
        plan_free(&p);
    return code;
}

static const char *error(int code) { return lt.status_name(code); }

/* ---- the library */

static bool open_library(char why[200])
{
    void *library = NULL;
    for (size_t i = 0; i < sizeof sonames / sizeof *sonames && !library; i++)
        library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, 200, "%s: cannot be opened", sonames[0]);
        return false;
    }
    return cud_symbols_find(library, sonames[0], symbols, sizeof symbols / sizeof *symbols, why);
}

const struct cud_gemm *cud_cublaslt(const char *kind, char why[200])
{
    static struct lt_gemm g = {.lock = PTHREAD_MUTEX_INITIALIZER};
    if (g.handle)
        return &g.gemm;
    if (!open_library(why))
        return NULL;
    const int code = lt.create(&g.handle);
    if (code) {
        g.handle = NULL;
        snprintf(why, 200, "cuBLASLt does not start: %s", lt.status_name(code));
        return NULL;
    }
    const size_t v = lt.version();         /* 130002: 13.0.2 */
    snprintf(g.name, sizeof g.name, "cuBLASLt %zu.%zu.%zu (%s)", v / 10000, v / 100 % 100, v % 100, kind);
    g.gemm = (struct cud_gemm){.name = g.name, .run = run, .error = error};
    return &g.gemm;
}
