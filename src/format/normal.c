/* Wichura: Algorithm AS 241: The percentage points of the normal distribution, Applied Statistics 37 (1988), 477-484, PPND16.
 * The logarithm is that of Sun's fdlibm (e_log.c: the method in its head comment), for normal positive numbers. */
#include "normal.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static double evaluate(const double c[8], double x)
{
    double y = c[7];
    for (int i = 6; i >= 0; i--)
        y = y * x + c[i];
    return y;
}

/* x = 2^k (1 + f) with 1 + f near 1; log(1 + f) = 2 atanh(s), s = f / (2 + f), by a minimax polynomial in s^2. */
static double logarithm(double x)
{
    static const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    static const double c[8] = {0, 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                                2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                                1.479819860511658591e-01};
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    /* Moved so that 1 + f lies in [sqrt(1/2), sqrt(2)). */
    uint64_t moved = bits - UINT64_C(0x3fe6a09e667f3bcd);
    int64_t k = (int64_t)moved >> 52;
    bits -= (uint64_t)k << 52;
    memcpy(&x, &bits, sizeof x);
    double f = x - 1, s = f / (2 + f), half = 0.5 * f * f;
    double tail = s * (half + evaluate(c, s * s)) + (double)k * ln2_low;
    return (double)k * ln2_high - ((half - tail) - f);
}

static double centre(double q)
{
    static const double a[8] = {3.387132872796366608, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
                                45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727};
    static const double b[8] = {1, 42.313330701600911252, 687.1870074920579083, 5394.1960214247511077, 21213.794301586595867,
                                39307.89580009271061, 28729.085735721942674, 5226.495278852545925};
    double r = 0.180625 - q * q;
    return q * (evaluate(a, r) / evaluate(b, r));
}

static double tail(double p)
{
    static const double c[8] = {1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055, 3.64784832476320460504,
                                1.27045825245236838258, 0.24178072517745061177, 0.0227238449892691845833,
                                7.7454501427834140764e-4};
    static const double d[8] = {1, 2.05319162663775882187, 1.6763848301838038494, 0.68976733498510000455,
                                0.14810397642748007459, 0.0151986665636164571966, 5.475938084995344946e-4,
                                1.05075007164441684324e-9};
    static const double e[8] = {6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358, 0.29656057182850489123,
                                0.026532189526576123093, 0.0012426609473880784386, 2.71155556874348757815e-5,
                                2.01033439929228813265e-7};
    static const double f[8] = {1, 0.59983220655588793769, 0.13692988092273580531, 0.0148753612908506148525,
                                7.868691311456132591e-4, 1.8463183175100546818e-5, 1.4215117583164458887e-7,
                                2.04426310338993978564e-15};
    double r = sqrt(-logarithm(p));
    return r <= 5 ? evaluate(c, r - 1.6) / evaluate(d, r - 1.6) : evaluate(e, r - 5) / evaluate(f, r - 5);
}

double cud_normal_quantile(double p)
{
    double q = p - 0.5;
    if (q >= -0.425 && q <= 0.425)
        return centre(q);
    return q < 0 ? -tail(p) : tail(1 - p);
}
