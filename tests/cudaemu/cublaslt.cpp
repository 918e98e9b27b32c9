/* A stand-in for cuBLASLt beside the emulated runtime: the calls of src/device/cublaslt.c, as NVIDIA's cuBLAS documentation
 * (section "Using the cuBLASLt API") says.  Matrices are by columns; a product waits for its stream's turn and runs on the device
 * memory of the caller's GPU through the runtime alone, so pointers of the host or of another GPU are found out.
 *
 * An element is the sum of its terms in their order, each rounded, as in the program's own kernel: the same bytes are due.
 * With TF32 the factors are rounded to 10 bits of fraction first.  CUBLASLT_EMU_FAIL=N: the Nth product fails. */
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <deque>
#include <mutex>

/* What src/device/cublaslt.c takes for granted. */
static_assert(CUDA_R_32F == 0 && CUDA_R_64F == 1 && CUBLAS_OP_N == 0 && CUBLAS_OP_T == 1);
static_assert(CUBLAS_COMPUTE_32F == 68 && CUBLAS_COMPUTE_32F_FAST_TF32 == 77 && CUBLAS_COMPUTE_64F == 70);
static_assert(CUBLASLT_MATMUL_DESC_TRANSA == 3 && CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES == 1);
static_assert(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES == 5 && CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES == 6);
static_assert(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES == 7 && CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES == 8);
static_assert(CUBLAS_STATUS_NOT_SUPPORTED == 15 && sizeof(cublasLtMatmulAlgo_t) == 64);
static_assert(offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) == 64 && offsetof(cublasLtMatmulHeuristicResult_t, state) == 72);
static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == 96);

namespace {

struct layout { cudaDataType type; uint64_t rows, cols; int64_t ld; };
struct desc { cublasComputeType_t compute; cudaDataType scale; int32_t trans_a = CUBLAS_OP_N, trans_b = CUBLAS_OP_N; };
struct preference { uint64_t workspace = 0; uint32_t alignment[4] = {256, 256, 256, 256}; };

/* What was chosen, and what holds of the pointers it was chosen for. */
struct choice { uint64_t mark; uint32_t alignment[4]; uint64_t workspace; };
constexpr uint64_t MARK = 0x63756d6c74617544;
static_assert(sizeof(choice) <= sizeof(cublasLtMatmulAlgo_t));

template <class T> T *make(const T &value, void *out)
{
    T *const p = new T(value);
    memcpy(out, &p, sizeof p);
    return p;
}

template <class T> const T &of(const void *handle) { return *static_cast<const T *>(handle); }

size_t each(cudaDataType t) { return t == CUDA_R_64F ? 8 : 4; }
size_t bytes(const layout &l) { return l.cols ? ((l.cols - 1) * l.ld + l.rows) * each(l.type) : 0; }

/* Chapter "cublasLtMatmul": shapes must agree, leading dimensions must hold a column. */
bool fits(const desc &d, const layout &a, const layout &b, const layout &c)
{
    const uint64_t m = d.trans_a ? a.cols : a.rows, k = d.trans_a ? a.rows : a.cols;
    const uint64_t k2 = d.trans_b ? b.cols : b.rows, n = d.trans_b ? b.rows : b.cols;
    const bool typed = a.type == b.type && b.type == c.type && d.scale == a.type &&
                       (a.type == CUDA_R_64F) == (d.compute == CUBLAS_COMPUTE_64F);
    return typed && k == k2 && c.rows == m && c.cols == n && a.ld >= int64_t(a.rows) && b.ld >= int64_t(b.rows) &&
           c.ld >= int64_t(c.rows);
}

float tf32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    if ((u >> 23 & 255) != 255)
        u = (u + 0xfff + (u >> 13 & 1)) & ~uint32_t(0x1fff);
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Pinned, so that no copy is done before its turn. */
struct buffer {
    void *p = nullptr;
    size_t bytes = 0;
    bool hold(size_t n)
    {
        if (n <= bytes)
            return true;
        cudaFreeHost(p);
        bytes = cudaMallocHost(&p, n) == cudaSuccess ? n : 0;
        return bytes;
    }
};

struct product {
    desc d;
    layout a, b, c;
    buffer x, y, z;
    std::atomic<bool> busy = true;
};

std::mutex lock;
std::deque<product> products;             /* used again when they are done: a stream's own work may not free memory */

product &free_product()
{
    const std::lock_guard<std::mutex> l(lock);
    for (product &p : products)
        if (!p.busy.exchange(true))
            return p;
    return products.emplace_back();
}

template <class T> void multiply(product &p)
{
    const T *const a = static_cast<const T *>(p.x.p), *const b = static_cast<const T *>(p.y.p);
    T *const c = static_cast<T *>(p.z.p);
    const uint64_t terms = p.d.trans_a ? p.a.rows : p.a.cols;
    const bool round = p.d.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    const auto in = [&](T v) { return round ? T(tf32(float(v))) : v; };
    for (uint64_t j = 0; j < p.c.cols; j++)
        for (uint64_t i = 0; i < p.c.rows; i++) {
            T sum = 0;
            for (uint64_t k = 0; k < terms; k++)
                sum = sum + in(p.d.trans_b ? b[j + k * p.b.ld] : b[k + j * p.b.ld]) * in(p.d.trans_a ? a[k + i * p.a.ld] : a[i + k * p.a.ld]);
            c[i + j * p.c.ld] = sum;
        }
}

void CUDART_CB work(void *data)
{
    product &p = *static_cast<product *>(data);
    if (p.a.type == CUDA_R_64F)
        multiply<double>(p);
    else
        multiply<float>(p);
}

void CUDART_CB finish(void *data) { static_cast<product *>(data)->busy = false; }

bool aligned(const void *p, uint32_t n) { return reinterpret_cast<uintptr_t>(p) % n == 0; }

/* Copies in, works and copies out, all in the stream's order; so it is as late as any kernel. */
cublasStatus_t queue(product &p, const void *a, const void *b, void *c, cudaStream_t s)
{
    const size_t x = bytes(p.a), y = bytes(p.b), z = bytes(p.c);
    const bool good = p.x.hold(x) && p.y.hold(y) && p.z.hold(z) &&
                      cudaMemcpyAsync(p.x.p, a, x, cudaMemcpyDeviceToHost, s) == cudaSuccess &&
                      cudaMemcpyAsync(p.y.p, b, y, cudaMemcpyDeviceToHost, s) == cudaSuccess &&
                      cudaLaunchHostFunc(s, work, &p) == cudaSuccess &&
                      cudaMemcpyAsync(c, p.z.p, z, cudaMemcpyHostToDevice, s) == cudaSuccess &&
                      cudaLaunchHostFunc(s, finish, &p) == cudaSuccess;
    return good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

bool fails_now()
{
    static std::atomic<long> made{0};
    const char *const asked = getenv("CUBLASLT_EMU_FAIL");
    return ++made == (asked ? atol(asked) : 0);
}

}

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    int device;
    if (cudaGetDevice(&device) != cudaSuccess)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    make(device, handle);
    return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion(void) { return CUBLAS_VERSION; }

const char *cublasLtGetStatusName(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "CUBLAS_STATUS_INTERNAL_ERROR";
    }
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute, cudaDataType_t scale)
{
    make(desc{compute, scale}, out);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t attribute, const void *value, size_t n)
{
    desc *const at = reinterpret_cast<desc *>(d);
    if (n != sizeof(int32_t) || (attribute != CUBLASLT_MATMUL_DESC_TRANSA && attribute != CUBLASLT_MATMUL_DESC_TRANSB))
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(attribute == CUBLASLT_MATMUL_DESC_TRANSA ? &at->trans_a : &at->trans_b, value, n);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d)
{
    delete reinterpret_cast<desc *>(d);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld)
{
    if (ld < 0 || uint64_t(ld) < rows || (type != CUDA_R_32F && type != CUDA_R_64F))
        return CUBLAS_STATUS_INVALID_VALUE;
    make(layout{type, rows, cols, ld}, out);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l)
{
    delete reinterpret_cast<layout *>(l);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    make(preference{}, out);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t n)
{
    preference *const at = reinterpret_cast<preference *>(p);
    const int i = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
    if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && n == sizeof at->workspace)
        memcpy(&at->workspace, value, n);
    else if (i >= 0 && i < 4 && n == sizeof at->alignment[i])
        memcpy(&at->alignment[i], value, n);
    else
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
    delete reinterpret_cast<preference *>(p);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t e, cublasLtMatmulPreference_t p, int asked,
                                              cublasLtMatmulHeuristicResult_t *results, int *found)
{
    const preference &want = of<preference>(p);
    if (asked < 1 || c != e || !fits(of<desc>(d), of<layout>(a), of<layout>(b), of<layout>(c)))
        return CUBLAS_STATUS_INVALID_VALUE;
    choice chosen = {MARK, {}, want.workspace};
    memcpy(chosen.alignment, want.alignment, sizeof chosen.alignment);
    results[0] = {};
    memcpy(&results[0].algo, &chosen, sizeof chosen);
    results[0].workspaceSize = want.workspace;
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t d, const void *alpha, const void *a, cublasLtMatrixLayout_t al,
                              const void *b, cublasLtMatrixLayout_t bl, const void *beta, const void *c, cublasLtMatrixLayout_t cl,
                              void *e, cublasLtMatrixLayout_t el, const cublasLtMatmulAlgo_t *algo, void *workspace, size_t n,
                              cudaStream_t stream)
{
    choice chosen;
    memcpy(&chosen, algo, sizeof chosen);
    int device = -1;
    cudaGetDevice(&device);
    const bool f64 = of<layout>(al).type == CUDA_R_64F;
    const double one = f64 ? of<double>(alpha) : of<float>(alpha), zero = f64 ? of<double>(beta) : of<float>(beta);
    if (fails_now())
        return CUBLAS_STATUS_INTERNAL_ERROR;
    if (chosen.mark != MARK || device != of<int>(handle) || one != 1 || zero != 0 || c != e || cl != el ||
        !fits(of<desc>(d), of<layout>(al), of<layout>(bl), of<layout>(cl)))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!aligned(a, chosen.alignment[0]) || !aligned(b, chosen.alignment[1]) || !aligned(c, chosen.alignment[2]))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (n < chosen.workspace || cudaMemsetAsync(workspace, 0xff, chosen.workspace, stream) != cudaSuccess)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    product &p = free_product();
    p.d = of<desc>(d);
    p.a = of<layout>(al);
    p.b = of<layout>(bl);
    p.c = of<layout>(cl);
    return queue(p, a, b, e, stream);
}

}
