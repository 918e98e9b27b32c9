/* What operators and functions of expressions mean (docs/expressions.md), for every machine: no operation traps, and each has
 * one result whatever its arguments.  T is float or double; whole numbers wrap around.
 *
 * op<T>::NAME are the operations; of the functions, cud_NAME, those that elementary.h does not have. */
#ifndef CUD_KERNELS_OPERATORS_H
#define CUD_KERNELS_OPERATORS_H

#include "kernel.h"
#include "elementary.h"

template <class T> struct op {
    /* ---- from type to type */

    static HELPER_OF int64_t b2i(bool a) { return a; }
    static HELPER_OF T b2r(bool a) { return a ? T(1) : T(0); }
    static HELPER_OF bool i2b(int64_t a) { return a != 0; }
    static HELPER_OF T i2r(int64_t a) { return (T)a; }
    static HELPER_OF bool r2b(T a) { return a != 0; }          /* a NaN is true, as in C */
    /* Towards 0; to the nearest there is beyond the range; a NaN is 0. */
    static HELPER_OF int64_t r2i(T a)
    {
        const bool low = a < T(-0x1p63), high = a >= T(0x1p63), fits = !low && !high && a == a;
        const int64_t n = (int64_t)(fits ? a : T(0));
        return low ? INT64_MIN : high ? INT64_MAX : n;
    }

    /* ---- truths */

    static HELPER_OF bool bnot(bool a) { return !a; }
    static HELPER_OF bool band(bool a, bool b) { return a & b; }
    static HELPER_OF bool bor(bool a, bool b) { return a | b; }
    static HELPER_OF bool bxor(bool a, bool b) { return a != b; }
    static HELPER_OF bool bchoose(bool c, bool a, bool b) { return (c & a) | (!c & b); }

    /* ---- whole numbers */

    static HELPER_OF int64_t ineg(int64_t a) { return (int64_t)(0 - (uint64_t)a); }
    static HELPER_OF int64_t inot(int64_t a) { return ~a; }
    static HELPER_OF int64_t iadd(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
    static HELPER_OF int64_t isub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
    static HELPER_OF int64_t imul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
    /* By 0 it is 0, and all of a is left: a == a / b * b + a % b always. */
    static HELPER_OF int64_t idiv(int64_t a, int64_t b)
    {
        const int64_t q = a / (b == 0 || b == -1 ? 1 : b);
        return b == 0 ? 0 : b == -1 ? ineg(a) : q;
    }
    static HELPER_OF int64_t irem(int64_t a, int64_t b)
    {
        const int64_t r = a % (b == 0 || b == -1 ? 1 : b);
        return b == 0 ? a : r;
    }
    /* By 64 and more, and by less than 0, all bits are shifted out. */
    static HELPER_OF int64_t ishl(int64_t a, int64_t b) { return (uint64_t)b > 63 ? 0 : (int64_t)((uint64_t)a << (b & 63)); }
    static HELPER_OF int64_t ishr(int64_t a, int64_t b) { return a >> ((uint64_t)b > 63 ? 63 : b); }
    static HELPER_OF int64_t iand(int64_t a, int64_t b) { return a & b; }
    static HELPER_OF int64_t ior(int64_t a, int64_t b) { return a | b; }
    static HELPER_OF int64_t ixor(int64_t a, int64_t b) { return a ^ b; }
    static HELPER_OF bool ilt(int64_t a, int64_t b) { return a < b; }
    static HELPER_OF bool ile(int64_t a, int64_t b) { return a <= b; }
    static HELPER_OF bool ieq(int64_t a, int64_t b) { return a == b; }
    static HELPER_OF bool ine(int64_t a, int64_t b) { return a != b; }
    static HELPER_OF int64_t ichoose(bool c, int64_t a, int64_t b) { return c ? a : b; }
    static HELPER_OF int64_t iabs(int64_t a) { return a < 0 ? ineg(a) : a; }
    static HELPER_OF int64_t imin(int64_t a, int64_t b) { return a < b ? a : b; }
    static HELPER_OF int64_t imax(int64_t a, int64_t b) { return a > b ? a : b; }
    static HELPER_OF int64_t iclamp(int64_t x, int64_t low, int64_t high) { return imin(imax(x, low), high); }

    /* ---- reals: every NaN that comes out is the one quiet NaN */

    static HELPER_OF T neg(T a) { return QUIET(-a); }
    static HELPER_OF T add(T a, T b) { return QUIET(a + b); }
    static HELPER_OF T sub(T a, T b) { return QUIET(a - b); }
    static HELPER_OF T mul(T a, T b) { return QUIET(a * b); }
    static HELPER_OF T div(T a, T b) { return QUIET(a / b); }
    static HELPER_OF bool lt(T a, T b) { return a < b; }
    static HELPER_OF bool le(T a, T b) { return a <= b; }
    static HELPER_OF bool eq(T a, T b) { return a == b; }
    static HELPER_OF bool ne(T a, T b) { return a != b; }
    static HELPER_OF T choose(bool c, T a, T b) { return QUIET(c ? a : b); }
    static HELPER_OF T abs(T a) { return QUIET(MAGNITUDE(a)); }
    /* A NaN where one of them is; b if they are equal. */
    static HELPER_OF T min(T a, T b) { return QUIET(a < b || a != a ? a : b); }
    static HELPER_OF T max(T a, T b) { return QUIET(a > b || a != a ? a : b); }
    static HELPER_OF T clamp(T x, T low, T high) { return min(max(x, low), high); }
    static HELPER_OF bool isnan(T a) { return a != a; }
    static HELPER_OF bool isinf(T a) { return MAGNITUDE(a) == (T)HUGE_VAL; }
    static HELPER_OF bool isfinite(T a) { return MAGNITUDE(a) < (T)HUGE_VAL; }
    static HELPER_OF bool signbit(T a) { return BITS(QUIET(a)) >> (8 * sizeof(T) - 1); }
};

/* The magnitude of one, the sign of the other; a NaN is positive. */
template <class T> HELPER T cud_copysign(T x, T y)
{
    typedef typename cud_bits<T>::type U;
    const U sign = (U)1 << (8 * sizeof(T) - 1);
    return QUIET(FROM_BITS<T>((BITS(x) & ~sign) | (BITS(QUIET(y)) & sign)));
}

#endif
