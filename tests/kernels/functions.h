/* The functions of kernels/elementary.h: their arguments, and how many ulp they may be off. */
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

#define X (x[i])
#define X_Y (x[i], y[i])
#define FUNCTIONS(F)                                                                                         \
    F(exp, X, 1) F(exp2, X, 1.2) F(expm1, X, 1.8) F(log, X, 1) F(log2, X, 1) F(log10, X, 1) F(log1p, X, 1)   \
    F(sinh, X, 1.3) F(cosh, X, 1.3) F(tanh, X, 1.5) F(sin, X, 1) F(cos, X, 1) F(tan, X, 1.2)                 \
    F(asin, X, 1) F(acos, X, 1) F(atan, X, 1) F(atan2, X_Y, 1.6)                                             \
    F(sqrt, X, 0.5) F(rsqrt, X, 1.5) F(cbrt, X, 1) F(hypot, X_Y, 1.3) F(pow, X_Y, 1.3) F(erf, X, 1.4) F(erfc, X, 1.6) \
    F(rint, X, 0) F(round, X, 0) F(trunc, X, 0) F(floor, X, 0) F(ceil, X, 0)                                 \
    F(fmod, X_Y, 0) F(fmin, X_Y, 0) F(fmax, X_Y, 0)

#endif
