/* gelu: y = x * P(x), element by element, P the distribution function of the normal distribution, (1 + erf(x / sqrt 2)) / 2;
 * or, approximate=tanh, x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2; y may be x.  Both exact to a few ulp far below 0
 * too: of -inf it is -0 (PyTorch: NaN). */
#include "kernel.h"
#include "elementary/erf.h"
#include "elementary/logistic.h"

enum { NONE, TANH };

template <class T> HELPER T cud_gelu(T x)
{
    const T root_half = T(0x1.6a09e667f3bcdp-1), half = T(0.5) * x, t = root_half * x;
    const T near = half + half * (t + t * cud_erf_poly(t * t));
    const T a = LESSER(cud_erf_of<T>::most * T(1.41), MAGNITUDE(x)), square = T(0.5) * (a * a);
    const T more = T(0.5) * cud_product_error(a, a, a * a), z = GREATER(T(0.625), root_half * a);
    const T tail = cud_tail(z, square, more, T(0.5) * a), far = x < 0 ? -tail : x - tail;
    return QUIET(MAGNITUDE(x) < T(0.9) ? near : far);
}

/* (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)).  2 u with the errors of its roundings: of a large one they would be seen. */
template <class T> HELPER T cud_gelu_tanh(T x)
{
    typedef cud_logistic_of<T> L;
    const bool is_double = sizeof(T) == sizeof(double);
    const T c = T(0x1.9884533d43651p+0), c_more = T(is_double ? -0x1.cbc0d30ebfd15p-54 : -0x1.857936p-25); /* 2 sqrt(2 / pi) */
    const T k = T(0x1.6e4e26d4801f7p-5), k_more = T(is_double ? 0x1.441355475a31ap-59 : 0x1.a9003ep-30);   /* 0.044715 */
    const T v = GREATER(L::lo, x), a = LESSER(-L::lo, v), square = a * a;   /* below it is -0 */
    const T s = k * square, s_more = cud_product_error(k, square, s) + (k * cud_product_error(a, a, square) + k_more * square);
    const T w = 1 + s, w_more = cud_sum_error(T(1), s, w) + s_more;
    const T z = c * a, z_more = cud_product_error(c, a, z) + c_more * a;
    const T u = z * w, more = cud_product_error(z, w, u) + (z * w_more + z_more * w);
    return cud_logistic(v, u, more);
}

template <bool approximate, class T> KERNEL gelu(const T *x, T *y, size_t n)
{
    MAP(x, y, n, v, approximate ? cud_gelu_tanh(v) : cud_gelu(v));
}

template <class T> static int launch(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    if ((int)c->param[0] == TANH)
        return LAUNCH_MAP((gelu<true, T>), n, c, (const T *)c->in[0], (T *)c->out[0], n);
    return LAUNCH_MAP((gelu<false, T>), n, c, (const T *)c->in[0], (T *)c->out[0], n);
}

static const struct cud_param params[] = {
    {.name = "approximate", .kind = CUD_CHOICE, .fallback = "none", .choices = "none,tanh",
     .help = "tanh: the formula with tanh"},
    {},
};

EXPORT(gelu, .brief = "y = x * normal distribution function of x", .kind = CUD_MAP, .in_place = true, .param = params,
       .launch = BY_TYPE(launch))
