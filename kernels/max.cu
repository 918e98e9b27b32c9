/* max: of each row, its greatest element: a NaN if there is one; of 0 and -0 the first. */
#include "rows.h"

template <class T> KERNEL max_each(const T *x, T *y, size_t rows, size_t cols)
{
    ROWS(r, rows, cols) {
        cud_spot<T> spot;
        const size_t at = ROW_NEXT(x + r * cols, cols, spot, false);
        ONCE()
            y[r] = QUIET(x[r * cols + at]);
    }
}

template <class T> static int launch(const struct cud_call *c)
{
    return LAUNCH_ROWS(max_each<T>, c->dim[0], c->dim[1], c, (const T *)c->in[0], (T *)c->out[0], c->dim[0], c->dim[1]);
}

static enum cud_status shape(const struct cud_step_facts *facts, uint64_t *cols_out, struct cud_err *err)
{
    if (facts->cols == 0)
        return FAIL(err, CUD_EINPUT, "a row of no elements has no greatest");
    *cols_out = 1;
    return CUD_OK;
}

EXPORT(max, .brief = "each row's greatest element", .kind = CUD_ROWS, .shape = shape, .launch = BY_TYPE(launch))
