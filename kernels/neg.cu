/* neg: y = -x, element by element: 0 becomes -0; y may be x. */
#include "kernel.h"

template <class T> KERNEL neg(const T *x, T *y, size_t n)
{
    MAP(x, y, n, v, QUIET(-v));
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    return LAUNCH_MAP(neg<T>, n, c, (const T *)c->in[0], (T *)c->out[0], n);
}

EXPORT(neg, .brief = "y = -x", .kind = CUD_MAP, .in_place = true, .launch = BY_TYPE(launch))
