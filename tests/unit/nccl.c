/* NCCL's library as it is found: not there, something else, and the real one where there is one. */
#include <stdio.h>
#include <string.h>
#include "../tap.h"
#include "device/nccl.h"

int main(void)
{
    char why[200] = "";
    ok(!cud_nccl_open("libno-such-nccl.so.2", why) && strstr(why, "libno-such-nccl.so.2"), "a library that is not there: %s", why);
    ok(!cud_nccl_open("libm.so.6", why) && strcmp(why, "libm.so.6 has no ncclGetVersion") == 0, "another library: %s", why);
    const struct cud_nccl *n = cud_nccl_open(CUD_NCCL_SONAME, why);
    if (!n)
        n = cud_nccl_open(CUDA_LIBDIR "/" CUD_NCCL_SONAME, why);
    if (!n)
        ok(1, "every call that is used # SKIP %s", why);
    else
        ok(strncmp(n->name, "NCCL 2.", 7) == 0 && strlen(n->error(CUD_NCCL_REMOTE_ERROR)) > 5, "%s has every call that is used", n->name);
    return done_testing();
}
