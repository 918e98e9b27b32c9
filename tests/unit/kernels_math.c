/* exp, log and tanh against the C library in a wider type: floats against double, doubles against long double; every build
 * gives the same bytes.  CUDIST_TEST_SET=long: all 2^32 floats. */
#include <float.h>
#include <stdio.h>
#include "kernels_help.h"

_Static_assert(LDBL_MANT_DIG >= 64, "the reference needs a long double wider than double");
enum { BLOCK = 1 << 15 };

struct function {
    const char *name;
    double (*f64)(double);
    long double (*f80)(long double);
    double most;                           /* ulps, as docs/kernels-internals.md says */
    double from[4], to[4];                 /* where random doubles are taken */
};

static const struct function functions[] = {
    {"exp", exp, expl, 1, {-1, -745.2, -88, 0}, {1, 709.79, 89, 1e-5}},
    {"log", log, logl, 1, {0.5, 0.99, 0, 0}, {2, 1.01, 1e6, 1e-300}},
    {"tanh", tanh, tanhl, 1.5, {-1, -22, 0.3, 0}, {1, 22, 0.4, 1e-5}},
};

struct worst {
    double ulps, x;
    size_t n, bad;                         /* how many; not the NaN, infinity or signed zero that it should be */
};

struct form { int digits; double least, most; };
static const struct form f32 = {FLT_MANT_DIG, 0x1p-149, FLT_MAX}, f64 = {DBL_MANT_DIG, 0x1p-1074, DBL_MAX};

/* got against want, which is known to more bits. */
static void judge(struct worst *w, double x, double got, long double want, const struct form *form)
{
    int e = 0;
    w->n++;
    if (isnan(want) || isinf(want) || want == 0) {
        w->bad += !(isnan(want) ? bits_of(got) == QUIET_F64 : got == want && !signbit(got) == !signbit(want));
        return;
    }
    if (isnan(got) || !signbit(got) != !signbit(want)) {
        w->bad++;
        return;
    }
    frexpl(want, &e);
    const long double ulp = fmaxl(ldexpl(1, e - form->digits), form->least);
    /* infinity stands for the number that would come after the greatest */
    const long double g = isinf(got) ? form->most * (1 + ldexpl(1, -form->digits)) : fabsl((long double)got);
    const double off = isinf(got) && fabsl(want) > g ? 0 : (double)(fabsl(g - fabsl(want)) / ulp);
    if (off > w->ulps)
        w->ulps = off, w->x = x;
}

/* y from every build: false if their bytes differ. */
static bool run(const char *name, enum cud_type type, const void *x, void *y, size_t n)
{
    static double other[BLOCK];
    const size_t bytes = n * (type == CUD_F64 ? 8 : 4);
    bool some = false;
    for (int i = 0; i < ISAS; i++) {
        const struct cud_kernel *const k = kernel_of(i, name);
        const struct cud_call call = {.in = {x}, .out = {some ? (void *)other : y}, .dim = {n, 1, 1}, .type = type};
        if (!k)
            continue;
        if (k->launch(&call) != 0 || (some && memcmp(other, y, bytes) != 0)) {
            printf("# %s: other bytes from %s\n", name, isas[i]);
            return false;
        }
        some = true;
    }
    return some;
}

static void report(const char *name, const char *type, const struct function *f, const struct worst *w, bool same)
{
    ok(same, "%s %s: the same bytes from every build", name, type);
    ok(w->bad == 0, "%s %s: NaN, infinities and zeros where they should be", name, type);
    ok(w->ulps <= f->most, "%s %s: at most %.3f ulp off, at %a; %zu values", name, type, w->ulps, w->x, w->n);
}

static void check_f32(const struct function *f, uint64_t step)
{
    static float x[BLOCK], y[BLOCK];
    struct worst w = {0};
    bool same = true;
    for (uint64_t u = 0; u <= UINT32_MAX && same;) {
        size_t n = 0;
        for (; n < BLOCK && u <= UINT32_MAX; n++, u += step) {
            const uint32_t bits = (uint32_t)u;
            memcpy(&x[n], &bits, 4);
        }
        same = run(f->name, CUD_F32, x, y, n);
        for (size_t i = 0; i < n; i++) {
            const double want = f->f64(x[i]);
            if (isnan(want))
                w.n++, w.bad += bits_of_f(y[i]) != QUIET_F32;
            else
                judge(&w, x[i], y[i], want, &f32);
        }
    }
    report(f->name, "f32", f, &w, same);
}

static void check_f64(const struct function *f, size_t blocks)
{
    static const double special[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, NAN, -NAN, 1, -1, 0x1p-1074, -0x1p-1074, 0x1p-1022,
        DBL_MAX, -DBL_MAX, 0x1.62e42fefa39efp+9, 0x1.62e42fefa39fp+9, -0x1.74385446d71c3p+9, -0x1.74910d52d3052p+9};
    static double x[BLOCK], y[BLOCK];
    struct worst w = {0};
    uint64_t state = 1;
    bool same = true;
    for (size_t b = 0; b < 5 * blocks && same; b++) {
        for (size_t i = 0; i < BLOCK; i++) {
            const uint64_t u = random_bits(&state);
            memcpy(&x[i], &u, 8);
            if (b % 5 < 4)
                x[i] = f->from[b % 5] + (f->to[b % 5] - f->from[b % 5]) * random_unit(&state);
        }
        if (b == 0)
            memcpy(x, special, sizeof special);
        same = run(f->name, CUD_F64, x, y, BLOCK);
        for (size_t i = 0; i < BLOCK; i++)
            judge(&w, x[i], y[i], f->f80(x[i]), &f64);
    }
    report(f->name, "f64", f, &w, same);
}

int main(void)
{
    const char *const set = getenv("CUDIST_TEST_SET");
    const bool all = set && strcmp(set, "long") == 0;
    say_missing();
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        check_f32(&functions[i], all ? 1 : 2039);
        check_f64(&functions[i], all ? 100 : 4);
    }
    return done_testing();
}
