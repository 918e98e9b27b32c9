/* Elementary functions of our own, float and double: the same bytes on every machine, which no library's are.
 *
 *   cud_exp cud_exp2 cud_expm1      cud_log cud_log2 cud_log10 cud_log1p      cud_sinh cud_cosh cud_tanh
 *   cud_sin cud_cos cud_tan (x in radians, any)      cud_asin cud_acos cud_atan cud_atan2(y, x)
 *   cud_sqrt cud_rsqrt cud_cbrt cud_hypot(x, y) cud_pow(x, y)      cud_erf cud_erfc
 *   cud_rint (to even in the middle) cud_round (away from zero) cud_trunc cud_floor cud_ceil
 *   cud_fmod(x, y) cud_fmin(x, y) cud_fmax(x, y)
 *
 * They are C's functions: infinities, zeros and their signs as its Annex F says, and at most 2 ulp off for every argument;
 * sqrt is rounded correctly, the last two lines are exact.  Every NaN that comes out is the one quiet NaN.
 *
 * Only + - * / sqrt and integer operations, no fma, and no branches, so loops over them vectorise; but for fmod, and for
 * sin, cos and tan beyond 2^20: cud_sin_near and its like (elementary/trig.h) have no branches.  The measured errors stand
 * in docs/kernels-internals.md; tests/unit/kernels_math.c repeats the measurement.  Polynomials are minimax, those of exp, log
 * and tanh by Remez's exchange, the others by Sollya's fpminimax (N. Brisebarre, S. Chevillard, Efficient polynomial
 * L-infinity approximations, ARITH 18, 2007); the errors given are those of the polynomial alone. */
#ifndef CUD_KERNELS_ELEMENTARY_H
#define CUD_KERNELS_ELEMENTARY_H

#include "elementary/arc.h"
#include "elementary/erf.h"
#include "elementary/exp.h"
#include "elementary/log.h"
#include "elementary/power.h"
#include "elementary/round.h"
#include "elementary/trig.h"

#endif
