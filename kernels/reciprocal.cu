/* reciprocal: y = 1 / x, element by element, rounded correctly: 0 becomes inf, -0 -inf; y may be x. */
#include "kernel.h"

template <class T> KERNEL reciprocal(const T *x, T *y, size_t n)
{
    MAP(x, y, n, v, QUIET(1 / v));
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    return LAUNCH_MAP(reciprocal<T>, n, c, (const T *)c->in[0], (T *)c->out[0], n);
}

EXPORT(reciprocal, .brief = "y = 1 / x", .kind = CUD_MAP, .in_place = true, .launch = BY_TYPE(launch))
