/* leaky_relu: y = x where x > 0, else negative_slope * x, element by element; y may be x. */
#include "kernel.h"

template <class T> KERNEL leaky_relu(const T *x, T *y, size_t n, T slope)
{
    MAP(x, y, n, v, QUIET(v > 0 ? v : slope * v));
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    return LAUNCH_MAP(leaky_relu<T>, n, c, (const T *)c->in[0], (T *)c->out[0], n, (T)c->param[0]);
}

static const struct cud_param params[] = {
    {.name = "negative_slope", .kind = CUD_NUMBER, .fallback = "0.01", .choices = NULL,
     .help = "what elements below 0 are multiplied by"},
    {},
};

EXPORT(leaky_relu, .brief = "y = x where x > 0, else negative_slope * x", .kind = CUD_MAP, .in_place = true, .param = params,
       .launch = BY_TYPE(launch))
