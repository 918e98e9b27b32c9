/* The functions of kernels/elementary.h as a kernel: out[0] = function param[0] of in[0] (and in[1]), dim[0] elements; the
 * functions are numbered as in functions.h. */
#include "elementary.h"
#include "functions.h"

#define AS_KERNEL(name, x_y, most)                                                                    \
    template <class T> KERNEL name##_each(const T *x, [[maybe_unused]] const T *y, T *out, size_t n)  \
    {                                                                                                 \
        EACH(i, n)                                                                                    \
            out[i] = cud_##name x_y;                                                                  \
    }
FUNCTIONS(AS_KERNEL)

template <class T> static int launch(const struct cud_call *c)
{
    const T *const x = (const T *)c->in[0], *const y = (const T *)c->in[1];
    T *const out = (T *)c->out[0];
    const size_t n = c->dim[0];
    int number = 0;
#define AS_LAUNCH(name, x_y, most)                                  \
    if ((int)c->param[0] == number++)                               \
        return LAUNCH_EACH(name##_each<T>, n, c, x, y, out, n);
    FUNCTIONS(AS_LAUNCH)
    return 1;
}

EXPORT(functions, .brief = "elementary functions", .kind = CUD_INTERNAL, .launch = BY_TYPE(launch))
