/* sign: y = -1, 0 or 1, element by element: of -0 it is 0, a NaN stays; y may be x. */
#include "kernel.h"

template <class T> KERNEL sign(const T *x, T *y, size_t n)
{
    MAP(x, y, n, v, v > 0 ? T(1) : v < 0 ? T(-1) : v == 0 ? T(0) : cud_nan<T>());
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    return LAUNCH_MAP(sign<T>, n, c, (const T *)c->in[0], (T *)c->out[0], n);
}

EXPORT(sign, .brief = "y = -1, 0 or 1, as x is below, equal to or above 0", .kind = CUD_MAP, .in_place = true,
       .launch = BY_TYPE(launch))
