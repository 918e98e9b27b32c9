#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "commit.h"
#include "signals.h"

#define PIECE ((uint64_t)1 << 30)

int cud_write_at(int fd, const void *bytes, uint64_t n, uint64_t offset)
{
    const char *p = bytes;
    while (n > 0) {
        ssize_t put = pwrite(fd, p, n < PIECE ? n : PIECE, (off_t)offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return put < 0 ? errno : ENOSPC;
        p += put;
        offset += (uint64_t)put;
        n -= (uint64_t)put;
    }
    return 0;
}

/* ---- making */

static enum cud_status discard(const struct cud_target *t, const char *path, struct cud_err *err)
{
    const char *const who = t->left.who;
    if (path && unlink(path) == 0)
        cud_note("note: %s was left by a run that did not end well%s%s; discarded", path, *who ? ", " : "", who);
    else if (path && errno != ENOENT)
        return FAIL(err, CUD_EFAILED, "%s: was left by an earlier run and cannot be removed: %s", path, strerror(errno));
    return CUD_OK;
}

/* What is there was looked at: it is a dead run's. */
static enum cud_status discard_left(struct cud_target *t, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    t->again = cud_target_is_unfinished(t);
    if (t->again)
        cud_note("note: %s is of a run that did not live to write its result, %s; it is made again", t->path, t->left.who);
    else
        TRY(discard(t, t->result_tmp, err));
    TRY(discard(t, t->part, err));
done:
    return status;
}

/* A disk too small is known now, not after hours; and measured on ext4, blocks that are there already make the writes cheaper
 * (a fifth of the kernel's time).  Where the file system cannot, it tells of a full disk when it is full. */
static enum cud_status part_reserve(const struct cud_target *t, int fd, uint64_t bytes, struct cud_err *err)
{
    int e = 0;
    do {
        e = bytes && fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) ? errno : 0;
    } while (e == EINTR);
    if (e == ENOSPC || e == EDQUOT)
        return FAIL(err, CUD_EFAILED, "%s: %s; the whole output takes %llu bytes", t->part, strerror(e),
                    (unsigned long long)bytes);
    return CUD_OK;
}

static enum cud_status part_fill(const struct cud_sink_facts *facts, struct cud_target *t, int fd, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct stat s;
    uint64_t bytes = facts->head_bytes + facts->rows * facts->row_bytes;
    if (fstat(fd, &s))
        return FAIL(err, CUD_EFAILED, "%s: %s", t->part, strerror(errno));
    t->dev = s.st_dev;
    t->ino = s.st_ino;
    t->made = true;
    t->bytes = bytes;
    cud_signals_leave(t->part);
    TRY(cud_lock_claim(t->lock[0], t->part, err));
    if (ftruncate(fd, (off_t)bytes))
        return FAIL(err, CUD_EFAILED, "%s: cannot be made %llu bytes long: %s", t->part, (unsigned long long)bytes,
                    strerror(errno));
    TRY(part_reserve(t, fd, bytes, err));
    int e = cud_write_at(fd, facts->head, facts->head_bytes, 0);
    if (e)
        return FAIL(err, CUD_EFAILED, "%s: cannot be written: %s", t->part, strerror(e));
done:
    return status;
}

static enum cud_status take_locks(struct cud_target *t, const char *host, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    for (int i = 0; i < CUD_TARGET_LOCKS; i++)
        if (t->lock_path[i])
            TRY(cud_lock_take(t->lock_path[i], host, &t->lock[i], &t->left, err));
done:
    return status;
}

/* What replaces a file may be read by those who could read that. */
static mode_t mode_of(const char *path)
{
    struct stat s;
    return !lstat(path, &s) && S_ISREG(s.st_mode) ? s.st_mode & 0777 : 0666;
}

/* The lock is the first to know of OUT.part: whoever finds it knows whose it is. */
enum cud_status cud_target_make(const struct cud_sink_facts *facts, const char *host, struct cud_target *t, int *fd,
                                struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    TRY(take_locks(t, host, err));
    TRY(cud_target_check_absent(t, err));  /* the last owner may have ended just now */
    TRY(discard_left(t, err));
    if (!t->path)
        return CUD_OK;
    *fd = open(t->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_of(t->path) | 0600);
    if (*fd < 0)
        return FAIL(err, CUD_EFAILED, "%s: cannot be made: %s", t->part, strerror(errno));
    TRY(part_fill(facts, t, *fd, err));
done:
    return status;
}

/* A run that was cut off and comes back must not commit another's file; and one whose file is gone need not go on. */
enum cud_status cud_target_check_ours(const struct cud_target *t, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct stat s;
    for (int i = 0; i < CUD_TARGET_LOCKS; i++)
        if (t->lock[i])
            TRY(cud_lock_check(t->lock[i], err));
    if (t->path && lstat(t->part, &s))
        return FAIL(err, CUD_EFAILED, "%s: is gone, while this run was writing it: %s", t->part, strerror(errno));
    if (t->path && (s.st_dev != t->dev || s.st_ino != t->ino))
        return FAIL(err, CUD_EFAILED, "%s: was replaced by someone else while this run was writing it", t->part);
    if (t->path && (uint64_t)s.st_size != t->bytes)
        return FAIL(err, CUD_EFAILED, "%s: was made %s by someone else while this run was writing it", t->part,
                    (uint64_t)s.st_size < t->bytes ? "shorter" : "longer");
done:
    return status;
}

/* ---- commit */

static enum cud_status sync_folder(const char *path, struct cud_err *err)
{
    char *folder = cud_folder_of(path);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int e = fd < 0 || fsync(fd) ? errno : 0;
    if (fd >= 0)
        close(fd);
    free(folder);
    if (e && e != EINVAL && e != EACCES)   /* a file system that cannot, or a folder that may be written but not read */
        return FAIL(err, CUD_EFAILED, "%s is in place, but its folder cannot be synced: %s", path, strerror(e));
    return CUD_OK;
}

static int result_fill(int fd, const char *json, size_t n)
{
    int e = cud_write_at(fd, json, n, 0);
    if (!e && fsync(fd))
        e = errno;
    if (close(fd) && !e)
        e = errno;
    return e;
}

/* Nothing of that name was there when this run took the lock, or what tells that OUT may be made again. */
static enum cud_status result_write(const struct cud_target *t, const char *json, size_t n, bool *made, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const int how = t->again && cud_left_has(&t->left, t->result_tmp) ? O_TRUNC : O_CREAT | O_EXCL;
    const mode_t mode = mode_of(t->result);
    const int fd = open(t->result_tmp, O_WRONLY | how | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return FAIL(err, CUD_EFAILED, "%s: cannot be made: %s", t->result_tmp, strerror(errno));
    if (mode != 0666)
        (void)!fchmod(fd, mode);           /* as far as the file system has modes */
    *made = true;
    status = cud_lock_claim(t->lock[t->lock[1] ? 1 : 0], t->result_tmp, err);
    const int e = result_fill(fd, json, n);
    if (status == CUD_OK && e)
        status = FAIL(err, CUD_EFAILED, "%s: cannot be written: %s", t->result, strerror(e));
    return status;
}

static enum cud_status result_print(const char *json, size_t n, struct cud_err *err)
{
    while (n > 0) {
        ssize_t put = write(STDOUT_FILENO, json, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return FAIL(err, CUD_EFAILED, "--result -: stdout: %s", strerror(errno));
        json += put;
        n -= (size_t)put;
    }
    return CUD_OK;
}

/* Where the file system cannot rename without replacing, a look just before has to do. */
static int rename_new(const char *from, const char *to)
{
    struct stat s;
    if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
        return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return errno;
    if (!lstat(to, &s))
        return EEXIST;
    return rename(from, to) ? errno : 0;
}

/* An OUT that has come up meanwhile and may not be replaced is kept, and so is the finished work. */
static enum cud_status publish(struct cud_target *t, struct cud_err *err)
{
    struct stat s;
    const bool replace = t->force || (t->again && cud_left_has(&t->left, t->path));
    int e;
    if (replace && !lstat(t->path, &s) && S_ISREG(s.st_mode))
        (void)!chmod(t->part, s.st_mode & 0777);
    if (replace && (lstat(t->path, &s) || S_ISREG(s.st_mode)))
        e = rename(t->part, t->path) ? errno : 0;
    else
        e = rename_new(t->part, t->path);
    if (e && e != EEXIST)
        return FAIL(err, CUD_EFAILED, "%s: cannot be renamed to %s: %s", t->part, t->path, strerror(e));
    t->made = t->again = false;
    cud_signals_leave(NULL);
    if (e)
        return FAIL(err, CUD_EEXISTS, "%s came up while this run was at work and is kept; the finished output is %s: rename it",
                    t->path, t->part);
    return CUD_OK;
}

/* An older result must not stand beside the new output, not even for a moment. */
static enum cud_status old_result_remove(const char *path, struct cud_err *err)
{
    if (path && unlink(path) && errno != ENOENT)
        return FAIL(err, CUD_EFAILED, "%s: cannot be removed: %s; nothing was replaced", path, strerror(errno));
    return CUD_OK;
}

static enum cud_status output_commit(struct cud_target *t, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    if (t->force) {
        TRY(old_result_remove(t->mark, err));
        TRY(old_result_remove(t->result, err));
    }
    TRY(publish(t, err));
    TRY(sync_folder(t->path, err));        /* the output's new name is on the disk before the result's is */
done:
    return status;
}

static enum cud_status result_commit(const struct cud_target *t, struct cud_err *err)
{
    int e = t->force ? (rename(t->result_tmp, t->result) ? errno : 0) : rename_new(t->result_tmp, t->result);
    if (!e)
        return sync_folder(t->result, err);
    return FAIL(err, e == EEXIST ? CUD_EEXISTS : CUD_EFAILED, "%s is complete, but its result could not become %s (%s); it is "
                "%s: rename it", t->path ? t->path : "the run", t->result, strerror(e), t->result_tmp);
}

/* The result is written and synced under another name first: a disk that is full by now changes nothing. */
enum cud_status cud_target_commit(struct cud_target *t, const char *json, size_t n, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    bool tmp = false;
    TRY(cud_target_check_ours(t, err));
    if (t->result)
        TRY(result_write(t, json, n, &tmp, err));
    if (t->path)
        TRY(output_commit(t, err));
    tmp = false;
    if (t->result)
        TRY(result_commit(t, err));
    if (t->result_stdout)
        TRY(result_print(json, n, err));
done:
    if (tmp)
        unlink(t->result_tmp);
    return status;
}

static bool part_is_ours(const struct cud_target *t)
{
    struct stat s;
    return t->made && !lstat(t->part, &s) && s.st_dev == t->dev && s.st_ino == t->ino;
}

/* An OUT that was to be made again is as it was, and the lock goes on telling so. */
void cud_target_close(struct cud_target *t)
{
    if (part_is_ours(t))
        unlink(t->part);
    if (t->made)
        cud_signals_leave(NULL);
    for (int i = 0; i < CUD_TARGET_LOCKS; i++) {
        cud_lock_drop(t->lock[i], t->again);
        free(t->lock_path[i]);
    }
    free(t->path);
    free(t->part);
    free(t->mark);
    free(t->result);
    free(t->result_tmp);
    free(t->trace);
    free(t->trace_tmp);
    memset(t, 0, sizeof *t);
}
