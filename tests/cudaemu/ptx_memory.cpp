/* Moves, loads, stores and addresses (section 9.7.9). */
#include <chrono>
#include "ptx_reader.h"

namespace ptx {

/* cudaErrorIllegalAddress and cudaErrorMisalignedAddress */
enum { ILLEGAL = 700, MISALIGNED = 716 };

void fail(int code, const std::string &text) { throw fault{code, text}; }

std::string hex(u64 v)
{
    char text[24];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)v);
    return text;
}

static void aligned(u64 a, unsigned n)
{
    if (a & (n - 1))
        fail(MISALIGNED, "misaligned access of " + std::to_string(n) + " bytes at " + hex(a));
}

u8 *at_global(thread &t, u64 a, unsigned n)
{
    aligned(a, n);
    if (a >= t.last.lo && a + n <= t.last.hi)
        return (u8 *)(a + t.last.delta);
    for (const range &r : t.b->l->ranges)
        if (a >= r.lo && a + n <= r.hi) {
            t.last = r;
            return (u8 *)(a + r.delta);
        }
    fail(ILLEGAL, "illegal access of " + std::to_string(n) + " bytes at " + hex(a));
}

static u8 *inside(u8 *memory, size_t size, u64 a, unsigned n, const char *what)
{
    aligned(a, n);
    if (a + n > size)
        fail(ILLEGAL, std::string(what) + " memory ends at " + std::to_string(size) + ": illegal access of " + std::to_string(n) +
                          " bytes at " + hex(a));
    return memory + a;
}

u8 *at_shared(thread &t, u64 a, unsigned n) { return inside(t.b->shared.data(), t.b->shared.size(), u32(a), n, "shared"); }
u8 *at_param(thread &t, u64 a, unsigned n)
{
    return inside(const_cast<u8 *>(t.b->l->params.data()), t.b->k->param_bytes, a, n, "parameter");
}
u8 *at_local(thread &t, u64 a, unsigned n)
{
    return inside(t.local, t.b->k->local_bytes, (a & WINDOWS) == LOCAL_WINDOW ? a & ~WINDOWS : a, n, "local");
}

u8 *at_generic(thread &t, u64 a, unsigned n)
{
    return (a & WINDOWS) == SHARED_WINDOW  ? at_shared(t, a, n)
           : (a & WINDOWS) == LOCAL_WINDOW ? at_local(t, a, n)
                                           : at_global(t, a, n);
}

u8 *at_space(thread &t, int where, u64 a, unsigned n)
{
    return where == SHARED                      ? at_shared(t, a, n)
           : where == LOCAL || where == CALL    ? at_local(t, a, n)
           : where == PARAM                     ? at_param(t, a, n)
           : where == GLOBAL || where == CONSTANT ? at_global(t, a, n)
                                                : at_generic(t, a, n);
}

/* how: the space.  A vector is aligned as a whole. */
static u64 address_of(const u64 *r, const ins &i, unsigned bytes)
{
    const u64 a = r[i.a] + u64(i.offset);
    if (i.width > 1)
        aligned(a, bytes * unsigned(i.width));
    return a;
}

template <class T> static int load(thread &t, u64 *r, const ins &i)
{
    const u64 a = address_of(r, i, sizeof(T));
    T x[8];
    for (int n = 0; n < i.width; n++)
        memcpy(&x[n], at_space(t, i.how, a + n * sizeof(T), sizeof(T)), sizeof(T));
    for (int n = 0; n < i.width; n++)
        put<T>(r[i.v[n]], x[n]);
    return NEXT;
}
template <class T> static int store(thread &t, u64 *r, const ins &i)
{
    const u64 a = address_of(r, i, sizeof(T));
    for (int n = 0; n < i.width; n++) {
        const T x = get<T>(r[i.v[n]]);
        memcpy(at_space(t, i.how, a + n * sizeof(T), sizeof(T)), &x, sizeof(T));
    }
    return NEXT;
}

/* cvta; how: the space; mode: from generic to it. */
static int convert_address(thread &, u64 *r, const ins &i)
{
    const u64 window = i.how == SHARED ? SHARED_WINDOW : i.how == LOCAL ? LOCAL_WINDOW : 0;
    r[i.d] = !window ? r[i.a] : i.mode ? r[i.a] & ~WINDOWS : r[i.a] | window;
    return NEXT;
}
static int is_space(thread &, u64 *r, const ins &i)
{
    const u64 window = r[i.a] & WINDOWS;
    r[i.d] = window == (i.how == SHARED ? SHARED_WINDOW : i.how == LOCAL ? LOCAL_WINDOW : 0);
    return NEXT;
}

static type element(type t)
{
    return t == F16 || t == BF16 ? U16 : t == F32 || t == F16X2 || t == BF16X2 ? U32 : t == F64 ? U64 : t;
}

bool read_memory(reader &r, const statement &x, ins &i)
{
    const bool stores = x.op == "st";
    if (x.op == "cvta" || x.op == "isspacep") {
        i.how = space_of(x);
        i.mode = x.has("to");
        r.operands(x, i, 1);
        i.run = x.op == "cvta" ? convert_address : is_space;
        return true;
    }
    if (x.op != "ld" && x.op != "ldu" && !stores)
        return false;
    const int symbol = r.address(x.arg(stores ? 0 : 1), i);
    i.how = space_of(x);
    if (i.how == PARAM && symbol == CALL)
        i.how = CALL;
    const std::string &registers = stores ? x.arg(1) : x.arg(0);
    if (registers[0] == '{')
        r.vector(registers, i);
    else
        i.v[0] = r.result(registers);
    const type t = element(x.last());
    i.run = stores ? of_integer(t, ACTION(store)) : of_integer(t, ACTION(load));
    return true;
}

/* ---- mov */

static int copy(thread &, u64 *r, const ins &i)
{
    r[i.d] = r[i.a];
    return NEXT;
}
/* mode: bits of the whole. */
static int pack(thread &, u64 *r, const ins &i)
{
    const int bits = i.mode / i.width;
    u64 whole = 0;
    for (int n = 0; n < i.width; n++)
        whole |= (r[i.v[n]] & ((1ull << bits) - 1)) << (bits * n);
    r[i.d] = whole;
    return NEXT;
}
static int unpack(thread &, u64 *r, const ins &i)
{
    const int bits = i.mode / i.width;
    const u64 whole = r[i.a];
    for (int n = 0; n < i.width; n++)
        r[i.v[n]] = whole >> (bits * n) & ((1ull << bits) - 1);
    return NEXT;
}
static int clock_now(thread &, u64 *r, const ins &i)
{
    r[i.d] = u64(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
    return NEXT;
}

bool read_move(reader &r, const statement &x, ins &i)
{
    if (x.op != "mov")
        return false;
    const std::string &to = x.arg(0), &from = x.arg(1);
    i.mode = 8 * int(bytes_of(x.last()));
    if (from.rfind("%clock", 0) == 0 || from.rfind("%globaltimer", 0) == 0) {
        i.d = r.result(to);
        i.run = clock_now;
    } else if (to[0] == '{') {
        r.vector(to, i);
        i.a = r.operand(from);
        i.run = unpack;
    } else {
        i.d = r.result(to);
        if (from[0] == '{')
            r.vector(from, i);
        else
            i.a = r.operand(from);
        i.run = from[0] == '{' ? pack : copy;
    }
    return true;
}

}
