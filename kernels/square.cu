/* square: y = x * x, element by element; y may be x. */
#include "kernel.h"

template <class T> KERNEL square(const T *x, T *y, size_t n)
{
    MAP(x, y, n, v, QUIET(v * v));
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    return LAUNCH_MAP(square<T>, n, c, (const T *)c->in[0], (T *)c->out[0], n);
}

EXPORT(square, .brief = "y = x * x", .kind = CUD_MAP, .in_place = true, .launch = BY_TYPE(launch))
