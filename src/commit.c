#include "commit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

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

/* ---- names */

static char *with_suffix(const char *path, const char *suffix)
{
    char *name = NULL;
    return asprintf(&name, "%s%s", path, suffix) < 0 ? NULL : name;
}

static bool is_file_name(const char *name) { return strcmp(name, "-") && strcmp(name, "none"); }

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static const char *last_of(const char *path) { return strrchr(path, '/') ? strrchr(path, '/') + 1 : path; }

static enum cud_status names_make(const struct cud_sink_facts *facts, struct cud_target *t, struct cud_err *err)
{
    t->force = facts->force;
    t->result_stdout = !strcmp(facts->result, "-");
    bool good = true;
    if (is_file_name(facts->path)) {
        good = good && (t->path = strdup(facts->path));
        good = good && (t->part = with_suffix(facts->path, ".part"));
        good = good && (t->lock_path = with_suffix(facts->path, ".lock"));
        good = good && (t->mark = with_suffix(facts->path, ".json"));
    }
    if (is_file_name(facts->result)) {
        good = good && (t->result = strdup(facts->result));
        good = good && (t->result_tmp = with_suffix(facts->result, ".tmp"));
    }
    return good ? CUD_OK : FAIL(err, CUD_EFAILED, "no memory for file names");
}

/* ---- what may not be written */

static enum cud_status check_folder(const char *path, struct cud_err *err)
{
    struct stat s;
    enum cud_status status = CUD_OK;
    char *folder = folder_of(path);
    if (!folder)
        return FAIL(err, CUD_EFAILED, "no memory for file names");
    if (!*last_of(path))
        status = FAIL(err, CUD_EUSAGE, "%s: is a folder; give the name of a file", path);
    else if (stat(folder, &s))
        status = FAIL(err, CUD_EUSAGE, "%s: cannot write there: folder %s: %s", path, folder, strerror(errno));
    else if (!S_ISDIR(s.st_mode))
        status = FAIL(err, CUD_EUSAGE, "%s: cannot write there: %s is not a folder", path, folder);
    else if (access(folder, W_OK | X_OK))
        status = FAIL(err, CUD_EUSAGE, "%s: cannot write there: folder %s: %s", path, folder, strerror(errno));
    free(folder);
    return status;
}

/* Only a regular file may ever be replaced: not a device, not a link (which would be replaced, not what it points to). */
static enum cud_status check_kind(const char *path, struct cud_err *err)
{
    struct stat s;
    if (lstat(path, &s))
        return errno == ENOENT ? CUD_OK : FAIL(err, CUD_EUSAGE, "%s: cannot write there: %s", path, strerror(errno));
    if (S_ISREG(s.st_mode))
        return CUD_OK;
    if (S_ISDIR(s.st_mode))
        return FAIL(err, CUD_EUSAGE, "%s: is a folder; give the name of a file", path);
    if (S_ISLNK(s.st_mode))
        return FAIL(err, CUD_EUSAGE, "%s: is a symbolic link; give the name of the file itself", path);
    return FAIL(err, CUD_EUSAGE, "%s: is not a regular file; use -o - for stdout, or -o none to write no output", path);
}

static enum cud_status check_not_input(const char *path, const struct cud_sink_facts *facts, struct cud_err *err)
{
    struct stat out, in;
    if (lstat(path, &out))
        return CUD_OK;
    for (size_t i = 0; i < facts->inputs; i++)
        if (!stat(facts->input[i], &in) && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return FAIL(err, CUD_EUSAGE, "%s: is the input %s, and would be overwritten; use -o for another name", path,
                        facts->input[i]);
    return CUD_OK;
}

static enum cud_status check_absent(const char *path, const char *option, bool force, struct cud_err *err)
{
    struct stat s;
    if (force || lstat(path, &s))
        return CUD_OK;
    return FAIL(err, CUD_EEXISTS, "%s exists; use -f to replace it or %s for another name", path, option);
}

/* By folder and name: neither need exist, and /a/./b is /a/b. */
static enum cud_status check_apart(const char *a, const char *b, struct cud_err *err)
{
    struct stat x, y;
    enum cud_status status = CUD_OK;
    if (!a || !b || strcmp(last_of(a), last_of(b)))
        return CUD_OK;
    char *fa = folder_of(a), *fb = folder_of(b);
    if (!fa || !fb)
        status = FAIL(err, CUD_EFAILED, "no memory for file names");
    else if (!stat(fa, &x) && !stat(fb, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino)
        status = FAIL(err, CUD_EUSAGE, "%s: is wanted for two things; use --result for another name", a);
    free(fa);
    free(fb);
    return status;
}

static enum cud_status check_stdout(const struct cud_sink_facts *facts, struct cud_err *err)
{
    struct stat out, in;
    if (fstat(STDOUT_FILENO, &out))
        return FAIL(err, CUD_EUSAGE, "-o -: stdout is closed: %s", strerror(errno));
    for (size_t i = 0; S_ISREG(out.st_mode) && i < facts->inputs; i++)
        if (!stat(facts->input[i], &in) && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return FAIL(err, CUD_EUSAGE, "-o -: stdout is the input %s; send it elsewhere", facts->input[i]);
    return CUD_OK;
}

enum cud_status cud_target_check(const struct cud_sink_facts *facts, struct cud_target *t, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    TRY(names_make(facts, t, err));
    const char *const mine[] = { t->path, t->result, t->mark, t->part, t->lock_path, t->result_tmp };
    if (t->path)
        TRY(check_folder(t->path, err));
    if (t->result)
        TRY(check_folder(t->result, err));
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++)
        if (mine[i]) {
            TRY(check_not_input(mine[i], facts, err));
            TRY(check_kind(mine[i], err));
        }
    TRY(check_apart(t->result, t->path, err));
    TRY(check_apart(t->result, t->part, err));
    TRY(check_apart(t->result, t->lock_path, err));
    TRY(check_apart(t->result_tmp, t->path, err));
    if (t->path) {
        TRY(check_absent(t->path, "-o", t->force, err));
        TRY(check_absent(t->mark, "-o", t->force, err));
    }
    if (t->result)
        TRY(check_absent(t->result, "--result", t->force, err));
    if (!strcmp(facts->path, "-"))
        TRY(check_stdout(facts, err));
done:
    return status;
}

/* ---- making */

static enum cud_status discard_stale(const struct cud_target *t, const char *dead, struct cud_err *err)
{
    struct stat s;
    if (lstat(t->part, &s)) {
        if (errno != ENOENT)
            return FAIL(err, CUD_EFAILED, "%s: %s", t->part, strerror(errno));
        return CUD_OK;
    }
    if (unlink(t->part))
        return FAIL(err, CUD_EFAILED, "%s: was left by an earlier run and cannot be removed: %s", t->part, strerror(errno));
    cud_say(-1, "note: %s was left by a run that did not end well%s%s; discarded", t->part, *dead ? ", " : "", dead);
    return CUD_OK;
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

enum cud_status cud_target_make(const struct cud_sink_facts *facts, const char *host, struct cud_target *t, int *fd,
                                struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    char dead[CUD_LOCK_WHO];
    TRY(cud_lock_take(t->lock_path, host, &t->lock, dead, err));
    TRY(check_absent(t->path, "-o", t->force, err));   /* the last owner may have ended just now */
    TRY(discard_stale(t, dead, err));
    *fd = open(t->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (*fd < 0)
        return FAIL(err, CUD_EFAILED, "%s: cannot be made: %s", t->part, strerror(errno));
    TRY(part_fill(facts, t, *fd, err));
done:
    return status;
}

/* ---- commit */

static enum cud_status sync_folder(const char *path, struct cud_err *err)
{
    char *folder = folder_of(path);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int e = fd < 0 || fsync(fd) ? errno : 0;
    if (fd >= 0)
        close(fd);
    free(folder);
    if (e && e != EINVAL && e != EACCES)   /* a file system that cannot, or a folder that may be written but not read */
        return FAIL(err, CUD_EFAILED, "%s is in place, but its folder cannot be synced: %s", path, strerror(e));
    return CUD_OK;
}

static enum cud_status result_write(const struct cud_target *t, const char *json, size_t n, struct cud_err *err)
{
    if (unlink(t->result_tmp) && errno != ENOENT)
        return FAIL(err, CUD_EFAILED, "%s: cannot be removed: %s", t->result_tmp, strerror(errno));
    int fd = open(t->result_tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    int e = fd < 0 ? errno : cud_write_at(fd, json, n, 0);
    if (!e && fsync(fd))
        e = errno;
    if (fd >= 0 && close(fd) && !e)
        e = errno;
    if (!e)
        return CUD_OK;
    if (fd >= 0)
        unlink(t->result_tmp);
    return FAIL(err, CUD_EFAILED, "%s: cannot be written: %s", t->result, strerror(e));
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

/* A run that was cut off and comes back must not commit another's file. */
static enum cud_status check_ours(const struct cud_target *t, struct cud_err *err)
{
    struct stat s;
    enum cud_status status = CUD_OK;
    TRY(cud_lock_check(t->lock, err));
    if (lstat(t->part, &s))
        return FAIL(err, CUD_EFAILED, "%s: is gone: %s", t->part, strerror(errno));
    if (s.st_dev != t->dev || s.st_ino != t->ino)
        return FAIL(err, CUD_EFAILED, "%s: was replaced by someone else while this run was writing it", t->part);
done:
    return status;
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

/* Without --force an OUT that has come up meanwhile is kept, and so is the finished work. */
static enum cud_status publish(struct cud_target *t, struct cud_err *err)
{
    int e = t->force ? (rename(t->part, t->path) ? errno : 0) : rename_new(t->part, t->path);
    if (e && e != EEXIST)
        return FAIL(err, CUD_EFAILED, "%s: cannot be renamed to %s: %s", t->part, t->path, strerror(e));
    t->made = false;
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
    return FAIL(err, e == EEXIST ? CUD_EEXISTS : CUD_EFAILED, "%s is complete, but its result %s could not be written: %s",
                t->path ? t->path : "the run", t->result, strerror(e));
}

/* The result is written and synced under another name first: a disk that is full by now changes nothing. */
enum cud_status cud_target_commit(struct cud_target *t, const char *json, size_t n, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    bool tmp = false;
    if (t->path)
        TRY(check_ours(t, err));
    if (t->result) {
        TRY(result_write(t, json, n, err));
        tmp = true;
    }
    if (t->path)
        TRY(output_commit(t, err));
    if (t->result)
        TRY(result_commit(t, err));
    tmp = false;
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

void cud_target_close(struct cud_target *t)
{
    if (part_is_ours(t))
        unlink(t->part);
    cud_lock_drop(t->lock);
    free(t->path);
    free(t->part);
    free(t->lock_path);
    free(t->mark);
    free(t->result);
    free(t->result_tmp);
    memset(t, 0, sizeof *t);
}
