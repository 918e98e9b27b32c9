/* What the backends say of a launch that failed, in the same words. */
#ifndef CUD_LAUNCH_H
#define CUD_LAUNCH_H

#include "cudist/kernel.h"

/* code: what kernel->launch gave; below 0 it is minus the number of call->gemm. */
static inline enum cud_status cud_launch_failed(const struct cud_kernel *kernel, const struct cud_call *call, int code,
                                                struct cud_err *err)
{
    if (code < 0 && call->gemm)
        return FAIL(err, CUD_EFAILED, "kernel %s: %s: %s", kernel->name, call->gemm->name, call->gemm->error(-code));
    return FAIL(err, CUD_EFAILED, "kernel %s failed with code %d", kernel->name, code);
}

#endif
