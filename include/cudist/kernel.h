/* The C face of a kernel: what the host knows of it, whichever machine it was compiled for.
 *
 * Every file of kernels/ is compiled once for each instruction set of the CPU (x86-64, -v3, -v4), once with its lanes
 * backwards (tests), and once by nvcc.  Each compilation exports one `const struct cud_kernel` named after the file. */
#ifndef CUDIST_KERNEL_H
#define CUDIST_KERNEL_H

#include <stddef.h>
#include <stdint.h>
#include "cudist/err.h"
#include "cudist/type.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUD_PARAMS_MAX 8
#define CUD_ARRAYS_MAX 4

/* Elements in a leaf: the statistics' smallest part, see src/stats.h. */
#define CUD_LEAF 4096
#define CUD_NONE UINT64_MAX                /* no such index */

/* c[m x n] = a[m x k] * b[k x n], or with b_rows_out: b is n x k and is used transposed.  Row-major, no overlap; m, k, n at
 * least 1.  b begins an allocation, a and c begin at some row of one. */
struct cud_product {
    enum cud_type type;                    /* f32 or f64 */
    size_t m, k, n;
    const void *a, *b;
    void *c;
    bool b_rows_out;
    bool tf32;                             /* f32 may be rounded to 10 bits before it is multiplied, where that is faster */
    void *work;                            /* CUD_GEMM_WORK bytes, on devices that are not shared */
    void *stream;
};
#define CUD_GEMM_WORK ((size_t)32 << 20)   /* what NVIDIA advises for its newest chips */

/* Products from a vendor's library; one call is one batch. */
struct cud_gemm {
    const char *name;                      /* library, version and the kind of core it chose: part of a result's identity */
    int (*run)(const struct cud_gemm *self, const struct cud_product *product);      /* 0, or the library's own error number, > 0 */
    const char *(*error)(int code);        /* what such a number means */
};

/* One launch.  Which of these mean something is the kernel's own business, written in its file's head. */
struct cud_call {
    const void *in[1 + CUD_ARRAYS_MAX];    /* device pointers: in[0] the rows, in[1 + i] the step's array i or NULL */
    void *out[2];                          /* out[0] may be in[0] where the kernel says .in_place */
    size_t dim[5];                         /* steps: rows, columns in, columns out, first row; others: see the file */
    double param[CUD_PARAMS_MAX];          /* in the order of cud_kernel.param */
    enum cud_type type;                    /* steps: f32 or f64, of in[0] and out[0] */
    enum cud_type type2;                   /* convert: the type to make */
    bool warm;                             /* a GPU only loads what it would launch; vendor's libraries do their work */
    const char *step;                      /* for messages: "step 2 (softmax)"; NULL: the launch is no step of the user's */
    const void *code;                      /* a device pointer: the step's program (expr) */
    const struct cud_gemm *gemm;           /* NULL: the kernel multiplies by itself */
    void *work;                            /* cud_kernel.work_bytes of it; CUD_GEMM_WORK for gemm where memory is not shared */
    void *stream;                          /* cudaStream_t on cuda, NULL on the CPU */
    const void *function;                  /* what does the step, compiled for the device while running; NULL: nothing was */
};

enum cud_param_kind {
    CUD_NUMBER,                            /* a double, as src/number.h reads it; in f32 steps one that a float can hold */
    CUD_CHOICE,                            /* one of `choices`, "none,relu": param is its place, 0, 1, ... */
    CUD_ARRAY,                             /* a .npy file, read whole by every rank; param is 1 if given, else 0 */
    CUD_NUMBERS                            /* a number: param, and no array; or FILE.npy: an array, if of one number a param */
};

struct cud_param {
    const char *name;
    enum cud_param_kind kind;
    const char *fallback;                  /* as the user would write it; NULL: must be given ("" for an optional array) */
    const char *choices;                   /* CUD_CHOICE only */
    const char *help;                      /* a few words */
};

/* Of a step, told to its shape function. */
struct cud_step_facts {
    enum cud_type type;                    /* f32 or f64 */
    uint64_t cols;                         /* elements of a row that comes in */
    double param[CUD_PARAMS_MAX];
    struct cud_shape array[CUD_ARRAYS_MAX];   /* of the arrays, in the order of their parameters; no dimensions: none */
};

enum cud_kernel_kind {
    CUD_INTERNAL,                          /* not a step: convert, stats; never listed */
    CUD_MAP,                               /* element-wise: element i out depends on element i in and nothing else */
    CUD_ROWS,                              /* row i out depends on row i in */
    CUD_BATCHES                            /* sees a batch of rows at a time; results may depend on how batches are cut */
};

struct cud_kernel {
    const char *name;                      /* its file's name */
    const char *brief;                     /* one line for --list-kernels: "y = factor * x" */
    enum cud_kernel_kind kind;
    bool in_place;                         /* out[0] may be in[0] (always so for CUD_MAP) */
    /* Ends with a NULL name; NULL: none.  At most CUD_PARAMS_MAX, CUD_ARRAYS_MAX arrays. */
    const struct cud_param *param;

    /* Checks facts and arrays (an error's text is the reason alone); sets the columns that go out.  NULL: as many as come
     * in. */
    enum cud_status (*shape)(const struct cud_step_facts *facts, uint64_t *cols_out, struct cud_err *err);
    /* Is what comes out whole numbers, as indices are?  Then the output's type is i64 unless told otherwise.  NULL: no. */
    bool (*whole)(const struct cud_step_facts *facts);
    /* Bytes of workspace for a launch of so many rows.  NULL: none. */
    size_t (*work_bytes)(const struct cud_step_facts *facts, uint64_t rows);
    /* Queues the launch on call->stream (on the CPU: does it).  0, the device's own error number, or minus the gemm's. */
    int (*launch)(const struct cud_call *call);
};

/* ---- what the internal kernels leave for the host */

union cud_word {                           /* f for real types; i, u for i64, u64 */
    double f;
    int64_t i;
    uint64_t u;
};

/* One leaf's statistics: kernels/stats.cu.  Moments are over the finite values, min and max over all but NaN.
 * 16 words of 8 bytes, no padding.  For i64 and u64: pivot, min, max are integers, isum is the exact 128-bit sum (two's
 * complement), s1 and s2 are of the differences, each rounded once. */
struct cud_leaf {
    union cud_word pivot;                  /* a value near the mean */
    double s1, s2;                         /* the sums of x - pivot and of (x - pivot)^2 */
    union cud_word min, max;               /* the elements at argmin and argmax */
    uint64_t argmin, argmax;               /* global element numbers, the lowest that is equal; CUD_NONE if all are NaN */
    uint64_t finite, nan, pinf, ninf;      /* how many */
    uint64_t first_nan, first_pinf, first_ninf;   /* global element numbers or CUD_NONE */
    uint64_t isum_lo, isum_hi;             /* 0 for real types */
};

/* What a conversion to the output's type lost, a leaf: kernels/convert.cu.  saturated: out of an integer's range; finite, and
 * infinite in a float type. */
struct cud_lost {
    uint64_t rounded, saturated, nan_to_zero;
};

#ifdef __cplusplus
}
#endif
#endif
