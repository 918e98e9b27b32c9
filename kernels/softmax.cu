/* softmax: y = exp(x - m) / sum of exp(x - m), m the greatest of the row; y may be x.
 * The sum is ROW_SUM's.  A row with a NaN, with +inf, or of -inf only, is all NaN. */
#include "kernel.h"
#include "elementary/exp.h"

template <class T> KERNEL softmax(const T *x, T *y, size_t rows, size_t cols)
{
    ROWS(r, rows, cols) {
        const T *const a = x + r * cols;
        T *const b = y + r * cols;
        const T most = ROW_MOST(a, cols);
        MAP_OF(a, b, cols, v, cud_exp(v - most));
        const T sum = (T)ROW_SUM(b, cols);
        MAP_OF(b, b, cols, v, QUIET(v / sum));
    }
}

template <class T> static int launch(const struct cud_call *c)
{
    return LAUNCH_ROWS(softmax<T>, c->dim[0], c->dim[1], c, (const T *)c->in[0], (T *)c->out[0], c->dim[0], c->dim[1]);
}

EXPORT(softmax, .brief = "exp(x) / sum of exp(x), of each row", .kind = CUD_ROWS, .in_place = true, .launch = BY_TYPE(launch))
