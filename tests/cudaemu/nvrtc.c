/* Kernels that NVRTC compiles at run time, on the emulator: what a user's own kernels are made of. */
#include <math.h>
#include <nvrtc.h>
#include <stdlib.h>
#include <string.h>
#include "cudaemu/check.h"

static const char source[] =
    "#include <cuda_fp16.h>\n"
    "#include <cuda_bf16.h>\n"
    "extern \"C\" __global__ void twice(float *data, size_t n)\n"
    "{\n"
    "    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;\n"
    "    if (i < n)\n"
    "        data[i] *= 2;\n"
    "}\n"
    "template <class T> __device__ T warp_sum(T x)\n"
    "{\n"
    "    for (int k = 16; k; k /= 2)\n"
    "        x += __shfl_xor_sync(~0u, x, k);\n"
    "    return x;\n"
    "}\n"
    "extern \"C\" __global__ void block_sum(const float4 *in, float *out)\n"
    "{\n"
    "    extern __shared__ float each[];\n"
    "    __shared__ float total;\n"
    "    const float4 v = in[blockIdx.x * blockDim.x + threadIdx.x];\n"
    "    const float s = warp_sum(v.x + v.y + v.z + v.w);\n"
    "    if (threadIdx.x % 32 == 0)\n"
    "        each[threadIdx.x / 32] = s;\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x < 32) {\n"
    "        const float t = warp_sum(threadIdx.x < blockDim.x / 32 ? each[threadIdx.x] : 0.0f);\n"
    "        if (threadIdx.x == 0)\n"
    "            total = t;\n"
    "    }\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x == 0)\n"
    "        out[blockIdx.x] = total;\n"
    "}\n"
    "extern \"C\" __global__ void histogram(const unsigned char *in, unsigned *bins, int n)\n"
    "{\n"
    "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)\n"
    "        atomicAdd(&bins[in[i] & 7], 1u);\n"
    "}\n"
    "extern \"C\" __global__ void halves(const __half *a, const __nv_bfloat16 *b, float *out, int n)\n"
    "{\n"
    "    const int i = threadIdx.x;\n"
    "    if (i < n)\n"
    "        out[i] = __half2float(__hadd(a[i], a[i])) + __bfloat162float(b[i]) + sqrtf(fabsf(float(i))) + __popc(i);\n"
    "}\n";

static cudaLibrary_t library;

static int compile(void)
{
    const char *const options[] = {"--gpu-architecture=compute_75", "--std=c++17", "--fmad=false", "-I" CUDA_INCLUDE};
    nvrtcProgram program;
    size_t n = 0;
    if (nvrtcCreateProgram(&program, source, "user.cu", 0, NULL, NULL) != NVRTC_SUCCESS)
        return 0;
    if (nvrtcCompileProgram(program, sizeof options / sizeof *options, options) != NVRTC_SUCCESS) {
        nvrtcGetProgramLogSize(program, &n);
        char *const log = calloc(1, n + 1);
        nvrtcGetProgramLog(program, log);
        printf("# %s\n", log);
        return 0;
    }
    nvrtcGetPTXSize(program, &n);
    char *const ptx = calloc(1, n + 1);
    nvrtcGetPTX(program, ptx);
    nvrtcDestroyProgram(&program);
    MUST(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    free(ptx);                                 /* it is not needed any more */
    return 1;
}

static int launch(const char *name, unsigned grid, unsigned block, size_t shared, void **args)
{
    cudaKernel_t kernel;
    MUST(cudaLibraryGetKernel(&kernel, library, name));
    MUST(cudaLaunchKernel((const void *)kernel, (dim3){grid, 1, 1}, (dim3){block, 1, 1}, args, shared, NULL));
    MUST(cudaDeviceSynchronize());
    return 1;
}

static int twice(void)
{
    enum { N = 1000 };
    float host[N], *data = NULL;
    size_t n = N;
    for (int i = 0; i < N; i++)
        host[i] = (float)i / 3;
    MUST(cudaMalloc((void **)&data, sizeof host));
    MUST(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice));
    if (!launch("twice", 8, 128, 0, (void *[]){&data, &n}))
        return 0;
    MUST(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        if (host[i] != (float)i / 3 * 2)
            return 0;
    return cudaFree(data) == cudaSuccess;
}

static int block_sum(void)
{
    enum { BLOCKS = 3, THREADS = 256 };
    float host[BLOCKS * THREADS * 4], sums[BLOCKS], *in = NULL, *out = NULL;
    for (size_t i = 0; i < sizeof host / sizeof *host; i++)
        host[i] = (float)(i % 17);
    MUST(cudaMalloc((void **)&in, sizeof host));
    MUST(cudaMalloc((void **)&out, sizeof sums));
    MUST(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    if (!launch("block_sum", BLOCKS, THREADS, THREADS / 32 * sizeof(float), (void *[]){&in, &out}))
        return 0;
    MUST(cudaMemcpy(sums, out, sizeof sums, cudaMemcpyDeviceToHost));
    for (int b = 0; b < BLOCKS; b++) {
        float want = 0;
        for (int i = 0; i < THREADS * 4; i++)
            want += host[b * THREADS * 4 + i];
        if (sums[b] != want)                   /* small integers: exact */
            return 0;
    }
    return cudaFree(in) == cudaSuccess && cudaFree(out) == cudaSuccess;
}

static int histogram(void)
{
    enum { N = 5000 };
    unsigned char host[N], *in = NULL;
    unsigned want[8] = {0}, got[8], *bins = NULL;
    int n = N;
    for (int i = 0; i < N; i++)
        want[(host[i] = (unsigned char)(i * i % 251)) & 7]++;
    MUST(cudaMalloc((void **)&in, N));
    MUST(cudaMalloc((void **)&bins, sizeof got));
    MUST(cudaMemset(bins, 0, sizeof got));
    MUST(cudaMemcpy(in, host, N, cudaMemcpyHostToDevice));
    if (!launch("histogram", 4, 64, 0, (void *[]){&in, &bins, &n}))
        return 0;
    MUST(cudaMemcpy(got, bins, sizeof got, cudaMemcpyDeviceToHost));
    return memcmp(want, got, sizeof got) == 0 && cudaFree(in) == cudaSuccess && cudaFree(bins) == cudaSuccess;
}

static int halves(void)
{
    enum { N = 40 };
    unsigned short a[N], b[N];
    float got[N], *out = NULL;
    void *da = NULL, *db = NULL;
    int n = N;
    for (int i = 0; i < N; i++) {
        a[i] = (unsigned short)(0x3c00 + i);   /* 1 + i/1024 */
        b[i] = (unsigned short)(0x3f80 + i);   /* 1 + i/128 */
    }
    MUST(cudaMalloc(&da, sizeof a));
    MUST(cudaMalloc(&db, sizeof b));
    MUST(cudaMalloc((void **)&out, sizeof got));
    MUST(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice));
    if (!launch("halves", 1, 64, 0, (void *[]){&da, &db, &out, &n}))
        return 0;
    MUST(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        float want = 2 * (1 + (float)i / 1024);
        want += 1 + (float)i / 128;
        want += sqrtf((float)i);
        want += (float)__builtin_popcount((unsigned)i);
        if (got[i] != want) {
            printf("# %d: %a instead of %a\n", i, (double)got[i], (double)want);
            return 0;
        }
    }
    return cudaFree(da) == cudaSuccess && cudaFree(db) == cudaSuccess && cudaFree(out) == cudaSuccess;
}

/* A fault in it is told as for any kernel. */
static int out_of_bounds(void)
{
    float *data = NULL;
    size_t n = 1 << 20;
    cudaKernel_t kernel;
    MUST(cudaMalloc((void **)&data, 4096));
    MUST(cudaLibraryGetKernel(&kernel, library, "twice"));
    MUST(cudaLaunchKernel((const void *)kernel, (dim3){4096, 1, 1}, (dim3){256, 1, 1}, (void *[]){&data, &n}, 0, NULL));
    return cudaDeviceSynchronize() == cudaErrorIllegalAddress;
}

int main(void)
{
    if (!ok(compile(), "NVRTC compiles, the emulator loads"))
        return done_testing();
    ok(twice(), "a bounds-checked kernel");
    ok(block_sum(), "shared memory, static and dynamic, shuffles, templates, float4");
    ok(histogram(), "atomics");
    ok(halves(), "half, bfloat16, square root and intrinsics");
    ok(out_of_bounds(), "a bound that is wrong is an illegal address");
    return done_testing();
}
