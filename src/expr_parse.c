/* The grammar: results, separated by commas, each a conditional expression of C (C17 6.5.1 to 6.5.15) without what changes or
 * points to something.  Binary operators by precedence climbing. */
#include <stdlib.h>
#include <string.h>
#include "expr_own.h"

#define DEEP 200                           /* parentheses and the like within each other */

struct parser {
    struct cud_expr *e;
    struct cud_token t;                    /* the next one */
    int depth;
    struct cud_err *err;
};

#define COMPLAIN(p, at, ...) cud_expr_fail((p)->e->text, at, (p)->err, __VA_ARGS__)

static enum cud_status next(struct parser *p) { return cud_token_read(p->e->text, p->t.at + p->t.n, &p->t, p->err); }

static const char *shown(const struct parser *p) { return p->e->text + p->t.at; }
static int shown_n(const struct parser *p) { return p->t.n < 40 ? (int)p->t.n : 40; }

static bool is(const struct parser *p, const char *sign)
{
    return p->t.kind == CUD_TOKEN_SIGN && p->t.n == strlen(sign) && memcmp(shown(p), sign, p->t.n) == 0;
}

static enum cud_status parse_choice(struct parser *p, int *node);
static enum cud_status parse_unary(struct parser *p, int *node);

/* ---- what goes wrong most */

static enum cud_status no_value(struct parser *p)
{
    if (p->t.kind == CUD_TOKEN_END)
        return COMPLAIN(p, p->t.at, p->e->nodes ? "the expression ends where a value should be" : "the expression is empty");
    if (is(p, "*") && p->t.at > 0 && shown(p)[-1] == '*')
        return COMPLAIN(p, p->t.at - 1, "** is no operator of C: write x*x or pow(x, 2)");
    return COMPLAIN(p, p->t.at, "a value should be here, not '%.*s'", shown_n(p), shown(p));
}

/* What other languages say where C has something else. */
static enum cud_status other_word(struct parser *p)
{
    static const struct { const char *word, *instead; } words[] = {
        {"and", "&&"}, {"or", "||"}, {"not", "!"}, {"if", "condition ? value : other"}, {"else", "condition ? value : other"},
        {"where", "condition ? value : other"}, {"True", "true"}, {"False", "false"}, {"None", "nan"}, {"power", "pow(x, y)"},
        {"data", "x"}, {"idx", "i"}, {"n", "nrows or ncols"},
    };
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (p->t.kind == CUD_TOKEN_NAME && strlen(words[k].word) == p->t.n && memcmp(words[k].word, shown(p), p->t.n) == 0)
            return COMPLAIN(p, p->t.at, "'%s' is no word of C: write %s", words[k].word, words[k].instead);
    return CUD_OK;
}

static enum cud_status unknown_name(struct parser *p)
{
    enum cud_status status = CUD_OK;
    TRY(other_word(p));
    const char *const near = cud_name_nearest(shown(p), p->t.n);
    if (near)
        TRY(COMPLAIN(p, p->t.at, "'%.*s' is no name; did you mean %s?", shown_n(p), shown(p), near));
    TRY(COMPLAIN(p, p->t.at, "'%.*s' is no name; the element is x, and man cudist lists all names", shown_n(p), shown(p)));
done:
    return status;
}

/* After a value. */
static enum cud_status no_operator(struct parser *p, const char *or_what)
{
    enum cud_status status = CUD_OK;
    TRY(other_word(p));
    TRY(COMPLAIN(p, p->t.at, "an operator%s should be in front of '%.*s'", or_what, shown_n(p), shown(p)));
done:
    return status;
}

/* sign is wanted; opened: where what it ends begins. */
static enum cud_status expect(struct parser *p, const char *sign, uint32_t opened)
{
    if (is(p, sign))
        return next(p);
    if (p->t.kind == CUD_TOKEN_END)
        return COMPLAIN(p, opened, "the '%c' has no '%s'", p->e->text[opened], sign);
    if (p->t.kind == CUD_TOKEN_SIGN && !is(p, "(") && !is(p, "!") && !is(p, "~"))
        return COMPLAIN(p, p->t.at, "'%s' should be here, not '%.*s'", sign, shown_n(p), shown(p));
    return no_operator(p, sign[0] == ':' ? " or ':'" : sign[0] == ']' ? " or ']'" : " or ')'");
}

/* ---- values */

/* (a, b, c): as many as there should be. */
static enum cud_status parse_arguments(struct parser *p, const struct cud_token *name, int wanted, int arg[3])
{
    enum cud_status status = CUD_OK;
    const uint32_t open = p->t.at;
    const char *const s = p->e->text + name->at;
    int n = 0;
    if (!is(p, "("))
        return COMPLAIN(p, name->at, "%.*s is a function: %.*s(...)", (int)name->n, s, (int)name->n, s);
    TRY(next(p));
    for (bool more = !is(p, ")"); more; n++) {
        int a = 0;
        TRY(parse_choice(p, &a));
        if (n < 3)
            arg[n] = a;
        more = is(p, ",");
        if (more)
            TRY(next(p));
    }
    TRY(expect(p, ")", open));
    if (n != wanted)
        TRY(COMPLAIN(p, name->at, "%.*s takes %d argument%s, not %d", (int)name->n, s, wanted, wanted == 1 ? "" : "s", n));
done:
    return status;
}

static enum cud_status parse_index(struct parser *p, const struct cud_token *x, int *node)
{
    enum cud_status status = CUD_OK;
    const uint32_t open = p->t.at;
    int column = 0;
    TRY(next(p));
    TRY(parse_choice(p, &column));
    TRY(expect(p, "]", open));
    TRY(cud_node_at(p->e, x->at, column, node, p->err));
done:
    return status;
}

static int constant(struct parser *p, const struct cud_name *n, uint32_t at)
{
    struct cud_node node = {.kind = CUD_NODE_LITERAL, .type = n->truth ? 'b' : 'r', .spelled = n->plain, .at = at};
    if (n->truth)
        node.value.i = n->value != 0;
    else
        node.value.r = n->value;
    return cud_node_add(p->e, node);
}

static enum cud_status parse_name(struct parser *p, int *node)
{
    enum cud_status status = CUD_OK;
    const struct cud_token t = p->t;
    const struct cud_name *const n = cud_name_find(shown(p), t.n);
    int arg[3] = {0};
    if (!n)
        return unknown_name(p);
    TRY(next(p));
    if (n->kind == CUD_NAME_FUNCTION || n->kind == CUD_NAME_TYPE)
        TRY(parse_arguments(p, &t, n->kind == CUD_NAME_TYPE ? 1 : n->args, arg));
    else if (is(p, "("))
        TRY(COMPLAIN(p, t.at, "%s is no function; to multiply, write %s * (...)", n->name, n->name));
    if (n->kind == CUD_NAME_FUNCTION)
        *node = cud_node_call(p->e, t.at, n, arg);
    else if (n->kind == CUD_NAME_TYPE)
        *node = cud_node_cast(p->e, t.at, n, arg[0]);
    else if (n->kind == CUD_NAME_CONSTANT)
        *node = constant(p, n, t.at);
    else if (n->what == CUD_VAR_X && is(p, "["))
        TRY(parse_index(p, &t, node));
    else
        *node = cud_node_add(p->e, (struct cud_node){.kind = CUD_NODE_VARIABLE, .variable = n->what, .spelled = n->name, .at = t.at,
                                                     .type = n->what == CUD_VAR_X || n->what >= CUD_VAR_FACT ? 'r' : 'i'});
done:
    return status;
}

static enum cud_status parse_number(struct parser *p, int *node)
{
    struct cud_node n = {.kind = CUD_NODE_LITERAL, .type = 'r', .at = p->t.at};
    if (p->t.kind == CUD_TOKEN_WHOLE) {
        n.type = 'i';
        n.known = true;
        n.value.i = p->t.value.i;
    } else {
        n.value.r = p->t.value.r;
    }
    *node = cud_node_add(p->e, n);
    return next(p);
}

/* Is the next token a type, and a ')' behind it? */
static const struct cud_name *cast_here(const struct parser *p)
{
    struct cud_token after = {0};
    struct cud_err none = {0};
    const struct cud_name *const type = p->t.kind == CUD_TOKEN_NAME ? cud_name_find(shown(p), p->t.n) : NULL;
    if (!type || type->kind != CUD_NAME_TYPE || cud_token_read(p->e->text, p->t.at + p->t.n, &after, &none) != CUD_OK)
        return NULL;
    return after.kind == CUD_TOKEN_SIGN && p->e->text[after.at] == ')' ? type : NULL;
}

/* ( expression ) or ( type ) value */
static enum cud_status parse_parenthesis(struct parser *p, int *node)
{
    enum cud_status status = CUD_OK;
    const uint32_t open = p->t.at;
    int a = 0;
    TRY(next(p));
    const struct cud_name *const type = cast_here(p);
    if (!type) {
        TRY(parse_choice(p, node));
        return expect(p, ")", open);
    }
    TRY(next(p));
    TRY(next(p));
    TRY(parse_unary(p, &a));
    *node = cud_node_cast(p->e, open, type, a);
done:
    return status;
}

static enum cud_status parse_value(struct parser *p, int *node)
{
    if (p->t.kind == CUD_TOKEN_NAME)
        return parse_name(p, node);
    if (p->t.kind == CUD_TOKEN_WHOLE || p->t.kind == CUD_TOKEN_REAL)
        return parse_number(p, node);
    return is(p, "(") ? parse_parenthesis(p, node) : no_value(p);
}

/* ---- operators */

static enum cud_status deeper(struct parser *p)
{
    return ++p->depth > DEEP ? COMPLAIN(p, p->t.at, "more than %d parentheses, signs and choices are within each other here", DEEP)
                             : CUD_OK;
}

static enum cud_status parse_unary(struct parser *p, int *node)
{
    enum cud_status status = CUD_OK;
    const struct cud_token t = p->t;
    int a = 0;
    TRY(deeper(p));
    if (is(p, "-") || is(p, "+") || is(p, "!") || is(p, "~")) {
        TRY(next(p));
        TRY(parse_unary(p, &a));
        TRY(cud_node_unary(p->e, &t, a, node, p->err));
    } else {
        TRY(parse_value(p, node));
    }
    p->depth--;
done:
    return status;
}

/* Operators of this level and closer ones. */
static enum cud_status parse_binary(struct parser *p, int level, int *node)
{
    enum cud_status status = CUD_OK;
    int arg[2] = {0};
    TRY(parse_unary(p, &arg[0]));
    for (const struct cud_sign *s;;) {
        const struct cud_token t = p->t;
        s = t.kind == CUD_TOKEN_SIGN ? cud_sign_find(shown(p), t.n) : NULL;
        if (!s || s->level < level)
            break;
        TRY(next(p));
        TRY(parse_binary(p, s->level + 1, &arg[1]));
        TRY(cud_node_binary(p->e, &t, s, arg, &arg[0], p->err));
    }
    *node = arg[0];
done:
    return status;
}

static enum cud_status parse_choice(struct parser *p, int *node)
{
    enum cud_status status = CUD_OK;
    int a = 0, b = 0;
    TRY(deeper(p));
    TRY(parse_binary(p, CUD_LEVEL_CHOICE + 1, node));
    if (is(p, "?")) {
        const uint32_t at = p->t.at;
        TRY(next(p));
        TRY(parse_choice(p, &a));
        TRY(expect(p, ":", at));
        TRY(parse_choice(p, &b));
        *node = cud_node_choice(p->e, at, *node, a, b);
    }
    p->depth--;
done:
    return status;
}

/* ---- all of it */

static enum cud_status parse_results(struct parser *p)
{
    enum cud_status status = CUD_OK;
    struct cud_expr *const e = p->e;
    TRY(next(p));
    for (bool more = true; more;) {
        int node = 0;
        TRY(parse_choice(p, &node));
        e->result[e->results++] = cud_node_as(e, node, 'r');
        more = is(p, ",");
        if (more)
            TRY(next(p));
    }
    if (p->t.kind == CUD_TOKEN_END)
        return CUD_OK;
    if (is(p, ")") || is(p, "]") || is(p, ":"))
        TRY(COMPLAIN(p, p->t.at, "nothing is open that this '%.*s' could end", shown_n(p), shown(p)));
    TRY(no_operator(p, ""));
done:
    return status;
}

/* Each token makes one node, an operation three conversions more, and each result one. */
static enum cud_status make(const char *text, struct cud_expr **expr, struct cud_err *err)
{
    const size_t n = strlen(text);
    struct cud_expr *const e = calloc(1, sizeof *e);
    if (e) {
        e->text = strdup(text);
        e->node = calloc(4 * n + 8, sizeof *e->node);
        e->result = calloc(n + 1, sizeof *e->result);
    }
    *expr = e;
    return e && e->text && e->node && e->result ? CUD_OK : FAIL(err, CUD_EFAILED, "no memory for an expression");
}

enum cud_status cud_expr_parse(const char *text, struct cud_expr **expr, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_expr *e = NULL;
    if (strlen(text) > CUD_EXPR_TEXT)
        return FAIL(err, CUD_EUSAGE, "an expression of %zu characters; there may be %d", strlen(text), CUD_EXPR_TEXT);
    TRY(make(text, &e, err));
    struct parser p = {.e = e, .err = err};
    TRY(parse_results(&p));
    *expr = e;
    e = NULL;
done:
    cud_expr_free(e);
    return status;
}

void cud_expr_free(struct cud_expr *e)
{
    if (!e)
        return;
    free(e->text);
    free(e->node);
    free(e->result);
    free(e);
}
