/* softplus: y = log(1 + exp(beta * x)) / beta, and x itself where beta * x > threshold, element by element; y may be x.
 * Of -inf it is 0. */
#include "kernel.h"
#include "elementary/log.h"

enum { BETA, THRESHOLD };

template <class T> HELPER T cud_softplus(T x, T beta, T threshold)
{
    const T b = beta * x, soft = (GREATER(T(0), b) + cud_log1p(cud_exp(-MAGNITUDE(b)))) / beta;
    return QUIET(b > threshold ? x : soft);
}

template <class T> KERNEL softplus(const T *x, T *y, size_t n, T beta, T threshold)
{
    MAP(x, y, n, v, cud_softplus(v, beta, threshold));
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    return LAUNCH_MAP(softplus<T>, n, c, (const T *)c->in[0], (T *)c->out[0], n, (T)c->param[BETA], (T)c->param[THRESHOLD]);
}

static enum cud_status shape(const struct cud_step_facts *facts, uint64_t *, struct cud_err *err)
{
    const double size = fabs(facts->param[BETA]);
    if (!(size > 0 && size < HUGE_VAL))
        return FAIL(err, CUD_EUSAGE, "beta=%g is no finite number other than 0", facts->param[BETA]);
    return CUD_OK;
}

static const struct cud_param params[] = {
    {.name = "beta", .kind = CUD_NUMBER, .fallback = "1", .choices = NULL, .help = "how sharp the bend at 0 is"},
    {.name = "threshold", .kind = CUD_NUMBER, .fallback = "20", .choices = NULL, .help = "y = x where beta * x is above"},
    {},
};

EXPORT(softplus, .brief = "y = log(1 + exp(beta * x)) / beta", .kind = CUD_MAP, .in_place = true, .param = params,
       .shape = shape, .launch = BY_TYPE(launch))
