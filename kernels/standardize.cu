/* standardize: y = (x - mean) / std, each a number or one for each column; y may be x.  Each operation rounds once. */
#include "kernel.h"

enum { MEAN, STD };

/* A number, or column i's. */
template <class T> HELPER T at(const T *each, T all, size_t i) { return each ? each[i] : all; }

template <class T> KERNEL standardize(const T *x, T *y, size_t rows, size_t cols, const T *means, T mean, const T *stds, T std)
{
    ROWS(r, rows, cols) {
        const T *const a = x + r * cols;
        T *const b = y + r * cols;
        EACH_OF(i, cols)
            b[i] = QUIET((a[i] - at(means, mean, i)) / at(stds, std, i));
    }
}

template <class T> static int launch(const struct cud_call *c)
{
    return LAUNCH_ROWS(standardize<T>, c->dim[0], c->dim[1], c, (const T *)c->in[0], (T *)c->out[0], c->dim[0], c->dim[1],
                       (const T *)c->in[1], (T)c->param[MEAN], (const T *)c->in[2], (T)c->param[STD]);
}

static enum cud_status shape(const struct cud_step_facts *facts, uint64_t *, struct cud_err *err)
{
    static const char *const names[] = {"mean", "std"};
    char text[CUD_SHAPE_TEXT];
    for (int i = MEAN; i <= STD; i++) {
        const struct cud_shape *const s = &facts->array[i];
        if (s->ndim && cud_shape_rows(s) * cud_shape_cols(s) != facts->cols)
            return FAIL(err, CUD_EINPUT, "%s must have %llu elements, one for each column, but its shape is %s", names[i],
                        (unsigned long long)facts->cols, cud_shape_text(s, text));
    }
    return CUD_OK;
}

static const struct cud_param params[] = {
    {.name = "mean", .kind = CUD_NUMBERS, .fallback = "0", .choices = NULL,
     .help = "what is taken away, of all or of each column"},
    {.name = "std", .kind = CUD_NUMBERS, .fallback = "1", .choices = NULL,
     .help = "what is divided by then"},
    {},
};

EXPORT(standardize, .brief = "y = (x - mean) / std", .kind = CUD_ROWS, .in_place = true, .param = params, .shape = shape,
       .launch = BY_TYPE(launch))
