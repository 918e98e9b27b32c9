/* Arithmetic on integers (section 9.7.1), with carry (9.7.2), and on f32 and f64 (9.7.3).  Compiled with -frounding-math. */
#include <cfenv>
#include <cmath>
#include "ptx_reader.h"

namespace ptx {

template <class T> constexpr bool INTEGER = std::is_integral_v<T>;
template <class T> using unsigned_of = std::make_unsigned_t<T>;

template <class T> struct wide_of;
template <> struct wide_of<u8> { using type = u16; };
template <> struct wide_of<s8> { using type = s16; };
template <> struct wide_of<u16> { using type = u32; };
template <> struct wide_of<s16> { using type = s32; };
template <> struct wide_of<u32> { using type = u64; };
template <> struct wide_of<s32> { using type = s64; };
template <> struct wide_of<u64> { using type = u128; };
template <> struct wide_of<s64> { using type = s128; };

/* For as long as it lives, the host rounds as a .rz, .rm or .rp says: 2, 3, 4. */
struct rounding {
    const int before;
    explicit rounding(int how) : before(how > 1 ? fegetround() : -1)
    {
        if (how > 1)
            fesetround(how == 2 ? FE_TOWARDZERO : how == 3 ? FE_DOWNWARD : FE_UPWARD);
    }
    ~rounding()
    {
        if (before >= 0)
            fesetround(before);
    }
};

template <class T> static int set_float(u64 &slot, T x, const ins &i)
{
    if (i.saturate)                       /* to 0..1, NaN to 0 */
        x = x > T(0) ? x < T(1) ? x : T(1) : T(0);
    put_float<T>(slot, x);
    return NEXT;
}

/* what: the operation; how: the rounding of floats. */
enum operation { ADD, SUB, MUL, DIV, REM, MIN, MAX };

template <class T> static T integer_divide(T a, T b, bool rest)
{
    if (b == 0)                           /* "unspecified": what hardware gives */
        return rest ? a : T(-1);
    if (std::is_signed_v<T> && b == T(-1))
        return rest ? T(0) : T(0 - unsigned_of<T>(a));
    return rest ? a % b : a / b;
}

/* .sat is for s32 only. */
static s64 saturated(s64 x) { return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x; }

template <class T> static T integer_two(T a, T b, const ins &i)
{
    using U = unsigned_of<T>;
    switch (i.what) {
    case ADD: return i.saturate ? T(saturated(s64(a) + s64(b))) : T(U(a) + U(b));
    case SUB: return i.saturate ? T(saturated(s64(a) - s64(b))) : T(U(a) - U(b));
    case MIN: return a < b ? a : b;
    case MAX: return a > b ? a : b;
    default: return integer_divide(a, b, i.what == REM);
    }
}

/* min and max: the other operand for a NaN, -0 below +0. */
template <class T> static T least(T x, T y)
{
    return x != x ? y : y != y ? x : x < y || (x == y && std::signbit(x)) ? x : y;
}

template <class T> static T float_two(T x, T y, const ins &i)
{
    const rounding here(i.how);
    const volatile T a = x, b = y;        /* not computed before here */
    switch (i.what) {
    case ADD: return a + b;
    case SUB: return a - b;
    case MUL: return a * b;
    case DIV: return a / b;
    case MIN: return least<T>(a, b);
    default: return -least<T>(-a, -b);
    }
}

template <class T> static int two(thread &, u64 *r, const ins &i)
{
    const T a = get<T>(r[i.a]), b = get<T>(r[i.b]);
    if constexpr (INTEGER<T>)
        put<T>(r[i.d], integer_two<T>(a, b, i));
    else {
        volatile const T x = float_two<T>(a, b, i);
        return set_float<T>(r[i.d], x, i);
    }
    return NEXT;
}

/* mul and mad; mode: LOW, HIGH or WIDE half of the product. */
enum { LOW, HIGH, WIDE };
template <class T> static int multiply(thread &, u64 *r, const ins &i)
{
    using W = typename wide_of<T>::type;
    using U = unsigned_of<T>;
    const W product = W(get<T>(r[i.a])) * W(get<T>(r[i.b]));
    if (i.mode == WIDE) {
        if constexpr (sizeof(T) < 8)
            put<W>(r[i.d], i.c < 0 ? product : W(unsigned_of<W>(product) + unsigned_of<W>(get<W>(r[i.c]))));
        return NEXT;
    }
    const U part = U(i.mode == HIGH ? product >> (8 * sizeof(T)) : product);
    put<T>(r[i.d], T(U(part + (i.c < 0 ? U(0) : U(get<T>(r[i.c]))))));
    return NEXT;
}

template <class T> static int fused(thread &, u64 *r, const ins &i)
{
    volatile T x;
    {
        volatile const T a = get<T>(r[i.a]), b = get<T>(r[i.b]), c = get<T>(r[i.c]);
        const rounding here(i.how);
        x = std::fma(T(a), T(b), T(c));
    }
    return set_float<T>(r[i.d], x, i);
}

template <class T> static int negate(thread &, u64 *r, const ins &i)
{
    const T x = get<T>(r[i.a]);
    if constexpr (INTEGER<T>)
        put<T>(r[i.d], T(0 - unsigned_of<T>(x)));
    else
        put_float<T>(r[i.d], -x);
    return NEXT;
}

template <class T> static int magnitude(thread &, u64 *r, const ins &i)
{
    const T x = get<T>(r[i.a]);
    if constexpr (INTEGER<T>)
        put<T>(r[i.d], x < 0 ? T(0 - unsigned_of<T>(x)) : x);
    else
        put_float<T>(r[i.d], std::fabs(x));
    return NEXT;
}

static bool read_product(reader &r, const statement &x, ins &i)
{
    const bool adds = x.op != "mul" && x.op != "mul24";
    r.operands(x, i, adds ? 3 : 2);
    i.mode = x.has("hi") ? HIGH : x.has("wide") ? WIDE : LOW;
    i.what = MUL;
    i.how = rounding_of(x);
    if (x.last() <= S64)
        i.run = of_integer(x.last(), ACTION(multiply));
    else
        i.run = of_float(x.last(), [=]<class T>() -> action { return adds ? fused<T> : two<T>; });
    return true;
}

bool read_arithmetic(reader &r, const statement &x, ins &i)
{
    static const std::map<std::string, operation> twos = {{"add", ADD}, {"sub", SUB}, {"div", DIV},
                                                          {"rem", REM}, {"min", MIN}, {"max", MAX}};
    if (x.op == "mul" || x.op == "mul24" || x.op == "mad" || x.op == "fma")
        return read_product(r, x, i);
    const auto found = twos.find(x.op);
    if (found != twos.end()) {
        if (x.has("NaN") || x.has("xorsign"))
            throw std::runtime_error(x.op + ".NaN is unknown");
        i.what = found->second;
        i.how = rounding_of(x);
        r.operands(x, i, 2);
        if (!i.saturate || x.last() == S32 || x.last() == F32)
            i.run = of_number(x.last(), ACTION(two));
        return true;
    }
    if (x.op != "neg" && x.op != "abs")
        return false;
    r.operands(x, i, 1);
    i.run = x.op == "neg" ? of_number(x.last(), ACTION(negate)) : of_number(x.last(), ACTION(magnitude));
    return true;
}

/* ---- with carry; how: it reads the carry; mode: it writes it; what: the high half of a product */

template <class T> static void with_carry(thread &t, u64 *r, const ins &i, u128 sum)
{
    if (i.mode)
        t.carry = u32(sum >> (8 * sizeof(T))) & 1;
    put<T>(r[i.d], T(sum));
}
template <class T> static int add_carry(thread &t, u64 *r, const ins &i)
{
    with_carry<T>(t, r, i, u128(get<T>(r[i.a])) + get<T>(r[i.b]) + (i.how ? t.carry : 0));
    return NEXT;
}
template <class T> static int subtract_borrow(thread &t, u64 *r, const ins &i)
{
    with_carry<T>(t, r, i, u128(get<T>(r[i.a])) - get<T>(r[i.b]) - (i.how ? t.carry : 0));
    return NEXT;
}
template <class T> static int multiply_carry(thread &t, u64 *r, const ins &i)
{
    const u128 product = u128(get<T>(r[i.a])) * get<T>(r[i.b]);
    const T part = T(i.what ? product >> (8 * sizeof(T)) : product);
    with_carry<T>(t, r, i, u128(part) + get<T>(r[i.c]) + (i.how ? t.carry : 0));
    return NEXT;
}

bool read_carry(reader &r, const statement &x, ins &i)
{
    const bool reads = x.op == "addc" || x.op == "subc" || x.op == "madc";
    if (!reads && !(x.has("cc") && (x.op == "add" || x.op == "sub" || x.op == "mad")))
        return false;
    i.how = reads;
    i.mode = x.has("cc");
    i.what = x.has("hi");
    r.operands(x, i, x.op[0] == 'm' ? 3 : 2);
    i.run = x.op[0] == 'a'   ? of_unsigned(x.last(), ACTION(add_carry))
            : x.op[0] == 's' ? of_unsigned(x.last(), ACTION(subtract_borrow))
                             : of_unsigned(x.last(), ACTION(multiply_carry));
    if (x.op[0] == 'm' && (x.last() == S32 || x.last() == S64))
        i.run = i.what ? nullptr : i.run; /* the high half of a signed product is another */
    return true;
}

}
