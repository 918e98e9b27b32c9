/* Logic, shifts and single bits (sections 9.7.1 and 9.7.8). */
#include <algorithm>
#include "ptx_reader.h"

namespace ptx {

template <class T> constexpr u32 BITS = 8 * sizeof(T);

enum { AND, OR, XOR, NOT };
template <class T> static int logic(thread &, u64 *r, const ins &i)
{
    const T a = get<T>(r[i.a]), b = i.b >= 0 ? get<T>(r[i.b]) : T(0);
    put<T>(r[i.d], i.what == AND ? T(a & b) : i.what == OR ? T(a | b) : i.what == XOR ? T(a ^ b) : T(~a));
    return NEXT;
}
static int not_predicate(thread &, u64 *r, const ins &i)
{
    r[i.d] = !r[i.a];
    return NEXT;
}
template <class T> static int zero_or_not(thread &, u64 *r, const ins &i)
{
    put<T>(r[i.d], get<T>(r[i.a]) == 0);
    return NEXT;
}

/* Shifts of more than all bits give 0, or the sign. */
template <class T> static int shift_left(thread &, u64 *r, const ins &i)
{
    const u32 n = u32(r[i.b]);
    put<T>(r[i.d], n >= BITS<T> ? T(0) : T(std::make_unsigned_t<T>(get<T>(r[i.a])) << n));
    return NEXT;
}
template <class T> static int shift_right(thread &, u64 *r, const ins &i)
{
    const u32 n = u32(r[i.b]);
    const T a = get<T>(r[i.a]);
    put<T>(r[i.d], n < BITS<T> ? T(a >> n) : std::is_signed_v<T> ? T(a >> (BITS<T> - 1)) : T(0));
    return NEXT;
}

/* shf; how: to the right; mode: .clamp rather than .wrap. */
static int funnel(thread &, u64 *r, const ins &i)
{
    const u32 c = u32(r[i.c]), n = i.mode ? std::min(c, 32u) : c & 31;
    const u64 both = r[i.b] << 32 | u32(r[i.a]);
    r[i.d] = u32(i.how ? n == 32 ? both >> 32 : both >> n : n == 32 ? both : both << n >> 32);
    return NEXT;
}

template <class T> static int extract(thread &, u64 *r, const ins &i)
{
    using U = std::make_unsigned_t<T>;
    const U a = U(get<T>(r[i.a]));
    const u32 at = u8(r[i.b]), n = u8(r[i.c]);
    const bool sign = n && std::is_signed_v<T> && (a >> std::min(at + n - 1, BITS<T> - 1) & 1);
    U out = 0;
    for (u32 bit = 0; bit < BITS<T>; bit++)
        out |= U(bit < n && at + bit < BITS<T> ? a >> (at + bit) & 1 : sign) << bit;
    put<T>(r[i.d], T(out));
    return NEXT;
}
template <class T> static int insert(thread &, u64 *r, const ins &i)
{
    const T a = get<T>(r[i.a]);
    const u32 at = u8(r[i.c]), n = u8(r[i.e]);
    T out = get<T>(r[i.b]);
    for (u32 bit = 0; bit < n && at + bit < BITS<T>; bit++)
        out = T((out & ~(T(1) << (at + bit))) | (T(a >> bit & 1) << (at + bit)));
    put<T>(r[i.d], out);
    return NEXT;
}

template <class T> static int reverse(thread &, u64 *r, const ins &i)
{
    const T a = get<T>(r[i.a]);
    T out = 0;
    for (u32 bit = 0; bit < BITS<T>; bit++)
        out = T(out | T(a >> bit & 1) << (BITS<T> - 1 - bit));
    put<T>(r[i.d], out);
    return NEXT;
}
template <class T> static int count_ones(thread &, u64 *r, const ins &i)
{
    r[i.d] = u32(__builtin_popcountll(get<T>(r[i.a])));
    return NEXT;
}
template <class T> static int leading_zeros(thread &, u64 *r, const ins &i)
{
    const u64 a = get<T>(r[i.a]);
    r[i.d] = a ? u32(__builtin_clzll(a)) - (64 - BITS<T>) : BITS<T>;
    return NEXT;
}
/* The highest bit that is not the sign; mode: how far it is from the top. */
template <class T> static int find_highest(thread &, u64 *r, const ins &i)
{
    const T a = get<T>(r[i.a]);
    const u64 x = std::make_unsigned_t<T>(std::is_signed_v<T> && a < 0 ? ~a : a);
    const u32 at = x ? 63 - u32(__builtin_clzll(x)) : ~0u;
    r[i.d] = x && i.mode ? BITS<T> - 1 - at : at;
    return NEXT;
}

/* prmt without a mode: each nibble of c picks one of eight bytes, or spreads its sign. */
static int permute(thread &, u64 *r, const ins &i)
{
    const u64 both = r[i.b] << 32 | u32(r[i.a]);
    u32 out = 0;
    for (int n = 0; n < 4; n++) {
        const u32 pick = u32(r[i.c]) >> (4 * n) & 15;
        const u8 byte = u8(both >> (8 * (pick & 7)));
        out |= u32(pick & 8 ? byte & 0x80 ? 0xff : 0 : byte) << (8 * n);
    }
    r[i.d] = out;
    return NEXT;
}

/* lop3: e is the table of the results for all eight combinations. */
static int logic_table(thread &, u64 *r, const ins &i)
{
    const u32 a = u32(r[i.a]), b = u32(r[i.b]), c = u32(r[i.c]);
    u32 out = 0;
    for (int n = 0; n < 8; n++)
        if (r[i.e] >> n & 1)
            out |= (n & 4 ? a : ~a) & (n & 2 ? b : ~b) & (n & 1 ? c : ~c);
    r[i.d] = out;
    return NEXT;
}

static action bit_field(const std::string &op, type t)
{
    return op == "bfe"     ? of_integer(t, ACTION(extract))
           : op == "bfi"   ? of_unsigned(t, ACTION(insert))
           : op == "brev"  ? of_unsigned(t, ACTION(reverse))
           : op == "popc"  ? of_unsigned(t, ACTION(count_ones))
           : op == "clz"   ? of_unsigned(t, ACTION(leading_zeros))
           : op == "bfind" ? of_integer(t, ACTION(find_highest))
           : op == "shl"   ? of_integer(t, ACTION(shift_left))
           : op == "shr"   ? of_integer(t, ACTION(shift_right))
           : op == "cnot"  ? of_unsigned(t, ACTION(zero_or_not))
           : op == "not"   ? t == PREDICATE ? not_predicate : of_unsigned(t, ACTION(logic))
           : op == "shf"   ? funnel
           : op == "prmt"  ? permute
           : op == "lop3"  ? logic_table
                           : of_unsigned(t, ACTION(logic));
}

bool read_bits(reader &r, const statement &x, ins &i)
{
    static const std::map<std::string, int> sources = {
        {"and", 2},  {"or", 2},  {"xor", 2},  {"not", 1},  {"cnot", 1}, {"shl", 2},   {"shr", 2},  {"shf", 3},
        {"bfe", 3},  {"bfi", 4}, {"brev", 1}, {"popc", 1}, {"clz", 1},  {"bfind", 1}, {"prmt", 3}, {"lop3", 4}};
    const auto found = sources.find(x.op);
    if (found == sources.end())
        return false;
    if (x.op == "prmt" && x.mods.size() > 1)
        throw std::runtime_error("prmt with a mode is unknown");
    r.operands(x, i, found->second);
    i.what = x.op == "and" ? AND : x.op == "or" ? OR : x.op == "xor" ? XOR : NOT;
    i.how = x.has("r");
    i.mode = x.has("clamp") || x.has("shiftamt");
    i.run = bit_field(x.op, x.last());
    return true;
}

}
