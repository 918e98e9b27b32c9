/* asin acos atan atan2: see elementary.h.
 *
 * atan: four of the angles whose tangents are 0, 1/2, 1, 3/2 and infinity, so that a quotient below 7/16 is left for a
 * polynomial; asin: a polynomial below 1/2, else by way of the square root of (1 - x) / 2, its error kept.  Both arranged as in
 * fdlibm, without its tables. */
#ifndef CUD_ELEMENTARY_ARC_H
#define CUD_ELEMENTARY_ARC_H

#include "base.h"

/* pi and the arcs of 1/2, 1, 3/2 and infinity, each in two parts */
template <class T> struct cud_arc_of;
template <> struct cud_arc_of<float> {
    static constexpr float pi = 0x1.921fb6p+1f, pi_more = -0x1.777a5cp-24f;
    static constexpr float half = 0x1.dac67p-2f, half_more = 0x1.586ed4p-28f, two_halves = 0x1.921fb6p-1f, two_halves_more = -0x1.777a5cp-26f;
    static constexpr float three_halves = 0x1.f730bep-1f, three_halves_more = -0x1.afc12cp-26f;
};
template <> struct cud_arc_of<double> {
    static constexpr double pi = 0x1.921fb54442d18p+1, pi_more = 0x1.1a62633145c07p-53;
    static constexpr double half = 0x1.dac670561bb4fp-2, half_more = 0x1.a2b7f222f65e2p-56;
    static constexpr double two_halves = 0x1.921fb54442d18p-1, two_halves_more = 0x1.1a62633145c07p-55;
    static constexpr double three_halves = 0x1.f730bd281f69bp-1, three_halves_more = 0x1.007887af0cbbdp-56;
};

/* (atan(t) / t - 1) / t^2, z = t^2 < 0.1915: error of atan 2^-27.6, 2^-55.7 */
HELPER float cud_atan_poly(float z)
{
    return cud_poly(z, -0x1.555554p-2f, 0x1.999654p-3f, -0x1.2400a8p-3f, 0x1.b56838p-4f, -0x1.ff5578p-5f);
}
HELPER double cud_atan_poly(double z)
{
    return cud_poly(z, -0x1.5555555555554p-2, 0x1.9999999998a3ep-3, -0x1.24924923c15a7p-3, 0x1.c71c713e68539p-4, -0x1.745d006507d8ep-4,
                    0x1.3b11747aea36fp-4, -0x1.10edf85956edfp-4, 0x1.df17bdfcd883bp-5, -0x1.9c95e28ec41e4p-5, 0x1.365bd331c5d18p-5,
                    -0x1.2082a8090262p-6);
}
/* (asin(s) / s - 1) / s^2, z = s^2 <= 1/4: error of asin 2^-30.2, 2^-58.1 */
HELPER float cud_asin_poly(float z)
{
    return cud_poly(z, 0x1.555554p-3f, 0x1.3334cep-4f, 0x1.6d3e74p-5f, 0x1.ffbd92p-6f, 0x1.0fec3ap-6f, 0x1.1ac0e4p-5f);
}
HELPER double cud_asin_poly(double z)
{
    return cud_poly(z, 0x1.5555555555556p-3, 0x1.3333333332da2p-4, 0x1.6db6db6e48603p-5, 0x1.f1c71c11deeap-6, 0x1.6e8bb37521acap-6,
                    0x1.1c4d112ced71bp-6, 0x1.c9d30ac3ce817p-7, 0x1.78010220106f1p-7, 0x1.532a91490f896p-7, 0x1.5e2915df0d825p-8,
                    0x1.220541f4ab154p-6, -0x1.f58c57c57245p-7, 0x1.dc181d65cafaap-6);
}

/* The arc of y / x, both not negative, not both 0 and not both infinite. */
template <class T> HELPER T cud_arc(T y, T x)
{
    typedef cud_arc_of<T> A;
    const bool flat = y < T(0.4375) * x, half = y < T(0.6875) * x, one = y < T(1.1875) * x, steep = !(y < T(2.4375) * x);
    const T c = flat ? T(0) : half ? T(0.5) : one ? T(1) : T(1.5);
    const T arc = flat ? T(0) : half ? A::half : one ? A::two_halves : steep ? A::pi / 2 : A::three_halves;
    const T more = flat ? T(0) : half ? A::half_more : one ? A::two_halves_more : steep ? A::pi_more / 2 : A::three_halves_more;
    const T t = (steep ? -x : flat ? y : y - c * x) / (steep ? y : flat ? x : x + c * y), z = t * t;
    return arc - ((t * (z * -cud_atan_poly(z)) - more) - t);
}

template <class T> HELPER T cud_atan(T x) { return QUIET(cud_signed(cud_arc(MAGNITUDE(x), T(1)), x)); }

template <class T> HELPER T cud_atan2(T y, T x)
{
    typedef cud_arc_of<T> A;
    const T inf = (T)HUGE_VAL, p = MAGNITUDE(y), q = MAGNITUDE(x), most = GREATER(p, q);
    const bool corner = (p == inf) & (q == inf);                /* as if 1 / 1; 0 / 0 as if 0 / 1 */
    const T scale = most > T(0.25) / cud_of<T>::normal ? T(0.125) : most < cud_of<T>::normal * 8 ? cud_of<T>::whole : T(1);
    const T a = cud_arc(corner ? T(1) : p * scale, corner | (most == 0) ? T(1) : q * scale);
    const T around = BITS(x) == BITS(q) ? a : A::pi - (a - A::pi_more);
    return (x != x) | (y != y) ? cud_nan<T>() : cud_signed(around, y);
}

/* sqrt(z) for z <= 1/4, its upper half and what is missing. */
template <class T> HELPER T cud_root_pair(T z, T *hi)
{
    const T s = cud_root(z);
    *hi = cud_upper(s);
    return z > 0 ? (z - *hi * *hi) / (s + *hi) : T(0);
}

template <class T> HELPER T cud_asin(T x)
{
    typedef cud_arc_of<T> A;
    const T a = MAGNITUDE(x);
    const bool small = a < T(0.5);
    const T z = small ? a * a : T(0.5) * (1 - a), r = z * cud_asin_poly(z), s = cud_root(z);
    T hi;
    const T more = cud_root_pair(z, &hi);
    const T large = A::pi / 4 - ((2 * s * r - (A::pi_more / 2 - 2 * more)) - (A::pi / 4 - 2 * hi));
    return QUIET(cud_signed(small ? a + a * r : a <= 1 ? large : cud_nan<T>(), x));
}

template <class T> HELPER T cud_acos(T x)
{
    typedef cud_arc_of<T> A;
    const T a = MAGNITUDE(x);
    const bool small = a < T(0.5);
    const T z = small ? a * a : T(0.5) * (1 - a), r = z * cud_asin_poly(z), s = cud_root(z);
    T hi;
    const T more = cud_root_pair(z, &hi);
    const T near_0 = A::pi / 2 - (x - (A::pi_more / 2 - x * r)), near_1 = 2 * (hi + (r * s + more));
    const T near_minus_1 = 2 * (A::pi / 2 - (s + (r * s - A::pi_more / 2)));
    return QUIET(small ? near_0 : x > 0 ? a <= 1 ? near_1 : cud_nan<T>() : a <= 1 ? near_minus_1 : cud_nan<T>());
}

#endif
