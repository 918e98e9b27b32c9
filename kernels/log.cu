/* log: y = the natural logarithm of x; NaN below 0, element by element; y may be x.  elementary.h says how exact it is. */
#include "kernel.h"
#include "elementary/log.h"

template <class T> KERNEL log_each(const T *x, T *y, size_t n)
{
    MAP(x, y, n, v, cud_log(v));
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    return LAUNCH_MAP(log_each<T>, n, c, (const T *)c->in[0], (T *)c->out[0], n);
}

EXPORT(log, .brief = "y = log(x)", .kind = CUD_MAP, .in_place = true, .launch = BY_TYPE(launch))
