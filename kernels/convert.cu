/* convert: elements of one type as elements of another.
 *   in[0]   dim[0] elements of call->type, their bytes swapped if param[0] is 1; dim[2] is the elements in a unit
 *   out[0]  as many of call->type2; may be in[0] if both types are as long
 *   out[1]  struct cud_lost[], one for each leaf (leaf.h), or NULL
 *
 * To the same type: bit for bit.  To others as values.h says; cud_lost counts what integers lose, and finite elements that
 * became infinite (as saturated). */
#include "leaf.h"
#include "values.h"

/* ---- reading */

HELPER uint8_t swapped(uint8_t x) { return x; }
HELPER uint16_t swapped(uint16_t x) { return (uint16_t)(x << 8 | x >> 8); }
HELPER uint32_t swapped(uint32_t x) { return x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24; }
HELPER uint64_t swapped(uint64_t x) { return (uint64_t)swapped((uint32_t)x) << 32 | swapped((uint32_t)(x >> 32)); }

template <class T> HELPER T straight(T x, bool swap)
{
    typename word_of<sizeof(T)>::type u;
    memcpy(&u, &x, sizeof u);
    u = swap ? swapped(u) : u;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* ---- kernels */

template <class U> KERNEL copy(const U *x, U *y, size_t n, bool swap)
{
    MAP(x, y, n, v, straight(v, swap));
}

template <class T, class To> KERNEL floats(const T *x, To *y, size_t n, bool swap)
{
    MAP(x, y, n, v, to_float<To>(wide(straight(v, swap))));
}

template <class To, class W> HELPER To counted(W x, struct losses<W> *n)
{
    if constexpr (overflows<To, W>)
        return to_float_counted<To>(x, n);
    else
        return to_int<To>(x, n);
}

template <class T, class To> KERNEL counting(const T *x, To *y, struct cud_lost *lost, size_t n, size_t unit, bool swap)
{
    TILES(t, leaf_count(n, unit)) {
        struct losses<decltype(wide(T()))> sum = {};
        size_t at;
        const size_t have = leaf_find(t, n, unit, &at);
        MAP_OF(x + at, y + at, have, v, counted<To>(wide(straight(v, swap)), &sum));
        if (lost) {
            const unsigned changed = TOTAL((unsigned)sum.changed), saturated = TOTAL((unsigned)sum.saturated);
            const unsigned nan = TOTAL((unsigned)sum.nan);
            ONCE()
                lost[t] = {changed - saturated - nan, saturated, nan};
        }
    }
}

KERNEL none_lost(struct cud_lost *lost, size_t n)
{
    EACH(t, n)
        lost[t] = {0, 0, 0};
}

/* ---- from any to any */

static int nothing_lost(const struct cud_call *c)
{
    const size_t leaves = c->out[1] ? leaf_count(c->dim[0], c->dim[2]) : 0;
    return LAUNCH_EACH(none_lost, leaves, c, (struct cud_lost *)c->out[1], leaves);
}

template <class T, class To> static int pair(const struct cud_call *c)
{
    const size_t n = c->dim[0];
    const bool swap = c->param[0] != 0;
    if constexpr (std::is_same_v<T, To>) {
        typedef typename word_of<sizeof(T)>::type U;
        const int bad = LAUNCH_MAP(copy<U>, n, c, (const U *)c->in[0], (U *)c->out[0], n, swap);
        return bad ? bad : nothing_lost(c);
    } else if constexpr (is_float<To> || std::is_same_v<To, half> || std::is_same_v<To, brain>) {
        if constexpr (overflows<To, decltype(wide(T()))>)
            if (c->out[1])
                return LAUNCH_TILES((counting<T, To>), leaf_count(n, c->dim[2]), c, (const T *)c->in[0], (To *)c->out[0],
                                    (struct cud_lost *)c->out[1], n, c->dim[2], swap);
        const int bad = LAUNCH_MAP((floats<T, To>), n, c, (const T *)c->in[0], (To *)c->out[0], n, swap);
        return bad ? bad : nothing_lost(c);
    } else
        return LAUNCH_TILES((counting<T, To>), leaf_count(n, c->dim[2]), c, (const T *)c->in[0], (To *)c->out[0],
                            (struct cud_lost *)c->out[1], n, c->dim[2], swap);
}

#define BY_ENUM(type, f, ...)                                                                 \
    switch (type) {                                                                           \
    case CUD_BOOL: return f<__VA_ARGS__ truth>(c);                                            \
    case CUD_I8: return f<__VA_ARGS__ int8_t>(c);   case CUD_U8: return f<__VA_ARGS__ uint8_t>(c);    \
    case CUD_I16: return f<__VA_ARGS__ int16_t>(c); case CUD_U16: return f<__VA_ARGS__ uint16_t>(c);  \
    case CUD_I32: return f<__VA_ARGS__ int32_t>(c); case CUD_U32: return f<__VA_ARGS__ uint32_t>(c);  \
    case CUD_I64: return f<__VA_ARGS__ int64_t>(c); case CUD_U64: return f<__VA_ARGS__ uint64_t>(c);  \
    case CUD_F16: return f<__VA_ARGS__ half>(c);    case CUD_BF16: return f<__VA_ARGS__ brain>(c);    \
    case CUD_F32: return f<__VA_ARGS__ float>(c);   default: return f<__VA_ARGS__ double>(c); \
    }

#define AND ,
template <class T> static int from(const struct cud_call *c) { BY_ENUM(c->type2, pair, T AND) }
static int launch(const struct cud_call *c) { BY_ENUM(c->type, from,) }

EXPORT(convert, .brief = "elements of another type", .kind = CUD_INTERNAL, .in_place = true, .launch = launch)
