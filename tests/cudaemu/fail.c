/* CUDAEMU_FAIL, CUDAEMU_DEVICES and CUDA_VISIBLE_DEVICES: each test is a process of its own, for they are read once. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cudaemu/check.h"

/* On each device, a stream: allocations and copies, until one fails; its place, or 0. */
static int first_failure(cudaError_t *e)
{
    static char host[4096];
    void *p = NULL;
    int n = 0;
#define TRY_CALL(call) \
    n++;               \
    if ((*e = (call))) \
        return n;
    TRY_CALL(cudaMalloc(&p, sizeof host))
    TRY_CALL(cudaMemcpy(p, host, sizeof host, cudaMemcpyHostToDevice))
    TRY_CALL(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost))
    TRY_CALL(cudaFree(p))
    TRY_CALL(cudaMalloc(&p, sizeof host))
    TRY_CALL(cudaFree(p))
    return 0;
}

static int nothing_fails(void)
{
    cudaError_t e = cudaSuccess;
    return first_failure(&e) == 0 && cudaGetLastError() == cudaSuccess;
}

static int second_malloc(void)
{
    cudaError_t e = cudaSuccess;
    if (first_failure(&e) != 5 || e != cudaErrorMemoryAllocation || cudaGetLastError() != cudaErrorMemoryAllocation)
        return 0;
    return cudaGetLastError() == cudaSuccess && first_failure(&e) == 0;       /* that once, and no more */
}

static int copies_from_second(void)
{
    cudaError_t e = cudaSuccess;
    if (first_failure(&e) != 3 || e != cudaErrorInvalidValue)
        return 0;
    return first_failure(&e) == 2 && e == cudaErrorInvalidValue;
}

static int sticky(void)
{
    cudaError_t e = cudaSuccess;
    void *p;
    if (first_failure(&e) != 2 || e != cudaErrorECCUncorrectable)
        return 0;
    for (int n = 0; n < 3; n++)
        if (cudaMalloc(&p, 1) != cudaErrorECCUncorrectable || cudaGetLastError() != cudaErrorECCUncorrectable)
            return 0;
    return cudaDeviceReset() == cudaSuccess && first_failure(&e) == 0;
}

static int later_sticky(void)             /* the copy itself fails, not the call that queues it */
{
    void *device, *host;
    cudaStream_t s;
    MUST(cudaMalloc(&device, 64));
    MUST(cudaMallocHost(&host, 64));
    MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    MUST(cudaMemcpyAsync(device, host, 64, cudaMemcpyHostToDevice, s));
    return cudaStreamSynchronize(s) == cudaErrorUnknown && cudaDeviceSynchronize() == cudaErrorUnknown;
}

static int other_device_lives(void)
{
    cudaError_t e = cudaSuccess;
    if (first_failure(&e) != 1 || e != cudaErrorLaunchFailure)
        return 0;
    MUST(cudaSetDevice(1));
    return first_failure(&e) == 0;
}

static int no_devices(void)
{
    int n = 7;
    void *p;
    return cudaGetDeviceCount(&n) == cudaErrorNoDevice && n == 7 && cudaMalloc(&p, 1) == cudaErrorNoDevice;
}

static int four_devices(void)
{
    int n = 0;
    struct cudaDeviceProp a, b;
    char bus[2][20];
    MUST(cudaGetDeviceCount(&n));
    MUST(cudaGetDeviceProperties(&a, 0));
    MUST(cudaGetDeviceProperties(&b, 3));
    MUST(cudaDeviceGetPCIBusId(bus[0], sizeof bus[0], 0));
    MUST(cudaDeviceGetPCIBusId(bus[1], sizeof bus[1], 3));
    return n == 4 && memcmp(&a.uuid, &b.uuid, sizeof a.uuid) && strcmp(bus[0], bus[1]) && a.pciBusID != b.pciBusID &&
           cudaSetDevice(4) == cudaErrorInvalidDevice;
}

static int visible(void)                  /* 2 of 4, by number and by UUID, in the order given */
{
    int n = 0;
    struct cudaDeviceProp a, b;
    MUST(cudaGetDeviceCount(&n));
    MUST(cudaGetDeviceProperties(&a, 0));
    MUST(cudaGetDeviceProperties(&b, 1));
    return n == 2 && a.uuid.bytes[3] == 2 && b.uuid.bytes[3] == 1;
}

static int little_memory(void)
{
    void *p;
    size_t free_bytes, total;
    if (cudaMalloc(&p, 4 << 20) != cudaErrorMemoryAllocation)
        return 0;
    MUST(cudaMalloc(&p, 2 << 20));
    MUST(cudaMemGetInfo(&free_bytes, &total));
    return total == 3 << 20 && free_bytes == 1 << 20;
}

static const struct {
    const char *name, *variable, *value;
    int (*test)(void);
} tests[] = {
    {"without it nothing fails", "CUDAEMU_SEED", "1", nothing_fails},
    {"the second cudaMalloc", "CUDAEMU_FAIL", "cudaMalloc:2", second_malloc},
    {"the second cudaMemcpy and all later ones, a code by name", "CUDAEMU_FAIL", "cudaMemcpy:2+:cudaErrorInvalidValue",
     copies_from_second},
    {"an ECC error stays until the device is reset", "CUDAEMU_FAIL", "cudaMemcpy:1:ecc", sticky},
    {"a lost device is told later", "CUDAEMU_FAIL", "copy:1:lost", later_sticky},
    {"the other device lives on", "CUDAEMU_FAIL", "cudaMalloc:1:launch", other_device_lives},
    {"not on this rank", "CUDAEMU_FAIL", "cudaMalloc:1:launch@3", nothing_fails},
    {"on this rank", "CUDAEMU_FAIL", "cudaMalloc:1@1,cudaMalloc:2:memory@0", second_malloc},
    {"no devices", "CUDAEMU_DEVICES", "0", no_devices},
    {"four devices, no two alike", "CUDAEMU_DEVICES", "4", four_devices},
    {"visible devices", "CUDA_VISIBLE_DEVICES", "2,GPU-c0dae001,9,0", visible},
    {"little memory", "CUDAEMU_MEM_MB", "3", little_memory},
};

int main(void)
{
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("PMIX_RANK");
    for (size_t n = 0; n < sizeof tests / sizeof *tests; n++) {
        int status = -1;
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            setenv("CUDAEMU_DEVICES", "4", 1);
            setenv(tests[n].variable, tests[n].value, 1);
            _exit(tests[n].test() != 1);
        }
        waitpid(child, &status, 0);
        ok(status == 0, "%s: %s=%s", tests[n].name, tests[n].variable, tests[n].value);
    }
    return done_testing();
}
