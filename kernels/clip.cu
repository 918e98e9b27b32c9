/* clip: y = min where x < min, max where x > max, else x, element by element (a NaN stays); y may be x. */
#include "kernel.h"

enum { MIN, MAX };

template <class T> KERNEL clip(const T *x, T *y, size_t n, T min, T max)
{
    MAP(x, y, n, v, QUIET(v < min ? min : v > max ? max : v));
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    return LAUNCH_MAP(clip<T>, n, c, (const T *)c->in[0], (T *)c->out[0], n, (T)c->param[MIN], (T)c->param[MAX]);
}

static enum cud_status shape(const struct cud_step_facts *facts, uint64_t *, struct cud_err *err)
{
    const double min = facts->param[MIN], max = facts->param[MAX];
    if (min == -HUGE_VAL && max == HUGE_VAL)
        return FAIL(err, CUD_EUSAGE, "needs min= or max=");
    if (!(min <= max))
        return FAIL(err, CUD_EUSAGE, "min=%g is not at most max=%g", min, max);
    return CUD_OK;
}

static const struct cud_param params[] = {
    {.name = "min", .kind = CUD_NUMBER, .fallback = "-inf", .choices = NULL, .help = "what is below becomes this"},
    {.name = "max", .kind = CUD_NUMBER, .fallback = "inf", .choices = NULL, .help = "what is above becomes this"},
    {},
};

EXPORT(clip, .brief = "y = min where x < min, max where x > max, else x", .kind = CUD_MAP, .in_place = true, .param = params,
       .shape = shape, .launch = BY_TYPE(launch))
