/* onehot: each element x becomes `classes` elements, of which number x, from 0, is 1 and the others 0.  All are 0 where x is
 * none of 0 ... classes - 1: negative, too great, no whole number, NaN. */
#include "kernel.h"

template <class T> KERNEL onehot(const T *x, T *y, size_t rows, size_t cols)
{
    ROWS(r, rows, cols) {
        T *const b = y + r * cols;
        const T v = x[r];
        EACH_OF(i, cols)
            b[i] = (T)i == v;
    }
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1], classes = (size_t)c->param[0];
    return LAUNCH_ROWS(onehot<T>, n, classes, c, (const T *)c->in[0], (T *)c->out[0], n, classes);
}

static enum cud_status shape(const struct cud_step_facts *facts, uint64_t *cols_out, struct cud_err *err)
{
    const double classes = facts->param[0];
    if (!(classes >= 1 && classes <= (double)INDEX_MAX(CUD_F32) && classes == (double)(uint64_t)classes))
        return FAIL(err, CUD_EUSAGE, "classes=%g is no whole number from 1 to %llu", classes,
                    (unsigned long long)INDEX_MAX(CUD_F32));
    if (facts->cols > UINT64_MAX / (uint64_t)classes)
        return FAIL(err, CUD_EINPUT, "rows of %llu elements times %g classes are too long",
                    (unsigned long long)facts->cols, classes);
    *cols_out = facts->cols * (uint64_t)classes;
    return CUD_OK;
}

static const struct cud_param params[] = {
    {.name = "classes", .kind = CUD_NUMBER, .fallback = NULL, .choices = NULL, .help = "how many elements each becomes"},
    {},
};

EXPORT(onehot, .brief = "1 in the column that an element names, else 0", .kind = CUD_ROWS, .param = params, .shape = shape,
       .launch = BY_TYPE(launch))
