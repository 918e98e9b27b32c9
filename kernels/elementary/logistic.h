/* v / (1 + exp(-x - more)), more tiny beside x: what sigmoid, silu and gelu are made of. */
#ifndef CUD_ELEMENTARY_LOGISTIC_H
#define CUD_ELEMENTARY_LOGISTIC_H

#include "exp.h"

template <class T> struct cud_logistic_of;
template <> struct cud_logistic_of<float> { static constexpr float lo = -120; };       /* lo exp(lo) is 0 */
template <> struct cud_logistic_of<double> { static constexpr double lo = -800; };

/* As exact for x < 0: v exp(x) / (1 + exp(x)), with one rounding where it is subnormal.  Not for v below lo. */
template <class T> HELPER T cud_logistic(T v, T x, T more)
{
    T n;
    const T a = GREATER(cud_logistic_of<T>::lo, -MAGNITUDE(x)), p = cud_exp_reduced(a, x < 0 ? more : -more, &n);
    const T q = v / (1 + cud_scaled(1 + p, n));
    return QUIET(x < 0 ? cud_scaled(q + q * p, n) : q);
}

#endif
