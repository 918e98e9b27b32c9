/* From the graph to the program of kernels/expr.cu.
 *
 * Of an operation's arguments that one is worked out first which needs most registers itself (R. Sethi, J. D. Ullman, The
 * generation of optimal code for arithmetic expressions, Journal of the ACM 17, 1970): for a tree of n leaves about log2(n)
 * registers are enough.  Terms that are used several times stay in theirs, and may take too many; then the program is made
 * once more, of the tree: they are worked out again each time. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "expr_own.h"

struct coder {
    const struct cud_graph *g;
    bool tree;
    int *need;                             /* of each term: registers */
    int *left;                             /* uses that are still to come; of a tree: by terms that are being worked out */
    int *reg;                              /* where it is; -1: nowhere */
    uint32_t *chunk;                       /* of constants: the number of their chunk + 1; 0: none yet */
    uint32_t chunks;
    unsigned busy;                         /* registers in use */
    bool too_many, no_memory;
    struct cud_expr_ins *ins;
    size_t n, room;
};

static bool in_register(const struct cud_term *t) { return t->kind != CUD_TERM_CONST && t->kind != CUD_TERM_X; }

/* ---- registers */

/* A term's arguments, those first that need most. */
static void order_of(const struct coder *c, const struct cud_term *t, int order[3])
{
    for (int k = 0; k < t->args; k++) {
        int at = k;
        for (; at > 0 && c->need[t->arg[order[at - 1]]] < c->need[t->arg[k]]; at--)
            order[at] = order[at - 1];
        order[at] = k;
    }
}

static void count_needs(struct coder *c)
{
    for (int k = 0; k < c->g->terms; k++) {
        const struct cud_term *const t = &c->g->term[k];
        int order[3], most = in_register(t);
        order_of(c, t, order);
        for (int a = 0, held = 0; a < t->args; a++) {
            const int n = c->need[t->arg[order[a]]];
            most = n + held > most ? n + held : most;
            held += n > 0;
        }
        c->need[k] = most;
    }
}

static int take(struct coder *c)
{
    for (int r = 0; r < CUD_EXPR_REGS; r++)
        if (!(c->busy & 1u << r)) {
            c->busy |= 1u << r;
            return r;
        }
    c->too_many = true;
    return 0;
}

/* An argument has been read; after its last use its register is free. */
static void leave(struct coder *c, int term)
{
    if (c->reg[term] < 0 || --c->left[term] > 0)
        return;
    c->busy &= ~(1u << c->reg[term]);
    c->reg[term] = -1;
}

/* ---- instructions */

static bool wide(const struct coder *c, char type) { return type == 'i' || c->g->array.type == CUD_F64; }

static void add(struct coder *c, const struct cud_expr_ins *ins)
{
    if (c->n == c->room) {
        const size_t room = c->room ? 2 * c->room : 64;
        struct cud_expr_ins *const more = realloc(c->ins, room * sizeof *more);
        c->no_memory |= !more;
        if (!more)
            return;
        c->ins = more;
        c->room = room;
    }
    c->ins[c->n++] = *ins;
}

static uint32_t operand(struct coder *c, int term)
{
    const struct cud_term *const t = &c->g->term[term];
    if (t->kind == CUD_TERM_X)
        return CUD_EXPR_X;
    if (t->kind != CUD_TERM_CONST)
        return (uint32_t)c->reg[term];
    if (!c->chunk[term])
        c->chunk[term] = ++c->chunks;
    return CUD_EXPR_CONST | (c->chunk[term] - 1);      /* place_chunks makes an offset of it */
}

static unsigned op_of(const struct cud_term *t)
{
    static const unsigned ops[] = {
        [CUD_TERM_INDEX] = CUD_EXPR_INDEX, [CUD_TERM_ROW] = CUD_EXPR_ROW, [CUD_TERM_COL] = CUD_EXPR_COL,
        [CUD_TERM_FACT] = CUD_EXPR_FACT, [CUD_TERM_AT] = CUD_EXPR_AT, [CUD_TERM_PICK] = CUD_EXPR_PICK,
    };
    return t->kind == CUD_TERM_OP ? t->op : ops[t->kind];
}

/* A result may lie where an argument lay that nobody needs any more, if both are as long. */
static int place_for(struct coder *c, const struct cud_term *t)
{
    for (int k = 0; k < t->args; k++)
        if (wide(c, c->g->term[t->arg[k]].type) == wide(c, t->type))
            leave(c, t->arg[k]);
    const int r = take(c);
    for (int k = 0; k < t->args; k++)
        if (wide(c, c->g->term[t->arg[k]].type) != wide(c, t->type))
            leave(c, t->arg[k]);
    return r;
}

static void make(struct coder *c, int term, bool out);

/* For one use. */
static void want(struct coder *c, int term)
{
    make(c, term, false);
    c->left[term] += c->tree;
}

static void make(struct coder *c, int term, bool out)
{
    const struct cud_term *const t = &c->g->term[term];
    struct cud_expr_ins i = {.op = (uint16_t)op_of(t)};
    int order[3];
    if (!in_register(t) || c->reg[term] >= 0 || c->too_many)
        return;
    order_of(c, t, order);
    for (int k = 0; k < t->args; k++)
        want(c, t->arg[order[k]]);
    for (int k = 0; k < t->args; k++)
        i.arg[k] = operand(c, t->arg[k]);
    if (t->kind == CUD_TERM_FACT)
        i.arg[0] = (uint32_t)cud_graph_fact_place(c->g, t->value);
    if (t->kind == CUD_TERM_AT)
        i.arg[0] = (uint32_t)t->value;
    c->reg[term] = place_for(c, t);
    i.to = out ? CUD_EXPR_TO_OUT : (uint16_t)c->reg[term];
    add(c, &i);
}

/* The only result of an operation is written straight to where it belongs. */
static void make_all(struct coder *c)
{
    const struct cud_graph *const g = c->g;
    const struct cud_expr_ins end = {.op = CUD_EXPR_END};
    if (g->results == 1 && g->term[g->result[0]].kind == CUD_TERM_OP)
        make(c, g->result[0], true);
    else
        for (int k = 0; k < g->results; k++) {
            want(c, g->result[k]);
            add(c, &(struct cud_expr_ins){.op = CUD_EXPR_OUT, .arg = {operand(c, g->result[k]), (uint32_t)k}});
            leave(c, g->result[k]);
        }
    add(c, &end);
}

static void start(struct coder *c, bool tree)
{
    c->tree = tree;
    c->n = c->chunks = c->busy = 0;
    c->too_many = false;
    for (int k = 0; k < c->g->terms; k++) {
        c->left[k] = tree ? 0 : c->g->term[k].uses;
        c->reg[k] = -1;
        c->chunk[k] = 0;
    }
}

/* ---- the whole: instructions, then constants at multiples of 64 bytes */

static size_t code_bytes(const struct coder *c) { return (c->n * sizeof *c->ins + 63) / 64 * 64; }

static enum cud_status assemble(struct coder *c, void **program, size_t *bytes, struct cud_err *err)
{
    const size_t start_at = code_bytes(c), step = CUD_EXPR_CHUNK * sizeof(uint64_t), all = start_at + c->chunks * step;
    char *const code = calloc(1, all);
    if (!code)
        return FAIL(err, CUD_EFAILED, "no memory for an expression's program of %zu bytes", all);
    for (size_t k = 0; k < c->n; k++)
        for (int a = 0; a < 3; a++)
            if (c->ins[k].arg[a] & CUD_EXPR_CONST)
                c->ins[k].arg[a] = CUD_EXPR_CONST | (uint32_t)(start_at + (c->ins[k].arg[a] & ~CUD_EXPR_CONST) * step);
    memcpy(code, c->ins, c->n * sizeof *c->ins);
    for (int k = 0; k < c->g->terms; k++) {
        const size_t n = wide(c, c->g->term[k].type) ? 8 : 4;
        for (size_t l = 0; c->chunk[k] && l < CUD_EXPR_CHUNK; l++)
            memcpy(code + start_at + (c->chunk[k] - 1) * step + l * n, &c->g->term[k].value, n);
    }
    *program = code;
    *bytes = all;
    return CUD_OK;
}

enum cud_status cud_expr_program(const struct cud_graph *g, void **program, size_t *bytes, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const size_t n = (size_t)g->terms;
    struct coder c = {.g = g, .need = calloc(n, sizeof *c.need), .left = calloc(n, sizeof *c.left), .reg = calloc(n, sizeof *c.reg),
                      .chunk = calloc(n, sizeof *c.chunk)};
    if (!c.need || !c.left || !c.reg || !c.chunk)
        TRY(FAIL(err, CUD_EFAILED, "no memory for an expression's program"));
    count_needs(&c);
    start(&c, false);
    make_all(&c);
    if (c.too_many) {
        start(&c, true);
        make_all(&c);
    }
    if (c.no_memory)
        TRY(FAIL(err, CUD_EFAILED, "no memory for an expression's program"));
    if (c.too_many)
        TRY(FAIL(err, CUD_EUSAGE, "the expression has more values at a time than there are registers, %d: make it two, one after the "
                 "other", CUD_EXPR_REGS));
    TRY(assemble(&c, program, bytes, err));
done:
    free(c.need);
    free(c.left);
    free(c.reg);
    free(c.chunk);
    free(c.ins);
    return status;
}

/* ---- */

enum cud_status cud_expr_compile(const struct cud_expr *expr, const struct cud_expr_array *array, struct cud_expr_code *code,
                                 struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_graph g = {0};
    struct cud_expr_code c = {.flat = true, .in_place = true};
    TRY(cud_graph_make(expr, array, &g, err));
    for (int k = 0; k < g.terms; k++) {
        const struct cud_term *const t = &g.term[k];
        if (!t->uses)
            continue;
        c.flat &= t->kind <= CUD_TERM_INDEX || t->kind == CUD_TERM_OP;
        c.in_place &= t->kind != CUD_TERM_AT && t->kind != CUD_TERM_PICK;
        c.facts |= t->kind == CUD_TERM_FACT ? 1u << t->value : 0;
    }
    c.by_row = g.by_row;
    c.flat &= !g.by_row;
    c.in_place &= !g.by_row;
    c.cols = g.by_row ? (uint64_t)g.results : array->cols;
    TRY(cud_expr_cuda(&g, &c.cuda, err));
    TRY(cud_expr_program(&g, &c.program, &c.program_bytes, err));
    *code = c;
    c.cuda = NULL;
done:
    free(c.cuda);
    cud_graph_free(&g);
    return status;
}

void cud_expr_code_free(struct cud_expr_code *code)
{
    free(code->program);
    free(code->cuda);
    *code = (struct cud_expr_code){0};
}
