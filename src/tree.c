#include "config.h"
#include <math.h>
#include <xxhash.h>
#if defined HAVE_XXH_X86DISPATCH_H && defined __x86_64__
#include <xxh_x86dispatch.h>               /* XXH3 becomes the best that this CPU has: 2 to 3 times SSE2 */
#endif
#include "number.h"
#include "tree.h"

/* Double-double: a value hi + lo with |lo| at most half an ulp of hi.  Dekker 1971, Knuth's TwoSum.  Products by Dekker's
 * splitting, not by fma(): plain x86-64 has none, and the C library's stand-in is slow.  Needs -ffp-contract=off. */
struct dd {
    double hi, lo;
};

static inline struct dd two_sum(double a, double b)
{
    const double s = a + b, t = s - a;
    return (struct dd){s, (a - (s - t)) + (b - t)};
}

static inline struct dd quick_sum(double a, double b)             /* |a| >= |b| */
{
    const double s = a + b;
    return (struct dd){s, b - (s - a)};
}

static inline struct dd two_prod(double a, double b)              /* exact below 2^996 while the error is not denormal */
{
    const double p = a * b, ca = 134217729.0 * a, cb = 134217729.0 * b;
    const double ah = ca - (ca - a), al = a - ah, bh = cb - (cb - b), bl = b - bh;
    return (struct dd){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static inline struct dd dd_add(struct dd a, struct dd b)
{
    struct dd s = two_sum(a.hi, b.hi), t = two_sum(a.lo, b.lo);
    if (!isfinite(s.hi))
        return (struct dd){s.hi, 0};
    s = quick_sum(s.hi, s.lo + t.hi);
    return quick_sum(s.hi, s.lo + t.lo);
}

static inline struct dd dd_times(double a, double n)              /* n an integer below 2^53; a may be near overflow */
{
    const double scale = fabs(a) > 0x1p900 ? 0x1p-100 : fabs(a) < 0x1p-900 ? 0x1p100 : 1;   /* powers of two: exact */
    const struct dd p = two_prod(a * scale, n);
    if (!isfinite(p.hi / scale))
        return (struct dd){p.hi / scale, 0};
    return (struct dd){p.hi / scale, p.lo / scale};
}

static inline struct dd dd_over(struct dd a, double n)            /* n an integer below 2^53 */
{
    const double q = a.hi / n;
    if (!isfinite(q) || q == 0)
        return (struct dd){q, 0};
    const struct dd p = dd_times(q, n);
    return quick_sum(q, ((a.hi - p.hi) - p.lo + a.lo) / n);
}

static inline cud_int128 int128_of(uint64_t upper, uint64_t lower)
{
    return (cud_int128)((__extension__ (unsigned __int128)upper) << 64 | lower);
}

cud_int128 cud_summary_integer(const struct cud_summary *s)
{
    if (s->kind == CUD_REAL)
        return (cud_int128)s->sum.f + (cud_int128)s->sum_lo.f;
    return int128_of(s->sum.u, s->sum_lo.u);
}

static inline struct dd sum_of(const struct cud_node *node, enum cud_stats_kind kind)
{
    if (kind == CUD_REAL)
        return (struct dd){node->sum.f, node->sum_lo.f};
    const cud_int128 sum = int128_of(node->sum.u, node->sum_lo.u);
    const double hi = (double)sum;
    return (struct dd){hi, (double)(sum - (cud_int128)hi)};
}

/* Whole leaves of finite numbers make n a power of two, and the division exact: the same bits, in a fifth of the time. */
static inline struct dd mean_of(const struct cud_node *node, enum cud_stats_kind kind)
{
    const struct dd sum = sum_of(node, kind);
    const double n = (double)node->finite;
    if (node->finite & (node->finite - 1))
        return dd_over(sum, n);
    return (struct dd){sum.hi * (1 / n), sum.lo * (1 / n)};
}

double cud_node_mean(const struct cud_node *node, enum cud_stats_kind kind)
{
    return mean_of(node, kind).hi;
}

static void set_hash(struct cud_node *node, XXH128_hash_t hash)
{
    node->hash[0] = hash.high64;
    node->hash[1] = hash.low64;
}

/* libxxhash's AVX code may leave the upper halves of the vector registers dirty; code for plain x86-64 then runs three times
 * slower (measured), as the processor keeps those halves. */
static void clean_registers(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroupper");
#endif
}

void cud_node_hash(struct cud_node *node, const void *bytes, size_t n)
{
    set_hash(node, XXH3_128bits(bytes, n));
    clean_registers();
}

void cud_node_none(struct cud_node *node)
{
    *node = (struct cud_node){.first_nan = CUD_NONE, .first_pinf = CUD_NONE, .first_ninf = CUD_NONE,
                              .argmin = CUD_NONE, .argmax = CUD_NONE};
    cud_node_hash(node, "", 0);
}

void cud_node_leaf(struct cud_node *node, enum cud_stats_kind kind, const struct cud_leaf *leaf)
{
    *node = (struct cud_node){
        .finite = leaf->finite, .nan = leaf->nan, .pinf = leaf->pinf, .ninf = leaf->ninf, .first_nan = leaf->first_nan,
        .first_pinf = leaf->first_pinf, .first_ninf = leaf->first_ninf, .argmin = leaf->argmin, .argmax = leaf->argmax,
        .min = leaf->min, .max = leaf->max};
    if (kind != CUD_REAL) {
        node->sum.u = leaf->isum_hi;
        node->sum_lo.u = leaf->isum_lo;
    }
    if (!leaf->finite)
        return;
    const double n = (double)leaf->finite;
    if (kind == CUD_REAL) {
        const struct dd sum = dd_add(dd_times(leaf->pivot.f, n), (struct dd){leaf->s1, 0});
        node->sum.f = sum.hi;
        node->sum_lo.f = sum.lo;
    }
    const double m2 = leaf->s2 - leaf->s1 * (leaf->s1 / n);
    node->m2 = m2 > 0 ? m2 : m2 != m2 ? HUGE_VAL : 0;             /* not a number: the squares left the range of double */
}

static inline bool is_less(union cud_word a, union cud_word b, enum cud_stats_kind kind)
{
    return kind == CUD_REAL ? a.f < b.f : kind == CUD_SIGNED ? a.i < b.i : a.u < b.u;
}

static void merge_places(struct cud_node *a, const struct cud_node *b, enum cud_stats_kind kind)
{
    a->nan += b->nan;
    a->pinf += b->pinf;
    a->ninf += b->ninf;
    a->first_nan = cud_min64(a->first_nan, b->first_nan);
    a->first_pinf = cud_min64(a->first_pinf, b->first_pinf);
    a->first_ninf = cud_min64(a->first_ninf, b->first_ninf);
    if (b->argmin != CUD_NONE && (a->argmin == CUD_NONE || is_less(b->min, a->min, kind))) {
        a->argmin = b->argmin;
        a->min = b->min;
    }
    if (b->argmax != CUD_NONE && (a->argmax == CUD_NONE || is_less(a->max, b->max, kind))) {
        a->argmax = b->argmax;
        a->max = b->max;
    }
}

/* Chan, Golub, LeVeque 1979, with the means and their difference in double-double: in plain double the difference of two
 * means near 1e8 has lost all but a few digits when the spread is small. */
static void merge_moments(struct cud_node *a, const struct cud_node *b, enum cud_stats_kind kind)
{
    const struct dd ma = mean_of(a, kind), mb = mean_of(b, kind), d = dd_add(mb, (struct dd){-ma.hi, -ma.lo});
    const double na = (double)a->finite, nb = (double)b->finite, w = na * (nb / (na + nb));
    a->m2 = (a->m2 + b->m2) + d.hi * d.hi * w;
    if (kind == CUD_REAL) {
        const struct dd sum = dd_add((struct dd){a->sum.f, a->sum_lo.f}, (struct dd){b->sum.f, b->sum_lo.f});
        a->sum.f = sum.hi;
        a->sum_lo.f = sum.lo;
    } else {
        a->sum_lo.u += b->sum_lo.u;
        a->sum.u += b->sum.u + (a->sum_lo.u < b->sum_lo.u);
    }
}

static void merge_hash(struct cud_node *a, const struct cud_node *b)
{
    XXH128_canonical_t both[2];
    XXH128_canonicalFromHash(&both[0], (XXH128_hash_t){.high64 = a->hash[0], .low64 = a->hash[1]});
    XXH128_canonicalFromHash(&both[1], (XXH128_hash_t){.high64 = b->hash[0], .low64 = b->hash[1]});
    cud_node_hash(a, both, sizeof both);
}

void cud_node_merge(struct cud_node *a, const struct cud_node *b, enum cud_stats_kind kind)
{
    merge_places(a, b, kind);
    if (!a->finite) {
        a->sum = b->sum;
        a->sum_lo = b->sum_lo;
        a->m2 = b->m2;
    } else if (b->finite) {
        merge_moments(a, b, kind);
    }
    a->finite += b->finite;
    a->lost.rounded += b->lost.rounded;
    a->lost.saturated += b->lost.saturated;
    a->lost.nan_to_zero += b->lost.nan_to_zero;
    merge_hash(a, b);
    a->level++;
}
