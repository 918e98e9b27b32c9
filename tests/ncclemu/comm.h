/* NCCL, as NVIDIA's "NCCL User Guide" and nccl.h say, for processes of one host on the CUDA emulator.
 *
 * A communicator has sockets: one to the root, a thread of the process that made the unique id, which brings the ranks
 * together; and one for each direction between two ranks, made when the first send and the first receive between them meet.
 * What a call does that takes time is done by the communicator's job, a thread; what is queued on a stream runs there, as host
 * functions between copies: all of it by the public CUDA API, so that a stream's order is the emulator's. */
#ifndef NCCLEMU_COMM_H
#define NCCLEMU_COMM_H

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nccl.h>
#include <string>
#include <thread>
#include <vector>

namespace emu {

struct hello {                            /* what a rank tells of itself */
    int32_t ranks, rank;
    char pci[24], name[48];               /* of its device; of its listening socket */
};

struct comm {
    int ranks, rank, device;
    bool blocking;
    std::string id;                       /* the name of the root's socket */
    int root = -1, listener = -1;
    std::vector<hello> peers;
    std::map<int, int> in, out, early;    /* by peer: links, and connections that no receive has asked for yet */
    std::thread job;

    std::mutex lock;                      /* of what follows */
    std::condition_variable changed;
    ncclResult_t state = ncclSuccess;     /* what ncclCommGetAsyncError says */
    std::string text;                     /* of the last error */
    bool over = false;                    /* aborted: nothing waits any more */
    bool finalized = false;
    uint64_t queued = 0, done = 0;        /* pieces of work on streams */
    std::vector<std::pair<char *, size_t>> spare;     /* pinned memory */
};
using comm_ref = std::shared_ptr<comm>;
using guard = std::lock_guard<std::mutex>;

/* ---- errors */

/* Says what went wrong (ncclGetLastError; NCCL_DEBUG prints it); gives back the code. */
ncclResult_t warn(comm *c, ncclResult_t code, const char *format, ...) __attribute__((format(printf, 3, 4)));
const char *last_warning(void);
/* The communicator has failed: ncclCommGetAsyncError says so from now on. */
void fail(comm *c, ncclResult_t code);
/* What NCCLEMU_FAIL wants of this call or work. */
ncclResult_t wanted(const char *what);
/* NCCLEMU_STALL wants it never to end. */
bool stalls(const char *what);
/* Until the communicator is aborted. */
void wait_for_abort(comm *c);
/* A random while, as CUDAEMU_DELAY_US says. */
void delay();

/* ---- sockets; names are of the abstract kind (unix(7)) */

int listen_at(const std::string &name);
int connect_to(const std::string &name);
/* All of the bytes; ncclRemoteError: the other side has gone; ncclInProgress: the communicator was aborted meanwhile. */
ncclResult_t read_all(comm *c, int fd, void *bytes, size_t n);
ncclResult_t write_all(comm *c, int fd, const void *bytes, size_t n);
std::string new_name();

/* ---- the root */

void start_root(const std::string &name);
ncclResult_t join_root(comm *c);          /* all ranks, their devices checked */
ncclResult_t meet_at_root(comm *c);       /* a barrier */

/* ---- sends and receives */

struct transfer {
    bool send;
    char *device;
    size_t bytes;
    int peer;
    char *staged = nullptr;               /* pinned */
    size_t room = 0;
    size_t moved = 0;                     /* of the length that goes ahead, and the bytes */
    uint64_t length = 0;
};
using transfers = std::vector<transfer>;

ncclResult_t make_links(comm *c, const transfers &all);
/* One operation on the stream, whatever it is made of. */
ncclResult_t queue_transfers(const comm_ref &c, transfers all, cudaStream_t stream);

}
#endif
