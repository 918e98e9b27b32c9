/* The functions of kernels/elementary.h through nvcc: the bytes that they have on the CPU. */
#define CUD_SUFFIX cuda
#include "kernels/functions.cu"
#include <math.h>
#include <vector>
#include "cudaemu/check.h"

extern "C" const struct cud_kernel cud_kernel_functions_cpu_v1;

static const char *const names[] = {
#define AS_NAME(name, x_y, most) #name,
    FUNCTIONS(AS_NAME)
};

static uint64_t state = 1;
static uint64_t random_bits()              /* splitmix64 */
{
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Edges with each other, numbers near 1, any bits. */
template <class T> static T argument(size_t i)
{
    static const double edges[] = {0, 0.25, 0.5, 0.625, 1, 1.5, 2, 3, 10, 88, 104, 700, 1e6, 1e22, HUGE_VAL, NAN, 5e-324, 1e-310, 1e308,
                                   0x1p-149, 0x1p-127, 0x1.fffffep+127, 0x1p24 - 1, 0x1p53 - 1, 0x1.6ac5b262ca1ffp+849};
    const size_t n = sizeof edges / sizeof *edges;
    const uint64_t bits = random_bits();
    T x;
    memcpy(&x, &bits, sizeof x);
    if (i < 2 * n)
        return (T)(i < n ? edges[i] : -edges[i - n]);
    return i % 3 ? (T)((double)(int64_t)bits * 0x1p-63 * (i % 3 == 1 ? 4 : 200)) : x;
}

template <class T> static int same_bytes(int function, enum cud_type type)
{
    const size_t pairs = 50, n = pairs * pairs + 700, bytes = n * sizeof(T);
    std::vector<T> x(n), y(n), want(n), got(n);
    for (size_t i = 0; i < n; i++) {
        x[i] = argument<T>(i < pairs * pairs ? i / pairs : i);
        y[i] = argument<T>(i < pairs * pairs ? i % pairs : i);
    }
    struct cud_call c = {};
    c.in[0] = x.data(), c.in[1] = y.data(), c.out[0] = want.data(), c.dim[0] = n, c.type = type, c.param[0] = function;
    if (cud_kernel_functions_cpu_v1.launch(&c) != 0)
        return 0;
    T *device[3];
    for (T *&p : device)
        MUST(cudaMalloc(&p, bytes));
    MUST(cudaMemcpy(device[0], x.data(), bytes, cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(device[1], y.data(), bytes, cudaMemcpyHostToDevice));
    c.in[0] = device[0], c.in[1] = device[1], c.out[0] = device[2];
    MUST((cudaError_t)cud_kernel_functions_cuda.launch(&c));
    MUST(cudaMemcpy(got.data(), device[2], bytes, cudaMemcpyDeviceToHost));
    for (T *p : device)
        MUST(cudaFree(p));
    for (size_t i = 0; i < n; i++)
        if (memcmp(&got[i], &want[i], sizeof(T)) != 0) {
            printf("# %s of %a and %a: %a, on the CPU %a\n", names[function], x[i], y[i], got[i], want[i]);
            return 0;
        }
    return 1;
}

int main()
{
    for (int f = 0; f < (int)(sizeof names / sizeof *names); f++) {
        ok(same_bytes<float>(f, CUD_F32), "%s f32: the CPU's bytes", names[f]);
        ok(same_bytes<double>(f, CUD_F64), "%s f64: the CPU's bytes", names[f]);
    }
    return done_testing();
}
