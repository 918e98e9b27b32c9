/* erf erfc: see elementary.h.
 *
 * erf of small x is a polynomial.  Else erfc(z) = exp(-z^2) f(z) / (1 + 2 z), f a polynomial in (z - K) / (z + K): M. M. Shepherd
 * and J. G. Laframboise, Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < inf, Mathematics of Computation 36, 1981.
 * The rounding errors of z^2, of 1 + 2 z and of the quotient are kept. */
#ifndef CUD_ELEMENTARY_ERF_H
#define CUD_ELEMENTARY_ERF_H

#include "exp.h"

template <class T> struct cud_erf_of;
template <> struct cud_erf_of<float> {
    static constexpr float middle = 2.25f, most = 10.5f;     /* K; beyond, erfc is 0 */
};
template <> struct cud_erf_of<double> {
    static constexpr double middle = 3.5, most = 28;
};

/* erf(x) / x - 1, z = x^2 <= 1: error of erf 2^-29.5, 2^-56.2 */
HELPER float cud_erf_poly(float z)
{
    return cud_poly(z, 0x1.06eba8p-3f, -0x1.81274p-2f, 0x1.ce2d52p-4f, -0x1.b7fec4p-6f, 0x1.542fecp-8f, -0x1.a5197ap-11f, 0x1.4c5cb4p-14f);
}
HELPER double cud_erf_poly(double z)
{
    return cud_poly(z, 0x1.06eba8214db69p-3, -0x1.812746b0379fdp-2, 0x1.ce2f21a04362dp-4, -0x1.b82ce312abf08p-6, 0x1.565bcd12991cp-8,
                    -0x1.c02db49b09506p-11, 0x1.f9a335388d2f5p-14, -0x1.f4d333884b5cap-17, 0x1.b9ee95850f6f5p-20,
                    -0x1.5f9828c55da46p-23, 0x1.fc78cbccf615fp-27, -0x1.46794feb17129p-30, 0x1.2978304267b48p-34);
}
/* (1 + 2 z) exp(z^2) erfc(z) - 5/4 for z = K (1 + t) / (1 - t), 0.625 <= z <= 10.25 (28): error of erfc 2^-29.0, 2^-56.0 */
HELPER float cud_erfc_poly(float t)
{
    return cud_poly(t, 0x1.57bc2ep-6f, -0x1.c39b6p-4f, -0x1.0bd69p-3f, 0x1.527196p-3f, -0x1.547c86p-4f, 0x1.772932p-7f,
                    0x1.07875ap-7f, -0x1.5b297p-9f, -0x1.036b08p-10f, 0x1.c573cp-12f);
}
HELPER double cud_erfc_poly(double t)
{
    return cud_poly(t, -0x1.f5665f116ebfcp-8, -0x1.1ebd220ea5943p-3, -0x1.59e2c284b1edap-7, 0x1.8f702ec6b3b71p-4,
                    -0x1.d76830c34c54cp-4, 0x1.68610604599d5p-4, -0x1.8ff5ef7832989p-5, 0x1.38ec667779e01p-6, -0x1.143c4c15ee80fp-8,
                    -0x1.3cf37a937ab04p-12, 0x1.27e6428fca887p-11, -0x1.fda74c787f00dp-14, -0x1.66d84d1ee24b2p-15,
                    0x1.96ebfac786124p-16, 0x1.36c1bb24cb4d6p-19, -0x1.fda29937c51a3p-19, -0x1.7972c6811a745p-26,
                    0x1.32f4a72d5697ap-21, -0x1.f3987079c59cdp-26, -0x1.1eef6c2e52d2fp-24, 0x1.3955e9d6b8853p-27);
}

/* times exp(z^2 - square - more) erfc(z), 0.625 <= z; square is not above 800.  It rounds once where it is subnormal. */
template <class T> HELPER T cud_tail(T z, T square, T more, T times)
{
    typedef cud_erf_of<T> K;
    const T a = (z - K::middle) / (z + K::middle), v = cud_erfc_poly(a), f = T(1.25) + v, f_more = v - (f - T(1.25));
    const T all = 1 + 2 * z, d = cud_upper(all), d_more = 1 - (d - 2 * z), inverse = 1 / all;          /* 1 + 2 z = d + d_more */
    const T q = f * inverse, qh = cud_upper(q), ql = q - qh;
    const T lost = ((((f - qh * d) - ql * d) - q * d_more) + f_more) * inverse;                        /* q + lost: the quotient */
    T n;
    const T p = cud_exp_reduced(-square, -more, &n);
    return cud_scaled(times * (q + (q * p + (lost + lost * p))), n);
}

/* erfc(a), a >= 0.625 */
template <class T> HELPER T cud_erfc_far(T a)
{
    const T z = LESSER(cud_erf_of<T>::most, a), square = z * z;
    return cud_tail(z, square, cud_product_error(z, z, square), T(1));
}

template <class T> HELPER T cud_erf(T x)
{
    const T a = MAGNITUDE(x), small = a + a * cud_erf_poly(a * a), large = 1 - cud_erfc_far(GREATER(T(0.625), a));
    return QUIET(cud_signed(a < 1 ? small : large, x));
}

template <class T> HELPER T cud_erfc(T x)
{
    const T a = MAGNITUDE(x), more = x * cud_erf_poly(x * x), far = cud_erfc_far(GREATER(T(0.625), a));
    const T small = x < T(0.25) ? 1 - (x + more) : T(0.5) - ((x - T(0.5)) + more);
    return QUIET(a < T(0.625) ? small : x < 0 ? 2 - far : far);
}

#endif
