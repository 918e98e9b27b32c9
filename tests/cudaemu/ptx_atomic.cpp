/* atom and red (section 9.7.13). */
#include <mutex>
#include "ptx_reader.h"

namespace ptx {

enum { ADD, EXCHANGE, COMPARE, MIN, MAX, AND, OR, XOR, INCREMENT, DECREMENT };

/* Devices run at once, and may share pinned memory. */
static std::mutex one_at_a_time;

template <class T> static T integer_after(int what, T old, T b, T c)
{
    using U = std::make_unsigned_t<T>;
    switch (what) {
    case ADD: return T(U(old) + U(b));
    case COMPARE: return old == b ? c : old;
    case AND: return old & b;
    case OR: return old | b;
    case XOR: return old ^ b;
    case INCREMENT: return old >= b ? 0 : old + 1;
    default: return old == 0 || old > b ? b : old - 1;
    }
}

template <class T> static T after(int what, T old, T b, T c)
{
    if (what == EXCHANGE)
        return b;
    if (what == MIN)
        return b < old ? b : old;
    if (what == MAX)
        return b > old ? b : old;
    if constexpr (std::is_integral_v<T>)
        return integer_after<T>(what, old, b, c);
    else
        return old + b;
}

/* what: the operation; how: the space. */
template <class T> static int atomic(thread &t, u64 *r, const ins &i)
{
    u8 *const at = at_space(t, i.how, r[i.a] + u64(i.offset), sizeof(T));
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    T old;
    memcpy(&old, at, sizeof old);
    const T now = after<T>(i.what, old, get<T>(r[i.b]), i.c >= 0 ? get<T>(r[i.c]) : T(0));
    memcpy(at, &now, sizeof now);
    if (i.d >= 0)
        put<T>(r[i.d], old);
    return NEXT;
}

bool read_atomic(reader &r, const statement &x, ins &i)
{
    static const std::map<std::string, int> names = {{"add", ADD}, {"exch", EXCHANGE}, {"cas", COMPARE}, {"min", MIN},
                                                     {"max", MAX}, {"and", AND},       {"or", OR},       {"xor", XOR},
                                                     {"inc", INCREMENT}, {"dec", DECREMENT}};
    if (x.op != "atom" && x.op != "red")
        return false;
    i.what = -1;
    for (const std::string &m : x.mods)
        if (names.count(m))
            i.what = names.at(m);
    const size_t at = x.op == "atom";
    if (at)
        i.d = r.result(x.arg(0));
    r.address(x.arg(at), i);
    i.how = space_of(x);
    i.b = r.operand(x.arg(at + 1));
    if (i.what == COMPARE)
        i.c = r.operand(x.arg(at + 2));
    if (x.last() <= S64 && i.what >= 0)
        i.run = of_integer(x.last(), ACTION(atomic));
    else if (i.what == ADD || i.what == EXCHANGE)
        i.run = of_float(x.last(), ACTION(atomic));
    return true;
}

}
