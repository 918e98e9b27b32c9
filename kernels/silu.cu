/* silu: y = x / (1 + exp(-x)), element by element, exact far from 0 too: of -inf it is -0 (PyTorch: NaN); y may be x. */
#include "kernel.h"
#include "elementary/logistic.h"

template <class T> KERNEL silu(const T *x, T *y, size_t n)
{
    MAP(x, y, n, v, cud_logistic(GREATER(cud_logistic_of<T>::lo, v), v, T(0)));
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    return LAUNCH_MAP(silu<T>, n, c, (const T *)c->in[0], (T *)c->out[0], n);
}

EXPORT(silu, .brief = "y = x / (1 + exp(-x))", .kind = CUD_MAP, .in_place = true, .launch = BY_TYPE(launch))
