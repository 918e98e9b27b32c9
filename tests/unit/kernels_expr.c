/* kernels/expr.cu: every operation gives the same in every build, and programs write what they should and nothing behind, however
 * many points there are.  What expressions are worked out to be is tests/program/expr.t's. */
#include "expr_own.h"
#include "kernels_help.h"

enum { N = 1000, GUARD = 64 };

/* ---- operations, one at a time */

static const double reals[] = {0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 1e10, -1e10, 1e-30, INFINITY, -INFINITY, NAN, 0x1p-149,
                               0x1p-1074, 0x1p23, 0x1p52, 0x1p62, 0x1p63, -0x1p63, 0x1.fffffep127, 700, -800};
static const int64_t wholes[] = {0, 1, -1, 2, -2, 3, 63, 64, 65, -64, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_C(1) << 32, -(INT64_C(1) << 32), 0x1000001, 7};

static uint64_t some(enum cud_type type, char kind, uint64_t *state)
{
    const uint64_t u = random_bits(state), place = u >> 8;
    const double real = u & 1 ? (random_unit(state) - 0.5) * 20 : reals[place % (sizeof reals / sizeof *reals)];
    if (kind == 'b')
        return u & 1;
    if (kind == 'i')
        return u & 2 ? (uint64_t)wholes[place % (sizeof wholes / sizeof *wholes)] : random_bits(state) >> (place % 64);
    return type == CUD_F64 ? bits_of(real) : bits_of_f((float)real);
}

/* Constants, so that each point has the same: N programs. */
static bool same_everywhere(enum cud_type type, uint16_t op, uint64_t *state)
{
    const struct cud_op_types *const t = cud_op_types(op);
    uint64_t arg[3], first = 0;
    for (int k = 0; k < 3; k++)
        arg[k] = k < t->args ? some(type, t->arg[k], state) : 0;
    bool good = true;
    int builds = 0;
    for (int i = 0; i < ISAS; i++) {
        if (!kernel_of(i, "expr"))
            continue;
        setenv("CUDIST_ISA", isas[i], 1);
        const uint64_t value = cud_expr_fold(type, op, arg);
        first = builds++ ? first : value;
        good = good && value == first;
        if (value != first)
            printf("# %s of %llx %llx %llx: %llx from %s, not %llx\n", cud_op_name(op), (unsigned long long)arg[0], (unsigned long long)arg[1],
                   (unsigned long long)arg[2], (unsigned long long)value, isas[i], (unsigned long long)first);
    }
    return good;
}

static void test_operations(void)
{
    for (uint16_t op = CUD_EXPR_PICK + 1; op < CUD_EXPR_OPS_END; op++) {
        uint64_t state = op;
        bool good = true;
        for (int n = 0; n < N && good; n++)
            good = same_everywhere(n % 2 ? CUD_F64 : CUD_F32, op, &state);
        ok(good, "%s gives the same in every build", cud_op_name(op));
    }
    unsetenv("CUDIST_ISA");
}

/* ---- programs on many points */

struct made {
    struct cud_expr_code code;
    struct cud_expr_array array;
};

static struct made make(const char *text, uint64_t rows, uint64_t cols)
{
    struct made m = {.array = {CUD_F32, rows, cols}};
    struct cud_expr *e = NULL;
    struct cud_err err = {0};
    if (cud_expr_parse(text, &e, &err) != CUD_OK || cud_expr_compile(e, &m.array, &m.code, &err) != CUD_OK)
        abort();
    cud_expr_free(e);
    return m;
}

/* Result number k of point p: of x, p itself, and the row's elements. */
typedef float (*wanted)(const float *x, size_t cols, size_t p, size_t k);

static bool check(const char *text, size_t rows, size_t cols, bool in_place, wanted want)
{
    struct made m = make(text, rows, cols);
    const size_t n = rows * cols, points = m.code.by_row ? rows : n, results = m.code.by_row ? m.code.cols : 1;
    float *const x = room(n * sizeof *x + 4), *const y = room((points * results + n + GUARD) * sizeof *y);
    bool good = true;
    for (size_t i = 0; i < n; i++)
        x[i] = (float)i;
    for (int b = 0; b < ISAS; b++) {
        const struct cud_kernel *const k = kernel_of(b, "expr");
        float *const to = y + 1;           /* aligned to an element and no more */
        const struct cud_call call = {.in = {in_place ? to : x}, .out = {to}, .dim = {rows, cols, m.code.cols, 5}, .type = CUD_F32,
                                      .param = {m.code.by_row, 0}, .code = m.code.program};
        memset(y, 0xa5, (points * results + n + GUARD) * sizeof *y);
        if (in_place)
            memcpy(to, x, n * sizeof *x);
        good = good && (!k || k->launch(&call) == 0);
        for (size_t i = 0; k && i < points * results; i++)
            good = good && to[i] == want(x, cols, i / results, i % results);
        for (size_t i = 0; k && i < GUARD - 1; i++)
            good = good && ((const unsigned char *)(to + points * results))[i] == 0xa5;
    }
    free(x);
    free(y);
    cud_expr_code_free(&m.code);
    return good;
}

static float twice(const float *x, size_t cols, size_t p, size_t k) { (void)cols, (void)k; return 2 * x[p] + 1; }
static float itself(const float *x, size_t cols, size_t p, size_t k) { (void)cols, (void)k; return x[p]; }
static float index_of(const float *x, size_t cols, size_t p, size_t k) { (void)x, (void)k; return (float)(5 * cols + p); }
static float row_of(const float *x, size_t cols, size_t p, size_t k) { (void)k; return x[p] + (float)(5 + p / cols) * 2 - (float)(p % cols); }
static float off_first(const float *x, size_t cols, size_t p, size_t k) { (void)k; return x[p] - x[p / cols * cols]; }
static float pair(const float *x, size_t cols, size_t p, size_t k)
{
    return k == 0 ? x[p * cols] + x[p * cols + cols - 1] : k == 1 ? (float)(p + 5) : x[p * cols + p % cols];
}

static void test_programs(void)
{
    static const size_t elems[] = {0, 1, 2, 63, 64, 65, 127, 128, 1000, 1023, 1024, 1025, 2048, 2050, 5000};
    for (size_t i = 0; i < sizeof elems / sizeof *elems; i++) {
        const size_t n = elems[i];
        ok(check("2*x+1", n, 1, false, twice) && check("2*x+1", n, 1, true, twice) && check("x", n, 1, false, itself) &&
           check("i", n, 1, false, index_of), "%zu elements", n);
    }
    static const size_t cols[] = {1, 2, 3, 63, 64, 100, 1023, 1024, 1025, 3000};
    for (size_t i = 0; i < sizeof cols / sizeof *cols; i++) {
        const size_t c = cols[i], rows = 3000 / c + 3;
        ok(check("x + 2*row - col", rows, c, false, row_of) && check("x + 2*row - col", rows, c, true, row_of) &&
           check("x - x[0]", rows, c, false, off_first) && check("x[0] + x[ncols-1], row, x[(row - 5) % ncols]", rows, c, false, pair),
           "%zu rows of %zu", rows, c);
    }
}

int main(void)
{
    say_missing();
    test_operations();
    test_programs();
    return done_testing();
}
