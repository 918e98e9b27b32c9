/* Functions of one float (section 9.7.3): approximations are computed exactly and rounded once. */
#include <cmath>
#include "ptx_reader.h"

namespace ptx {

enum { SQRT, RSQRT, RCP, SIN, COS, EX2, LG2, TANH };

/* mode: rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 give the upper 32 bits only. */
template <class T> static int function_of(thread &, u64 *r, const ins &i)
{
    const double x = get<T>(r[i.a]);
    double y = 0;
    switch (i.what) {
    case SQRT: y = std::sqrt(x); break;   /* of an f32: rounding twice is innocuous (Figueroa 1995), as for 1/x */
    case RSQRT: y = 1 / std::sqrt(x); break;
    case RCP: y = 1 / x; break;
    case SIN: y = std::sin(x); break;
    case COS: y = std::cos(x); break;
    case EX2: y = std::exp2(x); break;
    case LG2: y = std::log2(x); break;
    default: y = std::tanh(x);
    }
    put_float<T>(r[i.d], T(y));
    if (i.mode)
        r[i.d] &= 0xffffffff00000000;
    return NEXT;
}

bool read_function(reader &r, const statement &x, ins &i)
{
    static const std::map<std::string, int> names = {{"sqrt", SQRT}, {"rsqrt", RSQRT}, {"rcp", RCP}, {"sin", SIN},
                                                     {"cos", COS},   {"ex2", EX2},     {"lg2", LG2}, {"tanh", TANH}};
    const auto found = names.find(x.op);
    if (found == names.end())
        return false;
    if (rounding_of(x) > 1)
        return true;
    i.what = found->second;
    i.mode = x.has("approx") && x.last() == F64;
    r.operands(x, i, 1);
    i.run = of_float(x.last(), ACTION(function_of));
    return true;
}

}
