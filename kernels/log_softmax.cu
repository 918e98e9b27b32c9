/* log_softmax: y = (x - m) - log(sum of exp(x - m)), m the greatest of the row; y may be x.
 * The sum is ROW_SUM's, of doubles that were rounded to the row's type.  A row with a NaN, with +inf, or of -inf only, is all
 * NaN. */
#include "elementary/log.h"
#include "rows.h"

template <class T> KERNEL log_softmax(const T *x, T *y, size_t rows, size_t cols)
{
    ROWS(r, rows, cols) {
        const T *const a = x + r * cols;
        T *const b = y + r * cols;
        const T most = ROW_MOST(a, cols);
        const double sum = ROW_SUM_BY([=](size_t c) { return (double)cud_exp(a[c] - most); }, cols);
        const T log = cud_log1p((T)(sum - 1));
        MAP_OF(a, b, cols, v, QUIET((v - most) - log));
    }
}

template <class T> static int launch(const struct cud_call *c)
{
    return LAUNCH_ROWS(log_softmax<T>, c->dim[0], c->dim[1], c, (const T *)c->in[0], (T *)c->out[0], c->dim[0], c->dim[1]);
}

EXPORT(log_softmax, .brief = "log of softmax, of each row", .kind = CUD_ROWS, .in_place = true, .launch = BY_TYPE(launch))
