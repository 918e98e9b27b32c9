/* stats: the statistics of each leaf.
 *   in[0]   dim[0] elements of call->type: f32, f64, i64 or u64; element 0 is number dim[1] of the whole array, a unit's first
 *   out[0]  struct cud_leaf[]; dim[2] is the elements in a unit, see leaf.h
 *
 * Lane l adds up 16 elements of a leaf, 256 * (l / 16) + 16 * k + l % 16 for k = 0..15, four at a time: (0 + 1) + (2 + 3),
 * then to what it has; the lanes are then added in one tree.  So a CPU reads memory straight on with its sums in registers, a
 * GPU reads whole 64-byte sectors, and both add in the same order.  A leaf that is not full takes as many lanes as it needs,
 * rounded up to a power of two; what is missing in its last 256 elements is filled up with the pivot, which adds nothing to
 * any sum.
 *
 * The moments are about a pivot p, so that no large mean cancels.  An element, because x - p is then exact for integers and
 * for most neighbours, so sums of integers are exact.  At first that one of the first 64 finite elements which is nearest to
 * their mean; a leaf that it may suit badly is summed once more, about the element nearest to the leaf's mean m.  With n
 * elements, S the sum of |x|, M2 the sum of (x - m)^2 and D that of |x - p|, afterwards
 *
 *     n (m - p)^2 <= 8 M2, so s2 <= 9 M2, and s2 - s1^2 / n loses at most 3.2 bits;
 *     n |p| <= 3 S, so D <= 4 S.
 *
 * The first pass tells whether both hold already.  The first: n (m - p)^2 is s1^2 / n, and M2 is s2 - s1^2 / n.  The second:
 * S is at least |s1 + n p|, the sum, and at least the sum of x^2 by the largest |x|; one of the two must reach n |p| / 3.  For
 * the element q that is nearest to m both are true: (q - m)^2 is at most the mean of (x - m)^2, M2 / n, and |q - m| at most the
 * mean of |x - m|, which is at most 2 S / n, while |m| <= S / n.  That s1, s2 and m are rounded changes these bounds by less
 * than 1e-10 of themselves.
 *
 * A term of s1 is rounded at most 14 times on its way (difference, 2, 3, 8), by u = 2^-53 of it; so s1 is off by at most
 * 14 u D <= 56 u S.  One of s2 is rounded 16 times; with the error of s1, m2 is off by at most 400 u of itself.
 *
 * A leaf with a NaN or an infinity has sums that are not finite: no test an element is needed.  It is done again with every
 * element tested and what is not finite replaced by the pivot. */
#include "leaf.h"

#define SAMPLE 64
#define ALONG 16                          /* lanes side by side in memory */
#define DEEP (CUD_LEAF / LANES)           /* elements a lane */
#define SPAN (ALONG * DEEP)               /* elements that ALONG lanes cover */
#define DOUBLE_MAX 1.7976931348623157e308

template <class T> struct work {          /* what the lanes share */
    double s1[LANES], s2[LANES];
    T lo[LANES], hi[LANES], lo0[LANES], hi0[LANES], rest[SPAN], near[LANES];
};

HELPER int place(int l) { return l / ALONG * SPAN + l % ALONG; }
HELPER int least(int a, int b) { return a < b ? a : b; }

/* x - base as a double; of integers exactly, then rounded once. */
HELPER double apart(float x, float base) { return (double)x - (double)base; }
HELPER double apart(double x, double base) { return x - base; }
template <class T> HELPER double apart(T x, T base)
{
    const uint64_t minus = x < base ? UINT64_MAX : 0, d = ((uint64_t)x - (uint64_t)base) ^ minus, u = d - minus;
    /* u without a branch: its halves as 2^84 + 2^32 hi and 2^52 + lo, so that only the last addition rounds. */
    const double hi = FROM_BITS<double>(0x4530000000000000 | u >> 32), lo = FROM_BITS<double>(0x4330000000000000 | (uint32_t)u);
    return FROM_BITS<double>(BITS(hi - (0x1p84 + 0x1p52) + lo) | (minus & 0x8000000000000000));
}

/* That near[l] which has the least distance s2[l]; the first in a fixed tree among equals. */
template <class W> HELPER void fold_nearest(int lanes, W *w)
{
    UNROLL
    for (int half = lanes / 2; half > 0; half /= 2)
        PHASE_TO(l, half) {
            const int nearer = w->s2[l + half] < w->s2[l];
            w->s2[l] = nearer ? w->s2[l + half] : w->s2[l];
            w->near[l] = nearer ? w->near[l + half] : w->near[l];
        }
}

/* That one of a[0..m), m <= SAMPLE, which is nearest to their mean about base.
 * a may be w->near: a lane overwrites its own element only, with the same value. */
template <class T, class W> HELPER T middle(const T *a, int m, T base, W *w)
{
    PHASE_TO(l, SAMPLE)
        w->s1[l] = l < m ? apart(a[l], base) * (1.0 / SAMPLE) : 0;
    UNROLL
    for (int half = SAMPLE / 2; half > 0; half /= 2)
        PHASE_TO(l, half)
            w->s1[l] += w->s1[l + half];
    PHASE_TO(l, SAMPLE) {
        w->s2[l] = l < m ? MAGNITUDE(apart(a[l], base) - w->s1[0] * ((double)SAMPLE / m)) : HUGE_VAL;
        w->near[l] = l < m ? a[l] : a[0];
    }
    fold_nearest(SAMPLE, w);
    const T found = w->near[0];
    return found;
}

/* That finite one of a[0..n) which is nearest to the point `off` from the pivot; the pivot if none is nearer. */
template <class T, class W> HELPER T nearest(const T *a, int n, T pivot, double off, W *w)
{
    PHASE(l) {
        w->s2[l] = MAGNITUDE(off);
        w->near[l] = pivot;
    }
    for (int i = 0; i < n; i += LANES)
        PHASE_TO(l, least(LANES, n - i)) {
            const double away = MAGNITUDE(apart(a[i + l], pivot) - off);
            const int nearer = away < w->s2[l];
            w->s2[l] = nearer ? away : w->s2[l];
            w->near[l] = nearer ? a[i + l] : w->near[l];
        }
    fold_nearest(LANES, w);
    const T found = w->near[0];
    return found;
}

/* Is the pivot far from the mean, as the spread goes? */
HELPER bool is_far(double n, double s1, double s2) { return 9 * (s1 / n) * s1 > 8 * s2; }

/* A pack of lanes adds up `deep` elements each from q on, a multiple of 4. */
template <bool careful, class T> HELPER void add_up(const T *q, int deep, int l, T pivot, struct work<T> *w)
{
    const pack<double> minus = ALL(-(double)pivot), zero = ALL(0.0), inf = ALL((double)HUGE_VAL);
    const pack<T> middle = ALL(pivot), top = ALL((T)HUGE_VAL);
    pack<double> u = zero, v = zero;
    pack<T> lo = middle, hi = middle;
    for (int k = 0; k < deep; k += 4) {
        pack<double> sum[2], square[2], d[2];
        for (int j = 0; j < 2; j++) {
            for (int i = 0; i < 2; i++, q += ALONG) {
                pack<T> e = LOAD(q);
                d[i] = PLUS(WIDE(q), minus);
                if (careful) {
                    d[i] = IF_LESS(MAGNITUDE(WIDE(q)), inf, d[i], zero);
                    e = IF_LESS(MAGNITUDE(e), top, e, middle);
                }
                lo = LESSER(e, lo);
                hi = GREATER(e, hi);
            }
            sum[j] = PLUS(d[0], d[1]);
            square[j] = d[0] * d[0] + d[1] * d[1];
        }
        u = u + PLUS(sum[0], sum[1]);
        v = v + (square[0] + square[1]);
    }
    STORE(w->s1 + l, u);
    STORE(w->s2 + l, v);
    STORE(w->lo + l, lo);
    STORE(w->hi + l, hi);
    STORE(w->lo0 + l, lo);
    STORE(w->hi0 + l, hi);
}

/* Folds what the lanes have: sums into s1[0], s2[0]; least and greatest into lo[0], hi[0], while lo0, hi0 stay. */
template <class T> HELPER void fold(int lanes, struct work<T> *w)
{
    UNROLL
    for (int half = lanes / 2; half >= ALONG; half /= 2)
        PACKS_TO(l, half) {
            STORE(w->s1 + l, LOAD(w->s1 + l) + LOAD(w->s1 + l + half));
            STORE(w->s2 + l, LOAD(w->s2 + l) + LOAD(w->s2 + l + half));
            STORE(w->lo + l, LESSER(LOAD(w->lo + l + half), LOAD(w->lo + l)));
            STORE(w->hi + l, GREATER(LOAD(w->hi + l + half), LOAD(w->hi + l)));
        }
    UNROLL
    for (int half = ALONG / 2; half > 0; half /= 2)
        PHASE_TO(l, half) {
            w->s1[l] += w->s1[l + half];
            w->s2[l] += w->s2[l + half];
            w->lo[l] = LESSER(w->lo[l + half], w->lo[l]);
            w->hi[l] = GREATER(w->hi[l + half], w->hi[l]);
        }
}

/* Sums, least and greatest of a[0..n) about the pivot; returns how many lanes took part. */
template <bool careful, class T> HELPER int moments(const T *a, int n, T pivot, struct work<T> *w)
{
    const int whole = n / SPAN * ALONG, left = n % SPAN;
    int lanes = ALONG;
    while (lanes < whole + (left ? ALONG : 0))
        lanes *= 2;
    if (left) {
        PHASE_TO(l, CEIL_DIV(left, 4 * ALONG) * 4 * ALONG)
            w->rest[l] = pivot;
        PHASE_TO(l, left)
            w->rest[l] = a[whole / ALONG * SPAN + l];
    }
    PACKS_TO(l, lanes) {
        if (l < whole)
            add_up<careful>(a + place(l), DEEP, l, pivot, w);
        else
            add_up<careful>(w->rest + l % ALONG, l < whole + ALONG ? CEIL_DIV(left, ALONG) : 0, l, pivot, w);
    }
    if (lanes == LANES)
        fold(LANES, w);
    else
        fold(lanes, w);
    return lanes;
}

/* The fast way.  False if there is a NaN or an infinity (or the sums overflow); then *out is undefined. */
template <class T> HELPER bool clean_leaf(const T *a, int n, uint64_t at, struct cud_leaf *out, struct work<T> *w)
{
    const T pivot = n >= SAMPLE ? middle(a, SAMPLE, T(0), w) : middle(a, n, T(0), w);
    const int lanes = moments<false>(a, n, pivot, w);
    const double s1 = w->s1[0], s2 = w->s2[0];
    const T lo = w->lo[0], hi = w->hi[0];
    if (!(MAGNITUDE(s1) <= DOUBLE_MAX))
        return false;

    /* The first lane that has the least value names the first SPAN elements that hold it.  (A lane that was filled up with the
     * pivot may have it too, but the pivot is among the first SPAN elements.) */
    const int wlo = FIND(w->lo0, lo, lanes) / ALONG * SPAN, whi = FIND(w->hi0, hi, lanes) / ALONG * SPAN;
    const int ilo = wlo + FIND(a + wlo, lo, least(SPAN, n - wlo)), ihi = whi + FIND(a + whi, hi, least(SPAN, n - whi));
    ONCE()
        *out = {{.f = (double)pivot}, s1, s2, {.f = (double)a[ilo]}, {.f = (double)a[ihi]}, at + ilo, at + ihi,
                (uint64_t)n, 0, 0, 0, CUD_NONE, CUD_NONE, CUD_NONE, 0, 0};
    return true;
}

/* The careful way: any values. */
template <class T> HELPER void any_leaf(const T *a, int n, uint64_t at, struct cud_leaf *out, struct work<T> *w)
{
    const T inf = (T)HUGE_VAL;
    unsigned nan = 0, pinf = 0, ninf = 0;
    EACH_OF(i, (size_t)n) {
        nan += a[i] != a[i];
        pinf += a[i] == inf;
        ninf += a[i] == -inf;
    }
    nan = TOTAL(nan), pinf = TOTAL(pinf), ninf = TOTAL(ninf);
    const int finite = n - (int)(nan + pinf + ninf), m = least(finite, SAMPLE);
    T pivot = 0, lo = inf, hi = -inf;
    double s1 = 0, s2 = 0;
    if (finite) {
        ONCE()
            for (int i = 0, k = 0; k < m; i++) {
                w->near[k] = a[i];
                k += MAGNITUDE(a[i]) < inf;
            }
        JOIN();
        pivot = middle(w->near, m, T(0), w);
        moments<true>(a, n, pivot, w);
        s1 = QUIET(w->s1[0]), s2 = QUIET(w->s2[0]), lo = w->lo[0], hi = w->hi[0];
    }
    const bool some = finite || pinf || ninf;
    const int ilo = some ? FIND(a, ninf ? -inf : lo, n) : 0, ihi = some ? FIND(a, pinf ? inf : hi, n) : 0;
    const int inan = nan ? FIND_NAN(a, n) : 0;
    const uint64_t jlo = some ? at + ilo : CUD_NONE, jhi = some ? at + ihi : CUD_NONE, jnan = nan ? at + inan : CUD_NONE;
    ONCE()
        *out = {{.f = (double)pivot}, s1, s2, {.f = some ? (double)a[ilo] : 0}, {.f = some ? (double)a[ihi] : 0}, jlo, jhi,
                (uint64_t)finite, nan, pinf, ninf, jnan, pinf ? jhi : CUD_NONE, ninf ? jlo : CUD_NONE, 0, 0};
}

/* May the leaf's pivot be a bad one?  See the head of this file. */
HELPER bool is_poor(const struct cud_leaf *l)
{
    const double n = (double)l->finite, p = l->pivot.f, sum = l->s1 + n * p, squares = l->s2 + p * (l->s1 + sum);
    const double largest = GREATER(MAGNITUDE(l->min.f), MAGNITUDE(l->max.f)), enough = n * MAGNITUDE(p) * (1.0 / 3);
    const bool small = MAGNITUDE(sum) >= enough || (squares / largest >= enough && squares <= DOUBLE_MAX);
    return MAGNITUDE(l->s1) <= DOUBLE_MAX && (!small || is_far(n, l->s1, l->s2));
}

/* Sums the leaf about the element nearest to its mean. */
template <class T> HELPER void sum_again(const T *a, int n, struct cud_leaf *out, struct work<T> *w)
{
    const T pivot = nearest(a, n, (T)out->pivot.f, out->s1 / (double)out->finite, w);
    moments<true>(a, n, pivot, w);
    ONCE()
        if (MAGNITUDE(w->s1[0]) <= DOUBLE_MAX)
            out->pivot.f = (double)pivot, out->s1 = w->s1[0], out->s2 = w->s2[0];
}

template <class T> KERNEL stats(const T *x, struct cud_leaf *out, size_t n, uint64_t first, size_t unit)
{
    TILES(t, leaf_count(n, unit)) {
        SHARED(struct work<T>, w, 1);
        size_t i;
        const int have = leaf_find(t, n, unit, &i);
        const bool clean = have == CUD_LEAF ? clean_leaf(x + i, CUD_LEAF, first + i, out + t, w)
                                            : clean_leaf(x + i, have, first + i, out + t, w);
        if (!clean)
            any_leaf(x + i, have, first + i, out + t, w);
        JOIN();
        if (is_poor(out + t))
            sum_again(x + i, have, out + t, w);
        JOIN();                           /* the next leaf may not overwrite what a slow lane still reads */
    }
}

/* ---- integers: nothing is missing or infinite, and sums are exact */

template <class T> struct int_work {
    double s1[LANES], s2[LANES];
    uint64_t sum[LANES], over[LANES];     /* 128 bits, two's complement */
    T lo[LANES], hi[LANES], near[LANES];
};

HELPER uint64_t negative(int64_t x) { return x < 0; }
HELPER uint64_t negative(uint64_t) { return 0; }

template <class T> HELPER void int_add_up(const T *a, int n, int l, T pivot, struct int_work<T> *w)
{
    double u = 0, v = 0;
    uint64_t sum = 0, over = 0;
    T lo = pivot, hi = pivot;
    for (int k = 0, i = place(l); k < DEEP && i < n; k++, i += ALONG) {
        const double d = apart(a[i], pivot);
        u += d;
        v += d * d;
        sum += (uint64_t)a[i];
        over += (uint64_t)(sum < (uint64_t)a[i]) - negative(a[i]);
        lo = LESSER(a[i], lo);
        hi = GREATER(a[i], hi);
    }
    w->s1[l] = u, w->s2[l] = v, w->sum[l] = sum, w->over[l] = over, w->lo[l] = lo, w->hi[l] = hi;
}

template <class T> HELPER void int_moments(const T *a, int n, T pivot, struct int_work<T> *w)
{
    PHASE(l)
        int_add_up(a, n, l, pivot, w);
    for (int half = LANES / 2; half > 0; half /= 2)
        PHASE_TO(l, half) {
            const int r = l + half;
            w->s1[l] += w->s1[r];
            w->s2[l] += w->s2[r];
            w->sum[l] += w->sum[r];
            w->over[l] += w->over[r] + (w->sum[l] < w->sum[r]);
            w->lo[l] = LESSER(w->lo[r], w->lo[l]);
            w->hi[l] = GREATER(w->hi[r], w->hi[l]);
        }
}

HELPER union cud_word word(int64_t x) { union cud_word w; w.i = x; return w; }
HELPER union cud_word word(uint64_t x) { union cud_word w; w.u = x; return w; }

template <class T> KERNEL int_stats(const T *x, struct cud_leaf *out, size_t n, uint64_t first, size_t unit)
{
    TILES(t, leaf_count(n, unit)) {
        SHARED(struct int_work<T>, w, 1);
        size_t i;
        const int have = leaf_find(t, n, unit, &i);
        const T *const a = x + i;
        T pivot = middle(a, least(have, SAMPLE), a[0], w);
        int_moments(a, have, pivot, w);
        const double s1 = w->s1[0];
        if (is_far(have, s1, w->s2[0])) {
            JOIN();
            pivot = nearest(a, have, pivot, s1 / have, w);
            int_moments(a, have, pivot, w);
        }
        const T lo = w->lo[0], hi = w->hi[0];
        const uint64_t at = first + i, ilo = at + FIND(a, lo, have), ihi = at + FIND(a, hi, have);
        ONCE()
            out[t] = {word(pivot), w->s1[0], w->s2[0], word(lo), word(hi), ilo, ihi, (uint64_t)have, 0, 0, 0,
                      CUD_NONE, CUD_NONE, CUD_NONE, w->sum[0], w->over[0]};
        JOIN();
    }
}

#define LAUNCH(k, T) LAUNCH_TILES(k<T>, leaf_count(c->dim[0], c->dim[2]), c, (const T *)c->in[0], \
                                  (struct cud_leaf *)c->out[0], c->dim[0], (uint64_t)c->dim[1], c->dim[2])

static int launch(const struct cud_call *c)
{
    switch (c->type) {
    case CUD_F64: return LAUNCH(stats, double);
    case CUD_I64: return LAUNCH(int_stats, int64_t);
    case CUD_U64: return LAUNCH(int_stats, uint64_t);
    default: return LAUNCH(stats, float);
    }
}

EXPORT(stats, .brief = "statistics of each leaf", .kind = CUD_INTERNAL, .launch = launch)
