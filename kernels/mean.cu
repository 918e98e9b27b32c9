/* mean: of each row, its sum in ROW_SUM's order divided by its length, rounded once more; NaN for rows of no elements. */
#include "kernel.h"

template <class T> KERNEL mean(const T *x, T *y, size_t rows, size_t cols)
{
    ROWS(r, rows, cols) {
        const double s = ROW_SUM(x + r * cols, cols);
        ONCE()
            y[r] = QUIET((T)(s / (double)cols));
    }
}

template <class T> static int launch(const struct cud_call *c)
{
    return LAUNCH_ROWS(mean<T>, c->dim[0], c->dim[1], c, (const T *)c->in[0], (T *)c->out[0], c->dim[0], c->dim[1]);
}

static enum cud_status shape(const struct cud_step_facts *, uint64_t *cols_out, struct cud_err *)
{
    *cols_out = 1;
    return CUD_OK;
}

EXPORT(mean, .brief = "each row's mean", .kind = CUD_ROWS, .shape = shape, .launch = BY_TYPE(launch))
