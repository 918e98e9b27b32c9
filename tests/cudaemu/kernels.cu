/* Kernels as people write them, through nvcc: what they must give is worked out on the host. */
#include <cmath>
#include <cuda_fp16.h>
#include <vector>
#include "cudaemu/check.h"

template <class T> static T *on_device(const std::vector<T> &v)
{
    T *p = nullptr;
    if (cudaMalloc(&p, v.size() * sizeof(T)) == cudaSuccess)
        cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
    return p;
}
template <class T> static bool fetch(std::vector<T> &v, const T *p)
{
    const bool good = cudaGetLastError() == cudaSuccess &&
                      cudaMemcpy(v.data(), p, v.size() * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess;
    cudaFree((void *)p);
    return good;
}
/* All v[i] are f(i). */
template <class T, class F> static int all(const std::vector<T> &v, F f)
{
    for (size_t i = 0; i < v.size(); i++)
        if (v[i] != f((int)i)) {
            printf("# element %zu is %g, not %g\n", i, (double)v[i], (double)f((int)i));
            return 0;
        }
    return 1;
}

__global__ void scale(float *d, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        d[i] *= 2;
}
static int test_scale()
{
    std::vector<float> v(10007, 3);
    float *p = on_device(v);
    scale<<<40, 256>>>(p, 10007);
    return fetch(v, p) && all(v, [](int) { return 6.f; });
}

__global__ void grid2(int *o, int w, int h)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h)
        o[y * w + x] = y * 100 + x;
}
static int test_grid2()
{
    std::vector<int> v(37 * 19);
    int *p = on_device(v);
    grid2<<<dim3(3, 3), dim3(16, 8)>>>(p, 37, 19);
    return fetch(v, p) && all(v, [](int i) { return i / 37 * 100 + i % 37; });
}

struct mixed {
    double a;
    int b;
    char c[13];
};
__global__ void by_value(mixed s, double *o) { o[0] = s.a + s.b + s.c[12]; }
static int test_struct()
{
    std::vector<double> v(1);
    double *p = on_device(v);
    mixed s = {1.5, 2, {}};
    s.c[12] = 9;
    by_value<<<1, 1>>>(s, p);
    return fetch(v, p) && v[0] == 12.5;
}

__global__ void vectors(float4 *a, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = make_float4(a[i].x * 2, a[i].y * 3, a[i].z * 4, a[i].w * 5);
}
static int test_vectors()
{
    std::vector<float> v(4000, 1);
    float *p = on_device(v);
    vectors<<<4, 256>>>((float4 *)p, 1000);
    return fetch(v, p) && all(v, [](int i) { return i % 4 + 2.f; });
}

__global__ void bytes(unsigned char *a, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = (unsigned char)(a[i] * 3 + 250);
}
static int test_bytes()
{
    std::vector<unsigned char> v(1000, 7);
    unsigned char *p = on_device(v);
    bytes<<<4, 256>>>(p, 1000);
    return fetch(v, p) && all(v, [](int) { return 15; });
}

__host__ __device__ static long long integers_of(int t, int a)
{
    const long long x = a * 1000003LL;
    return x / 7 + x % 11 + ((x >> 3) ^ (x << 2)) + (unsigned)a / 3u + (t ? a % t : 0);
}
__global__ void integers(long long *o, const int *a)
{
    const int t = threadIdx.x;
    o[t] = integers_of(t, a[t]) + __popc(t) + __clz(t + 1) + __brev(t) % 97 + __mulhi(a[t], 12345);
}
static int test_integers()
{
    std::vector<int> a(32);
    for (int i = 0; i < 32; i++)
        a[i] = i * 7919 - 1000;
    std::vector<long long> v(32);
    long long *p = on_device(v);
    int *q = on_device(a);
    integers<<<1, 32>>>(p, q);
    return fetch(v, p) && all(v, [&](int t) {
               unsigned reversed = 0;
               for (int bit = 0; bit < 32; bit++)
                   reversed |= (unsigned)(t >> bit & 1) << (31 - bit);
               return integers_of(t, a[t]) + __builtin_popcount(t) + __builtin_clz(t + 1) + reversed % 97 +
                      ((long long)a[t] * 12345 >> 32);
           });
}

__global__ void divergent(int *o)
{
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    if (t < 32)
        for (int i = 0; i < t; i++)
            s[t] += i;
    else
        s[t] = -t;
    __syncthreads();
    o[t] = s[63 - t];
}
static int test_divergent()
{
    std::vector<int> v(64);
    int *p = on_device(v);
    divergent<<<1, 64>>>(p);
    return fetch(v, p) && all(v, [](int t) { return 63 - t < 32 ? (63 - t) * (64 - t) / 2 : t - 63; });
}

extern __shared__ double dynamic[];
__global__ void block_sum(const double *in, double *out, int n)
{
    double s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        s += in[i];
    dynamic[threadIdx.x] = s;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            dynamic[threadIdx.x] += dynamic[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = dynamic[0];
}
static int test_dynamic()
{
    std::vector<double> v(5000, 0.5), sums(4);
    double *p = on_device(v), *q = on_device(sums);
    block_sum<<<4, 128, 128 * sizeof(double)>>>(p, q, 5000);
    return fetch(sums, q) && sums[0] + sums[1] + sums[2] + sums[3] == 2500;
}

__global__ void warp(unsigned *o, float *f)
{
    const int t = threadIdx.x;
    float sum = t;
    for (int half = 16; half; half /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, half);
    double down = __shfl_down_sync(0xffffffff, (double)t, 4);
    f[t] = sum + __shfl_up_sync(0xffffffff, t, 1) + (float)down + __shfl_sync(0xffffffff, t, 3, 8);
    __syncwarp();
    o[t] = __ballot_sync(0xffffffff, t & 1) + __any_sync(0xffffffff, t == 5) + __all_sync(0xffffffff, t >= 1);
}
static int test_warp()
{
    std::vector<unsigned> o(32);
    std::vector<float> f(32);
    unsigned *p = on_device(o);
    float *q = on_device(f);
    warp<<<1, 32>>>(p, q);
    return fetch(o, p) && fetch(f, q) && all(o, [](int) { return 0xaaaaaaabu; }) && all(f, [](int t) {
               return 496.f + (t ? t - 1 : 0) + (t + 4 < 32 ? t + 4 : t) + t / 8 * 8 + 3;
           });
}

__global__ void atomics(float *f, double *d, int *i, unsigned *c)
{
    atomicAdd(f, 1.f);
    atomicAdd(d, 0.5);
    atomicMax(i, (int)threadIdx.x);
    unsigned old = *c, before;
    do {
        before = old;
        old = atomicCAS(c, before, before + 3);
    } while (old != before);
}
static int test_atomics()
{
    std::vector<float> f(1);
    std::vector<double> d(1);
    std::vector<int> i(1);
    std::vector<unsigned> c(1);
    float *pf = on_device(f);
    double *pd = on_device(d);
    int *pi = on_device(i);
    unsigned *pc = on_device(c);
    atomics<<<4, 64>>>(pf, pd, pi, pc);
    return fetch(f, pf) && fetch(d, pd) && fetch(i, pi) && fetch(c, pc) && f[0] == 256 && d[0] == 128 && i[0] == 63 && c[0] == 768;
}

__constant__ float constants[4];
__device__ int counter;
__device__ int start = 42;
__global__ void symbols(float *o)
{
    o[threadIdx.x] = constants[threadIdx.x] + counter + start;
    if (threadIdx.x == 3)
        counter = 7;
}
static int test_symbols()
{
    const float four[4] = {1, 2, 3, 4};
    int hundred = 100;
    MUST(cudaMemcpyToSymbol(constants, four, sizeof four));
    MUST(cudaMemcpyToSymbol(counter, &hundred, sizeof hundred));
    std::vector<float> v(4);
    float *p = on_device(v);
    symbols<<<1, 4>>>(p);
    const int good = fetch(v, p) && all(v, [](int t) { return 143.f + t; });
    MUST(cudaMemcpyFromSymbol(&hundred, counter, sizeof hundred));
    return good && hundred == 7;
}

__device__ __noinline__ float series(float x, int n)
{
    float r = 1;
    for (int i = 0; i < n; i++) {
        if (r > 100)
            return r;
        r = fmaf(r, x, 0.25f);
    }
    return r;
}
__device__ __noinline__ void add_to(double *p, float v) { *p += v; }
__global__ void calls(double *o)
{
    const int t = threadIdx.x;
    o[t] = 1;
    if (t & 1)
        add_to(&o[t], series(1.5f, t % 13));
    else
        add_to(&o[t], series(0.5f, t % 7));
}
static int test_calls()
{
    std::vector<double> v(128);
    double *p = on_device(v);
    calls<<<1, 128>>>(p);
    return fetch(v, p) && all(v, [](int t) {
               float r = 1;
               for (int i = 0; i < t % (t & 1 ? 13 : 7) && r <= 100; i++)
                   r = std::fmaf(r, t & 1 ? 1.5f : 0.5f, 0.25f);
               return 1 + (double)r;
           });
}

__global__ void maths(double *o)
{
    const int t = threadIdx.x;
    const float x = 0.1f * t + 0.3f;
    const double y = x;
    o[t] = sqrtf(x) + expf(x) + sinf(x) + logf(x) + powf(x, 1.5f) + rsqrtf(x) + (sin(y * 1e6) + exp(y) + fmod(y, 0.7) + pow(1.1, y));
}
static int test_maths()
{
    std::vector<double> v(32);
    double *p = on_device(v);
    maths<<<1, 32>>>(p);
    if (!fetch(v, p))
        return 0;
    for (int t = 0; t < 32; t++) {
        const double y = fmaf(0.1f, (float)t, 0.3f);
        const double want = sqrt(y) + exp(y) + sin(y) + log(y) + pow(y, 1.5) + 1 / sqrt(y) + sin(y * 1e6) + exp(y) + fmod(y, 0.7) +
                            pow(1.1, y);
        if (!(fabs(v[t] - want) < 1e-5 * fabs(want))) {
            printf("# thread %d: %.17g, not %.17g\n", t, v[t], want);
            return 0;
        }
    }
    return 1;
}

__global__ void halves(float *o)
{
    const int t = threadIdx.x;
    const __half2 h = __floats2half2_rn(t, 0.5f * t);
    const __half2 r = __hfma2(h, h, __float2half2_rn(1));
    o[t] = __low2float(r) + __high2float(r);
}
static int test_halves()
{
    std::vector<float> v(32);
    float *p = on_device(v);
    halves<<<1, 32>>>(p);
    return fetch(v, p) && all(v, [](int t) { return t * t + 1 + 0.25f * t * t + 1; });
}

int main()
{
    unsetenv("CUDAEMU_FAIL");
    ok(test_scale(), "a kernel with a bound");
    ok(test_grid2(), "a grid of two dimensions");
    ok(test_struct(), "a struct by value");
    ok(test_vectors(), "vectors of four");
    ok(test_bytes(), "bytes");
    ok(test_integers(), "integers");
    ok(test_divergent(), "threads that go apart and meet at barriers");
    ok(test_dynamic(), "dynamic shared memory, sums of blocks");
    ok(test_warp(), "shuffles and votes");
    ok(test_atomics(), "atomics");
    ok(test_symbols(), "constants and variables");
    ok(test_calls(), "functions that are called");
    ok(test_maths(), "the toolkit's functions");
    ok(test_halves(), "pairs of halves");
    return done_testing();
}
