#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TITLE "cudist lock"
#define TEXT_MAX 512
#define TRIES 8

struct owner {
    char run[33];                          /* 128 random bits */
    char host[64];
    long pid;
    uint64_t start;                        /* of the process, in clock ticks since boot; 0: not known */
    char job[64];                          /* SLURM_JOB_ID or "none" */
};

struct cud_lock {
    char *path;
    int fd;
    struct owner me;
};

/* Field 22 of /proc/PID/stat.  False: there is no such process, or only what is left of it (a zombie). */
static bool process_start(long pid, uint64_t *start)
{
    char name[64], text[1024];
    snprintf(name, sizeof name, "/proc/%ld/stat", pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *p = strrchr(text, ')');    /* the command's name may hold anything */
    if (!p || p[1] != ' ' || p[2] == 'Z' || p[2] == 'X')
        return false;
    p += 2;                                /* field 3 */
    for (int field = 3; field < 22 && p; field++)
        p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL;
    *start = p ? strtoull(p, NULL, 10) : 0;
    return p != NULL;
}

static enum cud_status owner_me(const char *host, struct owner *me, struct cud_err *err)
{
    uint64_t bits[2];
    if (getrandom(bits, sizeof bits, 0) != sizeof bits)
        return FAIL(err, CUD_EFAILED, "no random bits for the run's id: %s", strerror(errno));
    snprintf(me->run, sizeof me->run, "%016" PRIx64 "%016" PRIx64, bits[0], bits[1]);
    snprintf(me->host, sizeof me->host, "%s", host);
    me->pid = getpid();
    if (!process_start(me->pid, &me->start))
        me->start = 0;
    const char *job = getenv("SLURM_JOB_ID");
    snprintf(me->job, sizeof me->job, "%s", job && *job ? job : "none");
    for (char *p = me->job; *p; p++)
        if (*p <= ' ')
            *p = '_';
    return CUD_OK;
}

static int owner_text(const struct owner *o, char text[TEXT_MAX])
{
    return snprintf(text, TEXT_MAX, TITLE "\nrun %s\nhost %s\npid %ld\nstart %" PRIu64 "\njob %s\n", o->run, o->host, o->pid,
                    o->start, o->job);
}

/* All zero when the text is empty or torn.  False: not ours. */
static bool owner_parse(const char *text, struct owner *o)
{
    memset(o, 0, sizeof *o);
    size_t have = strlen(text), title = strlen(TITLE);
    if (strncmp(text, TITLE, have < title ? have : title))
        return false;
    struct owner got = { 0 };
    if (sscanf(text, TITLE "\nrun %32s\nhost %63s\npid %ld\nstart %" SCNu64 "\njob %63s", got.run, got.host, &got.pid,
               &got.start, got.job) == 5)
        *o = got;
    return true;
}

static const char *owner_who(const struct owner *o, char who[CUD_LOCK_WHO])
{
    if (!o->pid)
        snprintf(who, CUD_LOCK_WHO, "a run that is just starting");
    else if (!strcmp(o->job, "none"))
        snprintf(who, CUD_LOCK_WHO, "pid %ld on host %s", o->pid, o->host);
    else
        snprintf(who, CUD_LOCK_WHO, "pid %ld on host %s, Slurm job %s", o->pid, o->host, o->job);
    return who;
}

/* 1: held now, 0: someone else holds it, -1: this file system has no such locks. */
static int hold(int fd)
{
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (!fcntl(fd, F_OFD_SETLK, &all))
        return 1;
    return errno == EAGAIN || errno == EACCES ? 0 : -1;
}

static enum cud_status lock_read(int fd, const char *path, char text[TEXT_MAX], struct cud_err *err)
{
    ssize_t n = pread(fd, text, TEXT_MAX - 1, 0);
    if (n < 0)
        return FAIL(err, CUD_EFAILED, "%s: cannot be read: %s", path, strerror(errno));
    text[n] = 0;
    return CUD_OK;
}

/* Over what was there: whoever reads sees one owner or the other. */
static enum cud_status lock_write(int fd, const char *path, const struct owner *me, struct cud_err *err)
{
    char text[TEXT_MAX];
    int n = owner_text(me, text);
    for (int at = 0; at < n;) {
        ssize_t put = pwrite(fd, text + at, (size_t)(n - at), at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return FAIL(err, CUD_EFAILED, "%s: cannot be written: %s", path, strerror(put < 0 ? errno : ENOSPC));
        at += (int)put;
    }
    if (ftruncate(fd, n))
        return FAIL(err, CUD_EFAILED, "%s: cannot be written: %s", path, strerror(errno));
    return CUD_OK;
}

/* Is the open file still the one of that name? */
static bool same_file(int fd, const char *path)
{
    struct stat a, b;
    return !fstat(fd, &a) && !lstat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool change_time(const char *path, struct timespec *t)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);   /* opened anew: NFS looks again only then */
    bool good = fd >= 0 && !fstat(fd, &s);
    if (good)
        *t = s.st_mtim;
    if (fd >= 0)
        close(fd);
    return good;
}

/* Has it changed lately?  Clocks of hosts may differ: one that looks old is watched for a while. */
static bool is_fresh(const char *path)
{
    struct timespec first, now;
    if (!change_time(path, &first))
        return false;
    time_t age = time(NULL) - first.tv_sec;
    if (age > -CUD_LOCK_FRESH && age < CUD_LOCK_FRESH)
        return true;
    nanosleep(&(struct timespec){ .tv_sec = 2, .tv_nsec = 500000000 }, NULL);
    return change_time(path, &now) && (now.tv_sec != first.tv_sec || now.tv_nsec != first.tv_nsec);
}

static bool is_alive(const char *path, const struct owner *o, const char *host, bool held)
{
    uint64_t start;
    if (!o->pid)                           /* its owner has not signed yet: then it does not hold it either, or never will */
        return !held && is_fresh(path);
    if (strcmp(o->host, host))
        return is_fresh(path);
    return process_start(o->pid, &start) && (!o->start || start == o->start);
}

static enum cud_status refuse(const char *path, const struct owner *o, const char *host, struct cud_err *err)
{
    char who[CUD_LOCK_WHO];
    if (o->pid && strcmp(o->host, host))
        return FAIL(err, CUD_EEXISTS, "%s: another run is writing this output: %s; if that one is dead, try again in %d "
                    "seconds", path, owner_who(o, who), CUD_LOCK_FRESH);
    return FAIL(err, CUD_EEXISTS, "%s: another run is writing this output: %s; wait for it, or use -o for another name", path,
                owner_who(o, who));
}

/* Signs the lock in fd, unless its owner lives.  Where nothing but the text decides, the last to sign has it: look again. */
static enum cud_status sign(struct cud_lock *l, bool made, char dead[CUD_LOCK_WHO], struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    char text[TEXT_MAX];
    struct owner old = { 0 };
    int held = hold(l->fd);
    TRY(lock_read(l->fd, l->path, text, err));
    if (!owner_parse(text, &old))
        return FAIL(err, CUD_EEXISTS, "%s: exists and is not a lock of cudist; remove it or use -o for another name", l->path);
    if (held == 0 || (!made && is_alive(l->path, &old, l->me.host, held == 1)))
        return refuse(l->path, &old, l->me.host, err);
    TRY(lock_write(l->fd, l->path, &l->me, err));
    if (held < 0) {
        nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
        TRY(lock_read(l->fd, l->path, text, err));
        if (owner_parse(text, &old) && strcmp(old.run, l->me.run))
            return refuse(l->path, &old, l->me.host, err);
    }
    if (!made && old.pid)
        owner_who(&old, dead);
done:
    return status;
}

/* *made: the file is new.  A file that goes while we look at it is nobody's: try again. */
static enum cud_status lock_open(struct cud_lock *l, bool *made, struct cud_err *err)
{
    for (int i = 0; i < TRIES; i++) {
        l->fd = open(l->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        *made = l->fd >= 0;
        if (l->fd >= 0)
            return CUD_OK;
        if (errno != EEXIST)
            break;
        l->fd = open(l->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (l->fd >= 0)
            return CUD_OK;
        if (errno != ENOENT)
            break;
    }
    if (errno == ELOOP || errno == EISDIR)
        return FAIL(err, CUD_EEXISTS, "%s: exists and is not a lock of cudist; remove it or use -o for another name", l->path);
    return FAIL(err, CUD_EFAILED, "%s: cannot be opened: %s", l->path, strerror(errno));
}

enum cud_status cud_lock_take(const char *path, const char *host, struct cud_lock **lock, char dead[CUD_LOCK_WHO],
                              struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    bool made = false;
    struct cud_lock *l = calloc(1, sizeof *l);
    dead[0] = 0;
    if (!l || !(l->path = strdup(path))) {
        free(l);
        return FAIL(err, CUD_EFAILED, "no memory for a lock");
    }
    l->fd = -1;
    TRY(owner_me(host, &l->me, err));
    for (int i = 0; i < TRIES; i++) {
        TRY(lock_open(l, &made, err));
        TRY(sign(l, made, dead, err));
        if (same_file(l->fd, path))        /* its last owner may have removed it before we held it */
            break;
        close(l->fd);
        l->fd = -1;
        dead[0] = 0;
    }
    if (l->fd < 0)
        TRY(FAIL(err, CUD_EEXISTS, "%s: comes and goes; another run is writing this output", path));
    *lock = l;
    return CUD_OK;
done:
    if (made && l->fd >= 0 && err->status != CUD_EEXISTS)
        unlink(path);
    if (l->fd >= 0)
        close(l->fd);
    free(l->path);
    free(l);
    return status;
}

enum cud_status cud_lock_check(struct cud_lock *l, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    char text[TEXT_MAX], who[CUD_LOCK_WHO];
    struct owner now;
    int fd = open(l->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return FAIL(err, CUD_EFAILED, "%s: this run's lock is gone (%s); stopping, so that two runs do not write one output",
                    l->path, strerror(errno));
    TRY(lock_read(fd, l->path, text, err));
    if (!owner_parse(text, &now) || strcmp(now.run, l->me.run))
        TRY(FAIL(err, CUD_EFAILED, "%s: was taken over by another run (%s); stopping", l->path, owner_who(&now, who)));
    if (futimens(l->fd, NULL))
        TRY(FAIL(err, CUD_EFAILED, "%s: cannot be kept fresh: %s", l->path, strerror(errno)));
done:
    close(fd);
    return status;
}

void cud_lock_drop(struct cud_lock *l)
{
    if (!l)
        return;
    char text[TEXT_MAX];
    struct owner now;
    struct cud_err ignored = { 0 };
    bool others = lock_read(l->fd, l->path, text, &ignored) == CUD_OK && owner_parse(text, &now) && strcmp(now.run, l->me.run);
    if (!others && same_file(l->fd, l->path))
        unlink(l->path);
    close(l->fd);
    free(l->path);
    free(l);
}
