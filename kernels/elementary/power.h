/* sqrt rsqrt cbrt hypot pow: see elementary.h.
 *
 * pow is 2^(y log2 |x|), the logarithm in two parts with 64 good bits and more, arranged as in K. C. Ng's pow of fdlibm, without
 * its table; for floats the same in doubles.  cbrt: a polynomial good to half of the digits, then one step of Halley's method,
 * as in FreeBSD's s_cbrt.c.  hypot: squares in two parts, as in e_hypot.c of musl. */
#ifndef CUD_ELEMENTARY_POWER_H
#define CUD_ELEMENTARY_POWER_H

#include "log.h"
#include "round.h"

template <class T> HELPER T cud_sqrt(T x) { return QUIET(cud_root(x)); }
template <class T> HELPER T cud_rsqrt(T x) { return QUIET(1 / cud_root(x)); }

/* x^(1/3), 1 <= x <= 2: relative error 2^-16.5, 2^-27.9 */
HELPER float cud_cbrt_poly(float x)
{
    return cud_poly(x, 0x1.03ebeep-1f, 0x1.6eb49cp-1f, -0x1.31c2a6p-2f, 0x1.5cdef2p-4f, -0x1.566f16p-7f);
}
HELPER double cud_cbrt_poly(double x)
{
    return cud_poly(x, 0x1.a259b893360e9p-2, 0x1.279935896bbf1p0, -0x1.2233da183528cp0, 0x1.f8eeb5deb9b1cp-1, -0x1.3d15e0baadf6fp-1,
                    0x1.11522b0062bebp-2, -0x1.326aa142a6c1ap-4, 0x1.924d231d3f46bp-7, -0x1.d5784852970fp-11);
}

template <class T> HELPER T cud_cbrt(T x)
{
    typedef cud_of<T> C;
    typedef typename cud_bits<T>::type U;
    const T a = MAGNITUDE(x);
    const bool small = a < C::normal;
    const U u = BITS(small ? a * C::whole : a);
    const T k = FROM_BITS<T>(u >> C::digits | BITS(C::whole)) - (C::whole + C::bias) - (small ? T(C::digits) : T(0));
    const T m = FROM_BITS<T>((u & (((U)1 << C::digits) - 1)) | C::one);              /* a = 2^k m, 1 <= m < 2 */
    const T n = (k - 1) * T(1.0 / 3) + C::magic, part = k - 3 * (n - C::magic);      /* k = 3 n + part, part 0, 1 or 2 */
    const T of_part = part < 1 ? T(1) : part < 2 ? T(0x1.428a2f98d728bp+0) : T(0x1.965fea53d6e3dp+0);
    const T t = cud_upper(cud_cbrt_poly(m) * of_part);                               /* t * t is exact */
    const T r = m * (part < 1 ? T(1) : part < 2 ? T(2) : T(4)) / (t * t);
    const T y = (t + t * ((r - t) / (t + t + r))) * cud_power_of_2<T>(BITS(n));
    return QUIET(a > 0 && cud_is_finite(a) ? cud_signed(y, x) : x);
}

HELPER float cud_hypot(float x, float y)
{
    const double a = x, b = y;
    const bool inf = (MAGNITUDE(x) == HUGE_VALF) | (MAGNITUDE(y) == HUGE_VALF);
    return inf ? HUGE_VALF : QUIET((float)cud_root(a * a + b * b));
}

HELPER double cud_hypot(double x, double y)
{
    const double p = MAGNITUDE(x), q = MAGNITUDE(y), most = GREATER(p, q);
    const bool inf = (p == HUGE_VAL) | (q == HUGE_VAL), large = most > 0x1p500, small = most < 0x1p-450;
    const double scale = large ? 0x1p-600 : small ? 0x1p600 : 1, back = large ? 0x1p600 : small ? 0x1p-600 : 1;
    const double a = p * scale, b = q * scale, aa = a * a, bb = b * b;
    const double low = cud_product_error(a, a, aa) + cud_product_error(b, b, bb);
    return inf ? HUGE_VAL : QUIET(cud_root(low + GREATER(bb, aa) + LESSER(bb, aa)) * back);
}

/* ---- pow */

/* What pow is: `magnitude`, |x|^y, where x and y are finite, x not 0 and y not huge. */
template <class T> HELPER T cud_pow_ends(T x, T y, T magnitude)
{
    const T a = MAGNITUDE(x), b = MAGNITUDE(y), half = T(0.5) * b, inf = (T)HUGE_VAL;
    const bool whole = cud_trunc(b) == b;
    const T even = cud_trunc(half) == half ? T(0) : x, sign = whole ? even : T(0);
    const T up = a > 1 ? y : -y, beyond = up > 0 ? inf : T(0), edge = a == 1 ? T(1) : beyond;
    const T size = a == 0 ? edge : a == inf ? edge : b == inf ? edge : magnitude;
    const T number = x == x ? T(1) : cud_nan<T>(), negative = whole ? T(1) : cud_nan<T>();
    const T real = x < 0 ? a == inf ? T(1) : negative : number;
    return y == 0 ? T(1) : x == 1 ? T(1) : QUIET(y != y ? y : cud_signed(size, sign) * real);
}

/* (log((1 + s) / (1 - s)) / (2 s) - 1) / s^2, z = s^2 < 0.0295: error of the logarithm 2^-43.1 */
HELPER double cud_pow_log_poly(double z)
{
    return cud_poly(z, 0x1.55555555651f7p-2, 0x1.999998c92c66ep-3, 0x1.2493251b520bep-3, 0x1.c67a54f6a9e71p-4, 0x1.8c94f9c04e2e1p-4);
}
/* (2^r - 1) / r, |r| <= 1/2: error of 2^r 2^-33.0 */
HELPER double cud_pow_exp_poly(double r)
{
    return cud_poly(r, 0x1.62e42fef95ec2p-1, 0x1.ebfbe045f90bap-3, 0x1.c6b08dc5e38c4p-5, 0x1.3b2a1b6d1ac41p-7, 0x1.5d874c79f776bp-10,
                    0x1.44400329158d6p-13, 0x1.00dc4e57a1442p-16);
}

HELPER float cud_pow(float x, float y)
{
    double k;
    const double f = cud_log_reduced((double)MAGNITUDE(x), &k), s = f / (2 + f), z = s * s;
    const double log2 = k + s * 0x1.71547652b82fep+1 * (1 + z * cud_pow_log_poly(z));
    const double t = LESSER(200.0, GREATER(-200.0, y * log2)), n = t + cud_of<double>::magic, r = t - (n - cud_of<double>::magic);
    return QUIET((float)cud_pow_ends((double)x, (double)y, (1 + r * cud_pow_exp_poly(r)) * cud_power_of_2<double>(BITS(n))));
}

/* 3 ((log((1 + s) / (1 - s)) / (2 s) - 1) / s^2 - 1/3) / s^2, z = s^2 < 0.0295: error of the logarithm 2^-71.0 */
HELPER double cud_pow_poly(double z)
{
    return cud_poly(z, 0x1.3333333333333p-1, 0x1.b6db6db6db97p-2, 0x1.5555555507f4fp-2, 0x1.1745d1b5446eep-2, 0x1.d89d5046fc8dbp-3,
                    0x1.99a8085f5f3bcp-3, 0x1.675cb96365288p-3, 0x1.6a6ee3412807ep-3);
}

/* log2 of x > 0 as the sum of *hi, which has half of the digits, and what is returned. */
HELPER double cud_log2_pair(double x, double *hi)
{
    const double unit = 0x1.ec709dc3a03fdp-1, unit_hi = 0x1.ec709d8p-1, unit_lo = 0x1.0e80ff5d27f05p-27;   /* 2 / (3 ln 2) */
    double k;
    const double f = cud_log_reduced(x, &k), m = 1 + f, d = 1 + m, v = 1 / d, s = f * v;
    const double sh = cud_upper(s), dh = cud_upper(d), dl = m - (dh - 1), sl = v * ((f - sh * dh) - sh * dl);
    const double z = s * s, zh = sh * sh, rest = z * z * cud_pow_poly(z) + sl * (sh + s);
    const double th = cud_upper(3 + zh + rest), tl = rest - ((th - 3) - zh);         /* 3 log(m) / 2 s */
    const double a = sh * th, b = sl * th + tl * s, ph = cud_upper(a + b), pl = b - (ph - a);
    const double qh = unit_hi * ph, ql = unit_lo * ph + pl * unit;
    *hi = cud_upper(qh + ql + k);
    return ql - ((*hi - k) - qh);
}

HELPER double cud_pow(double x, double y)
{
    typedef cud_exp_of<double> E;
    const double b = LESSER(0x1p66, GREATER(-0x1p66, y)), bh = cud_upper(b);         /* beyond it is 0, 1 or inf */
    double lh;
    const double ll = cud_log2_pair(MAGNITUDE(x), &lh);
    const double h = bh * lh, l = (b - bh) * lh + b * ll, t = h + l;                 /* h is exact */
    const double a = LESSER(E::exp2_hi, GREATER(E::exp2_lo, t)), low = a == t ? l - (t - h) : 0;
    const double n = a + cud_of<double>::magic, c = a - (n - cud_of<double>::magic), r = c + low, rest = (c - r) + low;
    return cud_pow_ends(x, y, cud_scaled(1 + (r * cud_exp2_poly(r) + rest * 0x1.62e42fefa39efp-1), n));
}

#endif
