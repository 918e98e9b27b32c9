/* Expressions: 'x > 0 ? x : 0.01 * x'.  docs/expressions.md is the language. */
#ifndef CUD_EXPR_H
#define CUD_EXPR_H

#include "cudist/expr.h"
#include "cudist/kernel.h"

#define CUD_EXPR_TEXT 4000                 /* characters of an expression at most */

/* ---- what it says */

struct cud_expr;
/* Syntax, names and types.  Errors are CUD_EUSAGE and point at the place (cud_err_point); their text is the reason alone. */
enum cud_status cud_expr_parse(const char *text, struct cud_expr **expr, struct cud_err *err);
void cud_expr_free(struct cud_expr *expr);                        /* NULL is fine */
/* The same expression as everyone would write it; expressions with the same text are the same program.  At most room - 1
 * characters are written; how many there are is returned. */
size_t cud_expr_text(const struct cud_expr *expr, char *text, size_t room);

/* ---- what machines do for it */

struct cud_expr_code {
    bool flat;                             /* each element by itself, rows do not matter */
    bool in_place;                         /* the results may be written where the elements are */
    bool by_row;                           /* worked out once a row, not for each element */
    uint64_t cols;                         /* elements of a row that goes out */
    unsigned facts;                        /* the set of facts about rows that it needs */
    void *program;                         /* owned: for kernels/expr.cu */
    size_t program_bytes;
    char *cuda;                            /* owned: the same as CUDA C++, a kernel called NAME(x, y, facts, rows, cols, row0) */
};

/* For an array of so many rows and columns, whose elements are of type f32 or f64 (the step's). */
struct cud_expr_array {
    enum cud_type type;
    uint64_t rows, cols;
};
enum cud_status cud_expr_compile(const struct cud_expr *expr, const struct cud_expr_array *array, struct cud_expr_code *code,
                                 struct cud_err *err);
void cud_expr_code_free(struct cud_expr_code *code);              /* all zero is fine */
/* What goes ahead of cud_expr_code.cuda: words of the system's headers, where there are none, then kernels/operators.h. */
const char *cud_expr_system(void);
const char *cud_expr_operators(void);

#endif
