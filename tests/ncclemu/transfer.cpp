/* Sends and receives: links between ranks, and what a group does on its stream.
 *
 * User guide, "Point-to-point communication" and "Group Calls": the operations of a group go on at the same time; others of one
 * communicator one after the other, whatever their streams. */
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "comm.h"

namespace emu {

/* ---- links */

static ncclResult_t connect_out(comm *c, int peer)
{
    const int32_t me = c->rank;
    const int fd = connect_to(c->peers[(size_t)peer].name);
    if (fd < 0)
        return warn(c, ncclRemoteError, "connect to rank %d failed", peer);
    c->out[peer] = fd;
    return write_all(c, fd, &me, sizeof me);
}

/* Until that peer has connected; it learns that it was asked for. */
static ncclResult_t accept_in(comm *c, int peer)
{
    while (!c->early.count(peer)) {
        int32_t who = -1;
        const int fd = accept4(c->listener, nullptr, nullptr, SOCK_CLOEXEC);
        const ncclResult_t code = fd >= 0 ? read_all(c, fd, &who, sizeof who) : ncclSuccess;
        if (code)
            return code;
        if (fd >= 0)
            c->early[who] = fd;
        else
            usleep(1000);
        const guard l(c->lock);
        if (c->over)
            return ncclInProgress;
    }
    c->in[peer] = c->early[peer];
    c->early.erase(peer);
    return write_all(c, c->in[peer], "", 1);
}

/* Connects, then accepts, then waits to be accepted: two ranks may send to each other in one group. */
ncclResult_t make_links(comm *c, const transfers &all)
{
    ncclResult_t code = ncclSuccess;
    std::vector<int> made;
    char byte;
    for (const transfer &t : all)
        if (!code && t.send && !c->out.count(t.peer)) {
            code = connect_out(c, t.peer);
            made.push_back(t.peer);
        }
    for (const transfer &t : all)
        if (!code && !t.send && !c->in.count(t.peer))
            code = accept_in(c, t.peer);
    for (const int peer : made)
        if (!code)
            code = read_all(c, c->out[peer], &byte, 1);
    return code;
}

/* ---- as it runs */

struct work {
    comm_ref c;
    transfers all;
    uint64_t number;
};

/* The piece's length goes ahead; lengths that differ are the caller's mistake, and told. */
static ncclResult_t move_some(comm *c, transfer *t)
{
    char *const length = (char *)&t->length;
    const int fd = t->send ? c->out[t->peer] : c->in[t->peer];
    const bool ahead = t->moved < sizeof t->length;
    char *const at = ahead ? length + t->moved : t->staged + (t->moved - sizeof t->length);
    const size_t n = ahead ? sizeof t->length - t->moved : t->bytes + sizeof t->length - t->moved;
    const ssize_t k = t->send ? send(fd, at, n, MSG_DONTWAIT | MSG_NOSIGNAL) : recv(fd, at, n, MSG_DONTWAIT);
    if (k == 0 || (k < 0 && errno != EAGAIN && errno != EINTR))
        return warn(c, ncclRemoteError, "socketProgress: Connection closed by remote peer rank %d", t->peer);
    t->moved += k > 0 ? (size_t)k : 0;
    if (t->moved >= sizeof t->length && t->length != t->bytes)
        return warn(c, ncclInvalidUsage, "rank %d sends %llu bytes, %zu are to be received", t->peer,
                    (unsigned long long)t->length, t->bytes);
    return ncclSuccess;
}

static bool aborted(comm *c)
{
    const guard l(c->lock);
    return c->over;
}

static ncclResult_t move_all(comm *c, transfers *all)
{
    for (;;) {
        std::vector<pollfd> wait;
        for (transfer &t : *all)
            if (t.moved < t.bytes + sizeof t.length) {
                if (const ncclResult_t code = move_some(c, &t))
                    return code;
                wait.push_back({t.send ? c->out[t.peer] : c->in[t.peer], (short)(t.send ? POLLOUT : POLLIN), 0});
            }
        if (wait.empty() || aborted(c))
            return ncclSuccess;
        poll(wait.data(), wait.size(), 5);
    }
}

/* A kernel of NCCL's that meets an error or a peer that does not answer goes on waiting: only ncclCommAbort ends it. */
static void CUDART_CB run(void *arg)
{
    work *const w = (work *)arg;
    comm *const c = w->c.get();
    {
        std::unique_lock<std::mutex> l(c->lock);
        c->changed.wait(l, [&] { return c->over || c->done + 1 == w->number; });
        if (c->over)
            return;
    }
    for (const transfer &t : w->all) {
        const char *const what = t.send ? "send" : "recv";
        if (const ncclResult_t code = wanted(what)) {
            fail(c, code);
            return wait_for_abort(c);
        }
        if (stalls(what))
            return wait_for_abort(c);
    }
    if (const ncclResult_t code = move_all(c, &w->all)) {
        fail(c, code);
        wait_for_abort(c);
    }
}

static void CUDART_CB finish(void *arg)
{
    const std::unique_ptr<work> w((work *)arg);
    const guard l(w->c->lock);
    for (const transfer &t : w->all)
        w->c->spare.push_back({t.staged, t.room});
    w->c->done++;
    w->c->changed.notify_all();
}

/* ---- as it is queued */

static cudaError_t stage(comm *c, transfer *t)
{
    {
        const guard l(c->lock);
        for (auto s = c->spare.begin(); s != c->spare.end(); ++s)
            if (s->second >= t->bytes) {
                t->staged = s->first;
                t->room = s->second;
                c->spare.erase(s);
                return cudaSuccess;
            }
    }
    t->room = t->bytes + 1;
    return cudaMallocHost((void **)&t->staged, t->room);
}

static cudaError_t queue(work *w, cudaStream_t stream)
{
    cudaError_t e = cudaSuccess;
    for (const transfer &t : w->all)
        if (!e && t.send)
            e = cudaMemcpyAsync(t.staged, t.device, t.bytes, cudaMemcpyDeviceToHost, stream);
    if (!e)
        e = cudaLaunchHostFunc(stream, run, w);
    for (const transfer &t : w->all)
        if (!e && !t.send)
            e = cudaMemcpyAsync(t.device, t.staged, t.bytes, cudaMemcpyHostToDevice, stream);
    return e ? e : cudaLaunchHostFunc(stream, finish, w);
}

/* After an error the work stays where it is: part of it may be queued. */
ncclResult_t queue_transfers(const comm_ref &c, transfers all, cudaStream_t stream)
{
    cudaError_t e = cudaSuccess;
    work *const w = new work{c, std::move(all), 0};
    for (transfer &t : w->all) {
        t.length = t.send ? t.bytes : 0;
        if (!e)
            e = stage(c.get(), &t);
    }
    if (!e) {
        {
            const guard l(c->lock);
            w->number = ++c->queued;
        }
        e = queue(w, stream);
        const guard l(c->lock);
        c->queued -= e != cudaSuccess;    /* nobody waits for it */
    }
    return e ? warn(c.get(), ncclUnhandledCudaError, "Cuda failure %d '%s'", (int)e, cudaGetErrorString(e)) : ncclSuccess;
}

}
