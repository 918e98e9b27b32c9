/* relu: y = x where x > 0, else 0 (NaN stays NaN), element by element; y may be x. */
#include "kernel.h"

template <class T> KERNEL relu(const T *x, T *y, size_t n)
{
    MAP(x, y, n, v, v > 0 ? v : v <= 0 ? T(0) : cud_nan<T>());
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    return LAUNCH_MAP(relu<T>, n, c, (const T *)c->in[0], (T *)c->out[0], n);
}

EXPORT(relu, .brief = "y = x where x > 0, else 0", .kind = CUD_MAP, .in_place = true, .launch = BY_TYPE(launch))
