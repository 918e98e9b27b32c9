/* tanh: y = the hyperbolic tangent of x, element by element; y may be x.  elementary.h says how exact it is. */
#include "kernel.h"
#include "elementary/exp.h"

template <class T> KERNEL tanh_each(const T *x, T *y, size_t n)
{
    MAP(x, y, n, v, cud_tanh(v));
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    return LAUNCH_MAP(tanh_each<T>, n, c, (const T *)c->in[0], (T *)c->out[0], n);
}

EXPORT(tanh, .brief = "y = tanh(x)", .kind = CUD_MAP, .in_place = true, .launch = BY_TYPE(launch))
