/* kernels/elementary.h against the C library in a wider type: floats against double, doubles against long double; every build
 * gives the same bytes.
 *
 *   kernels_math.t [STEP [FUNCTION]]      every STEP-th float; 1: all 2^32, hours */
#include "config.h"
#include <float.h>
#include <stdio.h>
#include "../kernels/functions.h"
#include "kernels_help.h"

_Static_assert(LDBL_MANT_DIG >= 64, "the reference needs a long double wider than double");
enum { BLOCK = 1 << 12 };

extern const struct cud_kernel cud_kernel_functions_cpu_v1, cud_kernel_functions_cpu_rev;
#ifdef HAVE_X86_LEVELS
extern const struct cud_kernel cud_kernel_functions_cpu_v3, cud_kernel_functions_cpu_v4;
static const struct cud_kernel *const builds[ISAS] = {&cud_kernel_functions_cpu_v1, &cud_kernel_functions_cpu_v3,
    &cud_kernel_functions_cpu_v4, NULL, &cud_kernel_functions_cpu_rev};
#else
static const struct cud_kernel *const builds[ISAS] = {[ISAS - 2] = &cud_kernel_functions_cpu_v1, &cud_kernel_functions_cpu_rev};
#endif

/* ---- the reference: what C's library lacks, or leaves open */

static double rsqrt(double x) { return 1 / sqrt(x); }
static long double rsqrtl(long double x) { return 1 / sqrtl(x); }
static long double lessl(long double x, long double y) { return x == y ? signbit(x) ? x : y : fminl(x, y); }
static long double morel(long double x, long double y) { return x == y ? signbit(x) ? y : x : fmaxl(x, y); }
static double less(double x, double y) { return (double)lessl(x, y); }
static double more(double x, double y) { return (double)morel(x, y); }
/* glibc 2.36 has pow(-inf, -2^63) = inf in long double. */
static long double powerl(long double x, long double y) { return isinf(x) ? pow((double)x, (double)y) : powl(x, y); }
#define fmin less
#define fmax more
#define fminl lessl
#define fmaxl morel
#define powl powerl

#define AS_WANT(name, x_y, most)                                                                                                \
    static double want_##name(const double *x, const double *y) { const int i = 0; (void)y; return name x_y; }                  \
    static long double want_##name##_l(const long double *x, const long double *y) { const int i = 0; (void)y; return name##l x_y; }
FUNCTIONS(AS_WANT)

static const struct function {
    const char *name, *x_y;
    double (*f64)(const double *, const double *);
    long double (*f80)(const long double *, const long double *);
    double most;                           /* ulps */
} functions[] = {
#define AS_FUNCTION(name, x_y, most) {#name, #x_y, want_##name, want_##name##_l, most},
    FUNCTIONS(AS_FUNCTION)
};
static bool takes_two(const struct function *f) { return strcmp(f->x_y, "X_Y") == 0; }

/* ---- judging */

struct worst {
    double ulps, x, y;
    size_t n, bad;                         /* how many; not the NaN, infinity or signed zero that it should be */
};

struct form { int digits; double least, most; };
static const struct form f32 = {FLT_MANT_DIG, 0x1p-149, FLT_MAX}, f64 = {DBL_MANT_DIG, 0x1p-1074, DBL_MAX};

static void wrong(struct worst *w, double x, double y, double got, long double want)
{
    if (w->bad++ < 5)
        printf("# of %a %a: %a, not %La\n", x, y, got, want);
}

/* got against want, which is known to more bits. */
static void judge(struct worst *w, double x, double y, double got, long double want, const struct form *form)
{
    int e = 0;
    w->n++;
    if (isnan(want) || isinf(want) || want == 0) {
        if (isnan(want) ? bits_of(got) != QUIET_F64 : got != want || !signbit(got) != !signbit(want))
            wrong(w, x, y, got, want);
        return;
    }
    if (isnan(got) || !signbit(got) != !signbit(want)) {
        wrong(w, x, y, got, want);
        return;
    }
    frexpl(want, &e);
    const long double ulp = ldexpl(1, e - form->digits), unit = ulp > form->least ? ulp : form->least;
    /* infinity stands for the number that would come after the greatest */
    const long double g = isinf(got) ? form->most * (1 + ldexpl(1, -form->digits)) : fabsl((long double)got);
    const double off = isinf(got) && fabsl(want) > g ? 0 : (double)(fabsl(g - fabsl(want)) / unit);
    if (off > w->ulps)
        w->ulps = off, w->x = x, w->y = y;
}

/* Function number f of x and y, from every build: false if their bytes differ. */
static bool run(int f, enum cud_type type, const void *x, const void *y, void *out, size_t n)
{
    static double other[BLOCK];
    const size_t bytes = n * (type == CUD_F64 ? 8 : 4);
    bool some = false;
    for (int i = 0; i < ISAS; i++) {
        const struct cud_call call = {.in = {x, y}, .out = {some ? (void *)other : out}, .dim = {n, 1, 1}, .type = type,
                                      .param = {f}};
        if (!builds[i] || !cud_registry_build(isas[i]))
            continue;
        if (builds[i]->launch(&call) != 0 || (some && memcmp(other, out, bytes) != 0)) {
            printf("# other bytes from %s\n", isas[i]);
            return false;
        }
        some = true;
    }
    return some;
}

static void report(const char *type, const struct function *f, const struct worst *w, bool same)
{
    ok(same, "%s %s: the same bytes from every build", f->name, type);
    ok(w->bad == 0, "%s %s: NaN, infinities and zeros where they should be", f->name, type);
    ok(w->ulps <= f->most, "%s %s: at most %.4f ulp off, at %a, %a; %zu values", f->name, type, w->ulps, w->x, w->y, w->n);
}

/* ---- arguments */

/* The first of them are edges of all kinds, each with each. */
static double edge(size_t i)
{
    static const double edges[] = {0, 0.25, 0.5, 1, 1.5, 2, 3, 10, 1000, 1e22, HUGE_VAL, NAN, 0x1p-1074, 0x1p-1022, DBL_MAX,
        0x1p-149, 0x1p-126, FLT_MAX, 0x1p20, 0x1p23, 0x1p24 - 1, 0x1p24, 0x1p25, 0x1p52, 0x1p53 - 1, 0x1p53, 0x1p54, 0x1p63,
        1 - 0x1p-53, 1 + 0x1p-52, 1 - 0x1p-24, 1 + 0x1p-23, 0.4375, 0.625, 0.35, 0x1.62e42fefa39efp+9, 0x1.62e42fefa39fp+9,
        0x1.74385446d71c3p+9, 0x1.74910d52d3052p+9, 0x1.6ac5b262ca1ffp+849, 0x1.921fb54442d18p+0, 0x1.921fb6p+0f};
    enum { N = sizeof edges / sizeof *edges };
    return i % (2 * N) < N ? edges[i % (2 * N)] : -edges[i % (2 * N) - N];
}
enum { EDGES = 84 };

/* Kind 0 is any bits at all. */
enum { KINDS = 8 };
static double random_number(int kind, uint64_t *state)
{
    const double u = random_unit(state), v = 2 * u - 1;
    const int small = (int)(random_bits(state) % 50);
    switch (kind) {
    case 1: return 2 * v;
    case 2: return 30 * v;
    case 3: return 750 * v;
    case 4: return 100 * u;
    case 5: return 1e6 * v;
    case 6: return 1 + ldexp(v, -small);
    default: return ldexp(v, -small);
    }
}

static void check_f64(int number, size_t blocks)
{
    static double x[BLOCK], y[BLOCK], out[BLOCK];
    const struct function *const f = &functions[number];
    struct worst w = {0};
    uint64_t state = 1;
    bool same = true;
    for (size_t b = 0; b < 2 + KINDS * blocks && same; b++) {
        for (size_t i = 0; i < BLOCK; i++) {
            const uint64_t u = random_bits(&state), v = random_bits(&state);
            const size_t e = b * BLOCK + i;
            memcpy(&x[i], &u, 8), memcpy(&y[i], &v, 8);
            if (b % KINDS)
                x[i] = random_number((int)(b % KINDS), &state), y[i] = random_number((int)(b / KINDS % KINDS), &state);
            if (e < EDGES * EDGES)
                x[i] = edge(e / EDGES), y[i] = edge(e);
        }
        same = run(number, CUD_F64, x, y, out, BLOCK);
        for (size_t i = 0; i < BLOCK; i++) {
            const long double a = x[i], c = y[i];
            judge(&w, x[i], y[i], out[i], f->f80(&a, &c), &f64);
        }
    }
    report("f64", f, &w, same);
}

/* Floats of one argument: every step-th there is. */
static size_t next_floats(float *x, uint64_t *u, uint64_t step)
{
    size_t n = 0;
    for (; n < BLOCK && *u <= UINT32_MAX; n++, *u += step) {
        const uint32_t bits = (uint32_t)*u;
        memcpy(&x[n], &bits, 4);
    }
    return n;
}

static bool some_f32(int number, struct worst *w, const float *x, const float *y, size_t n)
{
    static float out[BLOCK];
    const bool same = run(number, CUD_F32, x, y, out, n);
    for (size_t i = 0; i < n; i++) {
        const double a = x[i], b = y[i], want = functions[number].f64(&a, &b);
        if (isnan(want) && bits_of_f(out[i]) != QUIET_F32)
            wrong(w, a, b, out[i], want);
        else
            judge(w, a, b, isnan(out[i]) ? NAN : out[i], want, &f32);
    }
    return same;
}

static void check_f32(int number, uint64_t step)
{
    static float x[BLOCK], y[BLOCK];
    struct worst w = {0};
    const bool two = takes_two(&functions[number]);
    uint64_t state = 1, u = 0;
    bool same = true;
    for (size_t b = 0; b < 2; b++) {
        for (size_t i = 0; i < BLOCK; i++)
            x[i] = (float)edge((b * BLOCK + i) / EDGES), y[i] = (float)edge(b * BLOCK + i);
        same = same && some_f32(number, &w, x, y, BLOCK);
    }
    for (size_t b = 0; !two && u <= UINT32_MAX && same; b++) {
        const size_t n = next_floats(x, &u, step);
        same = some_f32(number, &w, x, y, n);
    }
    for (size_t b = 0; two && b < UINT32_MAX / step / BLOCK && same; b++) {
        for (size_t i = 0; i < BLOCK; i++) {
            const uint32_t p = (uint32_t)random_bits(&state), q = (uint32_t)random_bits(&state);
            memcpy(&x[i], &p, 4), memcpy(&y[i], &q, 4);
            if (b % KINDS)
                x[i] = (float)random_number((int)(b % KINDS), &state), y[i] = (float)random_number((int)(b / KINDS % KINDS), &state);
        }
        same = some_f32(number, &w, x, y, BLOCK);
    }
    report("f32", &functions[number], &w, same);
}

int main(int argc, char **argv)
{
    const char *const set = getenv("CUDIST_TEST_SET");
    const bool all = set && strcmp(set, "long") == 0;
    const uint64_t step = argc > 1 ? strtoull(argv[1], NULL, 10) : all ? 101 : 20011;
    say_missing();
    for (int i = 0; i < (int)(sizeof functions / sizeof *functions); i++)
        if (argc < 3 || strcmp(argv[2], functions[i].name) == 0) {
            check_f32(i, step);
            check_f64(i, all || argc > 1 ? 500 : 4);
        }
    return done_testing();
}
