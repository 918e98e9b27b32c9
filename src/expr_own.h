/* Within src/expr*.c: tokens, the typed tree that the parser builds, and the graph that machines' code is made of. */
#ifndef CUD_EXPR_OWN_H
#define CUD_EXPR_OWN_H

#include "expr.h"

/* ---- tokens: expr_lex.c */

enum cud_token_kind { CUD_TOKEN_END, CUD_TOKEN_WHOLE, CUD_TOKEN_REAL, CUD_TOKEN_NAME, CUD_TOKEN_SIGN };

struct cud_token {
    enum cud_token_kind kind;
    uint32_t at, n;                        /* where in the text, how many bytes */
    union { int64_t i; double r; } value;
};

/* The token at or behind text[at]. */
enum cud_status cud_token_read(const char *text, size_t at, struct cud_token *token, struct cud_err *err);
/* An error about what stands at text[at]. */
enum cud_status cud_expr_fail(const char *text, size_t at, struct cud_err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- names and operators: expr_names.c */

enum cud_variable { CUD_VAR_X, CUD_VAR_I, CUD_VAR_ROW, CUD_VAR_COL, CUD_VAR_NROWS, CUD_VAR_NCOLS, CUD_VAR_FACT };
enum cud_name_kind { CUD_NAME_VARIABLE, CUD_NAME_CONSTANT, CUD_NAME_FUNCTION, CUD_NAME_TYPE };

struct cud_name {
    const char *name;
    enum cud_name_kind kind;
    int what;                              /* variable: which; fact: CUD_VAR_FACT + which; type: 'b', 'i' or 'r' */
    const char *plain;                     /* constant, type, function: the name that others are spellings of */
    double value;                          /* constant */
    bool truth;                            /* constant: true or false */
    int args;                              /* function */
    uint16_t real, whole;                  /* function: the operation; 0: there is none for such arguments */
};
const struct cud_name *cud_name_find(const char *text, size_t n);
const char *cud_name_nearest(const char *text, size_t n);         /* or NULL */

/* Binary operators, their level (the higher, the closer they bind), and what they are to numbers and truths. */
enum cud_sign_kind { CUD_SIGN_NUMBERS, CUD_SIGN_WHOLE, CUD_SIGN_BITS, CUD_SIGN_ORDER, CUD_SIGN_SAME, CUD_SIGN_LOGIC };
struct cud_sign {
    const char *text;
    int level;
    enum cud_sign_kind kind;
    uint16_t real, whole, truth;           /* operations */
    bool swaps;                            /* a > b is b < a */
};
const struct cud_sign *cud_sign_find(const char *text, size_t n);
enum { CUD_LEVEL_CHOICE, CUD_LEVEL_UNARY = 12, CUD_LEVEL_POSTFIX };

/* Of an operation: how many arguments, and its result's and their types, 'b', 'i' or 'r'. */
struct cud_op_types { int args; char result, arg[3]; };
const struct cud_op_types *cud_op_types(uint16_t op);
const char *cud_op_name(uint16_t op);      /* "add"; of a function "exp" */
bool cud_op_is_function(uint16_t op);

/* ---- the tree: expr_tree.c makes its nodes, expr_parse.c puts them together */

enum cud_node_kind { CUD_NODE_LITERAL, CUD_NODE_VARIABLE, CUD_NODE_AT, CUD_NODE_OP };

struct cud_node {
    enum cud_node_kind kind;
    char type;
    uint16_t op;
    int args, arg[3];                      /* nodes; of CUD_NODE_AT the column */
    int variable;                          /* as struct cud_name has it */
    bool known;                            /* a whole number made of literals alone: value.i */
    union { int64_t i; double r; } value;  /* of literals (truths: i) */
    const char *spelled;                   /* the operator, function or constant; NULL: a number, or a conversion nobody wrote */
    bool swapped;                          /* written with its arguments the other way round */
    uint32_t at;                           /* where in the text */
};

struct cud_expr {
    char *text;                            /* as it was written */
    struct cud_node *node;
    int nodes;
    int *result;                           /* nodes, of type r */
    int results;
};

int cud_node_add(struct cud_expr *e, struct cud_node node);       /* its number */
/* Each checks types, puts in the conversions that nobody writes, and gives a node. */
enum cud_status cud_node_unary(struct cud_expr *e, const struct cud_token *t, int a, int *node, struct cud_err *err);
enum cud_status cud_node_binary(struct cud_expr *e, const struct cud_token *t, const struct cud_sign *s, const int arg[2], int *node,
                                struct cud_err *err);
int cud_node_choice(struct cud_expr *e, uint32_t at, int c, int a, int b);
int cud_node_call(struct cud_expr *e, uint32_t at, const struct cud_name *f, const int arg[3]);
int cud_node_cast(struct cud_expr *e, uint32_t at, const struct cud_name *type, int a);
enum cud_status cud_node_at(struct cud_expr *e, uint32_t at, int column, int *node, struct cud_err *err);
int cud_node_as(struct cud_expr *e, int a, char type);            /* a, converted by a conversion nobody writes if it must be */

/* ---- the graph: expr_graph.c.  Equal terms are one; what is constant is worked out, by the kernel itself. */

enum cud_term_kind {
    CUD_TERM_CONST, CUD_TERM_X, CUD_TERM_INDEX, CUD_TERM_ROW, CUD_TERM_COL, CUD_TERM_FACT, CUD_TERM_AT, CUD_TERM_PICK, CUD_TERM_OP
};
struct cud_term {
    enum cud_term_kind kind;
    char type;
    uint16_t op;
    int args, arg[3];
    uint64_t value;                        /* constant: its bits as a register holds them; fact: which; at: the column */
    int uses;                              /* by terms and as results */
};
struct cud_graph {
    struct cud_expr_array array;
    struct cud_term *term;                 /* each behind its arguments */
    int terms;
    int *result;
    int results;
    bool by_row;
};
enum cud_status cud_graph_make(const struct cud_expr *e, const struct cud_expr_array *array, struct cud_graph *g, struct cud_err *err);
void cud_graph_free(struct cud_graph *g);
int cud_graph_fact_place(const struct cud_graph *g, uint64_t fact);   /* among the facts that the graph needs */
/* One operation on constants, as the kernel does it. */
uint64_t cud_expr_fold(enum cud_type type, uint16_t op, const uint64_t arg[3]);

/* ---- code: expr_code.c */

enum cud_status cud_expr_cuda(const struct cud_graph *g, char **source, struct cud_err *err);    /* expr_cuda.c */
enum cud_status cud_expr_program(const struct cud_graph *g, void **program, size_t *bytes, struct cud_err *err);

#endif
