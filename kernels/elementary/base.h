/* What the functions of elementary.h are made of. */
#ifndef CUD_ELEMENTARY_BASE_H
#define CUD_ELEMENTARY_BASE_H

#include "../kernel.h"

template <class T> struct cud_of;
template <> struct cud_of<float> {
    static constexpr int bias = 127, digits = 23;            /* of the exponent; of the fraction */
    static constexpr float whole = 0x1p23f, magic = 0x1.8p23f;   /* added, they round to an integer, in the lowest bits */
    static constexpr float normal = 0x1p-126f;
    static constexpr uint32_t one = 0x3f800000, lower_half = 0x00000fff;   /* the bits of 1; of a fraction's lower half */
};
template <> struct cud_of<double> {
    static constexpr int bias = 1023, digits = 52;
    static constexpr double whole = 0x1p52, magic = 0x1.8p52;
    static constexpr double normal = 0x1p-1022;
    static constexpr uint64_t one = 0x3ff0000000000000, lower_half = 0x0000000007ffffff;
};

/* c + x * (d + x * (e + ...)) */
template <class T> HELPER T cud_poly(T, T c) { return c; }
template <class T, class... More> HELPER T cud_poly(T x, T c, More... more) { return c + x * cud_poly(x, more...); }

/* 2^n for the integer in the lowest bits of u; a normal number. */
template <class T> HELPER T cud_power_of_2(typename cud_bits<T>::type u)
{
    return FROM_BITS<T>((u + cud_of<T>::bias) << cud_of<T>::digits);
}

/* x 2^n for n + magic, x near 1.  In two steps, each with a normal number: the second rounds once, to a subnormal or to
 * infinity. */
template <class T> HELPER T cud_scaled(T x, T n)
{
    typedef cud_of<T> C;
    const T half = (n - C::magic) * T(0.5) + C::magic;
    return x * cud_power_of_2<T>(BITS(half)) * cud_power_of_2<T>(BITS(n) - BITS(half));
}

template <class T> HELPER typename cud_bits<T>::type cud_sign_bit(T x)
{
    return BITS(x) & (typename cud_bits<T>::type)1 << (8 * sizeof(T) - 1);
}

/* a, which is not negative, with the sign of x. */
template <class T> HELPER T cud_signed(T a, T x) { return FROM_BITS<T>(BITS(a) | cud_sign_bit(x)); }

/* The upper half of x's fraction: products of two such are exact. */
template <class T> HELPER T cud_upper(T x) { return FROM_BITS<T>(BITS(x) & ~cud_of<T>::lower_half); }

/* a * b - product, exactly but for a bit or two, without fma.  (T. J. Dekker, A floating-point technique for extending the
 * available precision, Numerische Mathematik 18, 1971.) */
template <class T> HELPER T cud_product_error(T a, T b, T product)
{
    const T ah = cud_upper(a), al = a - ah, bh = cud_upper(b), bl = b - bh;
    return ((ah * bh - product) + ah * bl + al * bh) + al * bl;
}

/* a + b - sum, exactly.  (D. E. Knuth, The Art of Computer Programming 2, 4.2.2.) */
template <class T> HELPER T cud_sum_error(T a, T b, T sum)
{
    const T part = sum - a;
    return (a - (sum - part)) + (b - part);
}

/* IEEE 754 rounds it correctly everywhere. */
HELPER float cud_root(float x) { return sqrtf(x); }
HELPER double cud_root(double x) { return sqrt(x); }

template <class T> HELPER bool cud_is_finite(T x) { return MAGNITUDE(x) < (T)HUGE_VAL; }

#endif
