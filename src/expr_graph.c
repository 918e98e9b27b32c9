/* From the tree to the graph: variables get what they are for this array, equal terms become one, constants are worked out.
 * Nothing is rearranged: each result has the bits that its operations have in the order they were written. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "expr_own.h"
#include "number.h"
#include "registry.h"

struct maker {
    const struct cud_expr *e;
    struct cud_graph *g;
    struct cud_err *err;
    int *term;                             /* of each node; -1: not yet */
};

/* ---- constants */

static size_t bytes_of(enum cud_type type, char t) { return t == 'i' ? sizeof(int64_t) : cud_type_bytes(type); }

static uint64_t real_bits(enum cud_type type, double r)
{
    uint64_t u = 0;
    const float f = (float)r;
    if (type == CUD_F64)
        memcpy(&u, &r, sizeof r);
    else
        memcpy(&u, &f, sizeof f);
    return u;
}

/* A program of one operation, which the CPU's kernel runs on one element. */
uint64_t cud_expr_fold(enum cud_type type, uint16_t op, const uint64_t arg[3])
{
    const struct cud_op_types *const t = cud_op_types(op);
    struct { struct cud_expr_ins ins[4]; uint64_t chunk[3][CUD_EXPR_CHUNK]; } code;
    _Alignas(8) unsigned char x[8] = {0}, y[8] = {0};
    memset(&code, 0, sizeof code);
    code.ins[0].op = op;
    for (int k = 0; k < t->args; k++) {
        code.ins[0].arg[k] = CUD_EXPR_CONST | (uint32_t)(sizeof code.ins + (size_t)k * sizeof code.chunk[0]);
        for (size_t l = 0, n = bytes_of(type, t->arg[k]); l < CUD_EXPR_CHUNK; l++)
            memcpy((char *)code.chunk[k] + l * n, &arg[k], n);
    }
    const uint16_t widen = t->result == 'b' ? CUD_EXPR_b2i : 0;
    if (widen)
        code.ins[1] = (struct cud_expr_ins){.op = widen, .to = 1, .arg = {0}};
    code.ins[widen ? 2 : 1] = (struct cud_expr_ins){.op = t->result == 'r' ? CUD_EXPR_OUT : CUD_EXPR_KEEP, .arg = {widen ? 1 : 0}};
    const struct cud_call call = {.in = {x}, .out = {y}, .dim = {1, 1, 1}, .type = type, .code = &code};
    (void)cud_registry_kernel("cpu", "expr")->launch(&call);
    uint64_t value = 0;
    memcpy(&value, y, bytes_of(type, t->result == 'r' ? 'r' : 'i'));
    return value;
}

/* ---- terms */

static bool same(const struct cud_term *a, const struct cud_term *b)
{
    return a->kind == b->kind && a->type == b->type && a->op == b->op && a->value == b->value &&
           memcmp(a->arg, b->arg, sizeof a->arg) == 0;
}

static int add(struct maker *m, const struct cud_term *t)
{
    struct cud_graph *const g = m->g;
    for (int k = 0; k < g->terms; k++)
        if (same(&g->term[k], t))
            return k;
    g->term[g->terms] = *t;                /* there are three for each node */
    return g->terms++;
}

static int constant(struct maker *m, char type, uint64_t value)
{
    return add(m, &(struct cud_term){.kind = CUD_TERM_CONST, .type = type, .value = value});
}

static int leaf(struct maker *m, enum cud_term_kind kind, char type, uint64_t value)
{
    return add(m, &(struct cud_term){.kind = kind, .type = type, .value = value});
}

static enum cud_status literal(struct maker *m, const struct cud_node *n, int *term)
{
    const enum cud_type type = m->g->array.type;
    if (n->type != 'r') {
        *term = constant(m, n->type, (uint64_t)n->value.i);
        return CUD_OK;
    }
    const double r = n->value.r;
    const float f = (float)r;
    if (type == CUD_F32 && isfinite(r) && isinf(f))
        return cud_expr_fail(m->e->text, n->at, m->err, "values are f32 here, and none is so great");
    if (type == CUD_F32 && r != 0 && f == 0)
        return cud_expr_fail(m->e->text, n->at, m->err, "values are f32 here, and none but 0 is so small");
    *term = constant(m, 'r', real_bits(type, r));
    return CUD_OK;
}

/* One element by itself, in an expression that is worked out once a row. */
static enum cud_status one_of_many(struct maker *m, const struct cud_node *n)
{
    const unsigned long long cols = m->g->array.cols;
    return cud_expr_fail(m->e->text, n->at, m->err, "%s is of each element in turn, but several results are made of a whole row, here of "
                         "%llu elements: %s", n->spelled, cols, *n->spelled == 'x' ? "write x[0], x[1], ..." : "write row, or numbers");
}

static enum cud_status variable(struct maker *m, const struct cud_node *n, int *term)
{
    const struct cud_expr_array *const a = &m->g->array;
    const bool single = a->cols == 1;      /* then a row is its element */
    switch (n->variable) {
    case CUD_VAR_X: case CUD_VAR_I: case CUD_VAR_COL:
        if (m->g->by_row && !single)
            return one_of_many(m, n);
        if (n->variable == CUD_VAR_COL)
            *term = single ? constant(m, 'i', 0) : leaf(m, CUD_TERM_COL, 'i', 0);
        else
            *term = n->variable == CUD_VAR_X ? leaf(m, CUD_TERM_X, 'r', 0) : leaf(m, CUD_TERM_INDEX, 'i', 0);
        break;
    case CUD_VAR_ROW: *term = leaf(m, single ? CUD_TERM_INDEX : CUD_TERM_ROW, 'i', 0); break;
    case CUD_VAR_NROWS: *term = constant(m, 'i', a->rows); break;
    case CUD_VAR_NCOLS: *term = constant(m, 'i', a->cols); break;
    default: *term = leaf(m, CUD_TERM_FACT, 'r', (uint64_t)(n->variable - CUD_VAR_FACT)); break;
    }
    return CUD_OK;
}

/* x[k] */
static enum cud_status at(struct maker *m, const struct cud_node *n, int column, int *term)
{
    const struct cud_term *const c = &m->g->term[column];
    const uint64_t cols = m->g->array.cols;
    if (c->kind != CUD_TERM_CONST) {
        *term = add(m, &(struct cud_term){.kind = CUD_TERM_PICK, .type = 'r', .args = 1, .arg = {column}});
        return CUD_OK;
    }
    if (c->value >= cols)
        return cud_expr_fail(m->e->text, n->at, m->err, "x[%lld]: rows have %llu element%s here%s", (long long)c->value,
                             (unsigned long long)cols, cols == 1 ? "" : "s", cols ? ", the first one is x[0]" : "");
    *term = cols == 1 ? leaf(m, CUD_TERM_X, 'r', 0) : leaf(m, CUD_TERM_AT, 'r', c->value);
    return CUD_OK;
}

static int operation(struct maker *m, uint16_t op, const int arg[3])
{
    const struct cud_op_types *const types = cud_op_types(op);
    struct cud_term t = {.kind = CUD_TERM_OP, .type = types->result, .op = op, .args = types->args};
    uint64_t value[3] = {0};
    bool constants = true;
    for (int k = 0; k < t.args; k++) {
        t.arg[k] = arg[k];
        value[k] = m->g->term[arg[k]].value;
        constants &= m->g->term[arg[k]].kind == CUD_TERM_CONST;
    }
    if (constants)
        return constant(m, t.type, cud_expr_fold(m->g->array.type, op, value));
    const struct cud_term a = m->g->term[arg[0]];
    if (op == CUD_EXPR_FN_pow && arg[1] == constant(m, 'r', real_bits(m->g->array.type, 2)))
        return operation(m, CUD_EXPR_mul, (int[3]){arg[0], arg[0]});       /* rounded once: what pow is allowed to be, and much faster */
    if (op == CUD_EXPR_i2r && a.kind == CUD_TERM_OP && a.op == CUD_EXPR_b2i)
        return operation(m, CUD_EXPR_b2r, a.arg);
    if (op == CUD_EXPR_i2r && a.kind == CUD_TERM_OP && a.op == CUD_EXPR_ichoose)       /* c ? 1 : 0 as a real is c ? 1.0 : 0.0 */
        return operation(m, CUD_EXPR_choose, (int[3]){a.arg[0], operation(m, op, (int[3]){a.arg[1]}), operation(m, op, (int[3]){a.arg[2]})});
    return add(m, &t);
}

/* Nodes stand behind their arguments. */
static enum cud_status make_term(struct maker *m, const struct cud_node *n, int *term)
{
    int arg[3] = {0};
    for (int k = 0; k < n->args; k++)
        arg[k] = m->term[n->arg[k]];
    switch (n->kind) {
    case CUD_NODE_LITERAL: return literal(m, n, term);
    case CUD_NODE_VARIABLE: return variable(m, n, term);
    case CUD_NODE_AT: return at(m, n, arg[0], term);
    case CUD_NODE_OP: break;
    }
    *term = operation(m, n->op, arg);
    return CUD_OK;
}

/* An expression that nothing of one element is in is worked out once a row; so are several results. */
static bool by_row(const struct cud_expr *e)
{
    for (int k = 0; k < e->nodes; k++) {
        const int v = e->node[k].kind == CUD_NODE_VARIABLE ? e->node[k].variable : CUD_VAR_FACT;
        if (v == CUD_VAR_X || v == CUD_VAR_I || v == CUD_VAR_COL)
            return e->results > 1;
    }
    return true;
}

static void count_uses(struct cud_graph *g)
{
    for (int k = 0; k < g->results; k++)
        g->term[g->result[k]].uses++;
    for (int k = g->terms - 1; k >= 0; k--)
        for (int a = 0; a < g->term[k].args && g->term[k].uses; a++)
            g->term[g->term[k].arg[a]].uses++;
}

enum cud_status cud_graph_make(const struct cud_expr *e, const struct cud_expr_array *array, struct cud_graph *graph, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_graph g = {.array = *array, .results = e->results, .by_row = by_row(e)};
    if (array->cols == 1 && e->results == 1)
        g.by_row = false;                  /* the same thing, and simpler */
    struct maker m = {.e = e, .g = &g, .err = err, .term = calloc((size_t)e->nodes, sizeof *m.term)};
    g.term = calloc(3 * (size_t)e->nodes, sizeof *g.term);
    g.result = calloc((size_t)e->results, sizeof *g.result);
    if (!m.term || !g.term || !g.result)
        TRY(FAIL(err, CUD_EFAILED, "no memory for an expression"));
    for (int k = 0; k < e->nodes; k++)
        TRY(make_term(&m, &e->node[k], &m.term[k]));
    for (int k = 0; k < e->results; k++)
        g.result[k] = m.term[e->result[k]];
    count_uses(&g);
    *graph = g;
    g = (struct cud_graph){0};
done:
    free(m.term);
    cud_graph_free(&g);
    return status;
}

int cud_graph_fact_place(const struct cud_graph *g, uint64_t fact)
{
    unsigned before = 0;
    for (int k = 0; k < g->terms; k++)
        if (g->term[k].kind == CUD_TERM_FACT && g->term[k].uses && g->term[k].value < fact)
            before |= 1u << g->term[k].value;
    return __builtin_popcount(before);
}

void cud_graph_free(struct cud_graph *g)
{
    free(g->term);
    free(g->result);
    *g = (struct cud_graph){0};
}
