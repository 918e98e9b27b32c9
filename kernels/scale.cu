/* scale: y = factor * x, element by element; y may be x. */
#include "kernel.h"

template <class T> KERNEL scale(const T *x, T *y, size_t n, T factor)
{
    MAP(x, y, n, v, QUIET(factor * v));
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    return LAUNCH_MAP(scale<T>, n, c, (const T *)c->in[0], (T *)c->out[0], n, (T)c->param[0]);
}

static const struct cud_param params[] = {
    {.name = "factor", .kind = CUD_NUMBER, .fallback = "2", .choices = NULL, .help = "what every element is multiplied by"},
    {},
};

EXPORT(scale, .brief = "y = factor * x", .kind = CUD_MAP, .in_place = true, .param = params, .launch = BY_TYPE(launch))
