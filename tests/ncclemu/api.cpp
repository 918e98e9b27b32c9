/* The calls, as nccl.h declares them.
 *
 * Of a communicator that does not block (ncclConfig_t, blocking = 0) calls return at once, with ncclInProgress; until
 * ncclCommGetAsyncError gives ncclSuccess no other call may be made on it (ncclInvalidArgument), and nothing of a send or a
 * receive is on its stream yet. */
#include <cstdlib>
#include <unistd.h>
#include "comm.h"

using namespace emu;

namespace emu {

static std::mutex handles_lock;
static auto &handles = *new std::map<ncclComm_t, comm_ref>;

static comm_ref find(ncclComm_t handle)
{
    const guard l(handles_lock);
    const auto found = handles.find(handle);
    return found == handles.end() ? nullptr : found->second;
}

static comm_ref find_or_warn(ncclComm_t handle)
{
    const comm_ref c = find(handle);
    if (!c)
        (void)warn(nullptr, ncclInvalidArgument, "%p is no communicator, or is one no more", (void *)handle);
    return c;
}

/* How a call begins. */
static ncclResult_t enter(const char *call)
{
    while (stalls(call))
        for (;;)
            pause();
    return wanted(call);
}
#define ENTER()                                             \
    if (const ncclResult_t code_ = enter(__func__))         \
    return code_
#define FIND(c, handle)                                     \
    const comm_ref c = find_or_warn(handle);                \
    if (!c)                                                 \
    return ncclInvalidArgument

static ncclResult_t state_of(comm *c)
{
    const guard l(c->lock);
    return c->state;
}

static ncclResult_t check_ready(comm *c)
{
    const ncclResult_t state = state_of(c);
    if (state == ncclSuccess)
        return state;
    return warn(c, state == ncclInProgress ? ncclInvalidArgument : state,
                "Attempt to use communicator before the previous operation returned ncclSuccess");
}

static void work_off(const comm_ref c, const std::function<ncclResult_t()> f)
{
    (void)cudaSetDevice(c->device);
    delay();
    const ncclResult_t code = f();
    if (code && code != ncclInProgress)
        return fail(c.get(), code);
    const guard l(c->lock);
    if (c->state == ncclInProgress && !code)
        c->state = ncclSuccess;
}

/* Now, or by the job. */
static ncclResult_t start(const comm_ref &c, std::function<ncclResult_t()> f)
{
    if (c->job.joinable())
        c->job.join();
    {
        const guard l(c->lock);
        c->state = ncclInProgress;
    }
    if (c->blocking) {
        work_off(c, f);
    } else {
        c->job = std::thread(work_off, c, f);
        usleep(100);                      /* mostly it is not through yet; callers must cope with both */
    }
    return state_of(c.get());
}

/* ---- a communicator's life */

static ncclResult_t initialise(comm *c)
{
    if (stalls("init"))
        wait_for_abort(c);
    const ncclResult_t code = wanted("init");
    return code ? code : join_root(c);
}

/* "ncclCommFinalize flushes all issued communications ... the state will change to ncclSuccess when the communicator is
 * globally quiescent and related resources are freed" (nccl.h). */
static ncclResult_t finalise(comm *c)
{
    if (stalls("finalize"))
        wait_for_abort(c);
    if (const ncclResult_t code = wanted("finalize"))
        return code;
    std::unique_lock<std::mutex> l(c->lock);
    c->changed.wait(l, [&] { return c->over || c->done == c->queued; });
    c->finalized = true;
    l.unlock();
    return meet_at_root(c);
}

/* Ends all that waits; what is queued is gone from its streams when this returns. */
static void dispose(ncclComm_t handle, const comm_ref &c)
{
    {
        const guard l(c->lock);
        c->over = true;
    }
    c->changed.notify_all();
    if (c->job.joinable())
        c->job.join();
    std::unique_lock<std::mutex> l(c->lock);
    c->changed.wait(l, [&] { return c->done == c->queued; });
    l.unlock();
    for (const auto &[memory, room] : c->spare)
        (void)cudaFreeHost(memory);
    for (const auto *links : {&c->in, &c->out, &c->early})
        for (const auto &[peer, fd] : *links)
            close(fd);
    for (const int fd : {c->root, c->listener})
        if (fd >= 0)
            close(fd);
    const guard h(handles_lock);
    handles.erase(handle);
}

static ncclResult_t read_config(const ncclConfig_t *config, comm *c)
{
    c->blocking = true;
    if (!config)
        return ncclSuccess;
    if (config->magic != 0xcafebeef || config->size < offsetof(ncclConfig_t, blocking) + sizeof config->blocking)
        return warn(c, ncclInvalidArgument, "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
    if (config->blocking != NCCL_CONFIG_UNDEF_INT && config->blocking != 0 && config->blocking != 1)
        return warn(c, ncclInvalidArgument, "Invalid config blocking attribute value %d", config->blocking);
    c->blocking = config->blocking != 0;
    return ncclSuccess;
}

/* ---- groups: of the thread */

struct asked {
    comm_ref c;
    transfer t;
    cudaStream_t stream;
};
static thread_local int depth;
static thread_local std::vector<asked> group;

static size_t size_of(ncclDataType_t type)
{
    static const size_t sizes[ncclNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type >= 0 && type < ncclNumTypes ? sizes[type] : 0;
}

/* What the group asks of one communicator. */
static ncclResult_t launch(const comm_ref &c, const std::vector<asked> &all)
{
    transfers mine;
    cudaStream_t stream = nullptr;
    for (const asked &a : all) {
        if (a.c != c)
            continue;
        if (!mine.empty() && a.stream != stream)
            return warn(c.get(), ncclInvalidUsage, "several streams in a group are not emulated");
        stream = a.stream;
        mine.push_back(a.t);
    }
    if (const ncclResult_t code = check_ready(c.get()))
        return code;
    return start(c, [c, mine, stream] {
        if (stalls("connect"))
            wait_for_abort(c.get());
        ncclResult_t code = wanted("connect");
        if (!code)
            code = make_links(c.get(), mine);
        return code ? code : queue_transfers(c, mine, stream);
    });
}

static ncclResult_t end_group()
{
    ncclResult_t all = ncclSuccess;
    if (--depth > 0)
        return ncclSuccess;
    const std::vector<asked> now = std::move(group);
    group.clear();
    std::vector<comm_ref> done;
    for (const asked &a : now) {
        bool again = false;
        for (const comm_ref &d : done)
            again |= d == a.c;
        if (again)
            continue;
        done.push_back(a.c);
        const ncclResult_t code = launch(a.c, now);
        if (code && (all == ncclSuccess || all == ncclInProgress))
            all = code;
    }
    return all;
}

static ncclResult_t transfer_one(bool send, const void *p, size_t n, ncclDataType_t type, int peer, ncclComm_t handle,
                                 cudaStream_t stream)
{
    FIND(c, handle);
    if (const ncclResult_t code = check_ready(c.get()))
        return code;
    if (peer < 0 || peer >= c->ranks || peer == c->rank || !size_of(type) || (!p && n))
        return warn(c.get(), ncclInvalidArgument, "invalid argument; a send to itself is not emulated");
    depth++;
    group.push_back({c, {send, (char *)const_cast<void *>(p), n * size_of(type), peer}, stream});
    return end_group();
}

}

extern "C" {

ncclResult_t ncclGetVersion(int *version)
{
    ENTER();
    const char *const other = getenv("NCCLEMU_VERSION");
    *version = other ? atoi(other) : NCCL_VERSION_CODE;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t code)
{
    switch (code) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError: return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError: return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
    default: return "unknown result code";
    }
}

const char *ncclGetLastError(ncclComm_t) { return last_warning(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    ENTER();
    const std::string name = new_name();
    *id = {};
    name.copy(id->internal, sizeof id->internal - 1);
    start_root(name);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *handle, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config)
{
    ENTER();
    const auto c = std::make_shared<comm>();
    if (ranks < 1 || rank < 0 || rank >= ranks)
        return warn(nullptr, ncclInvalidArgument, "rank %d of %d", rank, ranks);
    if (depth)
        return warn(nullptr, ncclInvalidUsage, "making communicators in a group is not emulated");
    c->ranks = ranks;
    c->rank = rank;
    c->id = id.internal;
    if (const ncclResult_t code = read_config(config, c.get()))
        return code;
    if (cudaGetDevice(&c->device))
        return warn(nullptr, ncclUnhandledCudaError, "no device");
    *handle = (ncclComm_t)c.get();
    {
        const guard l(handles_lock);
        handles[*handle] = c;
    }
    return start(c, [raw = c.get()] { return initialise(raw); });
}

ncclResult_t ncclCommInitRank(ncclComm_t *handle, int ranks, ncclUniqueId id, int rank)
{
    return ncclCommInitRankConfig(handle, ranks, id, rank, nullptr);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t *state)
{
    ENTER();
    FIND(c, handle);
    *state = state_of(c.get());
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t handle)
{
    ENTER();
    FIND(c, handle);
    if (const ncclResult_t code = check_ready(c.get()))
        return code;
    return start(c, [raw = c.get()] { return finalise(raw); });
}

/* Without an ncclCommFinalize before it, it does that too, and waits. */
ncclResult_t ncclCommDestroy(ncclComm_t handle)
{
    ENTER();
    FIND(c, handle);
    const ncclResult_t code = check_ready(c.get());
    if (!code && !c->finalized)
        (void)finalise(c.get());
    dispose(handle, c);
    return code;
}

ncclResult_t ncclCommAbort(ncclComm_t handle)
{
    ENTER();
    FIND(c, handle);
    dispose(handle, c);
    return ncclSuccess;
}

ncclResult_t ncclSend(const void *from, size_t n, ncclDataType_t type, int peer, ncclComm_t handle, cudaStream_t stream)
{
    ENTER();
    return transfer_one(true, from, n, type, peer, handle, stream);
}

ncclResult_t ncclRecv(void *to, size_t n, ncclDataType_t type, int peer, ncclComm_t handle, cudaStream_t stream)
{
    ENTER();
    return transfer_one(false, to, n, type, peer, handle, stream);
}

ncclResult_t ncclGroupStart(void)
{
    ENTER();
    depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    ENTER();
    return depth ? end_group() : warn(nullptr, ncclInvalidUsage, "ncclGroupEnd: not in a group call");
}

}
