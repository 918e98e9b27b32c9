/* exp, log and tanh of our own, float and double: the same bytes on every machine, which no library's are.
 *
 *   cud_exp(x)  cud_log(x)  cud_tanh(x)      every NaN that comes out is the one quiet NaN
 *
 * Only + - * / and integer operations, no fma and no branches, so loops over them vectorise.  The measured errors stand in
 * docs/kernels-internals.md; tests/unit/kernels_math.c repeats the measurement.
 *
 * Sources.  Argument reductions: W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980.  exp: r reduced
 * to |r| <= ln 2 / 2 with its rounding error kept, then 1 + r + r^2 Q(r), as in P. T. P. Tang, Table-driven implementation of
 * the exponential function, ACM TOMS 15, 1989, without the table.  log: s = f / (2 + f) and the odd series in s, arranged as
 * in K. C. Ng's log of fdlibm.  tanh: a polynomial below 0.35,
 * else t / (t + 2), t = exp(2 |x|) - 1.  The polynomials are minimax, by Remez's exchange. */
#ifndef CUD_KERNELS_ELEMENTARY_H
#define CUD_KERNELS_ELEMENTARY_H

#include "kernel.h"

template <class T> struct cud_of;
template <> struct cud_of<float> {
    static constexpr int bias = 127, digits = 23;            /* of the exponent; of the fraction */
    static constexpr float whole = 0x1p23f, magic = 0x1.8p23f;   /* added, they round to an integer, in the lowest bits */
    static constexpr float log2e = 0x1.715476p+0f;
    static constexpr float ln2_hi = 0x1.62e4p-1f, ln2_lo = 0x1.7f7d1cp-20f;   /* hi: 16 bits, so that n ln2_hi is exact */
    static constexpr float exp_lo = -104, exp_hi = 89, tanh_hi = 20;   /* beyond: 0, inf; 1 for 2 |x| */
    static constexpr float normal = 0x1p-126f, up = 0x1p25f, up_log2 = 25;   /* to make a subnormal normal */
    static constexpr uint32_t root_half = 0x3f3504f3, one = 0x3f800000;
    /* (exp(r) - 1 - r) / r^2, |r| < 0.3468: error of exp 2^-28.3 */
    static HELPER_OF float exp_poly(float r)
    {
        return 0x1.fffffcp-2f + r * (0x1.55549p-3f + r * (0x1.5558f4p-5f + r * (0x1.123a36p-7f + r * 0x1.6a23a8p-10f)));
    }
    /* (log((1 + s) / (1 - s)) - 2 s) / s^3, z = s^2 < 0.0295: error of log 2^-30.2 */
    static HELPER_OF float log_poly(float z) { return 0x1.55557ap-1f + z * (0x1.995e78p-2f + z * 0x1.31ea76p-2f); }
    /* (tanh(x) / x - 1) / x^2, z = x^2 < 0.1225: error of tanh 2^-31.0 */
    static HELPER_OF float tanh_poly(float z)
    {
        return -0x1.55554ep-2f + z * (0x1.110be6p-3f + z * (-0x1.b817f8p-5f + z * 0x1.3e2bf4p-6f));
    }
};
template <> struct cud_of<double> {
    static constexpr int bias = 1023, digits = 52;
    static constexpr double whole = 0x1p52, magic = 0x1.8p52;
    static constexpr double log2e = 0x1.71547652b82fep+0;
    static constexpr double ln2_hi = 0x1.62e42fefap-1, ln2_lo = 0x1.cf79abc9e3b3ap-40;   /* hi: 38 bits */
    static constexpr double exp_lo = -746, exp_hi = 710, tanh_hi = 44;
    static constexpr double normal = 0x1p-1022, up = 0x1p54, up_log2 = 54;
    static constexpr uint64_t root_half = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000;
    /* error of exp 2^-57.9 */
    static HELPER_OF double exp_poly(double r)
    {
        const double low = 0x1.000000000000ap-1 + r * (0x1.55555555554f9p-3 + r * (0x1.5555555550827p-5
            + r * (0x1.1111111127d83p-7 + r * 0x1.6c16c1843e4f4p-10)));
        const double high = 0x1.a01a0129f2989p-13 + r * (0x1.a01999d23f0c5p-16 + r * (0x1.71df25da0eec1p-19
            + r * (0x1.28adab27b2367p-22 + r * 0x1.ad7f295cf8b23p-26)));
        const double r2 = r * r;
        return low + r2 * r2 * r * high;
    }
    /* error of log 2^-59.4 */
    static HELPER_OF double log_poly(double z)
    {
        return 0x1.5555555555593p-1 + z * (0x1.999999997f852p-2 + z * (0x1.2492494243648p-2 + z * (0x1.c71c51c208f02p-3
            + z * (0x1.74664e6ad3919p-3 + z * (0x1.39a014f611eaep-3 + z * 0x1.2f16cdadb95d9p-3)))));
    }
    /* error of tanh 2^-62.9 */
    static HELPER_OF double tanh_poly(double z)
    {
        return -0x1.5555555555553p-2 + z * (0x1.1111111110b7p-3 + z * (-0x1.ba1ba1b97c91p-5 + z * (0x1.664f483dcf7d5p-6
            + z * (-0x1.226e246f62c8p-7 + z * (0x1.d6cec73972f63p-9 + z * (-0x1.7d2ca66984e47p-10 + z * (0x1.2eb1940cc7434p-11
            + z * -0x1.89941c307d836p-13)))))));
    }
};

/* exp(x) - 1 for the r of x = n ln 2 + r; *n is n + magic, an integer in its lowest bits. */
template <class T> HELPER T cud_exp_reduced(T x, T *n)
{
    typedef cud_of<T> C;
    const T t = x * C::log2e + C::magic, k = t - C::magic;
    const T hi = x - k * C::ln2_hi, lo = k * C::ln2_lo;      /* hi is exact */
    const T r = hi - lo, rest = (hi - r) - lo;
    *n = t;
    return r + (r * r * C::exp_poly(r) + rest);
}

/* 2^n for the integer in the lowest bits of u. */
template <class T> HELPER T cud_power_of_2(typename cud_bits<T>::type u)
{
    return FROM_BITS<T>((u + cud_of<T>::bias) << cud_of<T>::digits);
}

template <class T> HELPER T cud_exp(T x)
{
    typedef cud_of<T> C;
    const T a = LESSER(C::exp_hi, GREATER(C::exp_lo, x));    /* a NaN stays */
    T n;
    const T p = cud_exp_reduced(a, &n);
    /* In two steps, each with a normal number to multiply by: the second rounds once, to a subnormal or to infinity. */
    const T half = (n - C::magic) * T(0.5) + C::magic;
    return QUIET((1 + p) * cud_power_of_2<T>(BITS(half)) * cud_power_of_2<T>(BITS(n) - BITS(half)));
}

template <class T> HELPER T cud_log(T x)
{
    typedef cud_of<T> C;
    typedef typename cud_bits<T>::type U;
    const bool small = x < C::normal;
    const U u = BITS(small ? x * C::up : x) + (C::one - C::root_half);
    const T k = FROM_BITS<T>(u >> C::digits | BITS(C::whole)) - (C::whole + C::bias) - (small ? C::up_log2 : T(0));
    const T m = FROM_BITS<T>((u & (((U)1 << C::digits) - 1)) + C::root_half);       /* x = 2^k m, sqrt(1/2) <= m < sqrt(2) */
    const T f = m - 1, s = f / (2 + f), z = s * s, half = T(0.5) * f * f;
    const T y = k * C::ln2_hi - ((half - (s * (half + z * C::log_poly(z)) + k * C::ln2_lo)) - f);
    const T finite = x > 0 ? y : x == 0 ? -(T)HUGE_VAL : cud_nan<T>();
    return x == (T)HUGE_VAL ? x : finite;
}

template <class T> HELPER T cud_tanh(T x)
{
    typedef cud_of<T> C;
    typedef typename cud_bits<T>::type U;
    const U sign = BITS(x) & (U)1 << (8 * sizeof(T) - 1);
    const T a = MAGNITUDE(x), z = a * a, small = a + a * (z * C::tanh_poly(z));
    T n;
    const T p = cud_exp_reduced(LESSER(C::tanh_hi, a + a), &n), two = cud_power_of_2<T>(BITS(n));
    const T t = p * two + (two - 1), large = t / (t + 2);
    return QUIET(FROM_BITS<T>(BITS(a < T(0.35) ? small : large) | sign));
}

#endif
