/* Matrix products of the CPU device from OpenBLAS, opened at run time: programs that need none never load it. */
#ifndef CUD_OPENBLAS_H
#define CUD_OPENBLAS_H

#include "cudist/kernel.h"

/* NULL and why: the library is not there.  The first call must be from the main thread. */
const struct cud_gemm *cud_openblas(char why[200]);

#endif
