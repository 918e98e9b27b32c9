/* cast: y = x as a value of another type, element by element, rounded as --out-dtype does (values.h), but kept as what is
 * calculated with between steps; y may be x. */
#include "values.h"

template <class To, class T> HELPER T there_and_back(T x)
{
    if constexpr (is_float<To> || std::is_same_v<To, half> || std::is_same_v<To, brain>)
        return QUIET((T)wide(to_float<To>(x)));
    else {
        struct losses<T> lost = {};
        return (T)wide(to_int<To>(x, &lost));
    }
}

template <class To, class T> KERNEL cast(const T *x, T *y, size_t n)
{
    MAP(x, y, n, v, there_and_back<To>(v));
}

template <class To, class T> static int launch_to(const struct cud_call *c)
{
    const size_t n = c->dim[0] * c->dim[1];
    return LAUNCH_MAP((cast<To, T>), n, c, (const T *)c->in[0], (T *)c->out[0], n);
}

template <class T> static int launch(const struct cud_call *c)
{
    switch ((int)c->param[0]) {
    case CUD_BOOL: return launch_to<truth, T>(c);
    case CUD_I8: return launch_to<int8_t, T>(c);
    case CUD_U8: return launch_to<uint8_t, T>(c);
    case CUD_I16: return launch_to<int16_t, T>(c);
    case CUD_U16: return launch_to<uint16_t, T>(c);
    case CUD_I32: return launch_to<int32_t, T>(c);
    case CUD_U32: return launch_to<uint32_t, T>(c);
    case CUD_I64: return launch_to<int64_t, T>(c);
    case CUD_U64: return launch_to<uint64_t, T>(c);
    case CUD_F16: return launch_to<half, T>(c);
    case CUD_BF16: return launch_to<brain, T>(c);
    default: return launch_to<float, T>(c);
    }
}

static const struct cud_param params[] = {
    {.name = "dtype", .kind = CUD_CHOICE, .fallback = NULL, .choices = "bool,i8,u8,i16,u16,i32,u32,i64,u64,f16,bf16,f32",
     .help = "the type to round to"},
    {},
};

EXPORT(cast, .brief = "y = x rounded to a value of another type", .kind = CUD_MAP, .in_place = true, .param = params,
       .launch = BY_TYPE(launch))
