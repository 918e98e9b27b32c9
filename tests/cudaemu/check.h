/* For tests of the emulator: every CUDA call is checked, a test is a function that says whether all was well. */
#ifndef CUDAEMU_CHECK_H
#define CUDAEMU_CHECK_H

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include "tap.h"

/* A call that must work. */
#define MUST(call)                                                                                     \
    do {                                                                                               \
        const cudaError_t must_ = (call);                                                              \
        if (must_ != cudaSuccess) {                                                                    \
            printf("# %s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(must_));           \
            return 0;                                                                                  \
        }                                                                                              \
    } while (0)

#endif
