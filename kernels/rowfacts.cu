/* rowfacts: what expressions may say of a row (include/cudist/expr.h).
 *   in[0]  dim[0] rows of dim[1] elements      out[0]  the facts of the set param[0], one after the other, each for all rows
 *
 * The sum and the sum of squares about the mean are ROW_SUM's, of doubles; a fact is rounded once.  A row with a NaN has only NaN for
 * facts, a row of no elements has the sum 0 and NaN for the rest. */
#include "kernel.h"
#include "elementary/base.h"
#include "cudist/expr.h"

/* Integers in the order of the numbers, -0 below 0, so that it does not matter in which order they are compared.  A NaN is the
 * greatest. */
template <class T> struct order;
template <> struct order<float> {
    typedef int32_t key;
    static constexpr key least = INT32_MIN, most = INT32_MAX;
};
template <> struct order<double> {
    typedef int64_t key;
    static constexpr key least = INT64_MIN, most = INT64_MAX;
};
template <class T> HELPER typename order<T>::key key(T x)
{
    const typename order<T>::key k = BITS(x);
    return x != x ? order<T>::most : k < 0 ? k ^ order<T>::most : k;
}
/* No number has the least or the greatest key: they become NaN. */
template <class T> HELPER T number(typename order<T>::key k)
{
    return QUIET(FROM_BITS<T>(k < 0 ? k ^ order<T>::most : k));
}

template <class T> KERNEL rowfacts(const T *x, T *y, size_t rows, size_t cols, unsigned set)
{
    typedef order<T> O;
    ROWS(r, rows, cols) {
        const T *const a = x + r * cols;
        T fact[CUD_FACTS] = {};
        if (set & ~(1u << CUD_ROW_MIN | 1u << CUD_ROW_MAX)) {
            const double sum = ROW_SUM(a, cols), mean = sum / (double)cols;
            fact[CUD_ROW_SUM] = (T)sum;
            fact[CUD_ROW_MEAN] = (T)mean;
            if (set & (1u << CUD_ROW_VAR | 1u << CUD_ROW_STD)) {
                const double var = ROW_SUM_BY([=](size_t c) { return (a[c] - mean) * (a[c] - mean); }, cols) / (double)cols;
                fact[CUD_ROW_VAR] = (T)var;
                fact[CUD_ROW_STD] = (T)cud_root(var);
            }
        }
        if (set & 1u << CUD_ROW_MIN)       /* the least key is the one whose complement is the greatest; NaN's is made so */
            fact[CUD_ROW_MIN] = number<T>(~ROW_GREATEST(O::least, [=](size_t c) { return a[c] != a[c] ? O::most : ~key(a[c]); }, cols));
        if (set & 1u << CUD_ROW_MAX)
            fact[CUD_ROW_MAX] = number<T>(ROW_GREATEST(O::least, [=](size_t c) { return key(a[c]); }, cols));
        size_t place = 0;
        for (int f = 0; f < CUD_FACTS; f++)
            if (set & 1u << f)
                ONCE()
                    y[place++ * rows + r] = QUIET(fact[f]);
    }
}

template <class T> static int launch(const struct cud_call *c)
{
    return LAUNCH_ROWS(rowfacts<T>, c->dim[0], c->dim[1], c, (const T *)c->in[0], (T *)c->out[0], c->dim[0], c->dim[1],
                       (unsigned)c->param[0]);
}

EXPORT(rowfacts, .brief = "facts about rows", .kind = CUD_INTERNAL, .launch = BY_TYPE(launch))
