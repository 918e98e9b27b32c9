#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sink_own.h"
#include "writeback.h"


bool cud_sink_gathers(const struct cud_sink *s) { return s->root != NULL; }
bool cud_sink_by_main(const struct cud_sink *s) { return s->way == SINK_ROOT && (s->me != 0 || s->to_stdout); }
bool cud_sink_from_device(const struct cud_sink *s) { return s->way == SINK_ROOT && s->me != 0 && s->kind->from_device; }

/* ---- opening */

/* fd 1 may be shared with other programs, and its flags with it: a pipe or a terminal is opened anew to set O_NONBLOCK. */
static int stdout_open(bool *patient)
{
    struct stat s;
    int fd = -1;
    if (!fstat(STDOUT_FILENO, &s) && (S_ISFIFO(s.st_mode) || isatty(STDOUT_FILENO)))
        fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    *patient = fd >= 0 || S_ISREG(s.st_mode);
    return fd >= 0 ? fd : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
}

static enum cud_status first_open(struct cud_sink *s, const struct cud_sink_facts *facts, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    TRY(cud_target_check(facts, &s->target, err));
    if (s->to_stdout) {
        s->fd = stdout_open(&s->patient);
        if (s->fd < 0)
            return FAIL(err, CUD_EFAILED, "stdout: cannot be opened: %s", strerror(errno));
    }
    TRY(cud_target_make(facts, cud_rank_host(s->ranks), &s->target, &s->fd, err));
done:
    return status;
}

struct part_facts { uint64_t ino, bytes; };

/* A folder of the same name that is another one on this host is the usual mistake: /tmp, a home that is not shared. */
static enum cud_status other_open(struct cud_sink *s, const struct part_facts *first, struct cud_err *err)
{
    struct stat st;
    s->fd = open(s->name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (s->fd < 0 && errno != ENOENT && errno != ENOTDIR)
        return FAIL(err, CUD_EFAILED, "%s: cannot be opened: %s", s->name, strerror(errno));
    if (s->fd >= 0 && fstat(s->fd, &st))
        return FAIL(err, CUD_EFAILED, "%s: %s", s->name, strerror(errno));
    if (s->fd < 0 || st.st_ino != first->ino || (uint64_t)st.st_size != first->bytes)
        return FAIL(err, CUD_EFAILED, "%s: host %s does not see the file that rank 0 made; use a folder that all hosts share, "
                    "or --write root", s->name, cud_rank_host(s->ranks));
    return CUD_OK;
}

static enum cud_status others_open(struct cud_sink *s, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct stat st;
    struct part_facts first = { 0 };
    if (s->me == 0 && !fstat(s->fd, &st))
        first = (struct part_facts){ .ino = st.st_ino, .bytes = (uint64_t)st.st_size };
    TRY(cud_rank_bcast(s->ranks, &first, sizeof first, err));
    if (s->me != 0)
        TRY(other_open(s, &first, err));
done:
    return status;
}

static enum cud_status sink_make(const struct cud_sink_facts *facts, struct cud_ranks *ranks, struct cud_sink **sink,
                                 struct cud_err *err)
{
    struct cud_sink *s = calloc(1, sizeof *s);
    if (!s)
        return FAIL(err, CUD_EFAILED, "no memory for the output");
    s->to_stdout = !strcmp(facts->path, "-");
    s->way = !strcmp(facts->path, "none") ? SINK_NONE : facts->direct && !s->to_stdout ? SINK_DIRECT : SINK_ROOT;
    s->me = cud_rank_me(ranks);
    s->count = cud_rank_count(ranks);
    s->ranks = ranks;
    s->kind = facts->lane;
    s->device = facts->device;
    s->dev = facts->dev;
    s->plan = facts->plan;
    s->head_bytes = facts->head_bytes;
    s->row_bytes = facts->row_bytes;
    s->rows = facts->rows;
    s->fd = -1;
    if ((s->to_stdout ? asprintf(&s->name, "stdout") : asprintf(&s->name, "%s.part", facts->path)) < 0) {
        free(s);
        return FAIL(err, CUD_EFAILED, "no memory for the output");
    }
    *sink = s;
    return CUD_OK;
}

/* Between two meetings a rank that failed does nothing but come to the next one, with its error. */
enum cud_status cud_sink_open(const struct cud_sink_facts *facts, struct cud_ranks *ranks, struct cud_sink **sink,
                              struct cud_err *err)
{
    enum cud_status status = CUD_OK, mine;
    struct cud_sink *s = NULL;
    signal(SIGPIPE, SIG_IGN);              /* these come back as errors: EPIPE, EFBIG */
    signal(SIGXFSZ, SIG_IGN);
    mine = sink_make(facts, ranks, &s, err);
    if (mine == CUD_OK && s->me == 0)
        mine = first_open(s, facts, err);
    if (mine == CUD_OK && s->way == SINK_ROOT && (s->count > 1 || s->to_stdout))
        mine = cud_root_make(s, facts->head, err);
    TRY(cud_rank_agree(ranks, err));
    if (s->way == SINK_ROOT && s->count > 1)
        TRY(cud_root_open(s, err));
    if (s->way == SINK_DIRECT && s->count > 1) {
        (void)others_open(s, err);
        TRY(cud_rank_agree(ranks, err));
    }
    if (s->fd >= 0 && !s->to_stdout)
        s->writeback = cud_writeback_start(s->fd);
    *sink = s;
    return CUD_OK;
done:
    cud_sink_free(s);
    return status;
}

enum cud_status cud_sink_check(const struct cud_sink_facts *facts, struct cud_err *err)
{
    struct cud_target target = {0};
    enum cud_status status = cud_target_check(facts, &target, err);
    if (status == CUD_OK && facts->room)
        status = cud_target_check_room(&target, facts->head_bytes + facts->rows * facts->row_bytes, err);
    cud_target_close(&target);
    return status;
}

/* ---- writing */

enum cud_status cud_sink_put(struct cud_sink *s, uint64_t offset, uint64_t bytes, const void *from, struct cud_err *err)
{
    int e = cud_write_at(s->fd, from, bytes, offset);
    if (e == ENOSPC || e == EDQUOT)
        return FAIL(err, CUD_EFAILED, "%s: %s; the whole output takes %llu bytes", s->name, strerror(e),
                    (unsigned long long)(s->head_bytes + s->rows * s->row_bytes));
    if (e == EFAULT)                       /* rows that pass untouched are the input's own bytes */
        return FAIL(err, CUD_EFAILED, "%s: what belongs at byte %llu cannot be read any more: an input's disk failed, or it was "
                    "cut short", s->name, (unsigned long long)offset);
    if (e)
        return FAIL(err, CUD_EFAILED, "%s: cannot be written at byte %llu: %s", s->name, (unsigned long long)offset,
                    strerror(e));
    cud_writeback_ask(s->writeback, offset, bytes);
    return CUD_OK;
}

enum cud_status cud_sink_write(struct cud_sink *s, uint64_t row0, uint64_t rows, const void *bytes, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    if (s->way == SINK_NONE)
        return CUD_OK;
    TRY(cud_sink_put(s, s->head_bytes + row0 * s->row_bytes, rows * s->row_bytes, bytes, err));
    atomic_fetch_add(&s->rows_put, rows);
done:
    return status;
}

/* ---- ending */

enum cud_status cud_sink_check_ours(struct cud_sink *s, struct cud_err *err)
{
    return cud_target_check_ours(&s->target, err);
}

/* A slow disk may need longer for what is left than the ranks wait for each other: after every piece they hear of this one.  The
 * next pieces are started meanwhile.  *e: what the disk said, or 0. */
static enum cud_status sync_pieces(const struct cud_sink *s, off_t bytes, int *e, struct cud_err *err)
{
    enum { PIECE = 16 << 20, AHEAD = 4 * PIECE };
    const unsigned wait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    enum cud_status status = CUD_OK;
    const struct cud_report report = *cud_rank_report(s->ranks, s->me);
    bool others_failed = false;
    for (off_t at = 0; at < bytes && !others_failed; at += PIECE) {
        sync_file_range(s->fd, at + AHEAD, PIECE, SYNC_FILE_RANGE_WRITE);
        if (sync_file_range(s->fd, at, PIECE, wait) != 0) {
            *e = errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ? 0 : errno;
            break;
        }
        TRY(cud_rank_pump(s->ranks, &report, &others_failed, err));
    }
done:
    return status;
}

/* NFS, and file systems with quotas, may tell of a full disk only here. */
enum cud_status cud_sink_close(struct cud_sink *s, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct stat st;
    int e = 0;
    if (s->fd < 0)
        return CUD_OK;
    cud_writeback_stop(s->writeback);
    s->writeback = NULL;
    if (!fstat(s->fd, &st) && S_ISREG(st.st_mode)) {
        TRY(sync_pieces(s, st.st_size, &e, err));
        if (!e && fsync(s->fd))
            e = errno;
    }
done:
    if (close(s->fd) && !e && errno != EINTR)
        e = errno;
    s->fd = -1;
    return e ? FAIL(err, CUD_EFAILED, "%s: cannot be synced to the disk: %s", s->name, strerror(e)) : status;
}

enum cud_status cud_sink_commit(struct cud_sink *s, const char *json, size_t n, struct cud_err *err)
{
    return cud_target_commit(&s->target, json, n, err);
}

void cud_sink_free(struct cud_sink *s)
{
    if (!s)
        return;
    cud_writeback_stop(s->writeback);
    if (s->fd >= 0)
        close(s->fd);
    cud_target_close(&s->target);          /* before the lane: should that hang, no lock is left */
    cud_root_free(s);
    free(s->name);
    free(s);
}
