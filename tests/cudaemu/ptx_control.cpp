/* Jumps, ends, barriers (sections 9.7.13 and 9.7.14), and the functions that the system has: printf and assert. */
#include "ptx_reader.h"

namespace ptx {

/* cudaErrorAssert and cudaErrorLaunchFailure */
enum { ASSERTION = 710, LAUNCH_FAILURE = 719 };

static int jump(thread &t, u64 *, const ins &i)
{
    t.pc = u32(i.target);
    return NEXT;
}
static int leave(thread &, u64 *, const ins &) { return EXIT; }
static int nothing(thread &, u64 *, const ins &) { return NEXT; }
static int trap(thread &, u64 *, const ins &) { fail(LAUNCH_FAILURE, "trap"); }
static int barrier(thread &, u64 *, const ins &) { return AT_BARRIER; }

static std::string text_at(thread &t, u64 a)
{
    std::string text;
    for (char c; (c = char(*at_generic(t, a, 1))) != 0; a++)
        text += c;
    return text;
}

/* An argument of a call, in the local memory at slot's value. */
template <class T> static T argument(thread &t, const u64 *r, int slot)
{
    T x;
    memcpy(&x, at_local(t, r[slot], sizeof(T)), sizeof(T));
    return x;
}

/* __assertfail(message, file, line, function, size of char) */
static int assertion(thread &t, u64 *r, const ins &i)
{
    fail(ASSERTION, text_at(t, argument<u64>(t, r, i.b)) + ":" + std::to_string(argument<u32>(t, r, i.c)) + ": assertion " +
                        text_at(t, argument<u64>(t, r, i.a)) + " failed");
}

/* One conversion of printf: spec is "%...", arguments are 4 or 8 bytes and aligned so; next moves on. */
static std::string printed(thread &t, const std::string &spec, u64 &next)
{
    const char kind = spec.back();
    const bool real = strchr("fFeEgGaA", kind), wide = real || kind == 's' || kind == 'p' || spec.find('l') != std::string::npos;
    char text[400];
    u64 v = 0;
    if (wide)
        next = (next + 7) & ~7ull;
    memcpy(&v, at_generic(t, next, wide ? 8 : 4), wide ? 8 : 4);
    next += wide ? 8 : 4;
    if (real)
        snprintf(text, sizeof text, spec.c_str(), get<double>(v));
    else if (kind == 's')
        return text_at(t, v);
    else if (wide)
        snprintf(text, sizeof text, spec.c_str(), v);
    else
        snprintf(text, sizeof text, spec.c_str(), u32(v));
    return text;
}

/* vprintf(format, arguments) */
static int print(thread &t, u64 *r, const ins &i)
{
    const std::string format = text_at(t, argument<u64>(t, r, i.a));
    u64 next = argument<u64>(t, r, i.b);
    std::string out;
    for (size_t at = 0; at < format.size(); at++) {
        const size_t end = format[at] == '%' ? format.find_first_of("diouxXcsfFeEgGaAp%", at + 1) : std::string::npos;
        if (end == std::string::npos)
            out += format[at];
        else if (format[end] == '%')
            out += '%';
        else
            out += printed(t, format.substr(at, end - at + 1), next);
        at = end == std::string::npos ? at : end;
    }
    fwrite(out.data(), 1, out.size(), stdout);
    fflush(stdout);
    return NEXT;
}

static bool read_system_call(reader &r, const statement &x, ins &i)
{
    const std::string &name = x.arg(x.arg(0)[0] == '(');
    if (name != "vprintf" && name != "__assertfail")
        return false;
    const std::vector<std::string> from = within(x.args.back());
    i.a = r.operand(from.at(0));
    i.b = r.operand(from.at(1));
    if (name == "__assertfail")
        i.c = r.operand(from.at(2));
    i.run = name == "vprintf" ? print : assertion;
    return true;
}

/* bar.sync a{, b}; bar.red.op d, a{, b}, c.  what: the reduction; mode: of !c. */
static void read_barrier(reader &r, const statement &x, ins &i)
{
    const bool reduces = x.has("red");
    if (x.has("arrive"))
        throw std::runtime_error("bar.arrive is unknown");
    i.what = !reduces ? 0 : x.has("popc") ? 1 : x.has("and") ? 2 : 3;
    if (reduces) {
        i.d = r.result(x.arg(0));
        r.predicate(x.args.back(), i.c, i.mode);
    }
    i.a = r.operand(x.arg(reduces));
    if (x.args.size() > (reduces ? 3u : 1u))
        i.b = r.operand(x.arg(reduces + 1u));
    i.run = barrier;
}

bool read_control(reader &r, const statement &x, ins &i)
{
    static const char *const idle[] = {"membar", "fence", "nanosleep", "prefetch", "prefetchu", "pmevent", "discard",
                                       "applypriority", "griddepcontrol"};
    for (const char *op : idle)
        if (x.op == op)
            i.run = nothing;
    if (x.op == "bra" || (x.op == "ret" && r.is_inlined())) {
        r.jump(x.op == "ret" ? "ret" : x.arg(0));
        i.run = jump;
    } else if (x.op == "ret" || x.op == "exit")
        i.run = leave;
    else if (x.op == "trap" || x.op == "brkpt")
        i.run = trap;
    else if (x.op == "call")
        return read_system_call(r, x, i);
    else if ((x.op == "bar" || x.op == "barrier") && !x.has("warp"))
        read_barrier(r, x, i);
    return i.run != nullptr;
}

}
