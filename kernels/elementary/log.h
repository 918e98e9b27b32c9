/* log log2 log10 log1p: see elementary.h.
 *
 * x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2); s = f / (2 + f) and the odd series in s, arranged as in K. C. Ng's log of
 * fdlibm; log1p with the rounding error of 1 + x as there.  log2 and log10: log(1 + f) in two parts, the first with half of the
 * digits, as in e_log2.c of FreeBSD's msun. */
#ifndef CUD_ELEMENTARY_LOG_H
#define CUD_ELEMENTARY_LOG_H

#include "exp.h"

template <class T> struct cud_log_of;
template <> struct cud_log_of<float> {
    static constexpr float up = 0x1p25f, up_log2 = 25;       /* to make a subnormal normal */
    static constexpr uint32_t root_half = 0x3f3504f3;
    /* log2(e), log10(e), log10(2), each in two parts: products with the first are exact */
    static constexpr float log2e_hi = 0x1.716p+0f, log2e_lo = -0x1.7135a8p-13f, log10e_hi = 0x1.bccp-2f, log10e_lo = -0x1.09d5b2p-15f;
    static constexpr float log10_2_hi = 0x1.3442p-2f, log10_2_lo = -0x1.95ec1p-19f;
};
template <> struct cud_log_of<double> {
    static constexpr double up = 0x1p54, up_log2 = 54;
    static constexpr uint64_t root_half = 0x3fe6a09e667f3bcd;
    static constexpr double log2e_hi = 0x1.715476p0, log2e_lo = 0x1.4ae0bf85ddf44p-26;
    static constexpr double log10e_hi = 0x1.bcb7b1p-2, log10e_lo = 0x1.49b9438ca9aaep-28;
    static constexpr double log10_2_hi = 0x1.34413509f78p-2, log10_2_lo = 0x1.fef311f12b358p-46;
};

/* (log((1 + s) / (1 - s)) - 2 s) / s^3, z = s^2 < 0.0295: error of log 2^-30.2, 2^-59.4 */
HELPER float cud_log_poly(float z) { return cud_poly(z, 0x1.55557ap-1f, 0x1.995e78p-2f, 0x1.31ea76p-2f); }
HELPER double cud_log_poly(double z)
{
    return cud_poly(z, 0x1.5555555555593p-1, 0x1.999999997f852p-2, 0x1.2492494243648p-2, 0x1.c71c51c208f02p-3, 0x1.74664e6ad3919p-3,
                    0x1.39a014f611eaep-3, 0x1.2f16cdadb95d9p-3);
}

/* *k and f of x > 0. */
template <class T> HELPER T cud_log_reduced(T x, T *k)
{
    typedef cud_of<T> C;
    typedef cud_log_of<T> L;
    typedef typename cud_bits<T>::type U;
    const bool small = x < C::normal;
    const U u = BITS(small ? x * L::up : x) + (C::one - L::root_half);
    *k = FROM_BITS<T>(u >> C::digits | BITS(C::whole)) - (C::whole + C::bias) - (small ? L::up_log2 : T(0));
    return FROM_BITS<T>((u & (((U)1 << C::digits) - 1)) + L::root_half) - 1;
}

/* y; what a logarithm is where x is not positive and finite. */
template <class T> HELPER T cud_log_ends(T x, T y)
{
    const T finite = x > 0 ? y : x == 0 ? -(T)HUGE_VAL : cud_nan<T>();
    return x == (T)HUGE_VAL ? x : finite;
}

template <class T> HELPER T cud_log(T x)
{
    T k;
    const T f = cud_log_reduced(x, &k), s = f / (2 + f), z = s * s, half = T(0.5) * f * f;
    const T y = k * cud_exp_of<T>::ln2_hi - ((half - (s * (half + z * cud_log_poly(z)) + k * cud_exp_of<T>::ln2_lo)) - f);
    return cud_log_ends(x, y);
}

template <class T> HELPER T cud_log1p(T x)
{
    T k;
    const T u = 1 + x, lost = x >= 1 ? 1 - (u - x) : x - (u - 1);
    const T f = cud_log_reduced(u, &k), s = f / (2 + f), z = s * s, half = T(0.5) * f * f;
    const T low = k * cud_exp_of<T>::ln2_lo + lost / u;
    const T y = k * cud_exp_of<T>::ln2_hi - ((half - (s * (half + z * cud_log_poly(z)) + low)) - f);
    return cud_log_ends(u, cud_signed(MAGNITUDE(y), x));
}

/* k scale + log(1 + f) unit, scale and unit in two parts. */
template <class T> HELPER T cud_log_times(T f, T k, T unit_hi, T unit_lo, T scale_hi, T scale_lo)
{
    const T s = f / (2 + f), z = s * s, half = T(0.5) * f * f, whole = f - half;
    const T hi = cud_upper(whole), lo = (f - hi) - half + s * (half + z * cud_log_poly(z));
    const T a = k * scale_hi, b = hi * unit_hi, y = a + b;
    return y + (((a - y) + b) + (k * scale_lo + (lo + hi) * unit_lo + lo * unit_hi));
}

template <class T> HELPER T cud_log2(T x)
{
    typedef cud_log_of<T> L;
    T k;
    const T f = cud_log_reduced(x, &k);
    return cud_log_ends(x, cud_log_times(f, k, L::log2e_hi, L::log2e_lo, T(1), T(0)));
}

template <class T> HELPER T cud_log10(T x)
{
    typedef cud_log_of<T> L;
    T k;
    const T f = cud_log_reduced(x, &k);
    return cud_log_ends(x, cud_log_times(f, k, L::log10e_hi, L::log10e_lo, L::log10_2_hi, L::log10_2_lo));
}

#endif
