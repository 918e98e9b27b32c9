/* affine: y = scale * x + shift, element by element, the product rounded first; y may be x. */
#include "kernel.h"

template <class T> KERNEL affine(const T *x, T *y, size_t n, T scale, T shift)
{
    MAP(x, y, n, v, QUIET(scale * v + shift));
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    return LAUNCH_MAP(affine<T>, n, c, (const T *)c->in[0], (T *)c->out[0], n, (T)c->param[0], (T)c->param[1]);
}

static const struct cud_param params[] = {
    {.name = "scale", .kind = CUD_NUMBER, .fallback = "1", .choices = NULL, .help = "what every element is multiplied by"},
    {.name = "shift", .kind = CUD_NUMBER, .fallback = "0", .choices = NULL, .help = "what is added then"},
    {},
};

EXPORT(affine, .brief = "y = scale * x + shift", .kind = CUD_MAP, .in_place = true, .param = params, .launch = BY_TYPE(launch))
