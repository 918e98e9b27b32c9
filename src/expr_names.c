/* The names, operators and operations of expressions: tables. */
#include <math.h>
#include <string.h>
#include "expr_own.h"
#include "registry.h"

#define PI 0x1.921fb54442d18p+1
#define E 0x1.5bf0a8b145769p+1

#define OP(name) CUD_EXPR_##name
#define VARIABLE(n, v) {.name = (n), .kind = CUD_NAME_VARIABLE, .what = (v)}
#define CONSTANT(n, p, v) {.name = (n), .kind = CUD_NAME_CONSTANT, .plain = (p), .value = (v)}
#define TRUTH(n, v) {.name = (n), .kind = CUD_NAME_CONSTANT, .plain = (n), .value = (v), .truth = true}
#define TYPE(n, p, t) {.name = (n), .kind = CUD_NAME_TYPE, .plain = (p), .what = (t)}
#define FUNCTION(n, p, a, r, w) {.name = (n), .kind = CUD_NAME_FUNCTION, .plain = (p), .args = (a), .real = (r), .whole = (w)}
#define F1(n) FUNCTION(#n, #n, 1, CUD_EXPR_FN_##n, 0),
#define F2(n) FUNCTION(#n, #n, 2, CUD_EXPR_FN_##n, 0),

static const struct cud_name names[] = {
    VARIABLE("x", CUD_VAR_X), VARIABLE("i", CUD_VAR_I), VARIABLE("row", CUD_VAR_ROW), VARIABLE("col", CUD_VAR_COL),
    VARIABLE("nrows", CUD_VAR_NROWS), VARIABLE("ncols", CUD_VAR_NCOLS),
    VARIABLE("row_sum", CUD_VAR_FACT + CUD_ROW_SUM), VARIABLE("row_mean", CUD_VAR_FACT + CUD_ROW_MEAN),
    VARIABLE("row_min", CUD_VAR_FACT + CUD_ROW_MIN), VARIABLE("row_max", CUD_VAR_FACT + CUD_ROW_MAX),
    VARIABLE("row_var", CUD_VAR_FACT + CUD_ROW_VAR), VARIABLE("row_std", CUD_VAR_FACT + CUD_ROW_STD),
    CONSTANT("pi", "pi", PI), CONSTANT("e", "e", E), CONSTANT("inf", "inf", INFINITY), CONSTANT("nan", "nan", NAN),
    CONSTANT("M_PI", "pi", PI), CONSTANT("M_E", "e", E), CONSTANT("INFINITY", "inf", INFINITY), CONSTANT("NAN", "nan", NAN),
    TRUTH("true", 1), TRUTH("false", 0),
    TYPE("bool", "bool", 'b'), TYPE("int", "int", 'i'), TYPE("long", "int", 'i'), TYPE("float", "float", 'r'),
    TYPE("double", "float", 'r'),
    FUNCTION("abs", "abs", 1, OP(abs), OP(iabs)), FUNCTION("fabs", "abs", 1, OP(abs), 0),
    FUNCTION("min", "min", 2, OP(min), OP(imin)), FUNCTION("max", "max", 2, OP(max), OP(imax)),
    FUNCTION("clamp", "clamp", 3, OP(clamp), OP(iclamp)),
    FUNCTION("isnan", "isnan", 1, OP(isnan), 0), FUNCTION("isinf", "isinf", 1, OP(isinf), 0),
    FUNCTION("isfinite", "isfinite", 1, OP(isfinite), 0), FUNCTION("signbit", "signbit", 1, OP(signbit), 0),
    CUD_EXPR_FUNCTIONS(F1, F1, F2)
};
enum { NAMES = sizeof names / sizeof *names };

const struct cud_name *cud_name_find(const char *text, size_t n)
{
    for (int i = 0; i < NAMES; i++)
        if (strlen(names[i].name) == n && memcmp(names[i].name, text, n) == 0)
            return &names[i];
    return NULL;
}

const char *cud_name_nearest(const char *text, size_t n)
{
    char typed[64];
    const char *all[NAMES];
    if (n >= sizeof typed)
        return NULL;
    memcpy(typed, text, n);
    typed[n] = '\0';
    for (int i = 0; i < NAMES; i++)
        all[i] = names[i].name;
    return cud_registry_nearest(typed, all, NAMES);
}

/* ---- operators, with C's precedence (C17 6.5) */

static const struct cud_sign signs[] = {
    {"*", 11, CUD_SIGN_NUMBERS, OP(mul), OP(imul), 0, false},
    {"/", 11, CUD_SIGN_NUMBERS, OP(div), OP(idiv), 0, false},
    {"%", 11, CUD_SIGN_WHOLE, 0, OP(irem), 0, false},
    {"+", 10, CUD_SIGN_NUMBERS, OP(add), OP(iadd), 0, false},
    {"-", 10, CUD_SIGN_NUMBERS, OP(sub), OP(isub), 0, false},
    {"<<", 9, CUD_SIGN_WHOLE, 0, OP(ishl), 0, false},
    {">>", 9, CUD_SIGN_WHOLE, 0, OP(ishr), 0, false},
    {"<", 8, CUD_SIGN_ORDER, OP(lt), OP(ilt), 0, false},
    {"<=", 8, CUD_SIGN_ORDER, OP(le), OP(ile), 0, false},
    {">", 8, CUD_SIGN_ORDER, OP(lt), OP(ilt), 0, true},
    {">=", 8, CUD_SIGN_ORDER, OP(le), OP(ile), 0, true},
    {"==", 7, CUD_SIGN_SAME, OP(eq), OP(ieq), 0, false},
    {"!=", 7, CUD_SIGN_SAME, OP(ne), OP(ine), 0, false},
    {"&", 6, CUD_SIGN_BITS, 0, OP(iand), OP(band), false},
    {"^", 5, CUD_SIGN_BITS, 0, OP(ixor), OP(bxor), false},
    {"|", 4, CUD_SIGN_BITS, 0, OP(ior), OP(bor), false},
    {"&&", 3, CUD_SIGN_LOGIC, 0, 0, OP(band), false},
    {"||", 2, CUD_SIGN_LOGIC, 0, 0, OP(bor), false},
};

const struct cud_sign *cud_sign_find(const char *text, size_t n)
{
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strlen(signs[i].text) == n && memcmp(signs[i].text, text, n) == 0)
            return &signs[i];
    return NULL;
}

/* ---- operations */

#define b 'b'
#define i 'i'
#define r 'r'
#define OP1(n, t, t0) [CUD_EXPR_##n] = {#n, {1, t, {t0, 0, 0}}},
#define OP2(n, t, t0, t1) [CUD_EXPR_##n] = {#n, {2, t, {t0, t1, 0}}},
#define OP3(n, t, t0, t1, t2) [CUD_EXPR_##n] = {#n, {3, t, {t0, t1, t2}}},
#define FN1(n) [CUD_EXPR_FN_##n] = {#n, {1, r, {r, 0, 0}}},
#define FN2(n) [CUD_EXPR_FN_##n] = {#n, {2, r, {r, r, 0}}},
static const struct { const char *name; struct cud_op_types types; } ops[CUD_EXPR_OPS_END] = {
    CUD_EXPR_OPS(OP1, OP2, OP3) CUD_EXPR_FUNCTIONS(FN1, FN1, FN2)
};
#undef b
#undef i
#undef r

const struct cud_op_types *cud_op_types(uint16_t op) { return &ops[op].types; }
const char *cud_op_name(uint16_t op) { return ops[op].name; }

bool cud_op_is_function(uint16_t op)
{
#define IS(n) case CUD_EXPR_FN_##n:
    switch (op) {
    CUD_EXPR_FUNCTIONS(IS, IS, IS)
        return true;
    default:
        return false;
    }
}
