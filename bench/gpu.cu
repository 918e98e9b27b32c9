/* gpu [MIB [TIMES]]: what the calling thread's GPU can move, bytes a second, the best of TIMES: pinned host memory to the device
 * (to), back (from), each way while both go on at once (both), and device memory, read and written by a kernel (memory).  A last
 * line has the name of the GPU.  Exit code 1: no GPU. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(call)                                                                                     \
    do {                                                                                               \
        const cudaError_t must_ = (call);                                                              \
        if (must_ != cudaSuccess) {                                                                    \
            fprintf(stderr, "gpu: %s: %s\n", #call, cudaGetErrorString(must_));                        \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)

static size_t bytes;
static int times;
static char *host[2], *device[2];
static cudaStream_t stream[2];

__global__ void twice(const float4 *x, float4 *y, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x) {
        const float4 v = x[i];
        y[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
    }
}

static void to(int s) { MUST(cudaMemcpyAsync(device[s], host[s], bytes, cudaMemcpyHostToDevice, stream[s])); }
static void from(int s) { MUST(cudaMemcpyAsync(host[s], device[s], bytes, cudaMemcpyDeviceToHost, stream[s])); }
static void both(int)
{
    to(0);
    from(1);
}
static void memory(int s)
{
    twice<<<4096, 256, 0, stream[s]>>>((const float4 *)device[0], (float4 *)device[1], bytes / sizeof(float4));
    MUST(cudaGetLastError());
}

/* The default stream waits for all others, and they for it: events there are before and after all work. */
static void measure(const char *name, void (*work)(int), double moved)
{
    cudaEvent_t before, after;
    float best = 0;
    MUST(cudaEventCreate(&before));
    MUST(cudaEventCreate(&after));
    for (int i = 0; i <= times; i++) {
        float ms = 0;
        MUST(cudaEventRecord(before, 0));
        work(0);
        MUST(cudaEventRecord(after, 0));
        MUST(cudaEventSynchronize(after));
        MUST(cudaEventElapsedTime(&ms, before, after));
        if (i && (best == 0 || ms < best))     /* the first one warms up */
            best = ms;
    }
    printf("%s %.4g\n", name, moved / (best > 0 ? best : 1e-6) * 1000);
}

int main(int argc, char **argv)
{
    cudaDeviceProp p;
    int n = 0;
    bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 256) << 20;
    times = argc > 2 ? atoi(argv[2]) : 10;
    if (cudaGetDeviceCount(&n) != cudaSuccess || n == 0) {
        fprintf(stderr, "gpu: no GPU\n");
        return 1;
    }
    MUST(cudaGetDeviceProperties(&p, 0));
    for (int i = 0; i < 2; i++) {
        MUST(cudaMallocHost((void **)&host[i], bytes));
        MUST(cudaMalloc((void **)&device[i], bytes));
        MUST(cudaMemset(device[i], 0, bytes));
        MUST(cudaStreamCreate(&stream[i]));
    }
    measure("to", to, (double)bytes);
    measure("from", from, (double)bytes);
    measure("both", both, (double)bytes);
    measure("memory", memory, 2.0 * (double)bytes);
    printf("name %s\n", p.name);
    return 0;
}
