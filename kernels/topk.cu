/* topk: of each row, its k greatest elements, the greatest first; or with largest=no its k least, the least first; or with
 * give=indices their columns, from 0.  Of equal ones (0 and -0 too) the first comes first.  NaN is greater than infinity, but
 * with largest=no it comes last too.  Indices are between steps numbers of the row's type, in the output i64 unless --out-dtype
 * says otherwise.  It takes k looks at each row. */
#include "rows.h"

enum { K, LARGEST, GIVE };
enum { YES, NO };
enum { VALUES, INDICES };

template <bool down, bool indices, class T> KERNEL topk(const T *x, T *y, size_t rows, size_t cols, size_t k)
{
    ROWS(r, rows, cols) {
        const T *const a = x + r * cols;
        cud_spot<T> spot;
        for (size_t j = 0; j < k; j++) {
            const size_t at = ROW_NEXT(a, cols, spot, down);
            ONCE()
                y[r * k + j] = indices ? (T)at : QUIET(a[at]);
        }
    }
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t rows = c->dim[0], cols = c->dim[1], k = c->dim[2];
    const T *const x = (const T *)c->in[0];
    T *const y = (T *)c->out[0];
    const bool down = (int)c->param[LARGEST] == NO;
    if ((int)c->param[GIVE] == INDICES)
        return down ? LAUNCH_ROWS((topk<true, true, T>), rows, cols, c, x, y, rows, cols, k)
                    : LAUNCH_ROWS((topk<false, true, T>), rows, cols, c, x, y, rows, cols, k);
    return down ? LAUNCH_ROWS((topk<true, false, T>), rows, cols, c, x, y, rows, cols, k)
                : LAUNCH_ROWS((topk<false, false, T>), rows, cols, c, x, y, rows, cols, k);
}

static bool whole(const struct cud_step_facts *facts) { return (int)facts->param[GIVE] == INDICES; }

static enum cud_status shape(const struct cud_step_facts *facts, uint64_t *cols_out, struct cud_err *err)
{
    const double k = facts->param[K];
    if (!(k >= 1 && k <= 0x1p53 && k == (double)(uint64_t)k))
        return FAIL(err, CUD_EUSAGE, "k=%g is no whole number from 1 on", k);
    if (k > (double)facts->cols)
        return FAIL(err, CUD_EINPUT, "the rows that come in have %llu elements, fewer than k=%g",
                    (unsigned long long)facts->cols, k);
    if (whole(facts) && facts->cols > INDEX_MAX(facts->type))
        return FAIL(err, CUD_EINPUT, "not every column of %llu has its number among f32; an input of f64 has room",
                    (unsigned long long)facts->cols);
    *cols_out = (uint64_t)k;
    return CUD_OK;
}

static const struct cud_param params[] = {
    {.name = "k", .kind = CUD_NUMBER, .fallback = NULL, .choices = NULL, .help = "how many of each row"},
    {.name = "largest", .kind = CUD_CHOICE, .fallback = "yes", .choices = "yes,no", .help = "no: the least"},
    {.name = "give", .kind = CUD_CHOICE, .fallback = "values", .choices = "values,indices",
     .help = "indices: their columns, from 0"},
    {},
};

EXPORT(topk, .brief = "the k greatest elements of each row, in order", .kind = CUD_ROWS, .param = params, .shape = shape,
       .whole = whole, .launch = BY_TYPE(launch))
