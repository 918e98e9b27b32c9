/* round: y = x rounded to so many decimals, to even in the middle, element by element; y may be x.
 * As NumPy does it: x * 10^decimals is rounded, and divided again, each of which rounds once; below 0 decimals divided first.
 * Infinite on the way: y = x. */
#include "kernel.h"
#include "elementary/round.h"

#define DECIMALS_MAX 22                   /* 10^22 is the greatest power of ten that is a double */

template <class T> HELPER T cud_decimals(T x, T factor)
{
    const T r = cud_rint(x * factor) / factor;
    return QUIET(cud_is_finite(x * factor) ? r : x);
}
template <class T> HELPER T cud_tens(T x, T factor)
{
    const T r = cud_rint(x / factor) * factor;
    return QUIET(cud_is_finite(r) ? r : x);
}

template <class T> KERNEL round_each(const T *x, T *y, size_t n, T factor)
{
    MAP(x, y, n, v, cud_decimals(v, factor));
}

template <class T> KERNEL round_tens(const T *x, T *y, size_t n, T factor)
{
    MAP(x, y, n, v, cud_tens(v, factor));
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    double factor = 1;
    for (int d = (int)fabs(c->param[0]); d > 0; d--)
        factor *= 10;
    if (c->param[0] < 0)
        return LAUNCH_MAP(round_tens<T>, n, c, (const T *)c->in[0], (T *)c->out[0], n, (T)factor);
    return LAUNCH_MAP(round_each<T>, n, c, (const T *)c->in[0], (T *)c->out[0], n, (T)factor);
}

static enum cud_status shape(const struct cud_step_facts *facts, uint64_t *, struct cud_err *err)
{
    const double decimals = facts->param[0];
    if (!(fabs(decimals) <= DECIMALS_MAX && decimals == (int)decimals))
        return FAIL(err, CUD_EUSAGE, "decimals=%g is no whole number from -%d to %d", decimals, DECIMALS_MAX, DECIMALS_MAX);
    return CUD_OK;
}

static const struct cud_param params[] = {
    {.name = "decimals", .kind = CUD_NUMBER, .fallback = "0", .choices = NULL,
     .help = "digits behind the point; -2: to hundreds"},
    {},
};

EXPORT(round, .brief = "y = x rounded, to even in the middle", .kind = CUD_MAP, .in_place = true, .param = params,
       .shape = shape, .launch = BY_TYPE(launch))
