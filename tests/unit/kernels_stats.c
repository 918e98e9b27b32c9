/* kernels/stats.cu against its definition, leaf by leaf, in every build. */
#include "kernels_help.h"

enum { MOST = 3 * CUD_LEAF + 1000 };

static size_t elem_bytes(enum cud_type type) { return type == CUD_F32 ? 4 : 8; }

static double real(const void *x, enum cud_type type, size_t i)
{
    return type == CUD_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

/* ---- data: kinds that once were, or might be, trouble */

enum kind { UNIFORM, FAR, SAME, ZEROS, TINY, HUGE_BOTH, DOWN, SOME_NAN, LATE_NAN, MOST_NAN, ALL_NAN, INFS, MIXED, BIG_FIRST,
    BIG_AND_BIGGER, BIG_AND_NAN, ZERO_FIRST, ANY_FIRST, NO_MEAN, KINDS };
static const char *const kind_names[] = {"uniform", "far from 0", "all the same", "zeros of both signs", "subnormal", "huge",
    "decreasing", "a NaN here and there", "a NaN at the end", "few that are not NaN", "all NaN", "infinities", "everything",
    "33 large ones first", "33 large ones, one much larger", "33 large ones, NaNs", "64 zeros first",
    "64 of another size first", "large ones first, both signs, heavy tails"};

static double value(enum kind kind, size_t i, size_t n, uint64_t *state)
{
    const double u = random_unit(state);
    const uint64_t b = random_bits(state);
    const double small = i % CUD_LEAF < 33 ? 1e8 : i % CUD_LEAF < 64 ? 0 : 3.7e-6;
    const double other = ldexp(1.1, (int)((i / CUD_LEAF * 37 + n) % 90) - 30);
    switch (kind) {
    case BIG_FIRST: return small;
    case BIG_AND_BIGGER: return i % CUD_LEAF == 100 ? 26e8 : small;
    case BIG_AND_NAN: return b % 100 == 0 ? NAN : b % 1000 == 1 ? HUGE_VAL : small;
    case ZERO_FIRST: return i % CUD_LEAF < 64 ? 0 : 1e8 + u;
    case ANY_FIRST: return i % CUD_LEAF < 64 ? other * (1 + u) : 1 + u * 1e-3;
    case NO_MEAN: return (i % CUD_LEAF < 64 ? other : 1 / (u + 1e-4)) * (b & 1 ? 1 : -1);
    case FAR: return 1e8 + u * 1e-3;
    case SAME: return 0.1;
    case ZEROS: return b & 1 ? 0.0 : -0.0;
    case TINY: return u * 1e-39;
    case HUGE_BOTH: return (b & 1 ? 1 : -1) * u * 3e38;
    case DOWN: return 1000 - (double)i;
    case SOME_NAN: return b % 100 == 0 ? NAN : u - 0.5;
    case LATE_NAN: return i + 1 == n ? NAN : u + 5;
    case MOST_NAN: return b % 50 == 0 ? u : NAN;
    case ALL_NAN: return NAN;
    case INFS: return b % 1000 == 0 ? HUGE_VAL : u;
    case MIXED: return b % 7 == 0 ? NAN : b % 7 == 1 ? HUGE_VAL : b % 7 == 2 ? -HUGE_VAL : b % 7 == 3 ? 0.0 : u - 0.5;
    default: return u;
    }
}

static void fill(void *x, enum cud_type type, enum kind kind, size_t n)
{
    uint64_t state = 1000 * kind + n;
    for (size_t i = 0; i < n; i++)
        if (type == CUD_F32)
            ((float *)x)[i] = (float)value(kind, i, n, &state);
        else
            ((double *)x)[i] = value(kind, i, n, &state);
}

/* ---- the definition */

/* Joined with & and not &&: each says what is wrong.  int, as compilers wonder about & of bool. */
static int is(const char *what, uint64_t got, uint64_t want)
{
    if (got != want)
        printf("# %s is %llu, not %llu\n", what, (unsigned long long)got, (unsigned long long)want);
    return got == want;
}

static int near_to(const char *what, double got, long double want, long double bound)
{
    const bool good = fabsl((long double)got - want) <= bound;
    if (!good)
        printf("# %s is %a, not %La\n", what, got, want);
    return good;
}

/* Everything but the moments; *finite: how many. */
static bool check_counts(const void *x, enum cud_type type, size_t n, uint64_t at, const struct cud_leaf *l)
{
    struct cud_leaf w = {.argmin = CUD_NONE, .argmax = CUD_NONE, .first_nan = CUD_NONE, .first_pinf = CUD_NONE,
                         .first_ninf = CUD_NONE};
    for (size_t i = n; i-- > 0;) {
        const double e = real(x, type, i);
        if (isnan(e))
            w.nan++, w.first_nan = at + i;
        else if (isinf(e) && e > 0)
            w.pinf++, w.first_pinf = at + i;
        else if (isinf(e))
            w.ninf++, w.first_ninf = at + i;
        else
            w.finite++;
        if (!isnan(e) && (w.argmin == CUD_NONE || e <= w.min.f))
            w.min.f = e, w.argmin = at + i;
        if (!isnan(e) && (w.argmax == CUD_NONE || e >= w.max.f))
            w.max.f = e, w.argmax = at + i;
    }
    return is("finite", l->finite, w.finite) & is("nan", l->nan, w.nan) & is("pinf", l->pinf, w.pinf) &
           is("ninf", l->ninf, w.ninf) & is("first nan", l->first_nan, w.first_nan) &
           is("first +inf", l->first_pinf, w.first_pinf) & is("first -inf", l->first_ninf, w.first_ninf) &
           is("argmin", l->argmin, w.argmin) & is("argmax", l->argmax, w.argmax) & is("min's bits", l->min.u, w.min.u) &
           is("max's bits", l->max.u, w.max.u) & is("isum", l->isum_lo | l->isum_hi, 0);
}

/* What the head of stats.cu promises of the pivot: an element, near the mean as the spread goes, and small as the elements go.
 * The moments are those of the elements about the mean. */
struct moments { long double n, mean, m2, abs; };

static bool check_pivot(const struct moments *m, long double pivot, bool element)
{
    const long double off = pivot - m->mean, grace = 1 + 1e-9L;
    const bool near = m->n * off * off <= 8 * m->m2 * grace, small = m->n * fabsl(pivot) <= 3 * m->abs * grace;
    if (!element || !near || !small)
        printf("# the pivot %La is %s: the mean is %La, that of |x| %La, the variance %La\n", pivot, !element ? "no element" :
               !near ? "too far from the mean" : "too large", m->mean, m->abs / m->n, m->m2 / m->n);
    return element && near && small;
}

/* s1 and s2 to the roundings that stats.cu allows them: s1 has u = 2^-53 so often of the sum of |x - pivot|, s2 of itself. */
static bool check_moments(const void *x, enum cud_type type, size_t n, const struct cud_leaf *l)
{
    struct moments m = {.n = l->finite};
    long double sum = 0, s1 = 0, s2 = 0, abs1 = 0;
    bool element = false;
    for (size_t i = 0; i < n; i++)
        sum += isfinite(real(x, type, i)) ? (long double)real(x, type, i) : 0;
    m.mean = sum / (l->finite ? m.n : 1);
    for (size_t i = 0; i < n; i++) {
        const long double e = real(x, type, i), d = e - (long double)l->pivot.f;
        if (!isfinite(e))
            continue;
        s1 += d, s2 += d * d, abs1 += fabsl(d), m.m2 += (e - m.mean) * (e - m.mean), m.abs += fabsl(e);
        element = element || bits_of(real(x, type, i)) == l->pivot.u;
    }
    return (l->finite == 0 || check_pivot(&m, l->pivot.f, element)) & near_to("s1", l->s1, s1, abs1 * 0xep-53L * 1.001L) &
           near_to("s2", l->s2, s2, s2 * 0x10p-53L * 1.001L + 0x1p-1060L);
}

/* Exact sums of integers; the pivot as above, but for its size, which matters to no sum. */
static bool check_ints(const uint64_t *x, bool is_signed, size_t n, uint64_t at, const struct cud_leaf *l)
{
    const uint64_t flip = is_signed ? (uint64_t)1 << 63 : 0;       /* orders signed ones as unsigned ones */
    uint64_t lo = 0, hi = 0, argmin = 0, argmax = 0;
    long double s1 = 0, s2 = 0, abs1 = 0;
    bool element = false;
    const long double pivot = is_signed ? (long double)l->pivot.i : (long double)l->pivot.u;
    for (size_t i = 0; i < n; i++) {
        const long double d = is_signed ? (long double)(int64_t)x[i] - (long double)l->pivot.i
                                        : (long double)x[i] - (long double)l->pivot.u;
        lo += x[i], hi += (lo < x[i]) - (uint64_t)(is_signed && x[i] >> 63);
        argmin = (x[i] ^ flip) < (x[argmin] ^ flip) ? i : argmin;
        argmax = (x[i] ^ flip) > (x[argmax] ^ flip) ? i : argmax;
        s1 += d, s2 += d * d, abs1 += fabsl(d);
        element = element || x[i] == l->pivot.u;
    }
    const struct moments m = {n, pivot + s1 / n, s2 - s1 * s1 / n, fabsl(pivot) * n};
    return check_pivot(&m, pivot, element) & is("sum, lower half", l->isum_lo, lo) & is("sum, upper half", l->isum_hi, hi) &
           is("argmin", l->argmin, at + argmin) & is("argmax", l->argmax, at + argmax) & is("min", l->min.u, x[argmin]) &
           is("max", l->max.u, x[argmax]) & is("finite", l->finite, n) & is("nan", l->nan | l->pinf | l->ninf, 0) &
           is("firsts", l->first_nan & l->first_pinf & l->first_ninf, CUD_NONE) &
           near_to("s1", l->s1, s1, abs1 * 0x18p-53L) & near_to("s2", l->s2, s2, s2 * 0x1ap-53L);
}

/* ---- a call, cut into leaves by its own definition */

static size_t run(int isa, enum cud_type type, const void *x, size_t n, uint64_t first, size_t unit, struct cud_leaf *out)
{
    const struct cud_call call = {.in = {x}, .out = {out}, .dim = {n, first, unit}, .type = type};
    return kernel_of(isa, "stats")->launch(&call) == 0;
}

/* Every leaf as the definition says, and the same bytes when it is a call of its own. */
static bool check_leaves(enum cud_type type, const char *x, size_t n, size_t unit, const struct cud_leaf *leaf)
{
    const uint64_t first = 7 * (uint64_t)unit;
    size_t t = 0;
    for (size_t i = 0; i < n; t++) {
        const size_t in_unit = unit - i % unit, left = n - i < in_unit ? n - i : in_unit;
        const size_t have = left < CUD_LEAF ? left : CUD_LEAF;
        const void *const a = x + i * elem_bytes(type);
        struct cud_leaf alone;
        const bool good = type == CUD_I64 || type == CUD_U64 ? check_ints(a, type == CUD_I64, have, first + i, &leaf[t])
                          : check_counts(a, type, have, first + i, &leaf[t]) && check_moments(a, type, have, &leaf[t]);
        if (!good || !run(ISAS - 1, type, a, have, first + i, have, &alone) || memcmp(&alone, &leaf[t], sizeof alone) != 0) {
            printf("# leaf %zu: elements %zu to %zu of %zu, units of %zu\n", t, i, i + have, n, unit);
            return false;
        }
        i += have;
    }
    return true;
}

static bool check(enum cud_type type, const void *x, size_t n, size_t unit)
{
    const size_t leaves = n + 1;
    struct cud_leaf *const first = room(leaves * sizeof *first), *const other = room(leaves * sizeof *other);
    bool good = true, some = false;
    for (int i = 0; i < ISAS && good; i++) {
        if (!kernel_of(i, "stats"))
            continue;
        struct cud_leaf *const leaf = some ? other : first;
        memset(leaf, 0xa5, leaves * sizeof *leaf);
        good = run(i, type, x, n, 7 * (uint64_t)unit, unit, leaf);
        if (some && memcmp(first, other, leaves * sizeof *first) != 0) {
            printf("# other bytes from %s: %zu elements, units of %zu\n", isas[i], n, unit);
            good = false;
        }
        some = true;
    }
    good = good && check_leaves(type, x, n, unit, first);
    free(first);
    free(other);
    return good;
}

/* Lengths and units: short, odd, whole, and one more or less. */
static const size_t sizes[][2] = {{1, 1}, {2, 5}, {15, 15}, {63, 63}, {64, 64}, {65, 100}, {255, 300}, {256, 256}, {257, 257},
    {640, 640}, {2000, 640}, {4095, 4095}, {4096, 4096}, {4097, 4097}, {MOST, 4096}, {MOST, 5000}, {MOST, 100000},
    {10 * 784, 1568}, {30, 1}};

static void check_reals(enum cud_type type, enum kind kind)
{
    char *const x = room((MOST + 1) * 8), *const a = x + elem_bytes(type);      /* aligned to an element only */
    bool good = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && good; i++) {
        fill(a, type, kind, sizes[i][0]);
        good = check(type, a, sizes[i][0], sizes[i][1]);
    }
    ok(good, "%s: %s", cud_type_name(type), kind_names[kind]);
    free(x);
}

static void check_integers(enum cud_type type, uint64_t mask, uint64_t base)
{
    uint64_t *const x = room(MOST * 8), state = mask;
    bool good = true;
    for (size_t i = 0; i < MOST; i++)
        x[i] = (random_bits(&state) & mask) + base;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && good; i++)
        good = check(type, x, sizes[i][0], sizes[i][1]);
    ok(good, "%s: within %llx of %llx", cud_type_name(type), (unsigned long long)mask, (unsigned long long)base);
    free(x);
}

/* Integers whose first 64 are far from the rest. */
static void check_steps(enum cud_type type, uint64_t high, uint64_t low)
{
    uint64_t *const x = room(MOST * 8);
    bool good = true;
    for (size_t i = 0; i < MOST; i++)
        x[i] = i % CUD_LEAF < 33 ? high : low + i % 2;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && good; i++)
        good = check(type, x, sizes[i][0], sizes[i][1]);
    ok(good, "%s: 33 at %llx, then %llx", cud_type_name(type), (unsigned long long)high, (unsigned long long)low);
    free(x);
}

static void check_nothing(void)
{
    struct cud_leaf leaf = {.finite = 77};
    ok(run(ISAS - 1, CUD_F32, NULL, 0, 0, 4096, &leaf) && leaf.finite == 77, "no elements: no leaf");
}

int main(void)
{
    static const struct { enum cud_type type; uint64_t mask, base; } ints[] = {
        {CUD_I64, 0xff, 0}, {CUD_I64, UINT64_MAX, 0}, {CUD_I64, 1000, (uint64_t)1 << 62}, {CUD_I64, 1, INT64_MAX - (uint64_t)1},
        {CUD_I64, 0xfff, (uint64_t)INT64_MIN}, {CUD_U64, 0xffff, 0}, {CUD_U64, UINT64_MAX, 0},
        {CUD_U64, 0xff, UINT64_MAX - 0xff}};
    say_missing();
    for (int kind = 0; kind < KINDS; kind++) {
        check_reals(CUD_F32, kind);
        check_reals(CUD_F64, kind);
    }
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
        check_integers(ints[i].type, ints[i].mask, ints[i].base);
    check_steps(CUD_I64, (uint64_t)1 << 60, (uint64_t)-3);
    check_steps(CUD_U64, 0, UINT64_MAX - 1);
    check_nothing();
    return done_testing();
}
