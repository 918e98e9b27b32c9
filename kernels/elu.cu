/* elu: y = x where x > 0, else alpha * (exp(x) - 1), element by element; y may be x. */
#include "kernel.h"
#include "elementary/exp.h"

template <class T> KERNEL elu(const T *x, T *y, size_t n, T alpha)
{
    MAP(x, y, n, v, QUIET(v > 0 ? v : alpha * cud_expm1(v)));
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    return LAUNCH_MAP(elu<T>, n, c, (const T *)c->in[0], (T *)c->out[0], n, (T)c->param[0]);
}

static const struct cud_param params[] = {
    {.name = "alpha", .kind = CUD_NUMBER, .fallback = "1", .choices = NULL, .help = "y goes to -alpha far below 0"},
    {},
};

EXPORT(elu, .brief = "y = x where x > 0, else alpha * (exp(x) - 1)", .kind = CUD_MAP, .in_place = true, .param = params,
       .launch = BY_TYPE(launch))
