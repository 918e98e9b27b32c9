/* Expressions as machines run them: src/expr_code.c writes such programs, kernels/expr.cu runs them.
 *
 * A value is a truth (b), a whole number of 64 bits (i) or a real (r: f32 or f64, the step's type).  A program works on
 * points: elements, or rows where an expression is worked out once a row.  An operation is done to a strip of points at a
 * time, so all values are in registers that hold one value for each point. */
#ifndef CUDIST_EXPR_H
#define CUDIST_EXPR_H

#include <stdint.h>

/* The functions an expression may call: cud_NAME of kernels/elementary.h or kernels/operators.h, of one or two reals (N1: of one,
 * with a cud_NAME_near).  A new one is one name here; all else follows from it. */
#define CUD_EXPR_FUNCTIONS(F1, N1, F2)                                  \
    F1(exp) F1(exp2) F1(expm1) F1(log) F1(log2) F1(log10) F1(log1p)     \
    F1(sinh) F1(cosh) F1(tanh) N1(sin) N1(cos) N1(tan) F1(asin) F1(acos) F1(atan) F2(atan2) \
    F1(sqrt) F1(rsqrt) F1(cbrt) F2(hypot) F2(pow) F1(erf) F1(erfc)      \
    F1(rint) F1(round) F1(trunc) F1(floor) F1(ceil) F2(fmod) F2(fmin) F2(fmax) F2(copysign)

/* The operations, op<T>::NAME of kernels/operators.h: name, result's type, arguments' types.  i... is of whole numbers, b... of
 * truths. */
#define CUD_EXPR_OPS(OP1, OP2, OP3)                                     \
    OP1(b2i, i, b) OP1(b2r, r, b) OP1(i2b, b, i) OP1(i2r, r, i) OP1(r2b, b, r) OP1(r2i, i, r) \
    OP1(neg, r, r) OP1(ineg, i, i) OP1(inot, i, i) OP1(bnot, b, b)      \
    OP2(add, r, r, r) OP2(sub, r, r, r) OP2(mul, r, r, r) OP2(div, r, r, r) \
    OP2(iadd, i, i, i) OP2(isub, i, i, i) OP2(imul, i, i, i) OP2(idiv, i, i, i) OP2(irem, i, i, i) \
    OP2(ishl, i, i, i) OP2(ishr, i, i, i) OP2(iand, i, i, i) OP2(ior, i, i, i) OP2(ixor, i, i, i) \
    OP2(lt, b, r, r) OP2(le, b, r, r) OP2(eq, b, r, r) OP2(ne, b, r, r) \
    OP2(ilt, b, i, i) OP2(ile, b, i, i) OP2(ieq, b, i, i) OP2(ine, b, i, i) \
    OP2(band, b, b, b) OP2(bor, b, b, b) OP2(bxor, b, b, b)             \
    OP3(choose, r, b, r, r) OP3(ichoose, i, b, i, i) OP3(bchoose, b, b, b, b) \
    OP1(abs, r, r) OP2(min, r, r, r) OP2(max, r, r, r) OP3(clamp, r, r, r, r) \
    OP1(iabs, i, i) OP2(imin, i, i, i) OP2(imax, i, i, i) OP3(iclamp, i, i, i, i) \
    OP1(isnan, b, r) OP1(isinf, b, r) OP1(isfinite, b, r) OP1(signbit, b, r)

enum cud_expr_op {
    CUD_EXPR_END,                          /* of the program */
    CUD_EXPR_OUT,                          /* arg[0], a real, is the result number arg[1] */
    CUD_EXPR_KEEP,                         /* arg[0], a whole number, is the only result, as it is: for constants */
    CUD_EXPR_INDEX,                        /* i: the element's number in the whole array */
    CUD_EXPR_ROW, CUD_EXPR_COL,            /* i: the row's number in the whole array; the column's */
    CUD_EXPR_FACT,                         /* r: the fact in place arg[0] about the row */
    CUD_EXPR_AT,                           /* r: the row's element in column arg[0] */
    CUD_EXPR_PICK,                         /* r: the row's element in the column that arg[0], a whole number, says; NaN if none */
#define CUD_EXPR_OP(name, ...) CUD_EXPR_##name,
#define CUD_EXPR_FN(name) CUD_EXPR_FN_##name,
    CUD_EXPR_OPS(CUD_EXPR_OP, CUD_EXPR_OP, CUD_EXPR_OP)
    CUD_EXPR_FUNCTIONS(CUD_EXPR_FN, CUD_EXPR_FN, CUD_EXPR_FN)
    CUD_EXPR_OPS_END
};

#define CUD_EXPR_REGS 16
#define CUD_EXPR_CHUNK 64                  /* a constant is there so many times, for loops to read like a register */

/* An operand is a register's number, the element itself, or where in the code a constant's CUD_EXPR_CHUNK copies begin. */
#define CUD_EXPR_X UINT32_C(0x7fffffff)
#define CUD_EXPR_CONST UINT32_C(0x80000000)   /* | bytes from the code's start */
/* What an instruction writes: a register, or straight the result: of type r, the only one. */
#define CUD_EXPR_TO_OUT 0xffff

struct cud_expr_ins {
    uint16_t op, to;
    uint32_t arg[3];
};

/* The code is an array of these, the last one CUD_EXPR_END, and behind it the constants, at multiples of 64 bytes: truths as
 * unsigned integers of a real's length, 0 or 1. */

/* What there is to know of a row: kernels/rowfacts.cu.  A set of them is a number with these bits; the facts of a set are laid
 * out one after the other in this order, each for all rows. */
enum cud_fact { CUD_ROW_SUM, CUD_ROW_MEAN, CUD_ROW_MIN, CUD_ROW_MAX, CUD_ROW_VAR, CUD_ROW_STD, CUD_FACTS };

#endif
