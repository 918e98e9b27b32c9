/* kernel.h's words on a GPU: a lane is a thread, a pack is one lane. */
#include <cuda_runtime.h>

#define KERNEL static __global__ void
#define HELPER static __device__ __forceinline__
#define HELPER_CALLED static __device__ __noinline__
#define HELPER_BOTH static __host__ __device__ __forceinline__
#define HELPER_OF __device__ __forceinline__

/* cud_team is how many lanes share a tile or a row: the words within look at it.  A helper sees this one, a tile's. */
enum { cud_team = LANES };
#define EACH(i, n) \
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += (size_t)gridDim.x * blockDim.x)
#define MAP(from, to, n, v, ...)                                                                                         \
    cud_map((from), (to), (n), (size_t)blockIdx.x * blockDim.x + threadIdx.x, (size_t)gridDim.x * blockDim.x, \
            [&](auto v) { return (__VA_ARGS__); })
#define MAP_OF(from, to, n, v, ...) \
    cud_map((from), (to), (n), threadIdx.x % cud_team, cud_team, [&](auto v) { return (__VA_ARGS__); })
#define TILES(t, n) for (size_t t = blockIdx.x, cud_team = LANES; (void)cud_team, t < (n); t += gridDim.x)
#define ROWS(r, n, cols)                                                                                                  \
    for (size_t cud_team = cud_team_of(cols), r##_step = LANES / cud_team, r = blockIdx.x * r##_step + threadIdx.x / cud_team; \
         r < (n); r += gridDim.x * r##_step)
#define EACH_OF(i, n) for (size_t i = threadIdx.x % cud_team; i < (n); i += cud_team)
#define EACH_PAIR(r, m, c, n, pitch)                                    \
    for (size_t r##_c = threadIdx.x; r##_c < (m) * (size_t)(pitch); r##_c += LANES) \
        if (const size_t r = r##_c / (pitch), c = r##_c % (pitch); c < (n))
#define JOIN() cud_join(cud_team)
#define ONCE() if (threadIdx.x % cud_team == 0)
#define PHASE(l) for (int l = threadIdx.x, l##_once = 1; (void)l, l##_once; l##_once = 0, __syncthreads())
#define PHASE_TO(l, n) PHASE(l) if (l < (n))
#define PACKS(l) PHASE(l)
#define PACKS_TO(l, n) PHASE_TO(l, n)
#define SHARED(T, a, n) __shared__ T a[n]
#define PRIVATE(T, a, n) T a[n]
#define MINE(a, i, l) ((a) + (i))
#define TOTAL(v) cud_total(v)
#define STRIP 1
#define STRIPS(at, m, n) EACH(at, n) if (const size_t m = 1; true)
#define STRIP_ARRAY(T, a, n) T a[n]
#define CHUNK 1
#define EACH_IN_CHUNK(l) if (const size_t l = 0; true)
#define ROW_SUM(p, n) cud_row_sum([=](size_t cud_c) { return (double)(p)[cud_c]; }, n, cud_team)
#define ROW_SUM_BY(f, n) cud_row_sum(f, n, cud_team)
#define ROW_GREATEST(least, f, n) cud_row_greatest(least, f, n, cud_team)
#define ROW_MOST(p, n) cud_row_most(p, n, cud_team)

HELPER_BOTH unsigned cud_team_of(size_t cols)
{
    return cols < ROW_LANES ? 1 : cols <= ROW_PIECE ? ROW_LANES : LANES;
}
HELPER void cud_join(unsigned team)
{
    if (team == LANES)
        __syncthreads();
    else if (team > 1)
        __syncwarp();
}

#define UNROLL _Pragma("unroll")

/* n elements in registers, from and to memory by 16 bytes.  In words of 4 bytes all the time: of smaller ones nvcc would make
 * accesses of their size. */
template <class T, size_t n> struct cud_words {
    uint32_t w[n * sizeof(T) / 4];
    HELPER_OF void load(const T *p)
    {
        for (size_t i = 0; i < n * sizeof(T) / 16; i++) {
            const uint4 u = ((const uint4 *)p)[i];
            w[4 * i] = u.x, w[4 * i + 1] = u.y, w[4 * i + 2] = u.z, w[4 * i + 3] = u.w;
        }
    }
    HELPER_OF void store(T *p) const
    {
        for (size_t i = 0; i < n * sizeof(T) / 16; i++)
            ((uint4 *)p)[i] = make_uint4(w[4 * i], w[4 * i + 1], w[4 * i + 2], w[4 * i + 3]);
    }
    HELPER_OF T get(size_t i) const
    {
        uint64_t u = w[i * sizeof(T) / 4] >> i * sizeof(T) % 4 * 8;
        if (sizeof(T) == 8)
            u |= (uint64_t)w[2 * i + 1] << 32;
        T x;
        memcpy(&x, &u, sizeof x);
        return x;
    }
    HELPER_OF void set(size_t i, T x)          /* in rising order */
    {
        uint64_t u = 0;
        memcpy(&u, &x, sizeof x);
        uint32_t *const at = &w[i * sizeof(T) / 4];
        *at = i * sizeof(T) % 4 ? *at | (uint32_t)u << i * sizeof(T) % 4 * 8 : (uint32_t)u;
        if (sizeof(T) == 8)
            at[1] = (uint32_t)(u >> 32);
    }
};
/* Lane `first` of `step`.  Where both are aligned to 16 bytes that many at a time, then what is left one by one. */
template <class T, class To, class F> HELPER void cud_map(const T *x, To *y, size_t n, size_t first, size_t step, F f)
{
    constexpr size_t many = sizeof(uint4) / (sizeof(T) < sizeof(To) ? sizeof(T) : sizeof(To));
    const size_t whole = ((uintptr_t)x | (uintptr_t)y) % sizeof(uint4) ? 0 : n / many;
#pragma unroll 1
    for (size_t i = first; i < whole; i += step) {
        cud_words<T, many> a;
        cud_words<To, many> b;
        a.load(x + i * many);
        for (size_t k = 0; k < many; k++)
            b.set(k, f(a.get(k)));
        b.store(y + i * many);
    }
#pragma unroll 1
    for (size_t i = whole * many + first; i < n; i += step)
        y[i] = f(x[i]);
}

#define PACK 1
template <class T> using pack = T;
template <class T> HELPER T LOAD(const T *p) { return *p; }
template <class T> HELPER double WIDE(const T *p) { return *p; }
template <class T> HELPER void STORE(T *p, T v) { *p = v; }
template <class T> HELPER void STORE_TO(T *p, T v, size_t n)
{
    if (n > 0)
        *p = v;
}
template <class T> HELPER T ALL(T x) { return x; }
HELPER double PLUS(double a, double b) { return a + b; }
template <class T> HELPER T LESSER(T a, T b) { return a < b ? a : b; }
template <class T> HELPER T GREATER(T a, T b) { return a > b ? a : b; }
template <class T> HELPER T IF_LESS(T a, T b, T x, T y) { return a < b ? x : y; }
HELPER float MAGNITUDE(float a) { return fabsf(a); }
HELPER double MAGNITUDE(double a) { return fabs(a); }

template <bool nans, class T> HELPER int cud_find(const T *a, T v, int n)
{
    __shared__ int at;
    __syncthreads();                        /* the last call's at has been read */
    if (threadIdx.x == 0)
        at = n;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += LANES)
        if (nans ? a[i] != a[i] : a[i] == v) {
            atomicMin(&at, i);
            break;
        }
    __syncthreads();
    return at;
}
template <class T> HELPER int FIND(const T *a, T v, int n) { return cud_find<false>(a, v, n); }
template <class T> HELPER int FIND_NAN(const T *a, int n) { return cud_find<true>(a, T(0), n); }

HELPER unsigned cud_total(unsigned v)
{
    __shared__ unsigned sum;
    __syncthreads();
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    if (v)
        atomicAdd(&sum, v);
    __syncthreads();
    return sum;
}

/* What a warp's lanes hold, added in a tree; lane 0 has the sum. */
HELPER double cud_warp_sum(double s)
{
    for (int half = ROW_LANES / 2; half > 0; half /= 2)
        s += __shfl_down_sync(0xffffffff, s, half);
    return s;
}
template <class F> HELPER double cud_lane_sum(F f, size_t at, size_t n)
{
    double s = 0;
    for (size_t c = threadIdx.x % ROW_LANES; c < n; c += ROW_LANES)
        s += f(at + c);
    return s;
}
template <class F> HELPER double cud_row_sum(F f, size_t n, unsigned team)
{
    __shared__ double part[ROW_PIECES];
    double s = 0;
    cud_join(team);
    if (team == 1) {
        for (size_t c = 0; c < n; c++)
            s += f(c);
        return s;
    }
    if (team == ROW_LANES)
        return __shfl_sync(0xffffffff, cud_warp_sum(cud_lane_sum(f, 0, n)), 0);
    for (size_t i = threadIdx.x / ROW_LANES * ROW_PIECE; i < n; i += ROW_PIECES * ROW_PIECE)
        s += cud_warp_sum(cud_lane_sum(f, i, n - i < ROW_PIECE ? n - i : ROW_PIECE));
    if (threadIdx.x % ROW_LANES == 0)
        part[threadIdx.x / ROW_LANES] = s;
    for (int half = ROW_PIECES / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    __syncthreads();
    return part[0];                         /* the next row begins with a barrier */
}
template <class K, class F> HELPER K cud_row_greatest(K most, F f, size_t n, unsigned team)
{
    __shared__ K part[ROW_PIECES];
    cud_join(team);
    for (size_t c = threadIdx.x % team; c < n; c += team)
        most = GREATER(f(c), most);
    if (team == 1)
        return most;
    for (int half = ROW_LANES / 2; half > 0; half /= 2)
        most = GREATER(__shfl_xor_sync(0xffffffff, most, half), most);
    if (team == ROW_LANES)
        return most;
    if (threadIdx.x % ROW_LANES == 0)
        part[threadIdx.x / ROW_LANES] = most;
    __syncthreads();
    for (int w = 0; w < ROW_PIECES; w++)
        most = GREATER(part[w], most);
    return most;
}
template <class T> HELPER T cud_row_most(const T *p, size_t n, unsigned team)
{
    return cud_row_greatest(-(T)HUGE_VAL, [=](size_t c) { return p[c]; }, n, team);
}

#ifndef __CUDACC_RTC__                      /* the host's part */

/* A grid no larger than this: a block takes several tiles where there are more. */
#ifndef CUD_GRID_MAX
#define CUD_GRID_MAX 65535
#endif
static inline unsigned cud_grid(size_t want) { return want < CUD_GRID_MAX ? (unsigned)want : CUD_GRID_MAX; }

/* The runtime loads a kernel when it is first launched, or asked about (programming guide, "Lazy Loading"). */
static inline int cud_load(const void *kernel)
{
    cudaFuncAttributes a;
    return (int)cudaFuncGetAttributes(&a, kernel);
}

/* What was compiled while running (cud_call.function), with the arguments of its kernel. */
template <class... Args> static inline int cud_launch_compiled(size_t blocks, const struct cud_call *c, Args... args)
{
    void *all[] = {(void *)&args...};
    if (c->warm)
        return cud_load(c->function);
    return blocks ? (int)cudaLaunchKernel(c->function, dim3(cud_grid(blocks)), dim3(LANES), all, 0, (cudaStream_t)c->stream) : 0;
}

#define CUD_LAUNCH(k, blocks, c, ...)                                                                              \
    ((c)->warm      ? cud_load((const void *)(k))                                                                  \
     : (blocks) > 0 ? (k<<<cud_grid(blocks), LANES, 0, (cudaStream_t)(c)->stream>>>(__VA_ARGS__), (int)cudaGetLastError()) \
                    : 0)
#define LAUNCH_EACH(k, n, c, ...) CUD_LAUNCH(k, CEIL_DIV((n), LANES), c, __VA_ARGS__)
#define LAUNCH_MAP(k, n, c, ...) CUD_LAUNCH(k, CEIL_DIV((n), 4 * LANES), c, __VA_ARGS__)
#define LAUNCH_COMPILED(n, c, ...) cud_launch_compiled(CEIL_DIV((n), 4 * LANES), c, __VA_ARGS__)
#define LAUNCH_TILES(k, n, c, ...) CUD_LAUNCH(k, (n), c, __VA_ARGS__)
#define LAUNCH_ROWS(k, n, cols, c, ...) CUD_LAUNCH(k, CEIL_DIV((n), LANES / cud_team_of(cols)), c, __VA_ARGS__)

#endif
