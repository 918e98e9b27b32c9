/* argmax: of each row, the column of its greatest element, from 0; of equal ones (0 and -0 too) the first; of the first NaN if
 * there is one.  Between steps it is a number of the row's type, in the output an i64 unless --out-dtype says otherwise. */
#include "rows.h"

template <class T> KERNEL argmax(const T *x, T *y, size_t rows, size_t cols)
{
    ROWS(r, rows, cols) {
        cud_spot<T> spot;
        const size_t at = ROW_NEXT(x + r * cols, cols, spot, false);
        ONCE()
            y[r] = (T)at;
    }
}

template <class T> static int launch(const struct cud_call *c)
{
    return LAUNCH_ROWS(argmax<T>, c->dim[0], c->dim[1], c, (const T *)c->in[0], (T *)c->out[0], c->dim[0], c->dim[1]);
}

static enum cud_status shape(const struct cud_step_facts *facts, uint64_t *cols_out, struct cud_err *err)
{
    if (facts->cols == 0)
        return FAIL(err, CUD_EINPUT, "a row of no elements has no greatest");
    if (facts->cols > INDEX_MAX(facts->type))
        return FAIL(err, CUD_EINPUT, "not every column of %llu has its number among f32; an input of f64 has room",
                    (unsigned long long)facts->cols);
    *cols_out = 1;
    return CUD_OK;
}

static bool whole(const struct cud_step_facts *) { return true; }

EXPORT(argmax, .brief = "the column of each row's greatest element", .kind = CUD_ROWS, .shape = shape, .whole = whole,
       .launch = BY_TYPE(launch))
