/* Comparisons and choices (section 9.7.5 to 9.7.7), and tests of floats. */
#include <cmath>
#include "ptx_reader.h"

namespace ptx {

/* what: the comparison; those with a U are true for a NaN. */
enum comparison { EQ, NE, LT, LE, GT, GE, EQU, NEU, LTU, LEU, GTU, GEU, NUM, ISNAN };

template <class T> static bool ordered(int what, T a, T b)
{
    switch (what) {
    case EQ: return a == b;
    case NE: return a != b;
    case LT: return a < b;
    case LE: return a <= b;
    case GT: return a > b;
    default: return a >= b;
    }
}

template <class T> static bool compare(int what, T a, T b)
{
    const bool nan = a != a || b != b;
    if (what >= NUM)
        return nan == (what == ISNAN);
    return nan ? what >= EQU : ordered(what >= EQU ? what - EQU : what, a, b);
}

/* how: joined with predicate c by AND, OR or XOR; mode: with !c. */
enum { ALONE, AND, OR, XOR };
static bool join(const ins &i, bool x, u64 other)
{
    const bool c = (other != 0) != (i.mode != 0);
    return i.how == AND ? x && c : i.how == OR ? x || c : i.how == XOR ? x != c : x;
}

template <class T> static int set_predicate(thread &, u64 *r, const ins &i)
{
    const bool x = compare<T>(i.what, get<T>(r[i.a]), get<T>(r[i.b]));
    const u64 other = i.c >= 0 ? r[i.c] : 0;
    r[i.d] = join(i, x, other);
    if (i.p >= 0)
        r[i.p] = join(i, !x, other);
    return NEXT;
}

/* set: all ones, or 1.0f where mode says so. */
template <class T> static int set_value(thread &, u64 *r, const ins &i)
{
    const bool x = compare<T>(i.what, get<T>(r[i.a]), get<T>(r[i.b]));
    r[i.d] = !x ? 0 : i.mode ? 0x3f800000u : 0xffffffffu;
    return NEXT;
}

static int select(thread &, u64 *r, const ins &i)
{
    r[i.d] = r[i.c] ? r[i.a] : r[i.b];
    return NEXT;
}
/* slct: a if c is not below 0; mode: c is an f32. */
static int select_sign(thread &, u64 *r, const ins &i)
{
    r[i.d] = (i.mode ? get<float>(r[i.c]) >= 0 : s32(r[i.c]) >= 0) ? r[i.a] : r[i.b];
    return NEXT;
}

template <class T> static int test_property(thread &, u64 *r, const ins &i)
{
    const T x = get<T>(r[i.a]);
    const bool tests[] = {bool(std::isfinite(x)), bool(std::isinf(x)), x == x, x != x, std::isnormal(x) || x == 0,
                          std::fpclassify(x) == FP_SUBNORMAL};
    r[i.d] = tests[i.what];
    return NEXT;
}
template <class T> static int copy_sign(thread &, u64 *r, const ins &i)
{
    put<T>(r[i.d], std::copysign(get<T>(r[i.b]), get<T>(r[i.a])));
    return NEXT;
}

static bool read_set(reader &r, const statement &x, ins &i)
{
    static const std::map<std::string, int> names = {
        {"eq", EQ}, {"ne", NE},   {"lt", LT},   {"le", LE},   {"gt", GT},   {"ge", GE},   {"lo", LT},   {"ls", LE},   {"hi", GT},
        {"hs", GE}, {"equ", EQU}, {"neu", NEU}, {"ltu", LTU}, {"leu", LEU}, {"gtu", GTU}, {"geu", GEU}, {"num", NUM},
        {"nan", ISNAN}};
    const auto found = x.mods.empty() ? names.end() : names.find(x.mods[0]);
    if (found == names.end())
        return true;
    i.what = found->second;
    r.operands(x, i, 2);
    i.how = x.has("and") ? AND : x.has("or") ? OR : x.has("xor") ? XOR : ALONE;
    if (x.op == "setp") {
        if (i.how)
            r.predicate(x.arg(3), i.c, i.mode);
        i.run = of_number(x.last(), ACTION(set_predicate));
    } else if (!i.how && (x.first() == F32 || x.first() == U32 || x.first() == S32)) {
        i.mode = x.first() == F32;
        i.run = of_number(x.last(), ACTION(set_value));
    }
    return true;
}

bool read_compare(reader &r, const statement &x, ins &i)
{
    static const char *const properties[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    if (x.op == "setp" || x.op == "set")
        return read_set(r, x, i);
    if (x.op == "selp" || x.op == "slct") {
        r.operands(x, i, 3);
        i.mode = x.last() == F32;
        i.run = x.op == "selp" ? select : select_sign;
    } else if (x.op == "testp") {
        r.operands(x, i, 1);
        while (i.what < 5 && !x.has(properties[i.what]))
            i.what++;
        i.run = of_float(x.last(), ACTION(test_property));
    } else if (x.op == "copysign") {
        r.operands(x, i, 2);
        i.run = of_float(x.last(), ACTION(copy_sign));
    } else
        return false;
    return true;
}

}
