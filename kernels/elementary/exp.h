/* exp exp2 expm1 sinh cosh tanh: see elementary.h.
 *
 * x = n ln 2 + r with |r| <= ln 2 / 2, the error of r kept (W. J. Cody and W. Waite, Software Manual for the Elementary
 * Functions, 1980); then 1 + r + r^2 Q(r), as in P. T. P. Tang, Table-driven implementation of the exponential function, ACM
 * TOMS 15, 1989, without the table.  sinh and cosh of large x from 1 + p, 2^n and their inverse, added smallest first; sinh
 * below 1 and tanh below 0.35 by polynomials, tanh above is t / (t + 2), t = exp(2 |x|) - 1. */
#ifndef CUD_ELEMENTARY_EXP_H
#define CUD_ELEMENTARY_EXP_H

#include "base.h"

template <class T> struct cud_exp_of;
template <> struct cud_exp_of<float> {
    static constexpr float log2e = 0x1.715476p+0f;
    static constexpr float ln2_hi = 0x1.62e4p-1f, ln2_lo = 0x1.7f7d1cp-20f;   /* hi: 16 bits, so that n ln2_hi is exact */
    /* Beyond: exp is 0, inf; exp2 is 0, inf; expm1 is -1; sinh and cosh are inf; tanh is 1 for 2 |x|. */
    static constexpr float exp_lo = -104, exp_hi = 89, exp2_lo = -152, exp2_hi = 129, expm1_lo = -18, sinh_hi = 89.5f, tanh_hi = 20;
};
template <> struct cud_exp_of<double> {
    static constexpr double log2e = 0x1.71547652b82fep+0;
    static constexpr double ln2_hi = 0x1.62e42fefap-1, ln2_lo = 0x1.cf79abc9e3b3ap-40;   /* hi: 38 bits */
    static constexpr double exp_lo = -746, exp_hi = 710, exp2_lo = -1077, exp2_hi = 1025, expm1_lo = -38, sinh_hi = 710.5, tanh_hi = 44;
};

/* (exp(r) - 1 - r) / r^2, |r| < 0.3468: error of exp 2^-28.3, 2^-57.9 */
HELPER float cud_exp_poly(float r)
{
    return cud_poly(r, 0x1.fffffcp-2f, 0x1.55549p-3f, 0x1.5558f4p-5f, 0x1.123a36p-7f, 0x1.6a23a8p-10f);
}
HELPER double cud_exp_poly(double r)
{
    const double low = cud_poly(r, 0x1.000000000000ap-1, 0x1.55555555554f9p-3, 0x1.5555555550827p-5, 0x1.1111111127d83p-7,
                                0x1.6c16c1843e4f4p-10);
    const double high = cud_poly(r, 0x1.a01a0129f2989p-13, 0x1.a01999d23f0c5p-16, 0x1.71df25da0eec1p-19, 0x1.28adab27b2367p-22,
                                 0x1.ad7f295cf8b23p-26);
    const double r2 = r * r;
    return low + r2 * r2 * r * high;
}

/* (2^r - 1) / r, |r| <= 1/2: error of exp2 2^-27.3, 2^-56.4 */
HELPER float cud_exp2_poly(float r)
{
    return cud_poly(r, 0x1.62e43p-1f, 0x1.ebfbep-3f, 0x1.c6af9cp-5f, 0x1.3b2a48p-7f, 0x1.5ef5dp-10f, 0x1.442512p-13f);
}
HELPER double cud_exp2_poly(double r)
{
    return cud_poly(r, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c598p-3, 0x1.c6b08d704a1d3p-5, 0x1.3b2ab6fba1ec4p-7, 0x1.5d87fe787493ap-10,
                    0x1.4309130944095p-13, 0x1.ffcbfd479e5bap-17, 0x1.62bfd4df40b7ep-20, 0x1.b52335e6fe7d5p-24,
                    0x1.e60595a88c4ap-28, 0x1.ec6b62822310bp-32);
}

/* (sinh(x) / x - 1) / x^2, z = x^2 <= 1: error of sinh 2^-30.0, 2^-59.7 */
HELPER float cud_sinh_poly(float z) { return cud_poly(z, 0x1.555556p-3f, 0x1.1110c6p-7f, 0x1.a03554p-13f, 0x1.725236p-19f); }
HELPER double cud_sinh_poly(double z)
{
    return cud_poly(z, 0x1.5555555555555p-3, 0x1.1111111111198p-7, 0x1.a01a01a00b9c2p-13, 0x1.71de3a5e9b752p-19,
                    0x1.ae645336ffbc5p-26, 0x1.612234504ed57p-33, 0x1.b260b8b04cbf5p-41);
}

/* (tanh(x) / x - 1) / x^2, z = x^2 < 0.1225: error of tanh 2^-31.0, 2^-62.9 */
HELPER float cud_tanh_poly(float z) { return cud_poly(z, -0x1.55554ep-2f, 0x1.110be6p-3f, -0x1.b817f8p-5f, 0x1.3e2bf4p-6f); }
HELPER double cud_tanh_poly(double z)
{
    return cud_poly(z, -0x1.5555555555553p-2, 0x1.1111111110b7p-3, -0x1.ba1ba1b97c91p-5, 0x1.664f483dcf7d5p-6,
                    -0x1.226e246f62c8p-7, 0x1.d6cec73972f63p-9, -0x1.7d2ca66984e47p-10, 0x1.2eb1940cc7434p-11, -0x1.89941c307d836p-13);
}

/* exp(x + more) / 2^n - 1; *n is the integer plus magic. */
template <class T> HELPER T cud_exp_reduced(T x, T more, T *n)
{
    typedef cud_exp_of<T> E;
    const T t = x * E::log2e + cud_of<T>::magic, k = t - cud_of<T>::magic;
    const T hi = x - k * E::ln2_hi, lo = k * E::ln2_lo - more;   /* hi is exact */
    const T r = hi - lo, rest = (hi - r) - lo;
    *n = t;
    return r + (r * r * cud_exp_poly(r) + rest);
}

template <class T> HELPER T cud_exp(T x)
{
    typedef cud_exp_of<T> E;
    const T a = LESSER(E::exp_hi, GREATER(E::exp_lo, x));    /* a NaN stays */
    T n;
    const T p = cud_exp_reduced(a, T(0), &n);
    return QUIET(cud_scaled(1 + p, n));
}

template <class T> HELPER T cud_exp2(T x)
{
    typedef cud_exp_of<T> E;
    const T a = LESSER(E::exp2_hi, GREATER(E::exp2_lo, x)), n = a + cud_of<T>::magic, r = a - (n - cud_of<T>::magic);
    return QUIET(cud_scaled(1 + r * cud_exp2_poly(r), n));
}

template <class T> HELPER T cud_expm1(T x)
{
    typedef cud_exp_of<T> E;
    const T a = LESSER(E::exp_hi, GREATER(E::expm1_lo, x));
    T n;
    const T p = cud_exp_reduced(a, T(0), &n), twice = n - cud_of<T>::magic > 64 ? T(2) : T(1);     /* 2^n may be too great */
    const T two = cud_power_of_2<T>(BITS(twice > 1 ? n - 1 : n));
    return QUIET(cud_signed(MAGNITUDE((p * two + (two - 1)) * twice), x));
}

/* sinh(a) or cosh(a), a >= 0; of sinh a >= 1. */
template <bool minus, class T> HELPER T cud_exp_pair(T a)
{
    T n;
    const T p = cud_exp_reduced(LESSER(cud_exp_of<T>::sinh_hi, a), T(0), &n), two = cud_power_of_2<T>(BITS(n - 2));
    const T e = two * p, other = T(0.0625) / (two + e);      /* a quarter of exp(-a), that of exp(a) is two + e */
    return T(2) * (two + (minus ? e - other : e + other));
}

template <class T> HELPER T cud_sinh(T x)
{
    const T a = MAGNITUDE(x), z = a * a, small = a + a * (z * cud_sinh_poly(z));
    return QUIET(cud_signed(a < 1 ? small : cud_exp_pair<true>(a), x));
}

template <class T> HELPER T cud_cosh(T x) { return QUIET(cud_exp_pair<false>(MAGNITUDE(x))); }

template <class T> HELPER T cud_tanh(T x)
{
    const T a = MAGNITUDE(x), z = a * a, small = a + a * (z * cud_tanh_poly(z));
    T n;
    const T p = cud_exp_reduced(LESSER(cud_exp_of<T>::tanh_hi, a + a), T(0), &n), two = cud_power_of_2<T>(BITS(n));
    const T t = p * two + (two - 1), large = t / (t + 2);
    return QUIET(cud_signed(a < T(0.35) ? small : large, x));
}

#endif
