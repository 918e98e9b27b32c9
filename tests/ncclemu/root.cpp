/* How ranks find each other: "ncclGetUniqueId should be called once and the Id should be distributed to all ranks in the
 * communicator before calling ncclCommInitRank" (nccl.h).  The id is the name of the root's socket. */
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "comm.h"

namespace emu {

/* ---- the root itself; it knows no communicator, so it waits as long as it takes */

static bool get(int fd, void *bytes, size_t n) { return recv(fd, bytes, n, MSG_WAITALL) == (ssize_t)n; }
static bool put(int fd, const void *bytes, size_t n) { return send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n; }

static int accept_one(int listener)
{
    pollfd p = {listener, POLLIN, 0};
    while (poll(&p, 1, -1) < 0 && errno == EINTR)
        ;
    return accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
}

/* Everyone's hello, and a socket for each.  Who does not belong here finds it closed. */
static std::vector<hello> gather(int listener, std::vector<int> *fds)
{
    std::vector<hello> all;
    for (size_t come = 0; all.empty() || come < all.size();) {
        hello h;
        const int fd = accept_one(listener);
        if (fd < 0)
            continue;
        const bool good = get(fd, &h, sizeof h) && h.ranks > 0 && h.rank >= 0 && h.rank < h.ranks;
        if (good && all.empty()) {
            all.resize((size_t)h.ranks);
            fds->assign((size_t)h.ranks, -1);
        }
        if (!good || (size_t)h.ranks != all.size() || (*fds)[(size_t)h.rank] >= 0) {
            close(fd);
            continue;
        }
        all[(size_t)h.rank] = h;
        (*fds)[(size_t)h.rank] = fd;
        come++;
    }
    return all;
}

/* A byte from each, then a byte to each.  False: someone has gone. */
static bool barrier(const std::vector<int> &fds)
{
    std::vector<pollfd> wait;
    for (const int fd : fds)
        wait.push_back({fd, POLLIN, 0});
    for (size_t come = 0; come < fds.size();) {
        if (poll(wait.data(), wait.size(), -1) < 0)
            continue;
        for (pollfd &p : wait) {
            char byte;
            if (!p.revents)
                continue;
            if (!get(p.fd, &byte, 1))
                return false;
            p.fd = -1;                    /* it has come: poll passes it over */
            p.revents = 0;
            come++;
        }
    }
    return std::all_of(fds.begin(), fds.end(), [](int fd) { return put(fd, "", 1); });
}

static void serve(int listener)
{
    std::vector<int> fds;
    const std::vector<hello> all = gather(listener, &fds);
    for (const int fd : fds)
        put(fd, all.data(), all.size() * sizeof(hello));
    while (barrier(fds))
        ;
    for (const int fd : fds)
        close(fd);
    close(listener);
}

void start_root(const std::string &name)
{
    const int listener = listen_at(name);
    if (listener >= 0)
        std::thread(serve, listener).detach();
}

/* ---- a rank's side */

/* "Using the same CUDA device multiple times as different ranks of the same NCCL communicator is not supported and may lead to
 * hangs" (user guide, "Creating a Communicator"); NCCL 2.28 finds it out. */
static ncclResult_t check_devices(comm *c)
{
    for (int r = 0; r < c->ranks; r++)
        if (r != c->rank && !strcmp(c->peers[(size_t)r].pci, c->peers[(size_t)c->rank].pci))
            return warn(c, ncclInvalidUsage, "Duplicate GPU detected : rank %d and rank %d both on CUDA device %s", c->rank, r,
                        c->peers[(size_t)r].pci);
    return ncclSuccess;
}

static ncclResult_t say_hello(comm *c)
{
    hello h = {c->ranks, c->rank, {}, {}};
    const std::string name = new_name();
    snprintf(h.name, sizeof h.name, "%s", name.c_str());
    if (cudaDeviceGetPCIBusId(h.pci, sizeof h.pci, c->device))
        return warn(c, ncclUnhandledCudaError, "no PCI id of device %d", c->device);
    c->listener = listen_at(name);
    c->root = connect_to(c->id);
    if (c->listener < 0 || c->root < 0)
        return warn(c, ncclSystemError, "Call to connect failed: %s", strerror(errno));
    return write_all(c, c->root, &h, sizeof h);
}

ncclResult_t join_root(comm *c)
{
    c->peers.resize((size_t)c->ranks);
    ncclResult_t code = say_hello(c);
    if (!code)
        code = read_all(c, c->root, c->peers.data(), c->peers.size() * sizeof(hello));
    if (!code)
        code = check_devices(c);
    if (!code)
        return meet_at_root(c);
    close(c->root);                       /* the others must not wait for this rank */
    c->root = -1;
    return code;
}

ncclResult_t meet_at_root(comm *c)
{
    char byte = 0;
    const ncclResult_t code = write_all(c, c->root, &byte, 1);
    return code ? code : read_all(c, c->root, &byte, 1);
}

}
