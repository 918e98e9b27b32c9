/* Element types and shapes. */
#ifndef CUDIST_TYPE_H
#define CUDIST_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cudist/err.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cud_type {
    CUD_BOOL, CUD_I8, CUD_U8, CUD_I16, CUD_U16, CUD_I32, CUD_U32, CUD_I64, CUD_U64, CUD_F16, CUD_BF16, CUD_F32, CUD_F64,
    CUD_TYPES
};

const char *cud_type_name(enum cud_type type);                   /* "f32" */
size_t cud_type_bytes(enum cud_type type);                       /* 4 */
bool cud_type_is_float(enum cud_type type);
bool cud_type_find(const char *name, enum cud_type *type);       /* by its exact name */

/* What steps calculate in when the input has this type: f64 for f64, i32, u32, i64 and u64, else f32. */
enum cud_type cud_type_compute(enum cud_type type);

#define CUD_DIMS_MAX 32

/* C order: the last dimension is the one next to each other.  The first dimension is rows; a shape () is one row of one
 * element, a shape (n,) is n rows of one element. */
struct cud_shape {
    unsigned ndim;
    uint64_t dim[CUD_DIMS_MAX];
};

uint64_t cud_shape_rows(const struct cud_shape *s);
uint64_t cud_shape_cols(const struct cud_shape *s);              /* elements a row */

/* All dimensions times elem_bytes; 0 if one is 0.  False if those that are not 0 make 2^63 or more: NumPy refuses that too,
 * and no product of some of them overflows later. */
bool cud_shape_bytes(const struct cud_shape *s, size_t elem_bytes, uint64_t *bytes);

/* "1000x16" (also "1000,16" and "()"; whole numbers, one x or comma between two) to a shape, and back: "(1000, 16)", "(5,)",
 * "()".  The text needs 32 * 22 bytes at most. */
enum cud_status cud_shape_parse(const char *text, struct cud_shape *s, struct cud_err *err);
#define CUD_SHAPE_TEXT 720
const char *cud_shape_text(const struct cud_shape *s, char text[CUD_SHAPE_TEXT]);

#ifdef __cplusplus
}
#endif
#endif
