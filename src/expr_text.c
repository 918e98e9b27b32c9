/* An expression as everyone would write it: one spelling of each name, blanks around binary operators, parentheses where they
 * change something, numbers in their shortest form. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "expr_own.h"
#include "number.h"

struct writer {
    const struct cud_expr *e;
    char *text;
    size_t room, n;                        /* n: characters, also those there was no room for */
};

static void put(struct writer *w, const char *s)
{
    const size_t n = strlen(s), at = w->n < w->room ? w->n : w->room - 1, fits = w->room - 1 - at;
    memcpy(w->text + at, s, n < fits ? n : fits);
    w->text[at + (n < fits ? n : fits)] = '\0';
    w->n += n;
}

static void put_real(struct writer *w, double r)
{
    char text[32];
    put(w, cud_number_text(r, false, text));
    if (!strpbrk(text, ".e"))              /* it would read as a whole number */
        put(w, ".0");
}

/* The node behind conversions that nobody wrote. */
static const struct cud_node *written(const struct cud_expr *e, int a)
{
    const struct cud_node *n = &e->node[a];
    while (n->kind == CUD_NODE_OP && !n->spelled)
        n = &e->node[n->arg[0]];
    return n;
}

enum shape { VALUE, CALL, CAST, UNARY, BINARY, CHOICE };

static enum shape shape_of(const struct cud_node *n)
{
    if (n->kind != CUD_NODE_OP)
        return VALUE;
    if (*n->spelled == '?')
        return CHOICE;
    if (n->args == 2 && cud_sign_find(n->spelled, strlen(n->spelled)))
        return BINARY;
    const struct cud_name *const name = cud_name_find(n->spelled, strlen(n->spelled));
    return !name ? UNARY : name->kind == CUD_NAME_TYPE ? CAST : CALL;
}

static int level_of(const struct cud_node *n)
{
    static const int levels[] = {[VALUE] = CUD_LEVEL_POSTFIX, [CALL] = CUD_LEVEL_POSTFIX, [CAST] = CUD_LEVEL_UNARY,
                                 [UNARY] = CUD_LEVEL_UNARY, [CHOICE] = CUD_LEVEL_CHOICE};
    const enum shape s = shape_of(n);
    return s == BINARY ? cud_sign_find(n->spelled, strlen(n->spelled))->level : levels[s];
}

static void put_node(struct writer *w, int a, int level);

static void put_value(struct writer *w, const struct cud_node *n)
{
    char text[32];
    if (n->kind == CUD_NODE_AT) {
        put(w, "x[");
        put_node(w, n->arg[0], 0);
        put(w, "]");
    } else if (n->spelled) {
        put(w, n->spelled);
    } else if (n->type == 'r') {
        put_real(w, n->value.r);
    } else {
        snprintf(text, sizeof text, "%" PRId64, n->value.i);
        put(w, text);
    }
}

static void put_call(struct writer *w, const struct cud_node *n)
{
    put(w, n->spelled);
    for (int k = 0; k < n->args; k++) {
        put(w, k ? ", " : "(");
        put_node(w, n->arg[k], 0);
    }
    put(w, ")");
}

static void put_operation(struct writer *w, const struct cud_node *n)
{
    const int level = level_of(n);
    switch (shape_of(n)) {
    case CHOICE:
        put_node(w, n->arg[0], level + 1);
        put(w, " ? ");
        put_node(w, n->arg[1], level);
        put(w, " : ");
        put_node(w, n->arg[2], level);
        break;
    case BINARY:
        put_node(w, n->arg[n->swapped], level);
        put(w, " ");
        put(w, n->spelled);
        put(w, " ");
        put_node(w, n->arg[!n->swapped], level + 1);
        break;
    case CAST:
        put(w, "(");
        put(w, n->spelled);
        put(w, ")");
        put_node(w, n->arg[0], level);
        break;
    case UNARY:
        put(w, n->spelled);
        put_node(w, n->arg[0], level + (shape_of(written(w->e, n->arg[0])) == UNARY));     /* --x is another operator */
        break;
    case CALL: put_call(w, n); break;
    case VALUE: put_value(w, n); break;
    }
}

/* In parentheses if it binds less than that level. */
static void put_node(struct writer *w, int a, int level)
{
    const struct cud_node *const n = written(w->e, a);
    const bool open = level_of(n) < level;
    put(w, open ? "(" : "");
    put_operation(w, n);
    put(w, open ? ")" : "");
}

size_t cud_expr_text(const struct cud_expr *e, char *text, size_t room)
{
    struct writer w = {e, text, room, 0};
    *text = '\0';
    for (int k = 0; k < e->results; k++) {
        put(&w, k ? ", " : "");
        put_node(&w, e->result[k], 0);
    }
    return w.n;
}
