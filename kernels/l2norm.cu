/* l2norm: y = x / max(norm, eps), the norm the square root of the sum of the row's squares; y may be x.
 * Squares are added as doubles in ROW_SUM's order; where they overflow or vanish, those of the elements times a power of 2,
 * which the quotient makes good.  It is one of doubles, rounded once.  A row with a NaN is all NaN; in one with infinities
 * these are NaN, the rest 0. */
#include "elementary/base.h"
#include "rows.h"

template <class T> KERNEL l2norm(const T *x, T *y, size_t rows, size_t cols, double eps)
{
    ROWS(r, rows, cols) {
        const T *const a = x + r * cols;
        T *const b = y + r * cols;
        double sum = ROW_SUM_BY([=](size_t c) { return (double)a[c] * (double)a[c]; }, cols), up = 1, down = 1;
        if constexpr (sizeof(T) == sizeof(double))
            if (!(sum < 0x1p1000 && sum > 0x1p-900)) {      /* the same for all lanes */
                (sum < 1 ? up : down) = sum < 1 ? 0x1p600 : 0x1p-600;
                const double scale = up * down;
                sum = ROW_SUM_BY([=](size_t c) { return (a[c] * scale) * (a[c] * scale); }, cols);
            }
        const double norm = cud_root(sum), least = eps * (up * down), by = norm < least ? least : norm;
        MAP_OF(a, b, cols, v, QUIET((T)(v * up / by * down)));
    }
}

template <class T> static int launch(const struct cud_call *c)
{
    return LAUNCH_ROWS(l2norm<T>, c->dim[0], c->dim[1], c, (const T *)c->in[0], (T *)c->out[0], c->dim[0], c->dim[1],
                       c->param[0]);
}

static const struct cud_param params[] = {
    {.name = "eps", .kind = CUD_NUMBER, .fallback = "1e-12", .choices = NULL, .help = "the least to divide by"},
    {},
};

EXPORT(l2norm, .brief = "x / square root of the sum of x * x, of each row", .kind = CUD_ROWS, .in_place = true, .param = params,
       .launch = BY_TYPE(launch))
