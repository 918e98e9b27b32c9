/* Matrix products on a GPU from cuBLASLt, opened at run time: programs that need none never load it. */
#ifndef CUD_CUBLASLT_H
#define CUD_CUBLASLT_H

#include "cudist/kernel.h"

/* For the calling thread's GPU; kind: what tells apart GPUs on which the library may choose other algorithms ("sm_90").  NULL and
 * why: the library, or something it needs, is not there.  Main thread. */
const struct cud_gemm *cud_cublaslt(const char *kind, char why[200]);

#endif
