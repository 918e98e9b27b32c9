/* Arithmetic of f16, bf16 and pairs of them (section 9.7.4): in f32, where sums and products of halves are exact enough for one
 * rounding to be right; fma in f64, its sum rounded to odd. */
#include <cmath>
#include "ptx_half.h"
#include "ptx_reader.h"

namespace ptx {

enum { ADD, SUB, MUL, FMA, NEG, ABS, MIN, MAX };

/* a * b is exact in f64; rounding the sum to odd leaves a second rounding, to fewer bits, right (Boldo and Melquiond 2008). */
static double fma_to_odd(double a, double b, double c)
{
    const double product = a * b, sum = product + c, x = sum - product, rest = (product - (sum - x)) + (c - x);
    u64 bits = 0;
    memcpy(&bits, &sum, sizeof bits);
    if (rest != 0 && rest == rest && std::isfinite(sum) && !(bits & 1))
        bits += (rest > 0) == (sum > 0) ? 1 : -1;
    double odd;
    memcpy(&odd, &bits, sizeof odd);
    return odd;
}

static float narrow_to_odd(double x)
{
    float f = float(x);
    u32 bits;
    memcpy(&bits, &f, sizeof bits);
    if (double(f) != x && x == x && std::isfinite(f)) {
        if (std::fabs(double(f)) > std::fabs(x))
            bits--;
        bits |= 1;
        memcpy(&f, &bits, sizeof f);
    }
    return f;
}

template <class H> static float compute(int what, H a, H b, H c)
{
    const float x = float(a), y = float(b);
    switch (what) {
    case ADD: return x + y;
    case SUB: return x - y;
    case MUL: return x * y;
    case FMA: return narrow_to_odd(fma_to_odd(double(x), double(y), double(float(c))));
    case MIN: return x != x ? y : y != y ? x : x < y || (x == y && std::signbit(x)) ? x : y;
    default: return x != x ? y : y != y ? x : x > y || (x == y && !std::signbit(x)) ? x : y;
    }
}

template <class H> static u16 one(const ins &i, u16 a, u16 b, u16 c)
{
    if (i.what == NEG || i.what == ABS)
        return i.what == NEG ? a ^ 0x8000 : a & 0x7fff;
    float x = compute<H>(i.what, get<H>(a), get<H>(b), get<H>(c));
    if (i.saturate)
        x = x > 0 ? x < 1 ? x : 1 : 0;
    u64 out = 0x7fff;                     /* the canonical NaN */
    if (x == x)
        put<H>(out, H(x));
    return u16(out);
}

/* mode: two of them in 32 bits. */
template <class H> static int half(thread &, u64 *r, const ins &i)
{
    u32 out = 0;
    for (int n = 0; n <= i.mode; n++) {
        const auto part = [&](int slot) { return slot < 0 ? u16(0) : u16(r[slot] >> (16 * n)); };
        out |= u32(one<H>(i, part(i.a), part(i.b), part(i.c))) << (16 * n);
    }
    r[i.d] = out;
    return NEXT;
}

bool read_half(reader &r, const statement &x, ins &i)
{
    static const std::map<std::string, int> ops = {{"add", ADD}, {"sub", SUB}, {"mul", MUL}, {"fma", FMA},
                                                   {"neg", NEG}, {"abs", ABS}, {"min", MIN}, {"max", MAX}};
    const type t = x.last();
    const auto found = ops.find(x.op);
    if (found == ops.end() || (t != F16 && t != BF16 && t != F16X2 && t != BF16X2))
        return false;
    if (x.has("NaN") || x.has("relu"))
        throw std::runtime_error(x.op + ".NaN and .relu are unknown for halves");
    i.what = found->second;
    i.mode = t == F16X2 || t == BF16X2;
    r.operands(x, i, i.what == FMA ? 3 : i.what == NEG || i.what == ABS ? 1 : 2);
    i.run = t == F16 || t == F16X2 ? half<f16> : half<bf16>;
    return true;
}

}
