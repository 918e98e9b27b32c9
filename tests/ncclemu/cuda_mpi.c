/* An MPI that takes the memory of GPUs, by LD_PRELOAD in front of one that does not: what is sent from there goes by a copy, made
 * at the call, as of data that must be there by then.  Copies are never freed. */
#include <cuda_runtime_api.h>
#include <mpi.h>
#include <stdlib.h>

int MPIX_Query_cuda_support(void) { return 1; }

int MPI_Isend(const void *bytes, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    struct cudaPointerAttributes a;
    if (n > 0 && cudaPointerGetAttributes(&a, bytes) == cudaSuccess && a.type == cudaMemoryTypeDevice) {
        int size = 0;
        PMPI_Type_size(type, &size);
        void *const copy = malloc((size_t)n * (size_t)size);
        if (!copy || cudaMemcpy(copy, bytes, (size_t)n * (size_t)size, cudaMemcpyDeviceToHost) != cudaSuccess)
            return MPI_ERR_BUFFER;
        bytes = copy;
    }
    return PMPI_Isend(bytes, n, type, to, tag, comm, request);
}
