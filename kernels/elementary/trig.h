/* sin cos tan: see elementary.h.
 *
 * x = n pi/2 + r, |r| <= pi/4, r in two parts.  Near zero (cud_is_near) n is a double and pi/2 taken in three parts, the first
 * two with so few digits that n times them is exact (W. J. Cody and W. Waite; s_sin.c and e_rem_pio2.c of fdlibm).  Farther
 * away x is an integer times a power of 2: of 2/pi only the 192 binary digits count that come from the place where the product
 * is below 4 (M. H. Payne and R. N. Hanek, Radian reduction for trigonometric functions, ACM SIGNUM Newsletter 18, 1983).
 * sin r and cos r are polynomials, arranged as in fdlibm; tan is their quotient, corrected by its remainder for doubles. */
#ifndef CUD_ELEMENTARY_TRIG_H
#define CUD_ELEMENTARY_TRIG_H

#include "base.h"

/* (sin(r) / r - 1) / r^2, z = r^2 < 0.617: error of sin 2^-31, 2^-56.1 */
HELPER float cud_sin_poly(float z) { return cud_poly(z, -0x1.555556p-3f, 0x1.11119ap-7f, -0x1.a08584p-13f, 0x1.882736p-19f); }
HELPER double cud_sin_poly(double z)
{
    return cud_poly(z, -0x1.5555555555555p-3, 0x1.1111111110c84p-7, -0x1.a01a019ea1749p-13, 0x1.71de37b224f1ap-19,
                    -0x1.ae602161d7c7fp-26, 0x1.5e11b11f5958cp-33);
}
/* (cos(r) - 1 + r^2 / 2) / r^4: error of cos 2^-29.9, 2^-60.4 */
HELPER float cud_cos_poly(float z) { return cud_poly(z, 0x1.555554p-5f, -0x1.6c129ep-10f, 0x1.9bc774p-16f); }
HELPER double cud_cos_poly(double z)
{
    return cud_poly(z, 0x1.5555555555555p-5, -0x1.6c16c16c168ccp-10, 0x1.a01a019f38b6dp-16, -0x1.27e4fa037cc15p-22,
                    0x1.1eeb586537317p-29, -0x1.9073e56374aa9p-37);
}

/* sin r and cos r, each the sum of two, the second small. */
template <class T> struct cud_circle { T sin, sin_more, cos, cos_more; };
template <class T> HELPER cud_circle<T> cud_circle_of(T r, T more)
{
    const T z = r * r, half = T(0.5) * z, w = 1 - half, v = z * r;
    return {r, more + (v * cud_sin_poly(z) - half * more), w, ((1 - w) - half) + (z * z * cud_cos_poly(z) - r * more)};
}

/* ---- x = n pi/2 + r: r is the sum of two doubles, n is in the lowest bits */

struct cud_angle {
    double r, more;
    uint64_t n;
};

template <class T> HELPER bool cud_is_near(T x) { return MAGNITUDE(x) <= 0x1p20f; }

HELPER cud_angle cud_angle_near(float x)
{
    const double t = x * 0x1.45f306dc9c883p-1 + cud_of<double>::magic, n = t - cud_of<double>::magic;
    return {(x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a626331p-34, 0, BITS(t)};
}

HELPER cud_angle cud_angle_near(double x)
{
    const double t = x * 0x1.45f306dc9c883p-1 + cud_of<double>::magic, n = t - cud_of<double>::magic;
    const double a = x - n * 0x1.921fb544p+0, b = n * 0x1.0b4611a6p-34, c = n * 0x1.3198a2ep-69;       /* exact */
    const double ab = a - b, abc = ab - c;
    const double more = (cud_sum_error(a, -b, ab) + cud_sum_error(ab, -c, abc)) - n * 0x1.b839a252049c1p-104;
    const double r = abc + more;
    return {r, (abc - r) + more, BITS(t)};
}

/* The upper half of a * b. */
HELPER uint64_t cud_product_upper(uint64_t a, uint64_t b)
{
    const uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    const uint64_t low = al * bl, mid = ah * bl + (low >> 32), more = al * bh + (uint32_t)mid;
    return ah * bh + (mid >> 32) + (more >> 32);
}

/* |x| >= 2^20, not infinite. */
HELPER cud_angle cud_angle_far(double x)
{
    static const uint64_t two_over_pi[20] = {      /* 64 digits before the point, then behind it */
        0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
        0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
        0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea,
        0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
    };
    const uint64_t u = BITS(MAGNITUDE(x)), m = (u & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    const int at = (int)(u >> 52) - (1023 + 52) + 62, word = at / 64, bit = at % 64;   /* m counts units of 2^(at - 62) */
    uint64_t w[3];
    for (int i = 0; i < 3; i++)
        w[i] = two_over_pi[word + i] << bit | (two_over_pi[word + i + 1] >> (63 - bit)) >> 1;
    /* The product's fraction begins at bit 61 of hi. */
    const uint64_t mid_part = m * w[1], mid = mid_part + cud_product_upper(m, w[2]);
    const uint64_t hi = m * w[0] + cud_product_upper(m, w[1]) + (mid < mid_part), n = (hi + ((uint64_t)1 << 61)) >> 62;
    const int64_t left = (int64_t)(hi - (n << 62));
    const double a = (double)(int32_t)(left >> 32) * 0x1p-30, b = (double)(uint32_t)left * 0x1p-62, ab = a + b;
    const double more = ((b - (ab - a)) + (double)(mid >> 32) * 0x1p-94) + (double)(uint32_t)mid * 0x1p-126;
    const double f = ab + more, f_more = (ab - f) + more;
    /* times pi/2 */
    const double p = f * 0x1.921fb54442d18p+0, low = cud_product_error(f, 0x1.921fb54442d18p+0, p)
                     + (f * 0x1.1a62633145c07p-54 + f_more * 0x1.921fb54442d18p+0);
    const double r = p + low, r_more = (p - r) + low;
    return x < 0 ? cud_angle{-r, -r_more, -n} : cud_angle{r, r_more, n};
}

/* ---- the functions of an angle; NaN for an x that is not finite */

template <class T> HELPER cud_circle<T> cud_circle_at(const cud_angle &a)
{
    const T r = (T)a.r;
    return cud_circle_of(r, (T)((a.r - r) + a.more));
}

/* sin(x + quarters pi/2) */
template <class T> HELPER T cud_sin_at(T x, const cud_angle &a, uint64_t quarters)
{
    const cud_circle<T> c = cud_circle_at<T>(a);
    const uint64_t n = a.n + quarters;
    const T y = n & 1 ? c.cos + c.cos_more : c.sin + c.sin_more;
    return cud_is_finite(x) ? y == 0 ? x : n & 2 ? -y : y : cud_nan<T>();        /* 0 is sin(0) only: with its sign */
}

HELPER float cud_tan_at(float x, const cud_angle &a)
{
    const cud_circle<double> c = cud_circle_of(a.r, a.more);
    const double s = c.sin + c.sin_more, k = c.cos + c.cos_more;
    const float y = (float)((a.n & 1 ? -k : s) / (a.n & 1 ? s : k));
    return cud_is_finite(x) ? x == 0 ? x : y : cud_nan<float>();
}

HELPER double cud_tan_at(double x, const cud_angle &a)
{
    const cud_circle<double> c = cud_circle_of(a.r, a.more);
    const double s = c.sin + c.sin_more, s_more = (c.sin - s) + c.sin_more;
    const double k = c.cos + c.cos_more, k_more = (c.cos - k) + c.cos_more;
    const bool odd = a.n & 1;
    const double p = odd ? -k : s, p_more = odd ? -k_more : s_more, q = odd ? s : k, q_more = odd ? s_more : k_more;
    const double y = p / q, back = y * q;
    const double rest = ((p - back) - cud_product_error(y, q, back)) + (p_more - y * q_more);
    return cud_is_finite(x) ? x == 0 ? x : y + rest / q : cud_nan<double>();
}

/* Without branches, so that loops vectorise: where cud_is_near(x) the same as the functions below. */
template <class T> HELPER T cud_sin_near(T x) { return cud_sin_at(x, cud_angle_near(x), 0); }
template <class T> HELPER T cud_cos_near(T x) { return cud_sin_at(x, cud_angle_near(x), 1); }
template <class T> HELPER T cud_tan_near(T x) { return cud_tan_at(x, cud_angle_near(x)); }

template <class T> HELPER T cud_sin(T x) { return cud_is_near(x) ? cud_sin_near(x) : cud_sin_at(x, cud_angle_far(x), 0); }
template <class T> HELPER T cud_cos(T x) { return cud_is_near(x) ? cud_cos_near(x) : cud_sin_at(x, cud_angle_far(x), 1); }
template <class T> HELPER T cud_tan(T x) { return cud_is_near(x) ? cud_tan_near(x) : cud_tan_at(x, cud_angle_far(x)); }

#endif
