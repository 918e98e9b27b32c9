/* The folder that the output goes to. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "clock.h"
#include "doctor_own.h"
#include "probe.h"

#define SPACE_LEAST ((uint64_t)64 << 20)       /* where the output's size is not known */
#define WRITE_BYTES ((uint64_t)256 << 20)      /* at most, by all ranks together */
#define WRITE_SECONDS 3.0                      /* at most */
#define PIECE ((size_t)4 << 20)                /* a write */
#define SYNC_EVERY 4                           /* pieces: a slow disk is noticed soon */
#define SLOW (10 << 20)                        /* bytes a second: something is wrong */

static double mib(uint64_t bytes) { return (double)bytes / (1 << 20); }

/* ---- which, and what kind */

static const char *kind_of(unsigned long type, char other[32])
{
    static const struct { unsigned long type; const char *name; } kinds[] = {
        {0x0bd00bd3, "Lustre"}, {0x47504653, "GPFS"}, {0x19830326, "BeeGFS"}, {0x00c36400, "CephFS"}, {NFS_SUPER_MAGIC, "NFS"},
        {EXT4_SUPER_MAGIC, "ext4"}, {0x58465342, "XFS"}, {BTRFS_SUPER_MAGIC, "Btrfs"}, {0x2fc12fc1, "ZFS"},
        {TMPFS_MAGIC, "tmpfs: memory"}, {OVERLAYFS_SUPER_MAGIC, "overlay"}, {0x65735546, "FUSE"}, {0xff534d42, "CIFS"},
        {0xfe534d42, "SMB"}, {V9FS_MAGIC, "9p"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == type)
            return kinds[i].name;
    snprintf(other, 32, "file system %lx", type);
    return other;
}

/* Collective: rank 0's word counts.  The output's, or, where nothing is said of a run, the current one. */
static void choose_folder(struct cud_doctor *d)
{
    const char *const output = d->job->output;
    if (*output == '/') {
        snprintf(d->folder, sizeof d->folder, "%s", output);
        *(strrchr(d->folder, '/') + (strrchr(d->folder, '/') == d->folder)) = '\0';
    } else if (d->job->inputs == 0 && d->me == 0 && !getcwd(d->folder, sizeof d->folder)) {
        d->folder[0] = '\0';
    }
    (void)cud_rank_bcast(d->ranks, d->folder, sizeof d->folder, &d->err);
}

static bool writable(const struct cud_doctor *d, struct cud_finding *f)
{
    struct stat s;
    if (stat(d->folder, &s) != 0)
        cud_find(f, CUD_PROBLEM, "make it, or another folder by -o", "%s: %s", d->folder, strerror(errno));
    else if (!S_ISDIR(s.st_mode))
        cud_find(f, CUD_PROBLEM, "another folder by -o", "%s is no folder", d->folder);
    else if (access(d->folder, W_OK | X_OK) != 0)
        cud_find(f, CUD_PROBLEM, "another folder by -o", "%s cannot be written to: %s", d->folder, strerror(errno));
    return !f->text[0];
}

/* Several hosts: which way --write auto goes, and whether --write direct may. */
static void judge_hosts(struct cud_doctor *d, const char *kind, bool coherent, bool same, struct cud_finding *f)
{
    const char *const why = same ? "its kind lets hosts undo each other's bytes" : "not all hosts have the same one there";
    const bool may = coherent && same;
    d->direct = d->job->write == CUD_WRITE_DIRECT || (d->job->write == CUD_WRITE_AUTO && may);
    if (d->me != 0)
        return;
    if (d->job->write == CUD_WRITE_DIRECT && !may)
        cud_find(f, CUD_PROBLEM, "--write auto", "%s (%s): %s, and --write direct is asked for", d->folder, kind, why);
    else if (d->direct)
        cud_fine(f, "%s (%s): each rank writes its rows", d->folder, kind);
    else
        cud_fine(f, "%s (%s): rank 0 writes for all%s%s", d->folder, kind, may ? "" : ", as ", may ? "" : why);
}

void cud_check_folder(struct cud_doctor *d, struct cud_finding *f)
{
    struct statfs fs = {0};
    char other[32];
    bool same = true;
    choose_folder(d);
    if (!d->folder[0])
        return;
    const bool good = d->me != 0 || writable(d, f);
    (void)statfs(d->folder, &fs);
    const unsigned long type = (unsigned long)fs.f_type & 0xffffffff;
    struct { bool bad, coherent; } zero = {!good, cud_probe_coherent(type)};
    (void)cud_rank_bcast(d->ranks, &zero, sizeof zero, &d->err);
    d->folder_bad = zero.bad;
    if (d->folder_bad)
        return;
    if (d->hosts > 1)
        (void)cud_probe_shared(d->ranks, d->folder, &same, &d->err);
    judge_hosts(d, kind_of(type, other), zero.coherent || d->hosts == 1, same, f);
}

/* ---- room */

void cud_check_space(struct cud_doctor *d, struct cud_finding *f)
{
    struct statvfs fs;
    if (!d->folder[0] || d->folder_bad || d->me != 0 || statvfs(d->folder, &fs) != 0)
        return;
    const uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (d->out_bytes > left)
        cud_find(f, CUD_PROBLEM, "make room, or another folder by -o", "%.1f MiB, and the output takes %.1f MiB", mib(left),
                 mib(d->out_bytes));
    else if (fs.f_files > 0 && fs.f_favail < 8)
        cud_find(f, CUD_PROBLEM, "remove some files, or another folder by -o", "there is room for %llu files more",
                 (unsigned long long)fs.f_favail);
    else if (!d->out_bytes && left < SPACE_LEAST)
        cud_find(f, CUD_WARNING, "make room, or another folder by -o", "%.1f MiB", mib(left));
    else
        cud_fine(f, "%.1f GiB (what quotas leave is not known)", mib(left) / 1024);
}

static uint64_t file_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : UINT64_MAX;
}

void cud_check_file_size(struct cud_doctor *d, struct cud_finding *f)
{
    static const char cure[] = "ulimit -f unlimited where the ranks start";
    const uint64_t limit = file_limit();
    if (!d->folder[0] || (d->me != 0 && !d->direct))
        return;
    if (limit == UINT64_MAX)
        cud_fine(f, "not limited");
    else if (d->out_bytes > limit)
        cud_find(f, CUD_PROBLEM, cure, "at most %.1f MiB (ulimit -f), and the output takes %.1f MiB", mib(limit),
                 mib(d->out_bytes));
    else
        cud_find(f, d->out_bytes ? CUD_FINE : CUD_WARNING, cure, "at most %.1f MiB (ulimit -f)", mib(limit));
}

/* ---- write speed */

/* A file without a name: nothing is left, however this ends. */
static int open_nameless(const char *folder)
{
    char path[4200];
    uint64_t number = 0;
    const int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return -1;
    snprintf(path, sizeof path, "%s/.cudist-doctor-%016llx", folder, (unsigned long long)number);
    const int named = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (named >= 0)
        unlink(path);
    return named;
}

struct speed { uint64_t bytes; double seconds; int32_t error; };

static bool write_piece(int fd, const char *piece, size_t n)
{
    for (size_t at = 0; at < n;) {
        const ssize_t k = write(fd, piece + at, n - at);
        if (k <= 0 && errno != EINTR)
            return false;
        at += k > 0 ? (size_t)k : 0;
    }
    return true;
}

/* Whole pieces, synced now and then, until bytes or seconds are through. */
static struct speed measure(struct cud_doctor *d, uint64_t bytes, double seconds)
{
    struct speed s = {0};
    const struct cud_report report = {.phase = CUD_PHASE_START};
    bool others_failed;
    char *const piece = malloc(PIECE);
    const int fd = piece ? open_nameless(d->folder) : -1;
    const double began = cud_now();
    s.error = fd < 0 ? errno : 0;
    for (size_t i = 0; piece && i < PIECE; i++)        /* not zeros, nor alike: some file systems would save the work */
        piece[i] = (char)(i * 2654435761u >> 13);
    for (unsigned k = 1; !s.error && s.bytes < bytes && cud_now() - began < seconds; k++) {
        const bool last = s.bytes + PIECE >= bytes;
        if (!write_piece(fd, piece, PIECE) || ((k % SYNC_EVERY == 0 || last) && fdatasync(fd) != 0))
            s.error = errno;
        else
            s.bytes += PIECE;
        if (cud_rank_pump(d->ranks, &report, &others_failed, &d->err) != CUD_OK)
            break;
    }
    if (fd >= 0)
        close(fd);
    s.seconds = cud_now() - began;
    free(piece);
    return s;
}

/* What a rank may write without getting in the way of others: whole pieces of a quarter of the room. */
static uint64_t share_of_speed(const struct cud_doctor *d, int writers)
{
    struct statvfs fs;
    uint64_t bytes = WRITE_BYTES;
    if (statvfs(d->folder, &fs) != 0)
        return 0;
    const uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize / 4;
    bytes = (left < bytes ? left : bytes) / (uint64_t)writers;
    bytes = file_limit() < bytes ? file_limit() : bytes;
    return bytes / PIECE * PIECE;
}

static void judge_speed(const struct speed *all, int ranks, int writers, struct cud_finding *f)
{
    struct speed sum = {0};
    for (int r = 0; r < ranks; r++) {
        sum.error |= all[r].error;
        sum.bytes += all[r].bytes;
        sum.seconds = all[r].seconds > sum.seconds ? all[r].seconds : sum.seconds;
    }
    if (!sum.bytes || sum.error)
        return;
    const double speed = (double)sum.bytes / sum.seconds;
    cud_find(f, speed < SLOW ? CUD_WARNING : CUD_FINE, "a faster file system by -o, fewer ranks, or --write root",
             "%.0f MiB/s by %d rank%s, to the disk (%.0f MiB in %.1f s)", speed / (1 << 20), writers,
             writers > 1 ? "s at once" : "", mib(sum.bytes), sum.seconds);
}

void cud_check_speed(struct cud_doctor *d, struct cud_finding *f)
{
    struct speed mine = {0};
    const int writers = d->direct ? d->count : 1;
    const double quarter = d->job->timeout > 0 ? d->job->timeout / 4 : WRITE_SECONDS;
    const double seconds = quarter < WRITE_SECONDS ? quarter : WRITE_SECONDS;
    if (!d->folder[0] || d->folder_bad)
        return;
    if (d->me == 0 && d->job->verbose >= 0)
        cud_note("note: writing at most %" PRIu64 " MiB to %s for at most %.1f s, to files without a name",
                WRITE_BYTES >> 20, d->folder, seconds);
    const uint64_t bytes = share_of_speed(d, writers);
    if (cud_rank_agree(d->ranks, &d->err) == CUD_OK && (d->direct || d->me == 0) && bytes > 0)
        mine = measure(d, bytes, seconds);
    if (mine.error)
        cud_find(f, CUD_PROBLEM, "another folder by -o", "writing to %s: %s", d->folder, strerror(mine.error));
    struct speed *const all = cud_doctor_all(d, &mine, sizeof mine);
    if (all && d->me == 0)
        judge_speed(all, d->count, writers, f);
    free(all);
}
