/* What the backends say of a launch that failed, in the same words. */
#ifndef CUD_LAUNCH_H
#define CUD_LAUNCH_H

#include "cudist/kernel.h"

/* code: what kernel->launch gave; below 0 it is minus the number of call->gemm. */
static inline enum cud_status cud_launch_failed(const struct cud_kernel *kernel, const struct cud_call *call, int code,
                                                struct cud_err *err)
{
    const char *const what = call->step ? call->step : kernel->name;
    if (code < 0 && call->gemm)
        return FAIL(err, CUD_EFAILED, "%s: %s: %s", what, call->gemm->name, call->gemm->error(-code));
    return FAIL(err, CUD_EFAILED, "%s failed with code %d", what, code);
}

#endif
