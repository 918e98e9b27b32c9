#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "format/map.h"

/* AROUND: the kernel maps up to so much around a page that is touched, if it is in the cache: the whole folio it is in.  Dropping
 * less leaves a piece of a folio mapped at every window whose ends are inside one. */
enum { AROUND = 2 << 20, MAPS_MAX = 64 };

/* Written while inputs are opened and closed, by the main thread alone, but for `lost`; read by the signal's handler. */
static struct { const unsigned char *map; uint64_t bytes; atomic_bool lost; } maps[MAPS_MAX];
static uintptr_t page;

static bool local(int fd)
{
    static const unsigned long known[] = {0xef53 /* ext */, 0x58465342 /* XFS */, 0x9123683e /* Btrfs */, 0xf2f52010 /* F2FS */,
                                          0x01021994 /* tmpfs */, 0x794c7630 /* overlay */};
    struct statfs fs;
    if (fstatfs(fd, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (((unsigned long)fs.f_type & 0xffffffff) == known[i])
            return true;
    return false;
}

/* Zeros for all of the map from there on: the access is tried again, and whoever reads comes to its end and asks.  (mmap is a
 * bare system call: safe here.) */
static bool patch(int i, uintptr_t at)
{
    const uintptr_t from = at / page * page, end = (uintptr_t)maps[i].map + maps[i].bytes;
    atomic_store(&maps[i].lost, true);
    return mmap((void *)from, end - from, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/* A mapped page that is not there: the file has become shorter, or its disk failed.  Any other cause goes its usual way. */
static void on_bus(int signal_number, siginfo_t *info, void *context)
{
    const uintptr_t at = (uintptr_t)info->si_addr;
    (void)context;
    for (int i = 0; i < MAPS_MAX; i++)
        if (maps[i].map && at >= (uintptr_t)maps[i].map && at < (uintptr_t)maps[i].map + maps[i].bytes && patch(i, at))
            return;
    signal(signal_number, SIG_DFL);        /* the access is tried again, and ends the process */
}

const unsigned char *cud_map_open(int fd, uint64_t bytes)
{
    const struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    int slot = 0;
    page = (uintptr_t)sysconf(_SC_PAGESIZE);
    while (slot < MAPS_MAX && maps[slot].map)
        slot++;
    if (slot == MAPS_MAX || bytes == 0 || bytes > SIZE_MAX / 2 || !local(fd) || sigaction(SIGBUS, &action, NULL) != 0)
        return NULL;
    void *const map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return NULL;
    madvise(map, bytes, MADV_SEQUENTIAL);
    maps[slot].bytes = bytes;
    atomic_store(&maps[slot].lost, false);
    maps[slot].map = map;
    return map;
}

void cud_map_close(const unsigned char *map, uint64_t bytes)
{
    for (int i = 0; map && i < MAPS_MAX; i++)
        if (maps[i].map == map) {
            maps[i].map = NULL;
            munmap((void *)map, bytes);
        }
}

bool cud_map_lost(const unsigned char *map)
{
    bool lost = false;
    for (int i = 0; i < MAPS_MAX; i++)
        lost |= maps[i].map && (!map || maps[i].map == map) && atomic_load(&maps[i].lost);
    return lost;
}

/* With what was mapped around it: a neighbour that is still in use comes back when it is touched. */
void cud_map_drop(const unsigned char *map, uint64_t bytes, uint64_t at, uint64_t n)
{
    const uint64_t first = at / AROUND * AROUND, end = (at + n + AROUND - 1) / AROUND * AROUND;
    madvise((void *)(map + first), (end < bytes ? end : bytes) - first, MADV_DONTNEED);
}
