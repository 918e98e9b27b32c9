/* The stand-in for NCCL: ranks are processes, and what each sees is checked. */
#include <nccl.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cudaemu/check.h"
#include "device/nccl.h"

/* What cudist says of NCCL is what nccl.h says. */
_Static_assert(sizeof(struct cud_nccl_id) == sizeof(ncclUniqueId), "unique id");
_Static_assert(offsetof(struct cud_nccl_config, magic) == offsetof(ncclConfig_t, magic), "configuration");
_Static_assert(offsetof(struct cud_nccl_config, version) == offsetof(ncclConfig_t, version), "configuration");
_Static_assert(offsetof(struct cud_nccl_config, blocking) == offsetof(ncclConfig_t, blocking), "configuration");
_Static_assert((int)CUD_NCCL_DONE == (int)ncclSuccess && (int)CUD_NCCL_REMOTE_ERROR == (int)ncclRemoteError &&
               (int)CUD_NCCL_IN_PROGRESS == (int)ncclInProgress && (int)CUD_NCCL_CHAR == (int)ncclChar, "codes");

enum { BIG = 3000000, LATE = 30 };

static ncclUniqueId id;
static int count;                          /* ranks */
static ncclComm_t comm;
static cudaStream_t stream;
static unsigned char *device, *host;       /* BIG bytes each; host is pinned */

#define NEED(x)                                                            \
    do {                                                                   \
        if (!(x)) {                                                        \
            printf("# %s:%d: %s\n", __FILE__, __LINE__, #x);               \
            return 0;                                                      \
        }                                                                  \
    } while (0)

/* The state that the communicator comes to, or ncclInProgress after so many milliseconds. */
static ncclResult_t state_after(int milliseconds)
{
    ncclResult_t state = ncclInProgress;
    for (int i = 0; i < milliseconds * 2 && state == ncclInProgress; i++) {
        if (ncclCommGetAsyncError(comm, &state))
            return ncclInternalError;
        usleep(500);
    }
    return state;
}
static ncclResult_t settle(ncclResult_t code) { return code == ncclInProgress ? state_after(10000) : code; }

/* Becomes success within so many milliseconds. */
static int stream_done(int milliseconds)
{
    for (int i = 0; i < milliseconds * 2; i++) {
        if (cudaStreamQuery(stream) == cudaSuccess)
            return 1;
        usleep(500);
    }
    return 0;
}

static ncclResult_t start_on(int rank, int device_number)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    if (cudaSetDevice(device_number) || cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking))
        return ncclUnhandledCudaError;
    if (cudaMalloc((void **)&device, BIG) || cudaMallocHost((void **)&host, BIG))
        return ncclUnhandledCudaError;
    return settle(ncclCommInitRankConfig(&comm, count, id, rank, &config));
}
static int start(int rank) { return start_on(rank, rank) == ncclSuccess; }

static int end(void)
{
    NEED(settle(ncclCommFinalize(comm)) == ncclSuccess);
    NEED(ncclCommDestroy(comm) == ncclSuccess);
    ncclResult_t state;
    return ncclCommGetAsyncError(comm, &state) == ncclInvalidArgument;
}

static unsigned char value(int rank, int piece, size_t i)
{
    return (unsigned char)(i * 7 + (size_t)rank * 31 + (size_t)piece * 101 + i / 251);
}

static void fill(int rank, int piece, size_t n)
{
    for (size_t i = 0; i < n; i++)
        host[i] = value(rank, piece, i);
}
static int holds(int rank, int piece, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (host[i] != value(rank, piece, i))
            return 0;
    return 1;
}

/* Rank 1 to rank 0. */
static ncclResult_t pass(int rank, size_t n)
{
    return rank ? ncclSend(device, n, ncclChar, 0, comm, stream) : ncclRecv(device, n, ncclChar, 1, comm, stream);
}

/* ---- what works */

static const size_t sizes[] = {1, 0, 4097, BIG, 65536};
enum { PIECES = sizeof sizes / sizeof *sizes };

/* Everyone to rank 0, no wait but on the stream: copies, sends and receives keep their order. */
static int to_zero(int rank)
{
    NEED(start(rank));
    for (int p = 0; p < PIECES; p++)
        for (int from = 1; from < count; from++) {
            if (rank == from) {
                fill(rank, p, sizes[p]);
                MUST(cudaMemcpyAsync(device, host, sizes[p], cudaMemcpyHostToDevice, stream));
                NEED(settle(ncclSend(device, sizes[p], ncclChar, 0, comm, stream)) == ncclSuccess);
                MUST(cudaStreamSynchronize(stream));
            } else if (rank == 0) {
                NEED(settle(ncclRecv(device, sizes[p], ncclUint8, from, comm, stream)) == ncclSuccess);
                MUST(cudaMemcpyAsync(host, device, sizes[p], cudaMemcpyDeviceToHost, stream));
                MUST(cudaStreamSynchronize(stream));
                NEED(holds(from, p, sizes[p]));
            }
        }
    return end();
}

/* Each sends to the next and receives from the one before, in one group, longer than any buffer. */
static int ring(int rank)
{
    const int next = (rank + 1) % count, before = (rank + count - 1) % count;
    unsigned char *in;
    NEED(start(rank));
    MUST(cudaMalloc((void **)&in, BIG));
    fill(rank, 0, BIG);
    MUST(cudaMemcpyAsync(device, host, BIG, cudaMemcpyHostToDevice, stream));
    NEED(ncclGroupStart() == ncclSuccess);
    NEED(ncclSend(device, BIG / 4, ncclFloat, next, comm, stream) == ncclSuccess);
    NEED(ncclRecv(in, BIG / 4, ncclFloat, before, comm, stream) == ncclSuccess);
    NEED(settle(ncclGroupEnd()) == ncclSuccess);
    MUST(cudaMemcpyAsync(host, in, BIG, cudaMemcpyDeviceToHost, stream));
    MUST(cudaStreamSynchronize(stream));
    NEED(holds(before, 0, BIG));
    return end();
}

/* The second receive waits for the first, though its own stream is idle. */
static int two_streams(int rank)
{
    cudaStream_t other;
    NEED(start(rank));
    MUST(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    for (int p = 0; p < 6; p++) {
        const cudaStream_t s = p % 2 ? other : stream;
        if (rank)
            fill(rank, p, 1000);
        if (rank)
            MUST(cudaMemcpy(device, host, 1000, cudaMemcpyHostToDevice));
        NEED(settle(rank ? ncclSend(device, 1000, ncclChar, 0, comm, s)
                         : ncclRecv(device + p * 1000, 1000, ncclChar, 1, comm, s)) == ncclSuccess);
        if (rank)
            MUST(cudaStreamSynchronize(s));
    }
    MUST(cudaDeviceSynchronize());
    for (int p = 0; p < 6 && !rank; p++) {
        MUST(cudaMemcpy(host, device + p * 1000, 1000, cudaMemcpyDeviceToHost));
        NEED(holds(1, p, 1000));
    }
    return end();
}

static int blocking(int rank)
{
    MUST(cudaSetDevice(rank));
    MUST(cudaMalloc((void **)&device, BIG));
    NEED(ncclCommInitRank(&comm, count, id, rank) == ncclSuccess);
    NEED(pass(rank, BIG) == ncclSuccess);
    MUST(cudaStreamSynchronize(NULL));
    return ncclCommDestroy(comm) == ncclSuccess;
}

/* ---- what a caller must know */

/* Until a call is through nothing is on the stream, and no other call may be made. */
static int in_progress(int rank)
{
    ncclResult_t state;
    NEED(start(rank));
    if (rank == 1)
        usleep(300000);
    const ncclResult_t code = pass(rank, 8);
    if (rank == 0) {
        NEED(code == ncclInProgress && state_after(50) == ncclInProgress);
        NEED(cudaStreamQuery(stream) == cudaSuccess);
        NEED(ncclRecv(device, 8, ncclChar, 1, comm, stream) == ncclInvalidArgument);
        NEED(ncclCommGetAsyncError(comm, &state) == ncclSuccess && state == ncclInProgress);
    }
    NEED(settle(ncclInProgress) == ncclSuccess);
    MUST(cudaStreamSynchronize(stream));
    return end();
}

static int one_device(int rank)            /* ranks 0 and 1 share one */
{
    const ncclResult_t code = start_on(rank, rank == 1 ? 0 : rank);
    NEED(code == (rank < 2 ? ncclInvalidUsage : ncclRemoteError));
    NEED(rank >= 2 || strstr(ncclGetLastError(comm), "Duplicate GPU"));
    return ncclCommAbort(comm) == ncclSuccess;
}

static int no_config(int rank)
{
    ncclConfig_t config = {.blocking = 0};
    return ncclCommInitRankConfig(&comm, count, id, rank, &config) == ncclInvalidArgument;
}

static int finalize_waits(int rank)
{
    NEED(start(rank));
    if (rank == 1)
        usleep(300000);
    const ncclResult_t code = ncclCommFinalize(comm);
    NEED(rank == 1 || (code == ncclInProgress && state_after(50) == ncclInProgress));
    NEED(settle(code) == ncclSuccess);
    return ncclCommDestroy(comm) == ncclSuccess;
}

/* ---- what goes wrong */

static int other_length(int rank)
{
    NEED(start(rank));
    (void)settle(pass(rank, rank ? 100 : 60));
    for (int i = 0; i < 5000 && rank == 0 && state_after(1) == ncclSuccess; i++)
        usleep(1000);
    NEED(rank ? stream_done(5000) : state_after(1) == ncclInvalidUsage);
    return ncclCommAbort(comm) == ncclSuccess;
}

/* The state becomes an error, perhaps before the call is through; what is on the stream ends only with the communicator. */
static int error_is_told(ncclResult_t code)
{
    for (int i = 0; i < 5000 && state_after(1) == ncclSuccess; i++)
        usleep(1000);
    NEED(state_after(1) == code);
    NEED(!stream_done(50));
    NEED(ncclCommAbort(comm) == ncclSuccess);
    return stream_done(5000);
}

static int peer_dies(int rank)
{
    NEED(start(rank));
    NEED(settle(pass(rank, 10)) == ncclSuccess);
    NEED(stream_done(5000));
    if (rank)
        return 1;
    (void)settle(ncclRecv(device, 10, ncclChar, 1, comm, stream));
    return error_is_told(ncclRemoteError);
}

/* NCCLEMU_FAIL=send:1:cuda for rank 1 */
static int send_fails(int rank)
{
    NEED(start(rank));
    (void)settle(pass(rank, 10));
    NEED(error_is_told(rank ? ncclUnhandledCudaError : ncclRemoteError));
    return rank == 0 || !strcmp(ncclGetLastError(NULL), "NCCLEMU_FAIL: send");
}

/* NCCLEMU_STALL=recv:1 for rank 0 */
static int receive_stalls(int rank)
{
    NEED(start(rank));
    NEED(settle(pass(rank, BIG)) == ncclSuccess);
    if (rank)
        return error_is_told(ncclRemoteError);
    NEED(!stream_done(200) && state_after(1) == ncclSuccess);
    NEED(ncclCommAbort(comm) == ncclSuccess);
    return stream_done(5000);
}

static int call_fails(int rank)            /* NCCLEMU_FAIL=ncclRecv:1:internal */
{
    NEED(start(rank));
    if (rank == 0) {
        NEED(ncclRecv(device, 10, ncclChar, 1, comm, stream) == ncclInternalError);
        NEED(state_after(1) == ncclSuccess);
    }
    return ncclCommAbort(comm) == ncclSuccess;
}

static int init_fails(int rank)            /* NCCLEMU_FAIL=init:1 */
{
    NEED(start_on(rank, rank) == ncclSystemError);
    return ncclCommAbort(comm) == ncclSuccess;
}

static int init_stalls(int rank)           /* NCCLEMU_STALL=init:1 */
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    MUST(cudaSetDevice(rank));
    NEED(ncclCommInitRankConfig(&comm, count, id, rank, &config) == ncclInProgress && state_after(200) == ncclInProgress);
    return ncclCommAbort(comm) == ncclSuccess;
}

static int version(int rank)               /* NCCLEMU_VERSION=21300 */
{
    int v = 0;
    (void)rank;
    return ncclGetVersion(&v) == ncclSuccess && v == 21300;
}

static const struct {
    const char *name, *variable, *value;
    int ranks, (*test)(int rank);
} tests[] = {
    {"three ranks to rank 0", "CUDAEMU_SEED", "1", 4, to_zero},
    {"the same, delayed", "CUDAEMU_DELAY_US", "2000", 3, to_zero},
    {"one rank", "CUDAEMU_SEED", "1", 1, to_zero},
    {"a ring in one group", "CUDAEMU_SEED", "1", 3, ring},
    {"a pair in one group, delayed", "CUDAEMU_DELAY_US", "2000", 2, ring},
    {"two streams, delayed", "CUDAEMU_DELAY_US", "3000", 2, two_streams},
    {"a communicator that blocks", "CUDAEMU_SEED", "1", 2, blocking},
    {"while a call is in progress", "CUDAEMU_SEED", "1", 2, in_progress},
    {"two ranks on one device", "CUDAEMU_SEED", "1", 3, one_device},
    {"a config that was not initialised", "CUDAEMU_SEED", "1", 2, no_config},
    {"finalize waits for all", "CUDAEMU_SEED", "1", 2, finalize_waits},
    {"lengths that differ", "CUDAEMU_SEED", "1", 2, other_length},
    {"a peer that dies", "CUDAEMU_SEED", "1", 2, peer_dies},
    {"a send that fails", "NCCLEMU_FAIL", "send:1:cuda", 2, send_fails},
    {"a receive that stalls", "NCCLEMU_STALL", "recv:1", 2, receive_stalls},
    {"a call that fails", "NCCLEMU_FAIL", "ncclRecv:1:internal", 2, call_fails},
    {"a start that fails", "NCCLEMU_FAIL", "init:1", 2, init_fails},
    {"a start that stalls", "NCCLEMU_STALL", "init:1", 2, init_stalls},
    {"another version", "NCCLEMU_VERSION", "21300", 1, version},
};

/* How many ranks were not happy. */
static int run(int (*test)(int rank))
{
    int bad = 0, status;
    ncclGetUniqueId(&id);
    fflush(stdout);
    for (int rank = 0; rank < count; rank++)
        if (fork() == 0) {
            alarm(LATE);
            const int good = test(rank);
            fflush(stdout);
            _exit(good != 1);
        }
    while (wait(&status) > 0)
        bad += status != 0;
    return bad;
}

int main(void)
{
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("PMIX_RANK");
    for (size_t n = 0; n < sizeof tests / sizeof *tests; n++) {
        fflush(stdout);
        const pid_t child = fork();        /* the variables are read once a process */
        if (child == 0) {
            setenv("CUDAEMU_DEVICES", "4", 1);
            setenv(tests[n].variable, tests[n].value, 1);
            count = tests[n].ranks;
            _exit(run(tests[n].test));
        }
        int status = -1;
        waitpid(child, &status, 0);
        ok(status == 0, "%s: %d ranks, %s=%s", tests[n].name, tests[n].ranks, tests[n].variable, tests[n].value);
    }
    return done_testing();
}
