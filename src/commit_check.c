/* What may not be written. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "commit.h"
#include "number.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- names */

static char *with_suffix(const char *path, const char *suffix)
{
    char *name = NULL;
    return asprintf(&name, "%s%s", path, suffix) < 0 ? NULL : name;
}

static bool is_file_name(const char *name) { return strcmp(name, "-") && strcmp(name, "none"); }

char *cud_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static const char *last_of(const char *path) { return strrchr(path, '/') ? strrchr(path, '/') + 1 : path; }

/* A result x.json has the lock of an output x, whose result it would be by default: x.lock. */
static char *result_lock(const char *result)
{
    char *name = NULL;
    const size_t n = strlen(last_of(result)), json = strlen(".json");
    const bool by_default = n > json && !strcmp(last_of(result) + n - json, ".json");
    const int keep = (int)(strlen(result) - (by_default ? json : 0));
    return asprintf(&name, "%.*s.lock", keep, result) < 0 ? NULL : name;
}

static enum cud_status names_make(const struct cud_sink_facts *facts, struct cud_target *t, struct cud_err *err)
{
    t->force = facts->force;
    t->result_stdout = !strcmp(facts->result, "-");
    bool good = true;
    if (is_file_name(facts->path)) {
        good = good && (t->path = strdup(facts->path));
        good = good && (t->part = with_suffix(facts->path, ".part"));
        good = good && (t->lock_path[0] = with_suffix(facts->path, ".lock"));
        good = good && (t->mark = with_suffix(facts->path, ".json"));
    }
    if (is_file_name(facts->result)) {
        good = good && (t->result = strdup(facts->result));
        good = good && (t->result_tmp = with_suffix(facts->result, ".tmp"));
        good = good && (t->lock_path[1] = result_lock(facts->result));
    }
    if (facts->trace) {
        good = good && (t->trace = strdup(facts->trace));
        good = good && (t->trace_tmp = with_suffix(facts->trace, ".tmp"));
    }
    return good ? CUD_OK : FAIL(err, CUD_EFAILED, "no memory for file names");
}

/* By folder and name: neither need exist, and /a/./b is /a/b. */
static bool same_name(const char *a, const char *b)
{
    struct stat x, y;
    if (!a || !b || strcmp(last_of(a), last_of(b)))
        return false;
    char *fa = cud_folder_of(a), *fb = cud_folder_of(b);
    const bool same = fa && fb && !stat(fa, &x) && !stat(fb, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    free(fa);
    free(fb);
    return same;
}

/* ---- what stands in the way, whoever put it there */

static enum cud_status check_folder(const char *path, struct cud_err *err)
{
    struct stat s;
    enum cud_status status = CUD_OK;
    char *folder = cud_folder_of(path);
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

/* A file that this run may make, and the option that gives it another name. */
struct made { const char *path, *option; bool given; };           /* given: by that name, and not with a suffix of ours */

/* Only a regular file may ever be replaced: not a device, not a link (which would be replaced, not what it points to). */
static enum cud_status check_kind(const struct made *m, struct cud_err *err)
{
    struct stat s;
    if (lstat(m->path, &s))
        return errno == ENOENT ? CUD_OK : FAIL(err, CUD_EUSAGE, "%s: cannot write there: %s", m->path, strerror(errno));
    if (S_ISREG(s.st_mode))
        return CUD_OK;
    const char *const what = S_ISDIR(s.st_mode) ? "a folder" : S_ISLNK(s.st_mode) ? "a symbolic link" : "not a regular file";
    if (!m->given)
        return FAIL(err, CUD_EUSAGE, "%s: is %s; remove it, or use %s for another name", m->path, what, m->option);
    if (S_ISLNK(s.st_mode))
        return FAIL(err, CUD_EUSAGE, "%s: is %s; give the name of the file itself", m->path, what);
    return FAIL(err, CUD_EUSAGE, "%s: is %s; give the name of a file%s", m->path, what,
                strcmp(m->option, "--trace") == 0 ? "" : ", - for stdout, or none");
}

static enum cud_status check_not_input(const struct made *m, const struct cud_sink_facts *facts, struct cud_err *err)
{
    struct stat out, in;
    if (lstat(m->path, &out))
        return CUD_OK;
    for (size_t i = 0; i < facts->inputs; i++)
        if (!stat(facts->input[i], &in) && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return FAIL(err, CUD_EUSAGE, "%s: is read by this run%s%s, and would be overwritten; use %s for another name", m->path,
                        same_name(m->path, facts->input[i]) ? "" : " as ",
                        same_name(m->path, facts->input[i]) ? "" : facts->input[i], m->option);
    return CUD_OK;
}

/* Outputs and results by name, and what lies beside them meanwhile. */
static enum cud_status check_apart(const struct cud_target *t, struct cud_err *err)
{
    const struct { const char *path, *what; } others[] = {
        {t->path, "the output"}, {t->part, "the unfinished output"}, {t->lock_path[0], "the output's lock"},
        {t->result, "the result"}, {t->result_tmp, "the unfinished result"}, {t->lock_path[1], "the result's lock"},
        {t->mark, "the output's own result"}};
    const int pair[][2] = {{3, 0}, {3, 1}, {3, 2}, {4, 0}, {0, 5}};
    for (size_t i = 0; i < COUNT(pair); i++)
        if (same_name(others[pair[i][0]].path, others[pair[i][1]].path))
            return FAIL(err, CUD_EUSAGE, "%s: would be %s and %s; use --result for another name", others[pair[i][0]].path,
                        others[pair[i][0]].what, others[pair[i][1]].what);
    for (size_t i = 0; i < COUNT(others); i++)
        if (same_name(t->trace, others[i].path) || same_name(t->trace_tmp, others[i].path))
            return FAIL(err, CUD_EUSAGE, "%s: would be %s and the trace; use --trace for another name", others[i].path,
                        others[i].what);
    return CUD_OK;
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

/* ---- what is there already */

/* A result that is written and has not its name yet stands beside OUT for the moment between two renames only. */
bool cud_target_is_unfinished(const struct cud_target *t)
{
    return t->path && t->result_tmp && cud_left_has(&t->left, t->path) && cud_left_has(&t->left, t->result_tmp);
}

static enum cud_status check_absent(const char *path, const char *option, bool force, struct cud_err *err)
{
    struct stat s;
    if (!path || force || lstat(path, &s))
        return CUD_OK;
    return FAIL(err, CUD_EEXISTS, "%s exists; use -f to replace it or %s for another name", path, option);
}

/* Only what is known to be a killed run's may go. */
static enum cud_status check_left(const struct cud_target *t, const char *path, const char *option, struct cud_err *err)
{
    struct stat s;
    if (!path || lstat(path, &s) || cud_left_has(&t->left, path))
        return CUD_OK;
    return FAIL(err, CUD_EEXISTS, "%s exists, and no lock says that a killed run left it; remove or rename it, or use %s for "
                "another name", path, option);
}

enum cud_status cud_target_check_absent(const struct cud_target *t, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    TRY(check_absent(t->path, "-o", t->force || cud_target_is_unfinished(t), err));
    TRY(check_absent(t->mark, "-o", t->force, err));
    TRY(check_absent(t->result, "--result", t->force, err));
    TRY(check_absent(t->trace, "--trace", t->force, err));
    TRY(check_absent(t->trace_tmp, "--trace", t->force, err));
    TRY(check_left(t, t->part, "-o", err));
    TRY(check_left(t, t->result_tmp, "--result", err));
done:
    return status;
}

/* Whether what a lock says counts is decided when the lock is held. */
static enum cud_status check_as_left(const struct cud_target *t, struct cud_err *err)
{
    struct cud_target now = *t;
    for (int i = 0; i < CUD_TARGET_LOCKS; i++)
        if (t->lock_path[i])
            cud_lock_look(t->lock_path[i], &now.left);
    return cud_target_check_absent(&now, err);
}

enum cud_status cud_target_check_room(const struct cud_target *t, uint64_t bytes, struct cud_err *err)
{
    struct statvfs fs;
    char needed[32], left[32], *const folder = t->path ? cud_folder_of(t->path) : NULL;
    const bool known = folder && statvfs(folder, &fs) == 0;
    free(folder);
    const uint64_t room = known ? (uint64_t)fs.f_bavail * fs.f_frsize : UINT64_MAX;
    if (bytes <= room)
        return CUD_OK;
    return FAIL(err, CUD_EFAILED, "%s: takes %s, and %s are free there; make room, or use -o for another place", t->path,
                cud_number_bytes(bytes, needed), cud_number_bytes(room, left));
}

enum cud_status cud_target_check(const struct cud_sink_facts *facts, struct cud_target *t, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    TRY(names_make(facts, t, err));
    if (t->path)
        TRY(check_folder(t->path, err));
    if (t->result)
        TRY(check_folder(t->result, err));
    if (t->trace && !is_file_name(last_of(t->trace)))              /* what other options take */
        return FAIL(err, CUD_EUSAGE, "--trace %s: give the name of a file", last_of(t->trace));
    if (t->trace)
        TRY(check_folder(t->trace, err));
    if (same_name(t->lock_path[0], t->lock_path[1])) {
        free(t->lock_path[1]);
        t->lock_path[1] = NULL;
    }
    const struct made mine[] = {
        {t->path, "-o", true}, {t->result, "--result", true}, {t->mark, "-o", false}, {t->part, "-o", false},
        {t->result_tmp, "--result", false}, {t->trace, "--trace", true}, {t->trace_tmp, "--trace", false},
        {t->lock_path[0], "-o", false}, {t->lock_path[1], "--result", false}};
    for (size_t i = 0; i < COUNT(mine); i++)
        if (mine[i].path) {
            TRY(check_not_input(&mine[i], facts, err));
            TRY(check_kind(&mine[i], err));
        }
    TRY(check_apart(t, err));
    TRY(check_as_left(t, err));
    if (!strcmp(facts->path, "-"))
        TRY(check_stdout(facts, err));
done:
    return status;
}
