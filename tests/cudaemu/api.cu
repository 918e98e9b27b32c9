/* The runtime API, call by call. */
#include <cstring>
#include <vector>
#include "cudaemu/check.h"

__global__ void twice(float *d, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        d[i] *= 2;
}
__global__ void out_of_bounds(float *d) { d[(size_t)1 << 36] = 1; }
__global__ void slow(float *d, int rounds)
{
    float x = d[threadIdx.x];
    for (int i = 0; i < rounds; i++)
        x = x * 1.0001f + 0.5f;
    d[threadIdx.x] = x;
}
__global__ __launch_bounds__(64) void bounded() {}
__global__ void says(int n) { printf("# hello %d %.1f %s %ld\n", n, 1.5, "from a kernel", 1L << 40); }

enum { N = 256, BYTES = N * sizeof(float) };
static float host[N];
static float *filled(float v)
{
    float *p = nullptr;
    for (float &x : host)
        x = v;
    if (cudaMalloc(&p, BYTES) == cudaSuccess)
        cudaMemcpy(p, host, BYTES, cudaMemcpyHostToDevice);
    return p;
}
static bool holds(const float *p, float v, cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    float got[N];
    if (cudaMemcpy(got, p, BYTES, kind) != cudaSuccess)
        return false;
    for (float x : got)
        if (x != v)
            return false;
    return true;
}

static int test_devices()
{
    int count = -1, now = -1, sms = 0;
    cudaDeviceProp p;
    MUST(cudaGetDeviceCount(&count));
    MUST(cudaGetDevice(&now));
    MUST(cudaGetDeviceProperties(&p, 0));
    MUST(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    return count == 2 && now == 0 && p.warpSize == 32 && sms == p.multiProcessorCount &&
           cudaSetDevice(99) == cudaErrorInvalidDevice;
}
static int test_errors()
{
    cudaGetLastError();
    const cudaError_t e = cudaSetDevice(-1);
    return e == cudaErrorInvalidDevice && cudaPeekAtLastError() == e && cudaGetLastError() == e &&
           cudaGetLastError() == cudaSuccess && !strcmp(cudaGetErrorName(e), "cudaErrorInvalidDevice") &&
           strstr(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument");
}
static int test_memory()
{
    void *p;
    int x;
    size_t before, after, total;
    MUST(cudaMemGetInfo(&before, &total));
    for (int n = 0; n < 100; n++) {
        MUST(cudaMalloc(&p, (size_t)n << 12));
        MUST(cudaFree(p));
    }
    MUST(cudaMemGetInfo(&after, &total));
    MUST(cudaFree(nullptr));
    return before == after && cudaMalloc(&p, (size_t)1 << 50) == cudaErrorMemoryAllocation && cudaFree(&x) == cudaErrorInvalidValue;
}
static int test_copies()
{
    float *a = filled(3), *b = filled(4);
    MUST(cudaMemcpy(b, a, BYTES, cudaMemcpyDeviceToDevice));
    MUST(cudaMemset(a, 0, BYTES));
    const bool good = holds(b, 3) && holds(a, 0, cudaMemcpyDefault) && cudaMemcpy(host, a, BYTES, (cudaMemcpyKind)9) != cudaSuccess;
    MUST(cudaFree(a));
    MUST(cudaFree(b));
    return good;
}
static int test_pitch()
{
    char *p;
    size_t pitch;
    std::vector<char> in(1000, 3), out(1000);
    MUST(cudaMallocPitch(&p, &pitch, 100, 10));
    MUST(cudaMemcpy2D(p, pitch, in.data(), 100, 100, 10, cudaMemcpyHostToDevice));
    MUST(cudaMemcpy2D(out.data(), 100, p, pitch, 100, 10, cudaMemcpyDeviceToHost));
    MUST(cudaFree(p));
    return in == out && pitch >= 100;
}
static int test_pinned()
{
    float *p, *d;
    cudaPointerAttributes a;
    MUST(cudaHostAlloc(&p, BYTES, cudaHostAllocMapped));
    for (int i = 0; i < N; i++)
        p[i] = i;
    MUST(cudaHostGetDevicePointer(&d, p, 0));
    twice<<<1, N>>>(d, N);
    MUST(cudaDeviceSynchronize());
    MUST(cudaPointerGetAttributes(&a, p));
    const bool good = p[3] == 6 && a.type == cudaMemoryTypeHost;
    MUST(cudaFreeHost(p));
    MUST(cudaPointerGetAttributes(&a, &p));
    return good && a.type == cudaMemoryTypeUnregistered && cudaFreeHost(p) == cudaErrorInvalidValue;
}
static int test_registered()
{
    std::vector<float> v(N, 1);
    MUST(cudaHostRegister(v.data(), BYTES, 0));
    twice<<<1, N>>>(v.data(), N);
    MUST(cudaDeviceSynchronize());
    const bool refused = cudaFreeHost(v.data()) == cudaErrorInvalidValue;
    MUST(cudaHostUnregister(v.data()));
    return v[9] == 2 && refused && cudaHostUnregister(v.data()) == cudaErrorHostMemoryNotRegistered;
}
static int test_managed()
{
    float *p;
    MUST(cudaMallocManaged(&p, BYTES));
    p[5] = 4;
    twice<<<1, N>>>(p, N);
    MUST(cudaDeviceSynchronize());
    const bool good = p[5] == 8;
    MUST(cudaFree(p));
    return good;
}
static int test_streams()
{
    cudaStream_t s, t;
    float *p = filled(1);
    int least, greatest;
    MUST(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    MUST(cudaStreamCreate(&s));
    MUST(cudaStreamCreateWithPriority(&t, cudaStreamNonBlocking, greatest));
    slow<<<1, N, 0, s>>>(p, 2000);
    const cudaError_t busy = cudaStreamQuery(s), idle = cudaStreamQuery(t);
    MUST(cudaStreamSynchronize(s));
    const cudaError_t after = cudaStreamQuery(s);
    MUST(cudaStreamDestroy(s));
    MUST(cudaStreamDestroy(t));
    MUST(cudaFree(p));
    return busy == cudaErrorNotReady && idle == cudaSuccess && after == cudaSuccess &&
           cudaStreamDestroy(s) == cudaErrorInvalidResourceHandle;
}
/* A blocking stream waits for the default stream, and that for it. */
static int test_default_stream()
{
    cudaStream_t s;
    float *p = filled(1);
    MUST(cudaStreamCreate(&s));
    for (int n = 0; n < 5; n++) {
        twice<<<1, N>>>(p, N);
        twice<<<1, N, 0, s>>>(p, N);
    }
    const bool good = holds(p, 1024);
    MUST(cudaStreamDestroy(s));
    MUST(cudaFree(p));
    return good;
}
static int test_events()
{
    cudaEvent_t a, b, c;
    cudaStream_t s;
    float ms = -1, *p = filled(1);
    MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    MUST(cudaEventCreate(&a));
    MUST(cudaEventCreate(&b));
    MUST(cudaEventCreateWithFlags(&c, cudaEventDisableTiming));
    MUST(cudaEventQuery(a));
    MUST(cudaEventRecord(a, s));
    slow<<<1, N, 0, s>>>(p, 2000);
    MUST(cudaEventRecord(b, s));
    const cudaError_t busy = cudaEventQuery(b);
    MUST(cudaEventSynchronize(b));
    MUST(cudaEventQuery(b));
    MUST(cudaEventElapsedTime(&ms, a, b));
    MUST(cudaEventRecord(c, s));
    MUST(cudaEventSynchronize(c));
    const cudaError_t untimed = cudaEventElapsedTime(&ms, a, c);
    MUST(cudaEventDestroy(a));
    MUST(cudaStreamDestroy(s));
    MUST(cudaFree(p));
    return busy == cudaErrorNotReady && ms > 0 && untimed == cudaErrorInvalidResourceHandle &&
           cudaEventRecord(a, s) == cudaErrorInvalidResourceHandle;
}
static void CUDART_CB set_five(void *p) { *(int *)p = 5; }
static void CUDART_CB add_one(cudaStream_t, cudaError_t, void *p) { ++*(int *)p; }
static int test_host_functions()
{
    int v = 0;
    cudaStream_t s;
    MUST(cudaStreamCreate(&s));
    MUST(cudaLaunchHostFunc(s, set_five, &v));
    MUST(cudaStreamAddCallback(s, add_one, &v, 0));
    MUST(cudaStreamSynchronize(s));
    MUST(cudaStreamDestroy(s));
    return v == 6;
}
static int test_async_memory()
{
    float *p;
    cudaStream_t s;
    MUST(cudaStreamCreate(&s));
    MUST(cudaMallocAsync(&p, BYTES, s));
    MUST(cudaMemsetAsync(p, 0, BYTES, s));
    MUST(cudaFreeAsync(p, s));
    MUST(cudaStreamDestroy(s));
    return 1;
}
static int test_launches()
{
    float *p = filled(1);
    int n = N;
    void *arguments[] = {&p, &n};
    MUST(cudaLaunchKernel((const void *)twice, dim3(1), dim3(N), arguments, 0, nullptr));
    const bool good = holds(p, 2);
    twice<<<1, 2048>>>(p, N);
    const cudaError_t block = cudaGetLastError();
    twice<<<0, 1>>>(p, N);
    const cudaError_t grid = cudaGetLastError();
    twice<<<1, 1, 1 << 20>>>(p, N);
    const cudaError_t shared = cudaGetLastError();
    bounded<<<1, 128>>>();
    const cudaError_t bound = cudaGetLastError();
    MUST(cudaFree(p));
    return good && block == cudaErrorInvalidConfiguration && grid == cudaErrorInvalidConfiguration &&
           shared == cudaErrorInvalidValue && bound == cudaErrorInvalidValue;
}
static int test_attributes()
{
    cudaFuncAttributes a;
    int blocks, threads;
    MUST(cudaFuncGetAttributes(&a, bounded));
    MUST(cudaFuncSetAttribute(twice, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
    MUST(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, twice, 0, 0));
    twice<<<1, 1, 65536>>>(nullptr, 0);
    MUST(cudaGetLastError());
    return a.maxThreadsPerBlock == 64 && threads > 0;
}
static int test_printf()
{
    fflush(stdout);
    says<<<1, 1>>>(7);
    MUST(cudaDeviceSynchronize());
    return 1;
}
static int test_peers()
{
    int can = 0;
    float *mine = filled(3), *other;
    MUST(cudaDeviceCanAccessPeer(&can, 1, 0));
    MUST(cudaSetDevice(1));
    MUST(cudaMalloc(&other, BYTES));
    MUST(cudaMemcpyPeer(other, 1, mine, 0, BYTES));
    MUST(cudaDeviceEnablePeerAccess(0, 0));
    twice<<<1, N>>>(mine, N);
    const bool good = holds(mine, 6) && holds(other, 3);
    MUST(cudaDeviceDisablePeerAccess(0));
    MUST(cudaFree(other));
    MUST(cudaSetDevice(0));
    MUST(cudaFree(mine));
    return can && good && cudaDeviceEnablePeerAccess(0, 0) == cudaErrorInvalidDevice;
}
/* A fault stays until the device is reset. */
static int test_fault()
{
    float *p = filled(1);
    void *q;
    out_of_bounds<<<1, 1>>>(p);
    if (cudaDeviceSynchronize() != cudaErrorIllegalAddress || cudaMalloc(&q, 1) != cudaErrorIllegalAddress ||
        cudaGetLastError() != cudaErrorIllegalAddress)
        return 0;
    MUST(cudaDeviceReset());
    p = filled(1);
    twice<<<1, N>>>(p, N);
    return holds(p, 2);
}

int main()
{
    setenv("CUDAEMU_DEVICES", "2", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("CUDAEMU_FAIL");
    ok(test_devices(), "devices");
    ok(test_errors(), "errors");
    ok(test_memory(), "memory");
    ok(test_copies(), "copies and fills");
    ok(test_pitch(), "rows with a pitch");
    ok(test_pinned(), "pinned memory");
    ok(test_registered(), "registered memory");
    ok(test_managed(), "managed memory");
    ok(test_streams(), "streams");
    ok(test_default_stream(), "the default stream");
    ok(test_events(), "events");
    ok(test_host_functions(), "host functions");
    ok(test_async_memory(), "memory of a stream");
    ok(test_launches(), "launches and their limits");
    ok(test_attributes(), "attributes of kernels");
    ok(test_printf(), "printf");
    ok(test_peers(), "peers");
    ok(test_fault(), "a fault");
    return done_testing();
}
