/* From the graph to CUDA C++ for NVRTC.  The words MAP, EACH, QUIET, op<T>::... and cud_... are those of kernels/, whose text goes
 * ahead of it, so a GPU does what kernels/expr.cu does. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "expr_own.h"
#include "operators.inc"                  /* operators: the text of kernels/operators.h */

struct page {
    char *text;
    size_t n, room;
    bool no_memory;
};

static void print(struct page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void print(struct page *p, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (p->n + (size_t)n + 1 > p->room) {
        const size_t room = 2 * p->room + (size_t)n + 1000;
        char *const more = realloc(p->text, room);
        p->no_memory |= !more;
        p->text = more ? more : p->text;
        p->room = more ? room : p->room;
    }
    if (!p->no_memory)
        p->n += (size_t)vsnprintf(p->text + p->n, p->room - p->n, format, again);
    va_end(again);
}

/* ---- values */

static const char *real_name(const struct cud_graph *g) { return g->array.type == CUD_F64 ? "double" : "float"; }
static const char *type_name(const struct cud_graph *g, char type) { return type == 'b' ? "bool" : type == 'i' ? "int64_t" : real_name(g); }

/* Reals by their bits: exact, and of any kind. */
static void constant(struct page *p, const struct cud_graph *g, const struct cud_term *t)
{
    double d;
    float f;
    memcpy(&d, &t->value, sizeof d);
    memcpy(&f, &t->value, sizeof f);
    if (t->type == 'b')
        print(p, t->value ? "true" : "false");
    else if (t->type == 'i')
        print(p, "(int64_t)0x%" PRIx64, t->value);
    else if (g->array.type == CUD_F64)
        print(p, "FROM_BITS<double>(0x%" PRIx64 ") /* %.17g */", t->value, d);
    else
        print(p, "FROM_BITS<float>(0x%" PRIx64 ") /* %.9g */", t->value, (double)f);
}

static void operand(struct page *p, const struct cud_graph *g, int term)
{
    const struct cud_term *const t = &g->term[term];
    if (t->kind == CUD_TERM_CONST)
        constant(p, g, t);
    else
        print(p, "v%d", term);
}

/* What C itself does alike. */
static const char *sign_of(uint16_t op)
{
    switch (op) {
    case CUD_EXPR_add: return "+";
    case CUD_EXPR_sub: return "-";
    case CUD_EXPR_mul: return "*";
    case CUD_EXPR_div: return "/";
    case CUD_EXPR_lt: case CUD_EXPR_ilt: return "<";
    case CUD_EXPR_le: case CUD_EXPR_ile: return "<=";
    case CUD_EXPR_eq: case CUD_EXPR_ieq: return "==";
    case CUD_EXPR_ne: case CUD_EXPR_ine: case CUD_EXPR_bxor: return "!=";
    case CUD_EXPR_band: return "&&";
    case CUD_EXPR_bor: return "||";
    case CUD_EXPR_iand: return "&";
    case CUD_EXPR_ior: return "|";
    case CUD_EXPR_ixor: return "^";
    default: return NULL;
    }
}

static void operation(struct page *p, const struct cud_graph *g, const struct cud_term *t)
{
    const char *const sign = sign_of(t->op);
    if (sign) {
        operand(p, g, t->arg[0]);
        print(p, " %s ", sign);
        operand(p, g, t->arg[1]);
        return;
    }
    if (t->op == CUD_EXPR_choose || t->op == CUD_EXPR_ichoose || t->op == CUD_EXPR_bchoose) {
        operand(p, g, t->arg[0]);
        print(p, " ? ");
        operand(p, g, t->arg[1]);
        print(p, " : ");
        operand(p, g, t->arg[2]);
        return;
    }
    print(p, cud_op_is_function(t->op) ? "cud_%s(" : "op<T>::%s(", cud_op_name(t->op));
    for (int k = 0; k < t->args; k++) {
        print(p, k ? ", " : "");
        operand(p, g, t->arg[k]);
    }
    print(p, ")");
}

static void term(struct page *p, const struct cud_graph *g, const struct cud_term *t)
{
    switch (t->kind) {
    case CUD_TERM_X: print(p, "x[p]"); break;
    case CUD_TERM_INDEX: print(p, "(int64_t)(row0 * cols + p)"); break;
    case CUD_TERM_ROW: print(p, "(int64_t)(row0 + r)"); break;
    case CUD_TERM_COL: print(p, "(int64_t)c"); break;
    case CUD_TERM_FACT: print(p, "fact[%d * rows + r]", cud_graph_fact_place(g, t->value)); break;
    case CUD_TERM_AT: print(p, "x[r * cols + %" PRIu64 "]", t->value); break;
    case CUD_TERM_PICK:
        print(p, "(uint64_t)v%d < cols ? x[r * cols + (size_t)v%d] : cud_nan<T>()", t->arg[0], t->arg[0]);
        break;
    case CUD_TERM_OP: operation(p, g, t); break;
    case CUD_TERM_CONST: constant(p, g, t); break;
    }
}

/* ---- a kernel: NAME(x, y, facts, rows, cols, the first row) */

static bool wants(const struct cud_graph *g, enum cud_term_kind kind)
{
    for (int k = 0; k < g->terms; k++)
        if (g->term[k].uses && g->term[k].kind == kind)
            return true;
    return false;
}

/* From x[p] or, where nothing else is wanted, v. */
static void terms(struct page *p, const struct cud_graph *g, bool of_v)
{
    for (int k = 0; k < g->terms; k++) {
        const struct cud_term *const t = &g->term[k];
        if (!t->uses || t->kind == CUD_TERM_CONST)
            continue;
        print(p, "        const %s v%d = ", type_name(g, t->type), k);
        if (of_v && t->kind == CUD_TERM_X)
            print(p, "v");
        else
            term(p, g, t);
        print(p, ";\n");
    }
}

static void result(struct page *p, const struct cud_graph *g, int k)
{
    print(p, "QUIET<T>(");
    operand(p, g, g->result[k]);
    print(p, ");\n");
}

/* Nothing but the element itself matters: MAP moves 16 bytes at a time. */
static void map_body(struct page *p, const struct cud_graph *g)
{
    print(p, "    const auto f = [&](T v) {\n        (void)v;\n");
    terms(p, g, true);
    print(p, "        return ");
    result(p, g, 0);
    print(p, "    };\n    MAP(x, y, rows * cols, v, f(v));\n");
}

static void each_body(struct page *p, const struct cud_graph *g)
{
    const bool row = wants(g, CUD_TERM_ROW) || wants(g, CUD_TERM_COL) || wants(g, CUD_TERM_FACT) || wants(g, CUD_TERM_AT) ||
                     wants(g, CUD_TERM_PICK);
    print(p, "    EACH(p, %s) {\n", g->by_row ? "rows" : "rows * cols");
    if (row)
        print(p, "        const size_t r = %s;\n", g->by_row ? "p" : "p / cols");
    if (wants(g, CUD_TERM_COL))
        print(p, "        const size_t c = p - r * cols;\n");
    terms(p, g, false);
    for (int k = 0; k < g->results; k++) {
        print(p, g->by_row ? "        y[p * %d + %d] = " : "        y[p] = ", g->results, k);
        result(p, g, k);
    }
    print(p, "    }\n");
}

enum cud_status cud_expr_cuda(const struct cud_graph *g, char **source, struct cud_err *err)
{
    struct page p = {0};
    bool map = !g->by_row;
    for (int k = 0; k < g->terms; k++)
        map &= !g->term[k].uses || g->term[k].kind == CUD_TERM_CONST || g->term[k].kind == CUD_TERM_X || g->term[k].kind == CUD_TERM_OP;
    const char *const real = real_name(g);
    print(&p, "extern \"C\" __global__ void NAME(const %s *x, %s *y, const %s *fact, size_t rows, size_t cols, size_t row0)\n{\n"
          "    typedef %s T;\n", real, real, real, real);
    if (map)
        map_body(&p, g);
    else
        each_body(&p, g);
    print(&p, "}\n");
    if (p.no_memory) {
        free(p.text);
        return FAIL(err, CUD_EFAILED, "no memory for an expression's source");
    }
    *source = p.text;
    return CUD_OK;
}

/* What kernels/ include of the system, where there is none. */
static const char system_words[] =
    "typedef int int32_t; typedef unsigned uint32_t; typedef long long int64_t; typedef unsigned long long uint64_t;\n"
    "typedef unsigned long long uintptr_t;\n"
    "#define INT32_MIN (-2147483647 - 1)\n#define INT32_MAX 2147483647\n"
    "#define INT64_MIN (-9223372036854775807LL - 1)\n#define INT64_MAX 9223372036854775807LL\n"
    "#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)\n#define HUGE_VALF __int_as_float(0x7f800000)\n";

const char *cud_expr_system(void) { return system_words; }
const char *cud_expr_operators(void) { return operators; }
