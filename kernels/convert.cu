/* convert: elements of one type as elements of another.
 *   in[0]   dim[0] elements of call->type, their bytes swapped if param[0] is 1; dim[2] is the elements in a unit
 *   out[0]  as many of call->type2; may be in[0] if both types are as long
 *   out[1]  struct cud_lost[], one for each leaf (leaf.h), or NULL
 *
 * To the same type: bit for bit.  To an integer: rounded to the nearest, to even in the middle, then saturated; a NaN is 0;
 * these are what cud_lost counts.  To a float: rounded to the nearest, to even in the middle, beyond the greatest to infinity;
 * a NaN becomes the type's one quiet NaN.  To bool: 0 stays 0, all else is 1; a NaN is 0.  From bool: any byte but 0 is 1.
 *
 * Everything is written without branches so that it vectorises, f16 and bf16 in integers so that every machine agrees. */
#include <limits>
#include <type_traits>
#include "leaf.h"

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

/* ---- reading */

HELPER uint8_t swapped(uint8_t x) { return x; }
HELPER uint16_t swapped(uint16_t x) { return (uint16_t)(x << 8 | x >> 8); }
HELPER uint32_t swapped(uint32_t x) { return x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24; }
HELPER uint64_t swapped(uint64_t x) { return (uint64_t)swapped((uint32_t)x) << 32 | swapped((uint32_t)(x >> 32)); }

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

template <class T> HELPER T straight(T x, bool swap)
{
    typename word_of<sizeof(T)>::type u;
    memcpy(&u, &x, sizeof u);
    u = swap ? swapped(u) : u;
    memcpy(&x, &u, sizeof x);
    return x;
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

/* ---- to integers; what is lost is added to the counters */

/* Counters as wide as what they count, so that they vectorise alike.  changed: for whichever reason. */
template <class W> struct losses {
    typename word_of<sizeof(W) == 8 ? 8 : 4>::type changed, saturated, nan;
};

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

/* ---- kernels */

template <class U> KERNEL copy(const U *x, U *y, size_t n, bool swap)
{
    MAP(x, y, n, v, straight(v, swap));
}

template <class T, class To> KERNEL floats(const T *x, To *y, size_t n, bool swap)
{
    MAP(x, y, n, v, to_float<To>(wide(straight(v, swap))));
}

template <class T, class To> KERNEL ints(const T *x, To *y, struct cud_lost *lost, size_t n, size_t unit, bool swap)
{
    TILES(t, leaf_count(n, unit)) {
        struct losses<decltype(wide(T()))> sum = {};
        size_t at;
        const size_t have = leaf_find(t, n, unit, &at);
        MAP_OF(x + at, y + at, have, v, to_int<To>(wide(straight(v, swap)), &sum));
        if (lost) {
            const unsigned changed = TOTAL((unsigned)sum.changed), saturated = TOTAL((unsigned)sum.saturated);
            const unsigned nan = TOTAL((unsigned)sum.nan);
            ONCE()
                lost[t] = {changed - saturated - nan, saturated, nan};
        }
    }
}

KERNEL none_lost(struct cud_lost *lost, size_t n)
{
    EACH(t, n)
        lost[t] = {0, 0, 0};
}

/* ---- from any to any */

static int nothing_lost(const struct cud_call *c)
{
    const size_t leaves = c->out[1] ? leaf_count(c->dim[0], c->dim[2]) : 0;
    return LAUNCH_EACH(none_lost, leaves, c, (struct cud_lost *)c->out[1], leaves);
}

template <class T, class To> static int pair(const struct cud_call *c)
{
    const size_t n = c->dim[0];
    const bool swap = c->param[0] != 0;
    if constexpr (std::is_same_v<T, To>) {
        typedef typename word_of<sizeof(T)>::type U;
        const int bad = LAUNCH_MAP(copy<U>, n, c, (const U *)c->in[0], (U *)c->out[0], n, swap);
        return bad ? bad : nothing_lost(c);
    } else if constexpr (is_float<To> || std::is_same_v<To, half> || std::is_same_v<To, brain>) {
        const int bad = LAUNCH_MAP((floats<T, To>), n, c, (const T *)c->in[0], (To *)c->out[0], n, swap);
        return bad ? bad : nothing_lost(c);
    } else
        return LAUNCH_TILES((ints<T, To>), leaf_count(n, c->dim[2]), c, (const T *)c->in[0], (To *)c->out[0],
                            (struct cud_lost *)c->out[1], n, c->dim[2], swap);
}

#define BY_ENUM(type, f, ...)                                                                 \
    switch (type) {                                                                           \
    case CUD_BOOL: return f<__VA_ARGS__ truth>(c);                                            \
    case CUD_I8: return f<__VA_ARGS__ int8_t>(c);   case CUD_U8: return f<__VA_ARGS__ uint8_t>(c);    \
    case CUD_I16: return f<__VA_ARGS__ int16_t>(c); case CUD_U16: return f<__VA_ARGS__ uint16_t>(c);  \
    case CUD_I32: return f<__VA_ARGS__ int32_t>(c); case CUD_U32: return f<__VA_ARGS__ uint32_t>(c);  \
    case CUD_I64: return f<__VA_ARGS__ int64_t>(c); case CUD_U64: return f<__VA_ARGS__ uint64_t>(c);  \
    case CUD_F16: return f<__VA_ARGS__ half>(c);    case CUD_BF16: return f<__VA_ARGS__ brain>(c);    \
    case CUD_F32: return f<__VA_ARGS__ float>(c);   default: return f<__VA_ARGS__ double>(c); \
    }

#define AND ,
template <class T> static int from(const struct cud_call *c) { BY_ENUM(c->type2, pair, T AND) }
static int launch(const struct cud_call *c) { BY_ENUM(c->type, from,) }

EXPORT(convert, .brief = "elements of another type", .kind = CUD_INTERNAL, .in_place = true, .launch = launch)
