/* The normal distribution's quantile: + - * / and square roots only, so that it has the same bits on every machine. */
#ifndef CUD_NORMAL_H
#define CUD_NORMAL_H

/* z with P(Z < z) = p, 0 < p < 1.  Off by a few 1e-16 of z, 1e-15 at most was seen. */
double cud_normal_quantile(double p);

#endif
