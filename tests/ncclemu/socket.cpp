/* Sockets, and waits on them that end when the communicator is aborted. */
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <poll.h>
#include <random>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "comm.h"

namespace emu {

std::string new_name()
{
    std::random_device random;
    return "ncclemu-" + std::to_string(getpid()) + "-" + std::to_string(random());
}

static socklen_t address(const std::string &name, sockaddr_un *a)
{
    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    memcpy(a->sun_path + 1, name.c_str(), name.size());       /* a zero in front: abstract */
    return (socklen_t)(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

int listen_at(const std::string &name)
{
    sockaddr_un a;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && !bind(fd, (sockaddr *)&a, address(name, &a)) && !listen(fd, 1024))
        return fd;
    close(fd);
    return -1;
}

int connect_to(const std::string &name)
{
    sockaddr_un a;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && !connect(fd, (sockaddr *)&a, address(name, &a)))
        return fd;
    close(fd);
    return -1;
}

/* False: aborted meanwhile. */
static bool may_go_on(comm *c, int fd, short events)
{
    for (;;) {
        {
            const guard l(c->lock);
            if (c->over)
                return false;
        }
        pollfd p = {fd, events, 0};
        if (poll(&p, 1, 5) > 0)
            return true;
    }
}

ncclResult_t read_all(comm *c, int fd, void *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        if (!may_go_on(c, fd, POLLIN))
            return ncclInProgress;
        const ssize_t k = recv(fd, (char *)bytes + at, n - at, MSG_DONTWAIT);
        if (k == 0 || (k < 0 && errno != EAGAIN && errno != EINTR))
            return warn(c, ncclRemoteError, "socketProgress: Connection closed by remote peer");
        at += k > 0 ? (size_t)k : 0;
    }
    return ncclSuccess;
}

ncclResult_t write_all(comm *c, int fd, const void *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        if (!may_go_on(c, fd, POLLOUT))
            return ncclInProgress;
        const ssize_t k = send(fd, (const char *)bytes + at, n - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (k < 0 && errno != EAGAIN && errno != EINTR)
            return warn(c, ncclRemoteError, "socketProgress: Connection closed by remote peer");
        at += k > 0 ? (size_t)k : 0;
    }
    return ncclSuccess;
}

}
