/* copy: y = x, bit for bit; y may be x. */
#include "kernel.h"

template <class U> KERNEL copy(const U *x, U *y, size_t n)
{
    MAP(x, y, n, v, v);
}

template <class T> static int launch(const struct cud_call *c)
{
    typedef typename cud_bits<T>::type U;
    const size_t n = c->dim[0] * c->dim[1];
    return LAUNCH_MAP(copy<U>, n, c, (const U *)c->in[0], (U *)c->out[0], n);
}

EXPORT(copy, .brief = "y = x", .kind = CUD_MAP, .in_place = true, .launch = BY_TYPE(launch))
