/* Values of all types, and each as one of another type (convert, cast):
 *
 *   wide(x)                a value as what it is calculated with
 *   to_float<To>(x)        that as a float type;  to_int<To>(x, &lost)  as an integer or bool; losses are added up
 *
 * To an integer: rounded to the nearest, to even in the middle, then saturated; a NaN is 0.  To a float: rounded to the
 * nearest, to even in the middle, beyond the greatest to infinity; a NaN becomes the type's one quiet NaN.  To bool: 0 stays 0, all else
 * is 1; a NaN is 0.  From bool: any byte but 0 is 1.
 *
 * Everything is written without branches so that it vectorises, f16 and bf16 in integers so that every machine agrees. */
#ifndef CUD_KERNELS_VALUES_H
#define CUD_KERNELS_VALUES_H

#include <limits>
#include <type_traits>
#include "kernel.h"

struct truth { uint8_t bits; };
struct half { uint16_t bits; };
struct brain { uint16_t bits; };

template <class T> inline constexpr bool is_int = std::is_integral_v<T>;
template <class T> inline constexpr bool is_float = std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class T> inline constexpr T min_of = std::numeric_limits<T>::min();
template <class T> inline constexpr T max_of = std::numeric_limits<T>::max();
template <class T> inline constexpr int bits_of = std::numeric_limits<T>::digits;
template <size_t bytes> struct word_of;
template <> struct word_of<1> { typedef uint8_t type; };
template <> struct word_of<2> { typedef uint16_t type; };
template <> struct word_of<4> { typedef uint32_t type; };
template <> struct word_of<8> { typedef uint64_t type; };

/* ---- from a type */

/* What a value is calculated with: integers and floats themselves, bool an int, f16 and bf16 a float. */
template <class T> HELPER T wide(T x) { return x; }
HELPER int wide(truth x) { return x.bits != 0; }
HELPER float wide(brain x) { return FROM_BITS<float>((uint32_t)x.bits << 16); }
HELPER float wide(half x)
{
    const uint32_t sign = (uint32_t)(x.bits & 0x8000) << 16, rest = (uint32_t)(x.bits & 0x7fff) << 13;
    /* rest with its exponent's bias changed; for the subnormal: 2^-14 + rest 2^-24, less 2^-14. */
    const float normal = FROM_BITS<float>(rest + 0x38000000), small = FROM_BITS<float>(rest + 0x38800000) - 0x1p-14f;
    const uint32_t finite = BITS(rest < 0x00800000 ? small : normal);
    return FROM_BITS<float>(sign | (rest < 0x0f800000 ? finite : rest + 0x70000000));
}

/* ---- to floats */

/* x rounded to a float that still tells what a narrower type must round: to nearest if exact, else to the odd one of its two
 * neighbours.  (S. Boldo, G. Melquiond, Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to
 * odd, IEEE Transactions on Computers 57, 2008.) */
HELPER float odd(double x)
{
    const float r = (float)x;
    const double back = r;
    const uint32_t u = BITS(r), even = ~u & 1;
    const uint32_t step = MAGNITUDE(back) > MAGNITUDE(x) ? u - even : u + even;
    return FROM_BITS<float>(back == x || x != x ? u : step);
}

/* Both in the upper half of a word, then shifted down: GCC would narrow the choices to 16 bits, and not vectorise them. */
HELPER half to_half(float x)
{
    const uint32_t u = BITS(x) & 0x7fffffff, sign = BITS(x) & 0x80000000;
    const uint32_t normal = (u + 0xc8000fff + (u >> 13 & 1)) << 3;                /* bias 127 to 15; to even */
    const uint32_t small = (BITS(FROM_BITS<float>(u) + 0.5f) - 0x3f000000) << 16; /* 0.5's ulp is the least subnormal */
    const uint32_t finite = u < 0x38800000 ? small : normal, all = u < 0x47800000 ? finite : 0x7c000000;
    return {(uint16_t)((u > 0x7f800000 ? 0x7e000000 : sign | all) >> 16)};
}
HELPER brain to_brain(float x)
{
    const uint32_t u = BITS(x), kept = u + 0x7fff + (u >> 16 & 1);
    return {(uint16_t)(((u & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : kept) >> 16)};
}

/* An integer as a float or double that to_half and to_brain round as they would the integer itself. */
template <class T> HELPER float for_half(T x)
{
    if constexpr (sizeof(T) <= 2)
        return (float)x;
    else {                                /* far beyond the greatest half all are the same */
        T y = x > (T)131072 ? (T)131072 : x;
        if constexpr (std::is_signed_v<T>)
            y = y < (T)-131072 ? (T)-131072 : y;
        return (float)(int)y;
    }
}
template <class T> HELPER float for_brain(T x)
{
    if constexpr (sizeof(T) <= 2)
        return (float)x;
    else if constexpr (sizeof(T) == 4)
        return odd((double)x);
    else {                                /* 53 bits and whether there are more below */
        const uint64_t minus = std::is_signed_v<T> && (int64_t)x < 0 ? UINT64_MAX : 0, u = ((uint64_t)x ^ minus) - minus;
        const uint64_t more = (u & 0x7ff) ? 0x800 : 0, kept = (u | more) & ~(uint64_t)0x7ff;
        const double d = u >> 53 ? (double)kept : (double)u;
        return odd(minus ? -d : d);
    }
}

template <class To, class W> HELPER To to_float(W x)
{
    if constexpr (std::is_same_v<To, half>) {
        if constexpr (is_int<W>)
            return to_half(for_half(x));
        else if constexpr (std::is_same_v<W, double>)
            return to_half(odd(x));
        else
            return to_half(x);
    } else if constexpr (std::is_same_v<To, brain>) {
        if constexpr (is_int<W>)
            return to_brain(for_brain(x));
        else if constexpr (std::is_same_v<W, double>)
            return to_brain(odd(x));
        else
            return to_brain(x);
    } else if constexpr (is_int<W>)
        return (To)x;
    else
        return QUIET((To)x);
}

/* ---- what is lost is added to counters */

/* As wide as what they count, so that they vectorise alike.  changed: for whichever reason. */
template <class W> struct losses {
    typename word_of<sizeof(W) == 8 ? 8 : 4>::type changed, saturated, nan;
};

HELPER bool is_infinite(half x) { return (x.bits & 0x7fff) == 0x7c00; }
HELPER bool is_infinite(brain x) { return (x.bits & 0x7fff) == 0x7f80; }
HELPER bool is_infinite(float x) { return (BITS(x) & 0x7fffffff) == 0x7f800000; }

/* Is there a finite W that becomes an infinite To? */
template <class To, class W> inline constexpr bool overflows = false;
template <class W> inline constexpr bool overflows<half, W> = is_float<W> || (is_int<W> && bits_of<W> > 15);
template <class W> inline constexpr bool overflows<brain, W> = is_float<W>;
template <> inline constexpr bool overflows<float, double> = true;

template <class To, class W> HELPER To to_float_counted(W x, struct losses<W> *n)
{
    const To to = to_float<To>(x);
    const bool lost = is_infinite(to) & (x - x == 0);      /* of an infinity or a NaN it is a NaN */
    n->changed += lost;
    n->saturated += lost;
    return to;
}

/* ---- to integers */

template <class To, class W> HELPER To from_int(W x, struct losses<W> *n)
{
    constexpr To lo = min_of<To>, hi = max_of<To>;
    W y = x;
    if constexpr (std::is_signed_v<W> && bits_of<W> > bits_of<To>)
        y = y < (W)lo ? (W)lo : y > (W)hi ? (W)hi : y;
    else if constexpr (std::is_signed_v<W> && !std::is_signed_v<To>)
        y = y < 0 ? W(0) : y;
    else if constexpr (bits_of<W> > bits_of<To>)
        y = y > (W)hi ? (W)hi : y;
    n->changed += y != x;
    n->saturated += y != x;
    return (To)y;
}

/* To integers narrower than F, all of which F has: clamped to one beyond the range, so that adding 1.5 * 2^52 (2^23), which
 * has no bits for a fraction, rounds. */
template <class To, class F> HELPER To from_float_narrow(F x, struct losses<F> *n)
{
    constexpr F lo = (F)min_of<To>, hi = (F)max_of<To>;
    constexpr F magic = sizeof(F) == 8 ? (F)0x1.8p52 : (F)0x1.8p23;
    const F c = GREATER(lo - 1, LESSER(hi + 1, x)), r = (c + magic) - magic;      /* a NaN stays */
    const F y = LESSER(hi, GREATER(lo, r));
    n->changed += y != x;
    n->saturated += (r < lo) | (r > hi);
    n->nan += x != x;
    const F safe = x == x ? y : F(0);
    return (To)BITS(safe + magic);
}

/* To integers as wide as F or wider: rounded by 2^52 (2^23) of the same sign, if there is a fraction at all. */
template <class To, class F> HELPER To from_float_wide(F x, struct losses<F> *n)
{
    constexpr F lo = (F)min_of<To>, whole = sizeof(F) == 8 ? (F)0x1p52 : (F)0x1p23;
    constexpr F end = (F)(max_of<To> / 2 + 1) * 2;
    constexpr F top = end * (sizeof(F) == 8 ? (F)(1 - 0x1p-53) : (F)(1 - 0x1p-24));    /* the float below */
    const F shift = x < 0 ? -whole : whole, moved = (x + shift) - shift;
    const F r = MAGNITUDE(x) < whole ? moved : x, y = LESSER(top, GREATER(lo, r));
    n->changed += y != x;
    n->saturated += (r < lo) | (r >= end);
    n->nan += x != x;
    const F safe = x == x ? y : F(0);
    const To to = (To)safe;
    return r >= end ? max_of<To> : to;
}

template <class To, class W> HELPER To to_int(W x, struct losses<W> *n)
{
    if constexpr (std::is_same_v<To, truth>) {
        n->changed += x != x;
        n->nan += x != x;
        return {(uint8_t)((x == x) & (x != 0))};
    } else if constexpr (is_int<W>)
        return from_int<To>(x, n);
    else if constexpr (sizeof(To) < sizeof(W))
        return from_float_narrow<To>(x, n);
    else
        return from_float_wide<To>(x, n);
}

#endif
