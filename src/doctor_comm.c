/* How rows get from GPU to GPU. */
#include <string.h>
#include "device/nccl.h"
#include "doctor_own.h"

static bool asked(const struct cud_doctor *d, const char *comm) { return strcmp(d->job->comm, comm) == 0; }

void cud_check_nccl(struct cud_doctor *d, struct cud_finding *f)
{
    char why[200];
    if (!asked(d, "nccl") && (!d->cuda || d->count == 1))
        return;
    const struct cud_nccl *const nccl = cud_nccl_open(CUD_NCCL_SONAME, why);
    if (nccl)
        cud_fine(f, "%s", nccl->name);
    else if (asked(d, "nccl"))
        cud_find(f, CUD_PROBLEM, "install NCCL on all hosts, or --comm mpi", "it cannot be used: %s", why);
    else
        cud_fine(f, "none, rows go by MPI: %s", why);
}

void cud_check_gpu_mpi(struct cud_doctor *d, struct cud_finding *f)
{
    if (!asked(d, "cuda-mpi") && (!d->cuda || d->count == 1))
        return;
    if (cud_rank_takes_gpus(d->ranks))
        cud_fine(f, "yes");
    else if (asked(d, "cuda-mpi"))
        cud_find(f, CUD_PROBLEM, "an Open MPI that was built with CUDA, or --comm auto", "%s takes no GPU memory",
                 cud_rank_library(d->ranks));
    else
        cud_fine(f, "no: what MPI sends goes by way of the host's memory");
}
