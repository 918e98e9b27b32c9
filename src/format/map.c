#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "format/map.h"

/* AROUND: the kernel maps so much around a page that is touched, if it is in the cache. */
enum { AROUND = 65536, MAPS_MAX = 64 };

/* Written while inputs are opened and closed, by the main thread alone; read by the signal's handler. */
static struct { const unsigned char *map; uint64_t bytes; const char *path; } maps[MAPS_MAX];

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

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(1);
}

/* A mapped page that is not there: the file has become shorter, or its disk failed.  Any other cause goes its usual way. */
static void on_bus(int signal_number, siginfo_t *info, void *context)
{
    const unsigned char *const at = info->si_addr;
    (void)context;
    for (int i = 0; i < MAPS_MAX; i++)
        if (maps[i].map && at >= maps[i].map && at < maps[i].map + maps[i].bytes) {
            say("cudist: ");
            say(maps[i].path);
            say(": was cut short, or its disk failed, while it was being read; the output is not complete\n");
            _exit(1);
        }
    signal(signal_number, SIG_DFL);        /* the access is tried again, and ends the process */
}

const unsigned char *cud_map_open(int fd, uint64_t bytes, const char *path)
{
    const struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    int slot = 0;
    while (slot < MAPS_MAX && maps[slot].map)
        slot++;
    if (slot == MAPS_MAX || bytes == 0 || bytes > SIZE_MAX / 2 || !local(fd) || sigaction(SIGBUS, &action, NULL) != 0)
        return NULL;
    void *const map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return NULL;
    madvise(map, bytes, MADV_SEQUENTIAL);
    maps[slot].bytes = bytes;
    maps[slot].path = path;
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

/* With what was mapped around it: a neighbour that is still in use comes back when it is touched. */
void cud_map_drop(const unsigned char *map, uint64_t bytes, uint64_t at, uint64_t n)
{
    const uint64_t first = at / AROUND * AROUND, end = (at + n + AROUND - 1) / AROUND * AROUND;
    madvise((void *)(map + first), (end < bytes ? end : bytes) - first, MADV_DONTNEED);
}
