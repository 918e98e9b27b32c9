#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "lock_owner.h"

#define TRIES 8
#define NOT_OURS "%s: exists and is not a lock of cudist; remove it or use another name (-o, --result)"

struct cud_lock {
    char *path;
    int fd;
    struct cud_owner me;
};

/* 1: held now, 0: someone else holds it, -1: this file system has no such locks. */
static int hold(int fd)
{
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (!fcntl(fd, F_OFD_SETLK, &all))
        return 1;
    return errno == EAGAIN || errno == EACCES ? 0 : -1;
}

static enum cud_status lock_read(int fd, const char *path, char text[CUD_OWNER_TEXT], struct cud_err *err)
{
    ssize_t n = pread(fd, text, CUD_OWNER_TEXT - 1, 0);
    if (n < 0)
        return FAIL(err, CUD_EFAILED, "%s: cannot be read: %s", path, strerror(errno));
    text[n] = 0;
    return CUD_OK;
}

/* Over what was there: whoever reads sees one owner or the other. */
static enum cud_status lock_write(int fd, const char *path, const struct cud_owner *me, struct cud_err *err)
{
    char text[CUD_OWNER_TEXT];
    int n = cud_owner_text(me, text);
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

/* ---- which file */

/* *empty: it has no bytes.  False: there is no regular file of that name. */
static bool file_id(const char *path, struct cud_file_id *id, bool *empty)
{
    struct statx s;
    const unsigned wanted = STATX_TYPE | STATX_INO | STATX_SIZE | STATX_BTIME;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, wanted, &s) || !S_ISREG(s.stx_mode))
        return false;
    *id = (struct cud_file_id){ .ino = s.stx_ino };
    if (s.stx_mask & STATX_BTIME)
        id->born = (uint64_t)s.stx_btime.tv_sec * 1000000000 + s.stx_btime.tv_nsec;
    *empty = s.stx_size == 0;
    return true;
}

bool cud_left_has(const struct cud_left *left, const char *path)
{
    struct cud_file_id id;
    bool empty;
    if (!left->found || !file_id(path, &id, &empty))
        return false;
    for (unsigned i = 0; i < left->files; i++)
        if (left->file[i].ino == id.ino && left->file[i].born == id.born)
            return true;
    return empty;
}

static void left_add(struct cud_left *left, const struct cud_owner *o)
{
    left->found = true;
    if (o->pid)
        cud_owner_who(o, left->who);
    for (unsigned i = 0; i < o->files && left->files < sizeof left->file / sizeof *left->file; i++)
        left->file[left->files++] = o->file[i];
}

/* ---- who holds it */

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

static bool is_alive(const char *path, const struct cud_owner *o, const char *host, bool held)
{
    if (!o->pid)                           /* its owner has not signed yet: then it does not hold it either, or never will */
        return !held && is_fresh(path);
    if (strcmp(o->host, host))
        return is_fresh(path);
    return cud_owner_runs(o);
}

static enum cud_status refuse(const char *path, const struct cud_owner *o, const char *host, struct cud_err *err)
{
    char who[CUD_LOCK_WHO];
    if (o->pid && strcmp(o->host, host))
        return FAIL(err, CUD_EEXISTS, "%s: another run is writing this output: %s; if that one is dead, try again in %d "
                    "seconds", path, cud_owner_who(o, who), CUD_LOCK_FRESH);
    return FAIL(err, CUD_EEXISTS, "%s: another run is writing this output: %s; wait for it, or use another name (-o, --result)",
                path, cud_owner_who(o, who));
}

/* Signs the lock in fd, unless its owner lives.  Where nothing but the text decides, the last to sign has it: look again. */
static enum cud_status sign(struct cud_lock *l, bool made, struct cud_owner *old, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    char text[CUD_OWNER_TEXT];
    struct cud_owner now;
    int held = hold(l->fd);
    TRY(lock_read(l->fd, l->path, text, err));
    if (!cud_owner_parse(text, old))
        return FAIL(err, CUD_EEXISTS, NOT_OURS, l->path);
    if (held == 0 || (!made && is_alive(l->path, old, l->me.host, held == 1)))
        return refuse(l->path, old, l->me.host, err);
    l->me.files = old->files;              /* a run that is killed before it has dealt with them leaves them as they were */
    memcpy(l->me.file, old->file, sizeof l->me.file);
    TRY(lock_write(l->fd, l->path, &l->me, err));
    if (held < 0) {
        nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
        TRY(lock_read(l->fd, l->path, text, err));
        if (cud_owner_parse(text, &now) && strcmp(now.run, l->me.run))
            return refuse(l->path, &now, l->me.host, err);
    }
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
        return FAIL(err, CUD_EEXISTS, NOT_OURS, l->path);
    if (errno == EACCES && !access(l->path, F_OK))
        return FAIL(err, CUD_EEXISTS, "%s: is another user's: perhaps that one's run is writing this output; use another "
                    "name (-o, --result)", l->path);
    return FAIL(err, CUD_EFAILED, "%s: cannot be opened: %s", l->path, strerror(errno));
}

enum cud_status cud_lock_take(const char *path, const char *host, struct cud_lock **lock, struct cud_left *left,
                              struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    bool made = false;
    struct cud_owner old;
    struct cud_lock *l = calloc(1, sizeof *l);
    if (!l || !(l->path = strdup(path))) {
        free(l);
        return FAIL(err, CUD_EFAILED, "no memory for a lock");
    }
    l->fd = -1;
    TRY(cud_owner_make(host, &l->me, err));
    for (int i = 0; i < TRIES; i++) {
        TRY(lock_open(l, &made, err));
        TRY(sign(l, made, &old, err));
        if (same_file(l->fd, path))        /* its last owner may have removed it before we held it */
            break;
        close(l->fd);
        l->fd = -1;
    }
    if (l->fd < 0)
        TRY(FAIL(err, CUD_EEXISTS, "%s: comes and goes; another run is writing this output", path));
    if (!made)
        left_add(left, &old);
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

void cud_lock_look(const char *path, struct cud_left *left)
{
    char text[CUD_OWNER_TEXT];
    struct cud_owner o;
    struct cud_err ignored = { 0 };
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    if (lock_read(fd, path, text, &ignored) == CUD_OK && cud_owner_parse(text, &o))
        left_add(left, &o);
    close(fd);
}

/* Opened anew: NFS looks again only then. */
enum cud_status cud_lock_check(struct cud_lock *l, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    char text[CUD_OWNER_TEXT], who[CUD_LOCK_WHO];
    struct cud_owner now;
    struct stat s;
    int fd = open(l->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno != ENOENT)
        return FAIL(err, CUD_EFAILED, "%s: this run's lock cannot be read: %s; stopping", l->path, strerror(errno));
    if (fd < 0)
        return FAIL(err, CUD_EFAILED, "%s: this run's lock is gone (%s); stopping, so that two runs do not write one output",
                    l->path, strerror(errno));
    if (fstat(fd, &s) || !S_ISREG(s.st_mode))
        TRY(FAIL(err, CUD_EFAILED, "%s: this run's lock was replaced by something else; stopping", l->path));
    TRY(lock_read(fd, l->path, text, err));
    if (!cud_owner_parse(text, &now) || strcmp(now.run, l->me.run))
        TRY(FAIL(err, CUD_EFAILED, "%s: was taken over by another run (%s); stopping", l->path, cud_owner_who(&now, who)));
    if (futimens(l->fd, NULL))
        TRY(FAIL(err, CUD_EFAILED, "%s: cannot be kept fresh: %s", l->path, strerror(errno)));
done:
    close(fd);
    return status;
}

enum cud_status cud_lock_claim(struct cud_lock *l, const char *path, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_file_id id;
    bool empty;
    TRY(cud_lock_check(l, err));           /* or another's would be written over */
    if (!file_id(path, &id, &empty))
        TRY(FAIL(err, CUD_EFAILED, "%s: this run has made it, and it is gone: %s", path, strerror(errno)));
    cud_owner_add(&l->me, id);
    TRY(lock_write(l->fd, l->path, &l->me, err));
done:
    return status;
}

void cud_lock_drop(struct cud_lock *l, bool leave)
{
    if (!l)
        return;
    char text[CUD_OWNER_TEXT];
    struct cud_owner now;
    struct cud_err ignored = { 0 };
    bool others = lock_read(l->fd, l->path, text, &ignored) == CUD_OK && cud_owner_parse(text, &now) &&
                  strcmp(now.run, l->me.run);
    if (!leave && !others && same_file(l->fd, l->path))
        unlink(l->path);
    close(l->fd);
    free(l->path);
    free(l);
}
