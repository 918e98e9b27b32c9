#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "../tap.h"
#include "stats.h"

enum { LEAVES = 3000, PARTS = 40 };
static const char *const kind_name[] = {"real", "signed", "unsigned"};

__extension__ typedef __int128 int128;

static uint64_t seed;
static uint64_t random64(void)             /* splitmix64 */
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double uniform(void)
{
    return (double)(random64() >> 11) * 0x1p-53;
}

static struct cud_leaf empty_leaf(void)
{
    return (struct cud_leaf){.argmin = CUD_NONE, .argmax = CUD_NONE, .first_nan = CUD_NONE, .first_pinf = CUD_NONE,
                             .first_ninf = CUD_NONE};
}

/* ---- leaves from data, as the kernel makes them but for the order of its sums */

static struct cud_leaf leaf_of_reals(const double *x, size_t n, uint64_t at)
{
    struct cud_leaf l = empty_leaf();
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) {
            l.first_nan = l.nan++ ? l.first_nan : at + i;
            continue;
        }
        if (l.argmin == CUD_NONE || x[i] < l.min.f)
            l.argmin = at + i, l.min.f = x[i];
        if (l.argmax == CUD_NONE || x[i] > l.max.f)
            l.argmax = at + i, l.max.f = x[i];
        if (x[i] == INFINITY)
            l.first_pinf = l.pinf++ ? l.first_pinf : at + i;
        else if (x[i] == -INFINITY)
            l.first_ninf = l.ninf++ ? l.first_ninf : at + i;
        else if (!l.finite++)
            l.pivot.f = x[i];
    }
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i])) {
            l.s1 += x[i] - l.pivot.f;
            l.s2 += (x[i] - l.pivot.f) * (x[i] - l.pivot.f);
        }
    return l;
}

static struct cud_leaf leaf_of_integers(const uint64_t *x, size_t n, uint64_t at, bool is_signed)
{
    struct cud_leaf l = empty_leaf();
    int128 sum = 0;
    l.pivot.u = x[0];
    for (size_t i = 0; i < n; i++) {
        const int128 v = is_signed ? (int128)(int64_t)x[i] : (int128)x[i];
        const int128 pivot = is_signed ? (int128)(int64_t)x[0] : (int128)x[0];
        const int128 low = is_signed ? (int128)l.min.i : (int128)l.min.u;
        const int128 high = is_signed ? (int128)l.max.i : (int128)l.max.u;
        const double d = (double)(v - pivot);
        l.s1 += d;
        l.s2 += d * d;
        sum += v;
        if (!i || v < low)
            l.argmin = at + i, l.min.u = x[i];
        if (!i || v > high)
            l.argmax = at + i, l.max.u = x[i];
    }
    l.finite = n;
    l.isum_lo = (uint64_t)sum;
    l.isum_hi = (uint64_t)(sum >> 64);
    return l;
}

static void add(struct cud_forest *f, enum cud_stats_kind kind, const void *x, size_t n, uint64_t at)
{
    const struct cud_leaf l = kind == CUD_REAL ? leaf_of_reals(x, n, at) : leaf_of_integers(x, n, at, kind == CUD_SIGNED);
    cud_forest_add(f, kind, &l, &(struct cud_lost){0}, x, 8 * n);
}

static struct cud_summary summary_of(enum cud_stats_kind kind, const void *x, size_t n)
{
    static struct cud_forest f;
    struct cud_summary s;
    cud_forest_start(&f, 0);
    for (size_t i = 0; i < n; i += CUD_LEAF)
        add(&f, kind, (const char *)x + 8 * i, n - i < CUD_LEAF ? n - i : CUD_LEAF, i);
    const struct cud_node all = cud_forest_fold(&f, kind);
    cud_stats_finish(&all, kind, CUD_NAN_PROPAGATE, &s);
    return s;
}

/* ---- splits */

static struct cud_leaf leaf[LEAVES];
static struct cud_lost lost[LEAVES];
static unsigned char bytes[LEAVES][16];

static void random_leaf(enum cud_stats_kind kind, uint64_t number)
{
    struct cud_leaf *const l = &leaf[number];
    const uint64_t n = random64() % 50 ? CUD_LEAF : 1 + random64() % CUD_LEAF, at = number * CUD_LEAF;
    const double base = uniform() < 0.5 ? 1e8 : 0;
    *l = empty_leaf();
    lost[number] = (struct cud_lost){random64() % 5, random64() % 3, random64() % 2};
    for (size_t i = 0; i < sizeof bytes[number]; i++)
        bytes[number][i] = (unsigned char)random64();
    if (kind == CUD_REAL && random64() % 40 == 0) {
        l->nan = n;
        l->first_nan = at;
        return;
    }
    l->finite = n;
    l->s1 = (uniform() - 0.5) * 100;
    l->s2 = uniform() * (double)n + 3;
    l->argmin = at + random64() % n;
    l->argmax = at + random64() % n;
    if (kind == CUD_REAL) {
        l->pivot.f = base + uniform();
        l->min.f = base - uniform();
        l->max.f = base + 1 + (double)(random64() % 3);
        l->nan = random64() % 3;
        l->first_nan = l->nan ? at + 5 : CUD_NONE;
        l->pinf = random64() % 2;
        l->first_pinf = l->pinf ? at + 7 : CUD_NONE;
        return;
    }
    l->pivot.u = random64();
    l->min.u = random64();
    l->max.u = random64();
    l->isum_lo = random64();
    l->isum_hi = random64() % CUD_LEAF;
}

static void grow(struct cud_forest *f, enum cud_stats_kind kind, size_t from, size_t to)
{
    cud_forest_start(f, from);
    for (size_t i = from; i < to; i++)
        cud_forest_add(f, kind, &leaf[i], &lost[i], bytes[i], sizeof bytes[i]);
}

static int by_size(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Cuts n leaves into 1 to PARTS ranges, some of them empty. */
static size_t cut_up(size_t n, size_t cut[PARTS + 1])
{
    const size_t parts = 1 + random64() % PARTS;
    for (size_t i = 0; i <= parts; i++)
        cut[i] = i == 0 ? 0 : i == parts ? n : random64() % (n + 1);
    qsort(cut, parts + 1, sizeof *cut, by_size);
    return parts;
}

static bool same_forest(const struct cud_forest *a, const struct cud_forest *b)
{
    return a->n == b->n && !memcmp(a, b, CUD_FOREST_BYTES(a->n));
}

static struct cud_forest whole, part[PARTS];

/* Joined in any order of neighbours. */
static bool joins_same(enum cud_stats_kind kind, size_t parts)
{
    bool good = true;
    while (parts > 1) {
        const size_t i = random64() % (parts - 1);
        good = good && !cud_forest_join(&part[i], kind, &part[i + 1]);
        memmove(&part[i + 1], &part[i + 2], (parts - i - 2) * sizeof *part);
        parts--;
    }
    return good && same_forest(&part[0], &whole);
}

/* Put into a grove in any order. */
static bool grove_same(enum cud_stats_kind kind, size_t parts)
{
    struct cud_err err = {0};
    struct cud_grove *const g = cud_grove_make(kind);
    bool good = g;
    size_t order[PARTS];
    for (size_t i = 0; i < parts; i++) {
        const size_t j = random64() % (i + 1);
        order[i] = i;
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < parts; i++)
        good = good && cud_grove_add(g, &part[order[i]], &err) == CUD_OK;
    good = good && cud_grove_count(g) == 1 && same_forest(cud_grove_at(g, 0), &whole);
    cud_grove_free(g);
    return good;
}

static void test_splits(enum cud_stats_kind kind, int rounds)
{
    int bad_joins = 0, bad_groves = 0, bad_folds = 0, long_ones = 0;
    for (int r = 0; r < rounds; r++) {
        seed = (uint64_t)r;
        size_t cut[PARTS + 1];
        const size_t n = 1 + random64() % (r % 4 ? 70 : LEAVES), parts = cut_up(n, cut);
        for (size_t i = 0; i < n; i++)
            random_leaf(kind, i);
        grow(&whole, kind, 0, n);
        const struct cud_node want = cud_forest_fold(&whole, kind);
        for (size_t i = 0; i < parts; i++) {
            const size_t leaves = cut[i + 1] - cut[i];
            grow(&part[i], kind, cut[i], cut[i + 1]);
            long_ones += (double)part[i].n > (leaves > 1 ? 2 * ceil(log2((double)leaves)) : 1);
        }
        bad_groves += !grove_same(kind, parts);
        bad_joins += !joins_same(kind, parts);
        const struct cud_node got = cud_forest_fold(&part[0], kind);
        bad_folds += memcmp(&got, &want, sizeof got) != 0;
    }
    ok(!bad_joins && !bad_folds, "%s: %d random splits, joined in any order, are the same bytes", kind_name[kind], rounds);
    ok(!bad_groves, "%s: the same through groves", kind_name[kind]);
    ok(!long_ones, "%s: no forest is longer than 2 log2 of its leaves", kind_name[kind]);
}

static void test_grove(void)
{
    struct cud_err err = {0};
    struct cud_grove *const g = cud_grove_make(CUD_REAL);
    for (uint64_t i = 0; i < 30; i++)
        random_leaf(CUD_REAL, i);
    const size_t from[] = {20, 0, 10}, to[] = {25, 5, 15};
    for (int i = 0; i < 3; i++) {
        grow(&part[i], CUD_REAL, from[i], to[i]);
        ok(cud_grove_add(g, &part[i], &err) == CUD_OK, "a range apart is added");
    }
    ok(cud_grove_count(g) == 3 && cud_grove_at(g, 0)->from == 0 && cud_grove_at(g, 1)->from == 10 &&
       cud_grove_at(g, 2)->from == 20, "ranges apart stay apart, in order");
    const size_t bad_from[] = {10, 14, 8, 9, 11, 0, 0}, bad_to[] = {15, 16, 11, 30, 12, 5, 30};
    for (size_t i = 0; i < sizeof bad_to / sizeof *bad_to; i++) {
        err = (struct cud_err){0};
        grow(&part[0], CUD_REAL, bad_from[i], bad_to[i]);
        ok(cud_grove_add(g, &part[0], &err) == CUD_EFAILED && strstr(err.text, "twice"), "leaves that are there are refused");
    }
    cud_forest_start(&part[0], 12);
    err = (struct cud_err){0};
    ok(cud_grove_add(g, &part[0], &err) == CUD_OK && cud_grove_count(g) == 3, "an empty range is nothing");
    grow(&part[0], CUD_REAL, 5, 10);
    ok(cud_grove_add(g, &part[0], &err) == CUD_OK && cud_grove_count(g) == 2 && cud_grove_at(g, 0)->to == 15,
       "a gap is closed");
    ok(cud_forest_join(&part[0], CUD_REAL, &part[1]) == -1, "what is no neighbour does not join");
    cud_grove_free(g);
    cud_grove_free(NULL);
}

/* ---- digest */

static bool digest_is(const struct cud_node *node, XXH128_hash_t want)
{
    return node->hash[0] == want.high64 && node->hash[1] == want.low64;
}

static XXH128_hash_t pair(XXH128_hash_t a, XXH128_hash_t b)
{
    XXH128_canonical_t both[2];
    XXH128_canonicalFromHash(&both[0], a);
    XXH128_canonicalFromHash(&both[1], b);
    return XXH3_128bits(both, sizeof both);
}

static void test_digest(void)
{
    XXH128_hash_t h[7];
    for (uint64_t i = 0; i < 7; i++) {
        random_leaf(CUD_REAL, i);
        h[i] = XXH3_128bits(bytes[i], sizeof bytes[i]);
    }
    const XXH128_hash_t h01 = pair(h[0], h[1]), h0123 = pair(h01, pair(h[2], h[3])), h45 = pair(h[4], h[5]);
    const XXH128_hash_t want[] = {XXH3_128bits("", 0), h[0], h01, pair(h01, h[2]), h0123, pair(h0123, h[4]), pair(h0123, h45),
                                  pair(h0123, pair(h45, h[6]))};
    for (size_t n = 0; n < 8; n++) {
        grow(&whole, CUD_REAL, 0, n);
        const struct cud_node all = cud_forest_fold(&whole, CUD_REAL);
        ok(digest_is(&all, want[n]) && all.level == 0, "the digest of %zu leaves", n);
    }
}

/* ---- values */

static bool same_number(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

/* sum, mean, variance, rms as given. */
static bool moments_are(const struct cud_summary *s, double sum, double mean, double variance, double rms)
{
    const bool good = same_number(s->sum.f, sum) && same_number(s->mean, mean) && same_number(s->variance, variance) &&
                      same_number(s->std, sqrt(variance)) && same_number(s->rms, rms);
    if (!good)
        printf("# sum %a mean %a variance %a std %a rms %a\n", s->sum.f, s->mean, s->variance, s->std, s->rms);
    return good;
}

#define REALS(...) summary_of(CUD_REAL, (const double[]){__VA_ARGS__}, sizeof(const double[]){__VA_ARGS__} / sizeof(double))

static void test_specials(void)
{
    const double inf = INFINITY;
    struct cud_summary s = summary_of(CUD_REAL, "", 0);
    ok(s.count == 0 && moments_are(&s, 0, NAN, NAN, NAN) && !s.has_mean && !s.has_sample && s.argmin == CUD_NONE, "nothing");
    s = REALS(3);
    ok(s.count == 1 && moments_are(&s, 3, 3, 0, 3) && s.has_mean && !s.has_sample && isnan(s.variance_sample), "one");
    s = REALS(1, 2, 3, 6);
    ok(moments_are(&s, 12, 3, 3.5, sqrt(12.5)) && s.variance_sample == 14.0 / 3 && s.has_sample, "four");
    s = REALS(1, NAN, 3, NAN);
    ok(moments_are(&s, NAN, NAN, NAN, NAN) && s.nan == 2 && s.first_nan == 1 && s.has_sample && isnan(s.variance_sample),
       "NaN");
    ok(s.min.f == 1 && s.argmin == 0 && s.max.f == 3 && s.argmax == 2, "NaN is no minimum and no maximum");
    s = REALS(NAN, NAN);
    ok(moments_are(&s, NAN, NAN, NAN, NAN) && s.argmin == CUD_NONE && s.argmax == CUD_NONE && s.has_mean, "NaN only");
    s = REALS(1, inf, 2, inf);
    ok(moments_are(&s, inf, inf, NAN, inf) && s.pinf == 2 && s.first_pinf == 1 && s.max.f == inf && s.argmax == 1, "inf");
    s = REALS(1, 2, -inf);
    ok(moments_are(&s, -inf, -inf, NAN, inf) && s.ninf == 1 && s.first_ninf == 2 && s.min.f == -inf && s.argmin == 2, "-inf");
    s = REALS(inf, -inf);
    ok(moments_are(&s, NAN, NAN, NAN, inf) && s.argmin == 1 && s.argmax == 0, "inf and -inf");
    s = REALS(inf, -inf, NAN);
    ok(moments_are(&s, NAN, NAN, NAN, NAN) && s.count == 3, "inf, -inf and NaN");
    s = REALS(-0.0, 0.0);
    ok(signbit(s.min.f) && s.argmin == 0 && s.argmax == 0, "zeros are equal: the first counts");
    s = REALS(1.7e308, 1.7e308);
    ok(s.sum.f == inf, "a sum beyond the range of double is inf");
    s = REALS(3e-200, 4e-200, 3e-200, 4e-200);
    ok(fabs(s.rms / 3.5355339059327376e-200 - 1) < 0.02 && s.variance == 0, "rms of numbers whose squares vanish");
    s = REALS(-1e300);
    ok(s.rms == 1e300 && s.std == 0, "rms of numbers whose squares overflow");
    s = REALS(1e305, 1e305, 1e305);
    ok(s.mean == 1e305 && fabs(s.sum.f / 3e305 - 1) < 1e-15, "a mean near the end of double");
    s = REALS(1e200, -1e200);
    ok(s.variance == inf && s.variance_sample == inf && s.std == inf && s.mean == 0 && s.has_sample,
       "a variance beyond double is inf");
}

/* Leaves of NaN only beside leaves of numbers; the counters of conversions. */
static void test_merges(void)
{
    static double x[5 * CUD_LEAF];
    for (size_t k = 0; k < 5; k++)
        for (size_t i = 0; i < CUD_LEAF; i++)
            x[k * CUD_LEAF + i] = k % 2 ? NAN : k == 2 ? -6 : -5;
    const struct cud_summary s = summary_of(CUD_REAL, x, 4 * CUD_LEAF);
    ok(s.max.f == -5 && s.argmax == 0 && s.min.f == -6 && s.argmin == 2 * CUD_LEAF && s.nan == 2 * CUD_LEAF &&
       s.first_nan == CUD_LEAF, "a leaf of NaN on the right");
    const struct cud_summary t = summary_of(CUD_REAL, x + CUD_LEAF, 4 * CUD_LEAF);
    ok(t.max.f == -5 && t.argmax == 3 * CUD_LEAF && t.min.f == -6 && t.argmin == CUD_LEAF && t.first_nan == 0,
       "a leaf of NaN on the left");
    for (size_t i = 0; i < 5 * CUD_LEAF; i++)
        x[i] = -x[i];
    const struct cud_summary u = summary_of(CUD_REAL, x, 4 * CUD_LEAF);
    ok(u.min.f == 5 && u.argmin == 0 && u.max.f == 6 && u.argmax == 2 * CUD_LEAF, "the same with the other sign");
    struct cud_lost want = {0};
    for (uint64_t i = 0; i < 100; i++) {
        random_leaf(CUD_REAL, i);
        want.rounded += lost[i].rounded;
        want.saturated += lost[i].saturated;
        want.nan_to_zero += lost[i].nan_to_zero;
    }
    grow(&whole, CUD_REAL, 0, 100);
    const struct cud_node all = cud_forest_fold(&whole, CUD_REAL);
    ok(!memcmp(&all.lost, &want, sizeof want), "what conversions lost adds up");
}

/* Data of which the moments are known: base + step * (i % 2), half of each. */
static void test_accuracy(void)
{
    static double x[3 * CUD_LEAF + 100];
    const size_t n = sizeof x / sizeof *x;
    static const struct {
        double base, step;
    } row[] = {{1e8, 1}, {1e8, 0x1p-20}, {1e15, 0.5}, {-1e8, 0x1p-20}, {0, 0x1p-149}, {0x1p100, 0x1p60}, {3, -6}};
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        for (size_t i = 0; i < n; i++)
            x[i] = row[k].base + (double)(i % 2) * row[k].step;
        const struct cud_summary s = summary_of(CUD_REAL, x, n);
        const double mean = row[k].base + row[k].step / 2, variance = row[k].step * row[k].step / 4;
        ok(s.mean == mean && fabs(s.variance - variance) <= 4e-16 * variance, "%g and %g: mean %g, variance %g off", x[0], x[1],
           s.mean - mean, s.variance / variance - 1);
    }
    for (size_t i = 0; i < n; i++)
        x[i] = i < CUD_LEAF ? 0 : 0x1p30;
    const struct cud_summary s = summary_of(CUD_REAL, x, n);
    const double p = (double)CUD_LEAF / (double)n, variance = p * (1 - p) * 0x1p60;
    ok(fabs(s.variance / variance - 1) < 1e-15, "leaves far apart");
}

static void test_integers(void)
{
    static uint64_t x[2 * CUD_LEAF + 1];
    const size_t n = sizeof x / sizeof *x;
    for (size_t i = 0; i < n; i++)
        x[i] = i % 2 ? (uint64_t)INT64_MIN : (uint64_t)INT64_MAX;
    struct cud_summary s = summary_of(CUD_SIGNED, x, n);
    ok((int64_t)s.sum.u == 0 && s.sum_lo.u == (uint64_t)INT64_MAX - CUD_LEAF, "signed: the sum of the extremes is exact");
    ok(s.min.i == INT64_MIN && s.argmin == 1 && s.max.i == INT64_MAX && s.argmax == 0, "signed: min and max");
    ok(fabs(s.mean / (((double)INT64_MAX - CUD_LEAF) / (double)n) - 1) < 1e-15, "signed: the mean");
    ok(fabs(s.variance / 0x1p126 - 1) < 1e-4 && fabs(s.rms / 0x1p63 - 1) < 1e-4, "signed: variance and rms");
    s = summary_of(CUD_UNSIGNED, x, n);
    ok(s.sum.u == CUD_LEAF && s.sum_lo.u == (uint64_t)INT64_MAX - CUD_LEAF, "unsigned: the sum of the same bits is exact");
    ok(s.min.u == INT64_MAX && s.argmin == 0 && s.max.u == (uint64_t)1 << 63 && s.argmax == 1, "unsigned: min and max");
    ok(s.variance >= 0.2499 && s.variance <= 0.2501, "unsigned: neighbours near 2^63 have variance 1/4: %g", s.variance);
    for (size_t i = 0; i < n; i++)
        x[i] = (uint64_t)-1 - (i >= CUD_LEAF);
    s = summary_of(CUD_SIGNED, x, n);
    ok((int64_t)s.sum.u == -1 && (int64_t)s.sum_lo.u == -(int64_t)(CUD_LEAF + 2 * (n - CUD_LEAF)), "signed: a negative sum");
    ok(s.max.i == -1 && s.argmax == 0 && s.min.i == -2 && s.argmin == CUD_LEAF, "signed: negative min and max across leaves");
    const double p = (double)CUD_LEAF / (double)n;
    ok(fabs(s.variance - p * (1 - p)) < 1e-15, "signed: variance across leaves");
    for (size_t i = 0; i < n; i++)
        x[i] = UINT64_MAX - (i >= CUD_LEAF);
    s = summary_of(CUD_UNSIGNED, x, n);
    ok(fabs(s.variance - p * (1 - p)) < 1e-12, "unsigned: variance across leaves near 2^64: off by %g",
       s.variance - p * (1 - p));
}

int main(void)
{
    test_splits(CUD_REAL, 1500);
    test_splits(CUD_SIGNED, 500);
    test_splits(CUD_UNSIGNED, 500);
    test_grove();
    test_digest();
    test_specials();
    test_merges();
    test_accuracy();
    test_integers();
    return done_testing();
}
