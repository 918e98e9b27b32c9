/* kernels/convert.cu: every pair of types against the definition, in long double, which holds every value of every type;
 * in every build, both byte orders, in place and not. */
#include <float.h>
#include "kernels_help.h"

_Static_assert(LDBL_MANT_DIG >= 64, "the reference needs a long double that holds any i64, u64 and f64");
#define MAX 400000

/* ---- the definition */

struct form { int digits, low, high; };    /* of a float: significant bits, exponent of the least, of the first too great */

static bool form_of(enum cud_type type, struct form *f)
{
    switch (type) {
    case CUD_F16: *f = (struct form){11, -24, 16}; return true;
    case CUD_BF16: *f = (struct form){8, -133, 128}; return true;
    case CUD_F32: *f = (struct form){24, -149, 128}; return true;
    case CUD_F64: *f = (struct form){53, -1074, 1024}; return true;
    default: return false;
    }
}

static bool is_signed(enum cud_type type) { return type == CUD_I8 || type == CUD_I16 || type == CUD_I32 || type == CUD_I64; }

static uint64_t load(const void *p, size_t bytes, size_t i)
{
    uint64_t u = 0;
    memcpy(&u, (const char *)p + i * bytes, bytes);
    return u;
}

/* The value of a float's bits by IEEE 754's formula. */
static long double float_value(uint64_t u, struct form f, size_t bytes)
{
    const int fraction = f.digits - 1;
    const uint64_t m = u & (((uint64_t)1 << fraction) - 1), sign = u >> (8 * bytes - 1);
    const int e = (int)(u >> fraction & (((uint64_t)1 << (8 * (int)bytes - 1 - fraction)) - 1)), top = 2 * f.high - 1;
    const long double v = e == top ? (m ? (long double)NAN : (long double)HUGE_VAL)
                          : ldexpl((long double)(e ? m | (uint64_t)1 << fraction : m), f.low + (e ? e - 1 : 0));
    return sign ? -v : v;
}

static long double value_of(enum cud_type type, uint64_t u)
{
    struct form f;
    const size_t bytes = cud_type_bytes(type);
    if (form_of(type, &f))
        return float_value(u, f, bytes);
    if (type == CUD_BOOL)
        return u != 0;
    if (is_signed(type))
        return (long double)((int64_t)(u << (64 - 8 * bytes)) >> (64 - 8 * bytes));
    return (long double)u;
}

static uint64_t float_bits(long double v, struct form f, size_t bytes)
{
    const int fraction = f.digits - 1;
    const uint64_t sign = signbit(v) ? (uint64_t)1 << (8 * bytes - 1) : 0;
    const uint64_t inf = (uint64_t)(2 * f.high - 1) << fraction;
    if (isnan(v))
        return inf | (uint64_t)1 << (fraction - 1);
    if (isinf(v))
        return sign | inf;
    int e = 0;
    frexpl(fabsl(v), &e);
    const int unit = e - f.digits > f.low && v != 0 ? e - f.digits : f.low;
    const uint64_t q = (uint64_t)rintl(ldexpl(fabsl(v), -unit));   /* to even; 2^digits carries into the exponent */
    const uint64_t bits = ((uint64_t)(unit - f.low) << fraction) + q;
    return sign | (bits < inf ? bits : inf);
}

static uint64_t int_bits(long double v, enum cud_type type, struct cud_lost *lost)
{
    const int bits = 8 * (int)cud_type_bytes(type);
    const long double lo = is_signed(type) ? -ldexpl(1, bits - 1) : 0, hi = ldexpl(1, is_signed(type) ? bits - 1 : bits) - 1;
    const long double r = rintl(v), y = r < lo ? lo : r > hi ? hi : r;
    if (isnan(v)) {
        lost->nan_to_zero++;
        return 0;
    }
    lost->saturated += y != r;
    lost->rounded += y == r && r != v;
    const uint64_t u = y < 0 ? -(uint64_t)-y : (uint64_t)y;
    return bits == 64 ? u : u & (((uint64_t)1 << bits) - 1);
}

static uint64_t convert(enum cud_type from, enum cud_type to, uint64_t u, struct cud_lost *lost)
{
    struct form f;
    const long double v = value_of(from, u);
    if (from == to)
        return u;
    if (form_of(to, &f)) {
        const uint64_t bits = float_bits(v, f, cud_type_bytes(to));
        lost->saturated += isfinite(v) && isinf(float_value(bits, f, cud_type_bytes(to)));
        return bits;
    }
    if (to != CUD_BOOL)
        return int_bits(v, to, lost);
    lost->nan_to_zero += isnan(v) != 0;
    return !isnan(v) && v != 0;
}

/* ---- inputs: all of 8 and 16 bits; else random bits, random sizes, and what lies between two numbers of a narrower type */

static size_t add(void *x, enum cud_type type, size_t n, uint64_t u)
{
    const size_t bytes = cud_type_bytes(type);
    memcpy((char *)x + n * bytes, &u, bytes);
    return n + 1;
}

/* v, its neighbours in the type, and their negatives. */
static size_t add_near(void *x, enum cud_type type, size_t n, long double v)
{
    struct form f;
    form_of(type, &f);
    for (int step = -1; step <= 1; step++)
        for (int minus = 0; minus < 2; minus++)
            n = add(x, type, n, float_bits(minus ? -v : v, f, cud_type_bytes(type)) + (uint64_t)step);
    return n;
}

static size_t add_floats(void *x, enum cud_type type, size_t n)
{
    static const enum cud_type narrow[] = {CUD_F16, CUD_BF16, CUD_F32};
    struct form f;
    for (int i = 0; i < 3; i++)
        for (uint64_t u = 0; u < 0x7fff && form_of(narrow[i], &f); u += narrow[i] == CUD_F16 ? 3 : 7) {
            const size_t bytes = cud_type_bytes(narrow[i]);
            const uint64_t v = narrow[i] == CUD_F32 ? u << 16 | 0x1234 : u;
            n = add_near(x, type, n, (float_value(v, f, bytes) + float_value(v + 1, f, bytes)) / 2);
        }
    for (int bits = 0; bits <= 65; bits++)
        for (int half = -4; half <= 4; half++)
            n = add_near(x, type, n, ldexpl(1, bits) + half * 0.5L);
    for (int i = 0; i < 3000; i++)
        n = add_near(x, type, n, i * 0.25L);
    return n;
}

/* In the middle between two f16, bf16, f32, f64 that follow a power of two, and next to that. */
static size_t add_ints(void *x, enum cud_type type, size_t n)
{
    static const int digits[] = {8, 11, 24, 53};
    for (int b = 0; b < 8 * (int)cud_type_bytes(type); b++) {
        for (int near = -20; near <= 20; near++)
            n = add(x, type, n, ((uint64_t)1 << b) + (uint64_t)near);
        for (int i = 0; i < 4 && digits[i] <= b; i++)
            for (int near = -2; near <= 2; near++)
                for (uint64_t odd = 1; odd <= 3; odd += 2) {
                    const uint64_t u = ((uint64_t)1 << b) + (odd << (b - digits[i])) + (uint64_t)near;
                    n = add(x, type, add(x, type, n, u), -u);
                }
    }
    return n;
}

static size_t make_input(void *x, enum cud_type type)
{
    const int bits = 8 * (int)cud_type_bytes(type);
    uint64_t state = type;
    struct form f;
    size_t n = 0;
    for (uint64_t u = 0; bits <= 16 && u < (uint64_t)1 << bits; u++)
        n = add(x, type, n, u);
    if (bits <= 16)
        return n;
    for (int i = 0; i < 50000; i++)
        n = add(x, type, n, random_bits(&state) >> (i % 2 ? 0 : random_bits(&state) % (unsigned)bits));
    if (form_of(type, &f))
        return add_floats(x, type, n);
    return add_ints(x, type, n);
}

/* ---- every pair */

static void swap_bytes(void *to, const void *from, size_t bytes, size_t n)
{
    for (size_t i = 0; i < n * bytes; i++)
        ((char *)to)[i] = ((const char *)from)[i / bytes * bytes + bytes - 1 - i % bytes];
}

struct pair {
    enum cud_type from, to;
    size_t n, unit;
    const void *in, *swapped, *want;
    const struct cud_lost *lost;
    size_t leaves;
};

static bool right(const struct pair *p, const void *got, const struct cud_lost *lost, const char *isa)
{
    const size_t a = cud_type_bytes(p->from), b = cud_type_bytes(p->to);
    for (size_t i = 0; memcmp(got, p->want, p->n * b) != 0 && i < p->n; i++)
        if (load(got, b, i) != load(p->want, b, i)) {
            printf("# %s: element %zu, %llx, became %llx instead of %llx\n", isa, i, (unsigned long long)load(p->in, a, i),
                   (unsigned long long)load(got, b, i), (unsigned long long)load(p->want, b, i));
            return false;
        }
    for (size_t t = 0; lost && t < p->leaves; t++)
        if (memcmp(&lost[t], &p->lost[t], sizeof *lost) != 0) {
            printf("# %s: leaf %zu lost %d rounded, %d saturated, %d NaN instead of %d, %d, %d\n", isa, t, (int)lost[t].rounded,
                   (int)lost[t].saturated, (int)lost[t].nan_to_zero, (int)p->lost[t].rounded, (int)p->lost[t].saturated,
                   (int)p->lost[t].nan_to_zero);
            return false;
        }
    return true;
}

/* In one build: how = 0, plain; 1, swapped, and lost is not asked for; 2, in place. */
static bool run(const struct pair *p, const struct cud_kernel *k, const char *isa, int how)
{
    const size_t a = cud_type_bytes(p->from), b = cud_type_bytes(p->to);
    char *const space = room((p->n + 1) * (a > b ? a : b) + 64), *const out = space + b;   /* aligned to an element only */
    struct cud_lost *const lost = room(p->leaves * sizeof *lost);
    struct cud_call call = {.in = {how == 1 ? p->swapped : p->in}, .out = {out, how == 1 ? NULL : lost},
                            .dim = {p->n, 0, p->unit}, .param = {how == 1}, .type = p->from, .type2 = p->to};
    memset(lost, 0xa5, p->leaves * sizeof *lost);
    if (how == 2) {
        memcpy(out, p->in, p->n * a);
        call.in[0] = out;
    }
    memset(out + p->n * b, 0xa5, 64);
    bool good = k->launch(&call) == 0 && right(p, out, how == 1 ? NULL : lost, isa);
    for (int i = 0; i < 64 && good; i++)
        good = (unsigned char)out[p->n * b + (size_t)i] == 0xa5;
    free(space);
    free(lost);
    return good;
}

static bool check_pair(enum cud_type from, enum cud_type to, const void *in, const void *swapped, size_t n)
{
    const size_t a = cud_type_bytes(from), b = cud_type_bytes(to), unit = 3 * CUD_LEAF + 77;
    const size_t each = unit / CUD_LEAF + 1;
    void *const want = room(n * b);
    struct cud_lost *const lost = calloc((n / unit + 1) * each, sizeof *lost);
    struct pair p = {.from = from, .to = to, .n = n, .unit = unit, .in = in, .swapped = swapped, .want = want, .lost = lost};
    bool good = lost != NULL;
    for (size_t i = 0; i < n && good; i++) {
        const size_t t = i / unit * each + i % unit / CUD_LEAF;
        const uint64_t u = convert(from, to, load(in, a, i), &lost[t]);
        memcpy((char *)want + i * b, &u, b);
        p.leaves = t + 1;
    }
    for (int i = 0; i < ISAS && good; i++)
        for (int how = 0; how < (a == b ? 3 : 2) && good; how++) {
            const struct cud_kernel *const k = kernel_of(i, "convert");
            good = !k || run(&p, k, isas[i], how);
        }
    free(want);
    free(lost);
    return good;
}

int main(void)
{
    void *const in = room(MAX * 8), *const swapped = room(MAX * 8);
    say_missing();
    for (int from = 0; from < CUD_TYPES; from++) {
        const size_t n = make_input(in, from);
        if (n > MAX)
            abort();
        swap_bytes(swapped, in, cud_type_bytes(from), n);
        for (int to = 0; to < CUD_TYPES; to++)
            ok(check_pair(from, to, in, swapped, n), "%s to %s, %zu values", cud_type_name(from), cud_type_name(to), n);
    }
    free(in);
    free(swapped);
    return done_testing();
}
