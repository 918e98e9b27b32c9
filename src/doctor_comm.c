/* How rows get from a GPU to rank 0: what --comm may be. */
#include <string.h>
#include "device/nccl.h"
#include "doctor_own.h"
#include "rank_lane.h"

/* Only where it matters.  What is not asked for need not be there. */
static bool check_lane(const struct cud_doctor *d, const char *lane, const char *cure, struct cud_finding *f)
{
    char why[CUD_WHY];
    const bool asked = strcmp(d->job->comm, lane) == 0;
    if (!asked && (!d->cuda || d->count == 1))
        return false;
    if (cud_lane_kind(lane)->usable(d->ranks, why))
        return true;
    cud_find(f, asked ? CUD_PROBLEM : CUD_FINE, cure, "%s: %s", asked ? "it is asked for" : "not used", why);
    return false;
}

void cud_check_nccl(struct cud_doctor *d, struct cud_finding *f)
{
    char why[200];
    if (check_lane(d, "nccl", "install NCCL on all hosts, or --comm mpi", f))
        cud_fine(f, "%s", cud_nccl_open(CUD_NCCL_SONAME, why)->name);
}

void cud_check_gpu_mpi(struct cud_doctor *d, struct cud_finding *f)
{
    if (check_lane(d, "cuda-mpi", "an Open MPI that was built with CUDA, or --comm auto", f))
        cud_fine(f, "%s takes memory of GPUs", cud_rank_library(d->ranks));
}
