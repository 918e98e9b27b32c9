#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cudist/type.h"
#include "number.h"

static const struct { const char *name; size_t bytes; bool is_float; enum cud_type compute; } types[CUD_TYPES] = {
    [CUD_BOOL] = {"bool", 1, false, CUD_F32}, [CUD_I8] = {"i8", 1, false, CUD_F32},   [CUD_U8] = {"u8", 1, false, CUD_F32},
    [CUD_I16] = {"i16", 2, false, CUD_F32},   [CUD_U16] = {"u16", 2, false, CUD_F32}, [CUD_I32] = {"i32", 4, false, CUD_F64},
    [CUD_U32] = {"u32", 4, false, CUD_F64},   [CUD_I64] = {"i64", 8, false, CUD_F64}, [CUD_U64] = {"u64", 8, false, CUD_F64},
    [CUD_F16] = {"f16", 2, true, CUD_F32},    [CUD_BF16] = {"bf16", 2, true, CUD_F32}, [CUD_F32] = {"f32", 4, true, CUD_F32},
    [CUD_F64] = {"f64", 8, true, CUD_F64},
};

const char *cud_type_name(enum cud_type type) { return types[type].name; }
size_t cud_type_bytes(enum cud_type type) { return types[type].bytes; }
bool cud_type_is_float(enum cud_type type) { return types[type].is_float; }
enum cud_type cud_type_compute(enum cud_type type) { return types[type].compute; }

/* A type by its name here, or by NumPy's. */
bool cud_type_find(const char *name, enum cud_type *type)
{
    static const struct { const char *name; enum cud_type type; } numpy[] = {
        {"int8", CUD_I8}, {"uint8", CUD_U8}, {"int16", CUD_I16}, {"uint16", CUD_U16}, {"int32", CUD_I32}, {"uint32", CUD_U32},
        {"int64", CUD_I64}, {"uint64", CUD_U64}, {"float16", CUD_F16}, {"bfloat16", CUD_BF16}, {"float32", CUD_F32},
        {"float64", CUD_F64}};
    for (size_t i = 0; i < sizeof numpy / sizeof *numpy; i++)
        if (strcmp(numpy[i].name, name) == 0) {
            *type = numpy[i].type;
            return true;
        }
    for (int t = 0; t < CUD_TYPES; t++)
        if (strcmp(types[t].name, name) == 0) {
            *type = (enum cud_type)t;
            return true;
        }
    return false;
}

uint64_t cud_shape_rows(const struct cud_shape *s) { return s->ndim ? s->dim[0] : 1; }

uint64_t cud_shape_cols(const struct cud_shape *s)
{
    uint64_t cols = 1;
    for (unsigned i = 1; i < s->ndim; i++)
        cols *= s->dim[i];
    return cols;
}

bool cud_shape_bytes(const struct cud_shape *s, size_t elem_bytes, uint64_t *bytes)
{
    uint64_t n = elem_bytes;
    bool empty = false;
    for (unsigned i = 0; i < s->ndim; i++) {
        empty |= s->dim[i] == 0;
        if (s->dim[i] != 0 && (__builtin_mul_overflow(n, s->dim[i], &n) || n > INT64_MAX))
            return false;
    }
    *bytes = empty ? 0 : n;
    return true;
}

/* "1000x16", or as Python writes it: "(1000, 16)", "(1000,)", "()". */
enum cud_status cud_shape_parse(const char *text, struct cud_shape *s, struct cud_err *err)
{
    struct cud_shape shape = {0};
    const size_t length = strlen(text);
    const bool tuple = length >= 2 && text[0] == '(' && text[length - 1] == ')';
    const char *at = text + tuple, *const end = text + length - tuple;
    for (bool more = !tuple || at < end; more;) {
        struct cud_err why = {0};
        const size_t n = cud_min64(strcspn(at, tuple ? "," : "x,"), (uint64_t)(end - at));
        if (shape.ndim == CUD_DIMS_MAX)
            return FAIL(err, CUD_EUSAGE, "shape '%s': more than %d dimensions", text, CUD_DIMS_MAX);
        if (cud_number_whole(at, n, INT64_MAX, &shape.dim[shape.ndim++], &why) != CUD_OK)
            return FAIL(err, CUD_EUSAGE, "shape '%s': '%.*s' is %s; write it like 1000x16", text, (int)(n < 99 ? n : 99), at,
                        why.text);
        at += n;
        more = at < end;
        at += more;                        /* the x or comma */
        while (tuple && at < end && *at == ' ')
            at++;
        more = more && !(tuple && at == end);
    }
    uint64_t bytes;
    if (!cud_shape_bytes(&shape, 8, &bytes))
        return FAIL(err, CUD_EUSAGE, "shape '%s': it makes 2^63 bytes or more", text);
    *s = shape;
    return CUD_OK;
}

const char *cud_shape_text(const struct cud_shape *s, char text[CUD_SHAPE_TEXT])
{
    size_t n = 0;
    text[n++] = '(';
    for (unsigned i = 0; i < s->ndim; i++)
        n += (size_t)snprintf(text + n, CUD_SHAPE_TEXT - n, "%s%llu", i ? ", " : "", (unsigned long long)s->dim[i]);
    snprintf(text + n, CUD_SHAPE_TEXT - n, s->ndim == 1 ? ",)" : ")");
    return text;
}
