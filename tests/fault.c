/* Makes a call of our own objects fail: linked with -Wl,--wrap=NAME for each name below into tests/cudist-fault.
 *
 * CUDIST_TEST_FAIL="NAME:NTH[+]:WHAT@RANK": the NTH call of NAME (with a +: and all later ones) on that rank ("*": on every
 * one).  WHAT: an error number's name below; SHORT: half of what was asked for; SLOW: it takes 1.5 s; HANG: 100 s; KILL, STOP:
 * a signal to itself, before the call. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

enum { SHORT = -1, KILL = -2, STOP = -3, SLOW = -4, HANG = -5 };
static const struct { const char *name; int number; } whats[] = {
    { "EIO", EIO },       { "ENOSPC", ENOSPC }, { "ENOMEM", ENOMEM }, { "EINTR", EINTR }, { "EACCES", EACCES },
    { "EAGAIN", EAGAIN }, { "EFAULT", EFAULT }, { "SHORT", SHORT },   { "KILL", KILL },   { "STOP", STOP },
    { "SLOW", SLOW },     { "HANG", HANG },
};

static struct { char name[16]; unsigned long nth; bool later; int what; bool here; } fault;
static atomic_ulong calls;

static bool on_this_rank(const char *rank)
{
    const char *me = getenv("OMPI_COMM_WORLD_RANK");
    if (!me)
        me = getenv("PMIX_RANK");
    if (!me)
        me = getenv("PMI_RANK");
    return !strcmp(rank, "*") || !strcmp(rank, me ? me : "0");
}

__attribute__((constructor)) static void fault_read(void)
{
    char nth[24], what[16], rank[16];
    const char *text = getenv("CUDIST_TEST_FAIL");
    if (!text)
        return;
    if (sscanf(text, "%15[a-z_]:%23[0-9+]:%15[A-Z]@%15s", fault.name, nth, what, rank) != 4)
        abort();
    fault.nth = strtoul(nth, NULL, 10);
    fault.later = strchr(nth, '+') != NULL;
    for (size_t i = 0; i < sizeof whats / sizeof *whats; i++)
        if (!strcmp(what, whats[i].name))
            fault.what = whats[i].number;
    if (!fault.what)
        abort();
    fault.here = on_this_rank(rank);
}

/* Is it this call's turn?  Then errno is set, or *n halved and the call is to be made. */
static bool fails(const char *name, size_t *n)
{
    if (!fault.here || strcmp(name, fault.name))
        return false;
    unsigned long call = atomic_fetch_add(&calls, 1) + 1;
    if (call != fault.nth && !(fault.later && call > fault.nth))
        return false;
    if (fault.what == KILL || fault.what == STOP)
        raise(fault.what == KILL ? SIGKILL : SIGSTOP);
    if (fault.what == SLOW || fault.what == HANG)
        usleep(fault.what == SLOW ? 1500000 : 100000000);
    if (fault.what == SHORT && n && *n > 1)
        *n /= 2;
    if (fault.what < 0)
        return false;
    errno = fault.what;
    return true;
}

#define WRAP(type, name, args, pass, n, bad) \
    type __real_##name args;                 \
    type __wrap_##name args;                 \
    type __wrap_##name args { return fails(#name, n) ? (bad) : __real_##name pass; }

WRAP(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n), &n, -1)
WRAP(ssize_t, pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at), &n, -1)
WRAP(ssize_t, pwrite, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at), &n, -1)
WRAP(int, fsync, (int fd), (fd), NULL, -1)
WRAP(int, sync_file_range, (int fd, off_t at, off_t n, unsigned how), (fd, at, n, how), NULL, -1)
WRAP(int, ftruncate, (int fd, off_t n), (fd, n), NULL, -1)
WRAP(int, rename, (const char *from, const char *to), (from, to), NULL, -1)
WRAP(int, unlink, (const char *name), (name), NULL, -1)
WRAP(void *, malloc, (size_t n), (n), NULL, NULL)
WRAP(void *, calloc, (size_t n, size_t each), (n, each), NULL, NULL)
WRAP(void *, aligned_alloc, (size_t to, size_t n), (to, n), NULL, NULL)
WRAP(void *, realloc, (void *old, size_t n), (old, n), NULL, NULL)

/* Where reads are to fail, files are read and not mapped. */
void *__real_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    const bool reads = fault.name[0] && (!strcmp(fault.name, "pread") || !strcmp(fault.name, "read"));
    return reads || fails("mmap", NULL) ? MAP_FAILED : __real_mmap(at, n, protection, flags, fd, offset);
}

/* Lines on stderr are how we see what happened. */
ssize_t __real_write(int fd, const void *from, size_t n);
ssize_t __wrap_write(int fd, const void *from, size_t n);
ssize_t __wrap_write(int fd, const void *from, size_t n)
{
    return fd != STDERR_FILENO && fails("write", &n) ? -1 : __real_write(fd, from, n);
}

/* Counted as rename: it is the one that does not replace. */
int __real_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    return fails("rename", NULL) ? -1 : __real_renameat2(a, from, b, to, flags);
}

/* Closed all the same, as Linux does. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    int e = fails("close", NULL) ? errno : 0, got = __real_close(fd);
    if (e)
        errno = e;
    return e ? -1 : got;
}

int __real_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return fails("open", NULL) ? -1 : __real_open(name, flags, mode);
}
