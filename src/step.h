/* Steps resolved: a program that turns rows of the input's type into rows of the output's type. */
#ifndef CUD_STEP_H
#define CUD_STEP_H

#include "cudist/device.h"
#include "expr.h"
#include "job.h"

#define CUD_STEP_TEXT 24576                /* a path and more; the longest expression, with numbers at full length */

struct cud_step {
    const struct cud_kernel *kernel;       /* as compiled for the CPU; a machine's own is looked up by name */
    enum cud_kernel_kind kind;             /* the kernel's, or what an expression is */
    bool in_place;                         /* out may be in */
    char text[CUD_STEP_TEXT];              /* canonical: every parameter in order, shortest numbers: "scale:factor=2" */
    struct cud_step_facts facts;
    uint64_t cols_out;
    size_t arrays;                         /* array parameters of the kernel, and such as may be arrays, given or not */
    void *array[CUD_ARRAYS_MAX];           /* host copies, owned; NULL: not given */
    char *array_path[CUD_ARRAYS_MAX];      /* where they came from, owned */
    struct cud_expr_code code;             /* of an expression */
};

struct cud_program {
    size_t steps;
    struct cud_step *step;
    struct cud_array in, out;              /* shapes and types; out is never swapped */
    enum cud_type compute;                 /* f32 or f64; meaningless when steps is 0 */
    bool flat;                             /* every step is element-wise: rows do not matter */
    bool vendor;                           /* a step may call a vendor's library */
    uint64_t rows, cols_in, cols_out, cols_widest;   /* flat: rows is the number of elements, the columns are 1 */
    uint64_t batch;                        /* rows a batch; 0: no step sees batches */
    void *image;                           /* expressions compiled for this rank's device, owned; NULL: they are interpreted */
};

/* How a step's array file becomes values of type `as` (f32 or f64): on one rank cud_source_load; on several rank 0 reads and
 * all get the same bytes.  *values is malloc'ed, the program's from then on. */
struct cud_loader {
    enum cud_status (*load)(void *self, const char *path, enum cud_type as, struct cud_shape *shape, void **values,
                            struct cud_err *err);
    void *self;
};

/* Resolves the steps against the input's shape and type; loads arrays.  Pure but for the loader. */
enum cud_status cud_program_make(const struct cud_job *job, const struct cud_array *in, const struct cud_loader *loader,
                                 struct cud_program *program, struct cud_err *err);
void cud_program_free(struct cud_program *program);               /* all zero is fine */

#endif
