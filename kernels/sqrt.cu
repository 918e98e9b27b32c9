/* sqrt: y = the square root of x, element by element, rounded correctly: -0 stays, below it is NaN; y may be x. */
#include "kernel.h"
#include "elementary/power.h"

template <class T> KERNEL sqrt_each(const T *x, T *y, size_t n)
{
    MAP(x, y, n, v, cud_sqrt(v));
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    return LAUNCH_MAP(sqrt_each<T>, n, c, (const T *)c->in[0], (T *)c->out[0], n);
}

EXPORT(sqrt, .brief = "y = square root of x", .kind = CUD_MAP, .in_place = true, .launch = BY_TYPE(launch))
