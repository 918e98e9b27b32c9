/* dense: y = activation(x W + b), a layer of a neural network: x is rows x in, W in x out (or out x in), b out elements.
 *   in[1] weights, in[2] bias or NULL; work: the weights transposed, for layout out-in
 *
 * Our own product adds the terms of an element one after the other, k = 0, 1, ..., in the type of the elements, from 0; so
 * its bytes are the same on every machine.  With a vendor's library (call->gemm) they are that library's. */
#include "kernel.h"
#include "elementary/exp.h"

#define WIDTH 64                          /* columns of a tile */
#define DEPTH 32                          /* terms at a time */
template <class T> inline constexpr int each_lane = sizeof(T) == 4 ? 8 : 4;             /* rows that a lane calculates */
template <class T> inline constexpr int height = LANES / WIDTH * each_lane<T>;          /* rows of a tile */

enum { WEIGHTS, BIAS, ACTIVATION, LAYOUT, MATH };
enum { NONE, RELU, TANH };
enum { IN_OUT, OUT_IN };
enum { F32, TF32 };

HELPER size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* A pack of lanes: DEPTH terms (or fewer) of each_lane rows from as on, one column of bs each. */
template <class T> HELPER void add_terms(const T *as, const T *bs, int terms, T *acc, int l)
{
    pack<T> s[each_lane<T>];
    for (int i = 0; i < each_lane<T>; i++)
        s[i] = LOAD(MINE(acc, i, l));
    for (int j = 0; j < terms; j++) {
        const pack<T> e = LOAD(bs + j * WIDTH);
        for (int i = 0; i < each_lane<T>; i++)
            s[i] = s[i] + ALL(as[i * DEPTH + j]) * e;
    }
    for (int i = 0; i < each_lane<T>; i++)
        STORE(MINE(acc, i, l), s[i]);
}

template <class T> KERNEL multiply(const T *a, const T *b, T *c, size_t m, size_t k, size_t n)
{
    const size_t across = CEIL_DIV(n, WIDTH);
    SHARED(T, as, height<T> * DEPTH);
    SHARED(T, bs, DEPTH * WIDTH);

    TILES(t, CEIL_DIV(m, height<T>) * across) {
        const size_t row0 = t / across * height<T>, col0 = t % across * WIDTH;
        const size_t rows = least(height<T>, m - row0), cols = least(WIDTH, n - col0);
        PRIVATE(T, acc, each_lane<T>);

        EACH_OF(i, height<T> * DEPTH)
            as[i] = 0;
        EACH_OF(i, DEPTH * WIDTH)
            bs[i] = 0;
        PACKS(l)
            for (int i = 0; i < each_lane<T>; i++)
                STORE(MINE(acc, i, l), ALL(T(0)));
        for (size_t k0 = 0; k0 < k; k0 += DEPTH) {
            const size_t terms = least(DEPTH, k - k0);
            EACH_PAIR(r, rows, j, terms, DEPTH)
                as[r * DEPTH + j] = a[(row0 + r) * k + k0 + j];
            EACH_PAIR(j, terms, q, cols, WIDTH)
                bs[j * WIDTH + q] = b[(k0 + j) * n + col0 + q];
            JOIN();
            PACKS(l)
                if (l / WIDTH * each_lane<T> < (int)rows && l % WIDTH < (int)cols)
                    add_terms(as + l / WIDTH * each_lane<T> * DEPTH, bs + l % WIDTH, (int)terms, acc, l);
        }
        PACKS(l)
            for (size_t i = 0, r = l / WIDTH * each_lane<T>, q = l % WIDTH; i < each_lane<T> && r < rows && q < cols; i++, r++)
                STORE_TO(c + (row0 + r) * n + col0 + q, LOAD(MINE(acc, i, l)), cols - q);
    }
}

/* b[k x n] = a[n x k] the other way round. */
template <class T> KERNEL transpose(const T *a, T *b, size_t k, size_t n)
{
    const size_t across = CEIL_DIV(k, DEPTH);
    SHARED(T, s, DEPTH * (DEPTH + 1));

    TILES(t, CEIL_DIV(n, DEPTH) * across) {
        const size_t q0 = t / across * DEPTH, j0 = t % across * DEPTH;
        const size_t qs = least(DEPTH, n - q0), js = least(DEPTH, k - j0);
        JOIN();
        EACH_PAIR(q, qs, j, js, DEPTH)
            s[j * (DEPTH + 1) + q] = a[(q0 + q) * k + j0 + j];
        JOIN();
        EACH_PAIR(j, js, q, qs, DEPTH)
            b[(j0 + j) * n + q0 + q] = s[j * (DEPTH + 1) + q];
    }
}

template <int activation, class T> HELPER T activate(T x)
{
    if constexpr (activation == RELU)
        return x > 0 ? x : x <= 0 ? T(0) : cud_nan<T>();
    else if constexpr (activation == TANH)
        return cud_tanh(x);
    else
        return QUIET(x);
}

template <int activation, bool biased, class T> KERNEL finish(T *c, const T *bias, size_t m, size_t n)
{
    ROWS(r, m, n) {
        T *const row = c + r * n;
        EACH_OF(q, n)
            row[q] = activate<activation>(biased ? row[q] + bias[q] : row[q]);
    }
}

template <int activation, class T> static int launch_finish(const struct cud_call *c)
{
    const size_t m = c->dim[0], n = c->dim[2];
    T *const y = (T *)c->out[0];
    const T *const bias = (const T *)c->in[2];
    if (bias)
        return LAUNCH_ROWS((finish<activation, true, T>), m, n, c, y, bias, m, n);
    return LAUNCH_ROWS((finish<activation, false, T>), m, n, c, y, bias, m, n);
}

template <class T> static int launch_multiply(const struct cud_call *c)
{
    const size_t m = c->dim[0], k = c->dim[1], n = c->dim[2];
    const T *weights = (const T *)c->in[1];
    const bool out_in = (int)c->param[LAYOUT] == OUT_IN;
    if (c->gemm && m && k && n) {
        const struct cud_product product = {
            .type = c->type, .m = m, .k = k, .n = n, .a = c->in[0], .b = weights, .c = c->out[0], .b_rows_out = out_in,
            .tf32 = (int)c->param[MATH] == TF32, .work = c->work, .stream = c->stream,
        };
        return -c->gemm->run(c->gemm, &product);
    }
    if (out_in) {
        T *const w = (T *)c->work;
        const int bad = LAUNCH_TILES(transpose<T>, CEIL_DIV(n, DEPTH) * CEIL_DIV(k, DEPTH), c, weights, w, k, n);
        if (bad)
            return bad;
        weights = w;
    }
    return LAUNCH_TILES(multiply<T>, CEIL_DIV(m, height<T>) * CEIL_DIV(n, WIDTH), c, (const T *)c->in[0], weights,
                        (T *)c->out[0], m, k, n);
}

template <class T> static int launch(const struct cud_call *c)
{
    const int bad = launch_multiply<T>(c);
    if (bad)
        return bad;
    switch ((int)c->param[ACTIVATION]) {
    case RELU: return launch_finish<RELU, T>(c);
    case TANH: return launch_finish<TANH, T>(c);
    default: return launch_finish<NONE, T>(c);
    }
}

static enum cud_status shape(const struct cud_step_facts *facts, uint64_t *cols_out, struct cud_err *err)
{
    const struct cud_shape *const w = &facts->array[0], *const b = &facts->array[1];
    const bool out_in = (int)facts->param[LAYOUT] == OUT_IN;
    char text[CUD_SHAPE_TEXT];
    if (w->ndim != 2)
        return FAIL(err, CUD_EINPUT, "weights must have two dimensions, %s, but their shape is %s",
                    out_in ? "out x in" : "in x out", cud_shape_text(w, text));
    const uint64_t n = w->dim[out_in ? 0 : 1], in = w->dim[out_in ? 1 : 0];
    const char *const hint = out_in ? "; did you mean layout=in-out?" : "; did you mean layout=out-in?";
    if (in != facts->cols)
        return FAIL(err, CUD_EINPUT, "the rows that come in have %llu elements, but weights of shape %s, %s, take %llu%s",
                    (unsigned long long)facts->cols, cud_shape_text(w, text), out_in ? "out x in" : "in x out",
                    (unsigned long long)in, n == facts->cols ? hint : "");
    const bool is_vector = b->ndim == 1 || (b->ndim == 2 && b->dim[0] == 1);
    if (facts->param[BIAS] != 0 && !(is_vector && b->dim[b->ndim - 1] == n))
        return FAIL(err, CUD_EINPUT, "bias must have %llu elements, one for each output of weights, but its shape is %s",
                    (unsigned long long)n, cud_shape_text(b, text));
    *cols_out = n;
    return CUD_OK;
}

static size_t work_bytes(const struct cud_step_facts *facts, uint64_t)
{
    const struct cud_shape *const w = &facts->array[0];
    const size_t bytes = facts->type == CUD_F64 ? sizeof(double) : sizeof(float);
    return (int)facts->param[LAYOUT] == OUT_IN ? (size_t)(w->dim[0] * w->dim[1]) * bytes : 0;
}

static const struct cud_param params[] = {
    {.name = "weights", .kind = CUD_ARRAY, .fallback = NULL, .choices = NULL, .help = "a .npy file, in x out"},
    {.name = "bias", .kind = CUD_ARRAY, .fallback = "", .choices = NULL, .help = "a .npy file of out elements"},
    {.name = "activation", .kind = CUD_CHOICE, .fallback = "none", .choices = "none,relu,tanh", .help = "applied to the sum"},
    {.name = "layout", .kind = CUD_CHOICE, .fallback = "in-out", .choices = "in-out,out-in",
     .help = "of the weights; out-in is PyTorch's Linear"},
    {.name = "math", .kind = CUD_CHOICE, .fallback = "f32", .choices = "f32,tf32",
     .help = "tf32: on GPUs f32 is rounded to 10 bits before it is multiplied, which is faster"},
    {},
};

EXPORT(dense, .brief = "activation(x * weights + bias)", .kind = CUD_BATCHES, .param = params, .shape = shape,
       .work_bytes = work_bytes, .launch = BY_TYPE(launch))
