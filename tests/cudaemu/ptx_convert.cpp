/* cvt (section 9.7.9).  Compiled with -frounding-math. */
#include <cfenv>
#include <cmath>
#include <limits>
#include "ptx_half.h"
#include "ptx_reader.h"

namespace ptx {

/* how: rounding, 1 to 4 as of rounding_of; mode: to an integer, in the same float type. */
enum { NEAREST = 1, TO_ZERO, DOWN, UP };

static double to_integral(double x, int how)
{
    return how == NEAREST ? std::nearbyint(x) : how == DOWN ? std::floor(x) : how == UP ? std::ceil(x) : std::trunc(x);
}

template <class D, class S> static D integer_from_integer(S x, const ins &i)
{
    const s128 v = x, lo = std::numeric_limits<D>::min(), hi = std::numeric_limits<D>::max();
    return !i.saturate ? D(x) : D(v < lo ? lo : v > hi ? hi : v);
}

/* Clamped to what the type holds; NaN is 0, or for 64 bits the top bit. */
template <class D> static D integer_from_float(double x, int how)
{
    const double v = to_integral(x, how);
    if (v != v)
        return sizeof(D) == 8 ? D(1ull << 63) : D(0);
    if (v <= double(std::numeric_limits<D>::min()))
        return std::numeric_limits<D>::min();
    return v >= double(std::numeric_limits<D>::max()) ? std::numeric_limits<D>::max() : D(v);
}

/* Rounded once, in the direction asked for. */
template <class D, class S> static D rounded(S x, int how)
{
    volatile S from = x;
    volatile D to;
    const int before = fegetround();
    if (how > NEAREST)
        fesetround(how == TO_ZERO ? FE_TOWARDZERO : how == DOWN ? FE_DOWNWARD : FE_UPWARD);
    to = D(from);
    fesetround(before);
    return to;
}

template <class T> constexpr bool INTEGER = std::is_integral_v<T>;

template <class D, class S> static int convert(thread &, u64 *r, const ins &i)
{
    const S x = get<S>(r[i.a]);
    if constexpr (INTEGER<D> && INTEGER<S>)
        put<D>(r[i.d], integer_from_integer<D, S>(x, i));
    else if constexpr (INTEGER<D>)
        put<D>(r[i.d], integer_from_float<D>(double(x), i.how));
    else {
        D y;
        if constexpr (INTEGER<S>)
            y = rounded<D, S>(x, i.how);
        else
            y = i.mode ? D(to_integral(double(x), i.how)) : rounded<D, S>(x, i.how);
        if (i.saturate)
            y = y > D(0) ? y < D(1) ? y : D(1) : D(0);
        put_float<D>(r[i.d], y);
    }
    return NEXT;
}

static int f32_from_bf16(thread &, u64 *r, const ins &i)
{
    put_float<float>(r[i.d], get<bf16>(r[i.a]));
    return NEXT;
}

/* .f16.f32 is among the others; this is .bf16.f32, and pairs: the first source is the upper half. */
template <class H> static int halves_from_f32(thread &, u64 *r, const ins &i)
{
    u32 out = 0;
    for (int slot : {i.a, i.b})
        if (slot >= 0) {
            const float x = get<float>(r[slot]);
            u64 bits = 0x7fff;
            if (x == x)
                put<H>(bits, H(x));
            out = out << 16 | u16(bits);
        }
    r[i.d] = out;
    return NEXT;
}

template <class D> static action from(type s)
{
    switch (s) {
    case F16: return convert<D, f16>;
    case F32: return convert<D, float>;
    case F64: return convert<D, double>;
    default: return of_integer(s, []<class S>() -> action { return convert<D, S>; });
    }
}

static action to(type d, type s)
{
    if (d == F32 && s == BF16)
        return f32_from_bf16;
    switch (d) {
    case F16: return from<f16>(s);
    case F32: return from<float>(s);
    case F64: return from<double>(s);
    default: return of_integer(d, [=]<class D>() -> action { return from<D>(s); });
    }
}

bool read_convert(reader &r, const statement &x, ins &i)
{
    if (x.op != "cvt")
        return false;
    const bool pair = x.first() == F16X2 || x.first() == BF16X2;
    r.operands(x, i, pair ? 2 : 1);
    i.how = rounding_of(x);
    i.mode = x.has("rni") || x.has("rzi") || x.has("rmi") || x.has("rpi");
    if (x.types.size() != 2 || x.has("relu"))
        return true;
    if (pair || x.first() == BF16)
        i.run = x.last() != F32 || i.how != NEAREST ? nullptr : x.first() == F16X2 ? halves_from_f32<f16> : halves_from_f32<bf16>;
    else
        i.run = to(x.first(), x.last());
    return true;
}

}
