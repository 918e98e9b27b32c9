/* rint round trunc floor ceil fmod fmin fmax: see elementary.h.  All are exact.
 *
 * 2^23 (2^52) has no room for a fraction: added and taken away again it rounds to an integer, to even in the middle. */
#ifndef CUD_ELEMENTARY_ROUND_H
#define CUD_ELEMENTARY_ROUND_H

#include "base.h"

/* a >= 0 */
template <class T> HELPER T cud_nearest(T a) { return a < cud_of<T>::whole ? (a + cud_of<T>::whole) - cud_of<T>::whole : a; }

template <class T> HELPER T cud_rint(T x) { return QUIET(cud_signed(cud_nearest(MAGNITUDE(x)), x)); }

template <class T> HELPER T cud_trunc(T x)
{
    const T a = MAGNITUDE(x), r = cud_nearest(a);
    return QUIET(cud_signed(r > a ? r - 1 : r, x));
}

template <class T> HELPER T cud_round(T x)
{
    const T a = MAGNITUDE(x), t = cud_trunc(a);
    return QUIET(cud_signed(a - t >= T(0.5) ? t + 1 : t, x));
}

template <class T> HELPER T cud_floor(T x)
{
    const T t = cud_trunc(x);
    return t > x ? t - 1 : t;
}

template <class T> HELPER T cud_ceil(T x)
{
    const T t = cud_trunc(x);
    return t < x ? t + 1 : t;
}

/* The one that is a number if the other is not; -0 is less than +0. */
template <class T> HELPER T cud_fmin(T x, T y)
{
    const T less = x < y ? x : y < x ? y : FROM_BITS<T>(BITS(x) | BITS(y));
    return x != x ? QUIET(y) : y != y ? x : less;
}
template <class T> HELPER T cud_fmax(T x, T y)
{
    const T more = x > y ? x : y > x ? y : FROM_BITS<T>(BITS(x) & BITS(y));
    return x != x ? QUIET(y) : y != y ? x : more;
}

/* x - n y for the integer n nearest to x / y towards 0: long division of the fractions, as many bits at a time as there is
 * room for in a word. */
template <class T> HELPER T cud_fmod(T x, T y)
{
    typedef cud_of<T> C;
    typedef typename cud_bits<T>::type U;
    const U a = BITS(MAGNITUDE(x)), b = BITS(MAGNITUDE(y)), hidden = (U)1 << C::digits;
    const int room = 63 - C::digits;
    if (!(cud_is_finite(x) && y == y && b))
        return cud_nan<T>();
    if (a < b || MAGNITUDE(y) == (T)HUGE_VAL)
        return x;
    const int ka = a < hidden ? 1 : (int)(a >> C::digits), kb = b < hidden ? 1 : (int)(b >> C::digits);
    const uint64_t m = b < hidden ? b : (b & (hidden - 1)) | hidden;
    uint64_t r = (a < hidden ? a : (a & (hidden - 1)) | hidden) % m;
    for (int left = ka - kb; left > 0; left -= room)
        r = (r << (left < room ? left : room)) % m;
    /* r 2^(kb - 1) units of the least subnormal: exact, also in two steps */
    const T unit = FROM_BITS<T>(1), up = cud_power_of_2<T>((U)((kb - 1) / 2)), more = cud_power_of_2<T>((U)(kb - 1 - (kb - 1) / 2));
    return cud_signed((T)r * unit * up * more, x);
}

#endif
