/* Nodes of the tree, and the rules of types: a truth is 0 or 1 where a number is wanted, a whole number becomes a real where
 * the other one is real, and never the other way round unless a cast says so.  What C allows and nobody means is refused. */
#include <stdlib.h>
#include <string.h>
#include "expr_own.h"

int cud_node_add(struct cud_expr *e, struct cud_node node)
{
    e->node[e->nodes] = node;              /* cud_expr_parse has made room enough */
    return e->nodes++;
}

static char type_of(const struct cud_expr *e, int a) { return e->node[a].type; }

/* An operation.  Of whole numbers that are all known its value is known. */
static int add_op(struct cud_expr *e, uint16_t op, const int arg[3], const char *spelled, uint32_t at)
{
    const struct cud_op_types *const t = cud_op_types(op);
    struct cud_node n = {.kind = CUD_NODE_OP, .type = t->result, .op = op, .args = t->args, .spelled = spelled, .at = at,
                         .known = t->result == 'i'};
    uint64_t value[3] = {0};
    for (int k = 0; k < t->args; k++) {
        n.arg[k] = cud_node_as(e, arg[k], t->arg[k]);
        n.known &= e->node[n.arg[k]].known;
        value[k] = (uint64_t)e->node[n.arg[k]].value.i;
    }
    if (n.known)
        n.value.i = (int64_t)cud_expr_fold(CUD_F64, op, value);
    return cud_node_add(e, n);
}

int cud_node_as(struct cud_expr *e, int a, char type)
{
    static const struct { char from, to; uint16_t op; } ways[] = {
        {'b', 'i', CUD_EXPR_b2i}, {'b', 'r', CUD_EXPR_b2r}, {'i', 'b', CUD_EXPR_i2b}, {'i', 'r', CUD_EXPR_i2r},
        {'r', 'b', CUD_EXPR_r2b}, {'r', 'i', CUD_EXPR_r2i},
    };
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
        if (ways[k].from == type_of(e, a) && ways[k].to == type)
            return cud_node_add(e, (struct cud_node){.kind = CUD_NODE_OP, .type = type, .op = ways[k].op, .args = 1, .arg = {a},
                                                     .at = e->node[a].at});
    return a;
}

/* ---- operators */

enum cud_status cud_node_unary(struct cud_expr *e, const struct cud_token *t, int a, int *node, struct cud_err *err)
{
    const char sign = e->text[t->at], type = type_of(e, a);
    const char *const spelled = sign == '-' ? "-" : sign == '!' ? "!" : "~";
    if (sign == '~' && type == 'r')
        return cud_expr_fail(e->text, t->at, err, "~ is of whole numbers; (int) makes one of a real");
    if (sign == '~' && type == 'b')
        return cud_expr_fail(e->text, t->at, err, "~ of a comparison is never 0: write ! for not");
    if (sign == '+' && type == 'b')
        *node = cud_node_cast(e, t->at, cud_name_find("int", 3), a);
    else if (sign == '+')
        *node = a;
    else
        *node = add_op(e, sign == '!' ? CUD_EXPR_bnot : sign == '~' ? CUD_EXPR_inot : type == 'r' ? CUD_EXPR_neg : CUD_EXPR_ineg,
                       (int[3]){a}, spelled, t->at);
    return CUD_OK;
}

static enum cud_status bad_real(struct cud_expr *e, const struct cud_token *t, struct cud_err *err)
{
    const char *const s = e->text + t->at;
    if (*s == '^')
        return cud_expr_fail(e->text, t->at, err, "^ is the exclusive or of whole numbers: write x*x or pow(x, 2) for a power");
    if (*s == '%')
        return cud_expr_fail(e->text, t->at, err, "%% is of whole numbers: use fmod of reals, or (int) makes a whole number of one");
    return cud_expr_fail(e->text, t->at, err, "%.*s is of whole numbers; (int) makes one of a real", (int)t->n, s);
}

/* 1/2 is 0 in C; here it is refused, as nobody means it. */
static enum cud_status check_quotient(const struct cud_expr *e, const struct cud_token *t, const int arg[2], struct cud_err *err)
{
    const struct cud_node *const a = &e->node[arg[0]], *const n = &e->node[arg[1]];
    const char sign = e->text[t->at];
    if (!n->known || (sign != '/' && sign != '%'))
        return CUD_OK;
    if (n->value.i == 0 && type_of(e, arg[0]) != 'r')
        return cud_expr_fail(e->text, t->at, err, "a whole number divided by 0");
    if (a->known && sign == '/' && n->value.i != -1 && a->value.i % n->value.i)
        return cud_expr_fail(e->text, t->at, err, "%lld/%lld is %lld among whole numbers: write %lld.0/%lld",
                             (long long)a->value.i, (long long)n->value.i, (long long)(a->value.i / n->value.i),
                             (long long)a->value.i, (long long)n->value.i);
    return CUD_OK;
}

static enum cud_status check_binary(struct cud_expr *e, const struct cud_token *t, const struct cud_sign *s, const int arg[2],
                                    struct cud_err *err)
{
    const char a = type_of(e, arg[0]), b = type_of(e, arg[1]);
    const bool truth = a == 'b' || b == 'b', both = a == 'b' && b == 'b';
    if ((s->kind == CUD_SIGN_WHOLE || s->kind == CUD_SIGN_BITS) && (a == 'r' || b == 'r'))
        return bad_real(e, t, err);
    if (s->kind == CUD_SIGN_ORDER && truth)
        return cud_expr_fail(e->text, t->at, err, "%s of a comparison's result: write a < b && b < c for a < b < c", s->text);
    if (s->kind == CUD_SIGN_SAME && truth && !both)
        return cud_expr_fail(e->text, t->at, err, "%s of a comparison's result and a number: put && between comparisons", s->text);
    if (s->kind == CUD_SIGN_BITS && truth && !both)
        return cud_expr_fail(e->text, t->at, err, "%s of a comparison's result and a number: comparisons bind closer, put the bits in "
                             "parentheses, (i & 1) == 0", s->text);
    return check_quotient(e, t, arg, err);
}

enum cud_status cud_node_binary(struct cud_expr *e, const struct cud_token *t, const struct cud_sign *s, const int arg[2], int *node,
                                struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    TRY(check_binary(e, t, s, arg, err));
    const char a = type_of(e, arg[0]), b = type_of(e, arg[1]);
    const bool truth = s->kind == CUD_SIGN_LOGIC || (s->truth && a == 'b' && b == 'b');
    const uint16_t op = truth ? s->truth : s->real && (a == 'r' || b == 'r') ? s->real : s->whole;
    *node = add_op(e, op, s->swaps ? (int[3]){arg[1], arg[0]} : (int[3]){arg[0], arg[1]}, s->text, t->at);
    e->node[*node].swapped = s->swaps;
done:
    return status;
}

/* ---- the rest */

int cud_node_choice(struct cud_expr *e, uint32_t at, int c, int a, int b)
{
    const char ta = type_of(e, a), tb = type_of(e, b);
    const uint16_t op = ta == 'r' || tb == 'r' ? CUD_EXPR_choose : ta == 'b' && tb == 'b' ? CUD_EXPR_bchoose : CUD_EXPR_ichoose;
    const int n = add_op(e, op, (int[3]){c, a, b}, "?", at);
    e->node[n].known = false;              /* its condition is no number */
    return n;
}

int cud_node_call(struct cud_expr *e, uint32_t at, const struct cud_name *f, const int arg[3])
{
    bool real = !f->whole;
    for (int k = 0; k < f->args; k++)
        real |= type_of(e, arg[k]) == 'r';
    return add_op(e, real ? f->real : f->whole, arg, f->plain, at);
}

int cud_node_cast(struct cud_expr *e, uint32_t at, const struct cud_name *type, int a)
{
    const int n = cud_node_as(e, a, (char)type->what);
    if (n == a)
        return a;
    e->node[n].spelled = type->plain;
    e->node[n].at = at;
    return n;
}

enum cud_status cud_node_at(struct cud_expr *e, uint32_t at, int column, int *node, struct cud_err *err)
{
    if (type_of(e, column) == 'r')
        return cud_expr_fail(e->text, e->node[column].at, err, "a column's number is whole; (int) makes one of a real");
    *node = cud_node_add(e, (struct cud_node){.kind = CUD_NODE_AT, .type = 'r', .args = 1, .arg = {cud_node_as(e, column, 'i')}, .at = at});
    return CUD_OK;
}
