/* What may not be written. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "commit.h"

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
    return FAIL(err, CUD_EUSAGE, "%s: is not a regular file; give the name of one, - for stdout, or none", path);
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

/* Outputs and results by name, and what lies beside them meanwhile. */
static enum cud_status check_apart(const struct cud_target *t, struct cud_err *err)
{
    const char *const pair[][2] = { { t->result, t->path }, { t->result, t->part }, { t->result, t->lock_path[0] },
                                    { t->result_tmp, t->path }, { t->path, t->lock_path[1] } };
    const char *const others[] = { t->path, t->part, t->mark, t->result, t->result_tmp, t->lock_path[0], t->lock_path[1] };
    for (size_t i = 0; i < COUNT(pair); i++)
        if (same_name(pair[i][0], pair[i][1]))
            return FAIL(err, CUD_EUSAGE, "%s: is wanted for two things; use --result for another name", pair[i][0]);
    for (size_t i = 0; i < COUNT(others); i++)
        if (same_name(t->trace, others[i]) || same_name(t->trace_tmp, others[i]))
            return FAIL(err, CUD_EUSAGE, "%s: is wanted for two things; use --trace for another name", others[i]);
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

enum cud_status cud_target_check(const struct cud_sink_facts *facts, struct cud_target *t, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    TRY(names_make(facts, t, err));
    if (t->path)
        TRY(check_folder(t->path, err));
    if (t->result)
        TRY(check_folder(t->result, err));
    if (t->trace)
        TRY(check_folder(t->trace, err));
    if (same_name(t->lock_path[0], t->lock_path[1])) {
        free(t->lock_path[1]);
        t->lock_path[1] = NULL;
    }
    const char *const mine[] = { t->path, t->result, t->mark, t->part, t->result_tmp, t->trace, t->trace_tmp, t->lock_path[0],
                                 t->lock_path[1] };
    for (size_t i = 0; i < COUNT(mine); i++)
        if (mine[i]) {
            TRY(check_not_input(mine[i], facts, err));
            TRY(check_kind(mine[i], err));
        }
    TRY(check_apart(t, err));
    TRY(check_as_left(t, err));
    if (!strcmp(facts->path, "-"))
        TRY(check_stdout(facts, err));
done:
    return status;
}
