/* expr: the program of an expression (include/cudist/expr.h), run on every point.
 *   code   the program                         work   facts about the rows (rowfacts.cu), if the program reads any
 *   in[0]  dim[0] rows of dim[1] elements
 *   out[0] dim[0] rows of dim[2] elements; may be in[0] if a point reads no other's elements
 *   dim[3] the first row's number in the whole array
 *   param[0] points are 0: elements, 1: rows   param[1] the set of facts
 *
 * On the CPU an operation is done to a strip of points, which stay in the first cache, before the next one is: the loops
 * vectorise, and what it costs to tell one operation from another is shared by all of the strip.  On a GPU, where programs
 * are compiled (src/expr_cuda.c) unless NVRTC is missing, a strip is one point of one lane. */
#include "operators.h"
#include "cudist/expr.h"

/* A real, a whole number and a truth, as registers hold them. */
template <class T> struct held {
    typedef T r;
    typedef int64_t i;
    typedef typename cud_bits<T>::type b;
};
HELPER float plain(float x) { return x; }
HELPER double plain(double x) { return x; }
HELPER int64_t plain(int64_t x) { return x; }
HELPER bool plain(uint32_t x) { return x != 0; }
HELPER bool plain(uint64_t x) { return x != 0; }

/* All that a launch works on. */
template <class T> struct whole {
    const T *x, *fact;
    T *y;
    size_t rows, cols, results, row0;      /* results: of a point */
    bool by_row;
};

/* Where a strip's values are: point l of a register at [l], of a chunk (a constant) at [l % CHUNK]. */
template <class T> struct strip {
    size_t at, n;                          /* the first point; how many */
    const char *code;
    char *reg;
    const T *x;
    T *y;
};
template <class A> struct operand {
    const A *p;
    size_t mask;                           /* 0: a chunk */
};

template <class A, class T> HELPER operand<A> get(const strip<T> &s, uint32_t arg)
{
    if (arg & CUD_EXPR_CONST)
        return {(const A *)(s.code + (arg & ~CUD_EXPR_CONST)), 0};
    if (arg == CUD_EXPR_X)
        return {(const A *)s.x, ~(size_t)0};
    return {(const A *)(s.reg + arg * (STRIP * sizeof(int64_t))), ~(size_t)0};
}
template <class D, class T> HELPER D *to(const strip<T> &s, const struct cud_expr_ins *i)
{
    return i->to == CUD_EXPR_TO_OUT ? (D *)s.y : (D *)(s.reg + i->to * (STRIP * sizeof(int64_t)));
}

/* ---- operations.  Registers have room for whole chunks, so what lies behind a strip's end is worked on too. */

template <class D, class A, class T, class F> HELPER void one(const strip<T> &s, const struct cud_expr_ins *i, F f)
{
    D *const d = to<D>(s, i);
    const operand<A> a = get<A>(s, i->arg[0]);
    for (size_t k = 0; k < s.n; k += CHUNK) {
        const A *const p = a.p + (k & a.mask);
        EACH_IN_CHUNK(l)
            d[k + l] = f(plain(p[l]));
    }
}
/* f is near wherever cud_is_near, and near vectorises. */
template <class T, class N, class F> HELPER void one_near(const strip<T> &s, const struct cud_expr_ins *i, N near, F f)
{
    T *const d = to<T>(s, i);
    const operand<T> a = get<T>(s, i->arg[0]);
    for (size_t k = 0; k < s.n; k += CHUNK) {
        const T *const p = a.p + (k & a.mask);
        int all = 1;
        EACH_IN_CHUNK(l)
            all &= cud_is_near(p[l]);
        if (all) {
            EACH_IN_CHUNK(l)
                d[k + l] = near(p[l]);
        } else {
            EACH_IN_CHUNK(l)
                d[k + l] = f(p[l]);
        }
    }
}
template <class D, class A, class B, class T, class F> HELPER void two(const strip<T> &s, const struct cud_expr_ins *i, F f)
{
    D *const d = to<D>(s, i);
    const operand<A> a = get<A>(s, i->arg[0]);
    const operand<B> b = get<B>(s, i->arg[1]);
    for (size_t k = 0; k < s.n; k += CHUNK) {
        const A *const p = a.p + (k & a.mask);
        const B *const q = b.p + (k & b.mask);
        EACH_IN_CHUNK(l)
            d[k + l] = f(plain(p[l]), plain(q[l]));
    }
}
template <class D, class A, class B, class C, class T, class F> HELPER void three(const strip<T> &s, const struct cud_expr_ins *i, F f)
{
    D *const d = to<D>(s, i);
    const operand<A> a = get<A>(s, i->arg[0]);
    const operand<B> b = get<B>(s, i->arg[1]);
    const operand<C> c = get<C>(s, i->arg[2]);
    for (size_t k = 0; k < s.n; k += CHUNK) {
        const A *const p = a.p + (k & a.mask);
        const B *const q = b.p + (k & b.mask);
        const C *const r = c.p + (k & c.mask);
        EACH_IN_CHUNK(l)
            d[k + l] = f(plain(p[l]), plain(q[l]), plain(r[l]));
    }
}

/* ---- what a point is */

/* f(l, row, column) for every point of a strip, row by row. */
template <class T, class F> HELPER void places(const whole<T> &w, const strip<T> &s, F f)
{
    if (w.by_row) {
        for (size_t l = 0; l < s.n; l++)
            f(l, s.at + l, (size_t)0);
        return;
    }
    for (size_t l = 0, r = s.at / w.cols, c = s.at % w.cols; l < s.n; r++, c = 0)
        for (; l < s.n && c < w.cols; l++, c++)
            f(l, r, c);
}

template <class T> HELPER void place(const whole<T> &w, const strip<T> &s, const struct cud_expr_ins *i)
{
    int64_t *const d = to<int64_t>(s, i);
    const size_t index0 = w.row0 * w.cols + s.at;
    if (i->op == CUD_EXPR_INDEX)
        for (size_t l = 0; l < s.n; l++)
            d[l] = (int64_t)(index0 + l);
    else if (i->op == CUD_EXPR_ROW)
        places(w, s, [=](size_t l, size_t r, size_t) { d[l] = (int64_t)(w.row0 + r); });
    else
        places(w, s, [=](size_t l, size_t, size_t c) { d[l] = (int64_t)c; });
}

template <class T> HELPER void element(const whole<T> &w, const strip<T> &s, const struct cud_expr_ins *i)
{
    T *const d = to<T>(s, i);
    const size_t k = i->arg[0];
    if (i->op == CUD_EXPR_FACT)
        places(w, s, [=](size_t l, size_t r, size_t) { d[l] = w.fact[k * w.rows + r]; });
    else
        places(w, s, [=](size_t l, size_t r, size_t) { d[l] = w.x[r * w.cols + k]; });
}

template <class T> HELPER void pick(const whole<T> &w, const strip<T> &s, const struct cud_expr_ins *i)
{
    T *const d = to<T>(s, i);
    const operand<int64_t> a = get<int64_t>(s, i->arg[0]);
    places(w, s, [=](size_t l, size_t r, size_t) {
        const uint64_t k = (uint64_t)a.p[l & (a.mask | (CHUNK - 1))];
        d[l] = k < w.cols ? w.x[r * w.cols + k] : cud_nan<T>();
    });
}

/* ---- results */

template <class T> HELPER void out(const whole<T> &w, const strip<T> &s, const struct cud_expr_ins *i)
{
    const operand<T> a = get<T>(s, i->arg[0]);
    T *const y = w.y + s.at * w.results + i->arg[1];
    for (size_t l = 0; l < s.n; l++)
        y[l * w.results] = QUIET(a.p[l & (a.mask | (CHUNK - 1))]);
}

template <class T> HELPER void keep(const whole<T> &w, const strip<T> &s, const struct cud_expr_ins *i)
{
    *(int64_t *)w.y = *get<int64_t>(s, i->arg[0]).p;
}

/* Does the program write its result to s.y by itself? */
template <class T> HELPER_CALLED bool run(const whole<T> &w, const strip<T> &s)
{
    typedef held<T> h;
    bool direct = false;
    for (const struct cud_expr_ins *i = (const struct cud_expr_ins *)s.code; i->op != CUD_EXPR_END; i++) {
        direct |= i->to == CUD_EXPR_TO_OUT;
        switch (i->op) {
#define OP1(n, t, t0) case CUD_EXPR_##n: one<typename h::t, typename h::t0>(s, i, [](auto a) { return op<T>::n(a); }); break;
#define OP2(n, t, t0, t1) case CUD_EXPR_##n: \
            two<typename h::t, typename h::t0, typename h::t1>(s, i, [](auto a, auto b) { return op<T>::n(a, b); }); break;
#define OP3(n, t, t0, t1, t2) case CUD_EXPR_##n: \
            three<typename h::t, typename h::t0, typename h::t1, typename h::t2>(s, i, [](auto a, auto b, auto c) { \
                return op<T>::n(a, b, c); }); break;
        CUD_EXPR_OPS(OP1, OP2, OP3)
#define FN1(n) case CUD_EXPR_FN_##n: one<T, T>(s, i, [](T a) { return cud_##n(a); }); break;
#define FN2(n) case CUD_EXPR_FN_##n: two<T, T, T>(s, i, [](T a, T b) { return cud_##n(a, b); }); break;
#define NEAR1(n) case CUD_EXPR_FN_##n: one_near(s, i, [](T a) { return cud_##n##_near(a); }, [](T a) { return cud_##n(a); }); break;
        CUD_EXPR_FUNCTIONS(FN1, NEAR1, FN2)
        case CUD_EXPR_INDEX: case CUD_EXPR_ROW: case CUD_EXPR_COL: place(w, s, i); break;
        case CUD_EXPR_FACT: case CUD_EXPR_AT: element(w, s, i); break;
        case CUD_EXPR_PICK: pick(w, s, i); break;
        case CUD_EXPR_OUT: out(w, s, i); break;
        case CUD_EXPR_KEEP: keep(w, s, i); break;
        }
    }
    return direct;
}

/* Chunks are whole.  Where a strip's end is not a chunk's, others take the place of x and y. */
template <class T> HELPER void run_rest(const whole<T> &w, strip<T> s)
{
    STRIP_ARRAY(T, x, 1);
    STRIP_ARRAY(T, y, 1);
    for (size_t l = 0; l < CEIL_DIV(s.n, CHUNK) * CHUNK; l++)
        x[l] = l < s.n ? s.x[l] : T(0);
    T *const end = s.y;
    s.x = x;
    s.y = y;
    if (run(w, s))
        memcpy(end, y, s.n * sizeof(T));
}

template <class T> KERNEL expr(const char *code, whole<T> w)
{
    STRIPS(at, n, w.by_row ? w.rows : w.rows * w.cols) {
        STRIP_ARRAY(int64_t, reg, CUD_EXPR_REGS);
        const strip<T> s = {at, n, code, (char *)reg, w.x + at, w.y + at};
        if (n % CHUNK)
            run_rest(w, s);
        else
            run(w, s);
    }
}

template <class T> static int launch(const struct cud_call *c)
{
    const bool by_row = c->param[0] != 0;
    const size_t rows = c->dim[0], cols = c->dim[1], row0 = c->dim[3], points = by_row ? rows : rows * cols;
    const T *const x = (const T *)c->in[0], *const fact = (const T *)c->work;
    T *const y = (T *)c->out[0];
    if (c->function)                       /* a kernel of src/expr_cuda.c */
        return LAUNCH_COMPILED(points, c, x, y, fact, rows, cols, row0);
    return LAUNCH_EACH(expr<T>, points, c, (const char *)c->code, (whole<T>{x, fact, y, rows, cols, by_row ? c->dim[2] : 1, row0, by_row}));
}

static size_t work_bytes(const struct cud_step_facts *f, uint64_t rows)
{
    return (size_t)__builtin_popcount((unsigned)f->param[1]) * rows * cud_type_bytes(f->type);
}

EXPORT(expr, .brief = "an expression", .kind = CUD_INTERNAL, .work_bytes = work_bytes, .launch = BY_TYPE(launch))
