#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../tap.h"
#include "commit.h"

#define JSON "{ \"schema\": 1 }\n"
#define ROWS 3

static char *inputs[] = { "in.npy", "random:shape=5", "missing" };
static struct cud_err err;
static struct cud_target target;
static int fd;

static struct cud_sink_facts facts(const char *path, const char *result, bool force)
{
    return (struct cud_sink_facts){ .path = path, .result = result, .force = force, .head = (const unsigned char *)"HEAD",
                                    .head_bytes = 4, .row_bytes = 2, .rows = ROWS, .inputs = 3, .input = inputs };
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    fputs(text, f);
    fclose(f);
}

static bool holds(const char *name, const char *text)
{
    char got[256] = "";
    FILE *f = fopen(name, "r");
    if (!f)
        return text == NULL;
    size_t n = fread(got, 1, sizeof got - 1, f);
    fclose(f);
    return text && n == strlen(text) && !memcmp(got, text, n);
}

static enum cud_status start(const char *path, const char *result, bool force)
{
    struct cud_sink_facts f = facts(path, result, force);
    enum cud_status status = CUD_OK;
    memset(&err, 0, sizeof err);
    fd = -1;
    TRY(cud_target_check(&f, &target, &err));
    TRY(cud_target_make(&f, "here", &target, &fd, &err));
    if (fd >= 0 && cud_write_at(fd, "aabbcc", 6, 4))
        status = CUD_EFAILED;
done:
    return status;
}

static enum cud_status commit(void)
{
    memset(&err, 0, sizeof err);
    return cud_target_commit(&target, JSON, strlen(JSON), &err);
}

static void end(void)
{
    if (fd >= 0)
        close(fd);
    cud_target_close(&target);
}

static bool nothing_left(void) { return access("o.bin.part", F_OK) && access("o.bin.lock", F_OK) && access("o.bin.json.tmp", F_OK); }

static void refused(const char *path, const char *result, bool force, enum cud_status want, const char *text)
{
    enum cud_status got = start(path, result, force);
    ok(got == want && strstr(err.text, text), "refused: %s", err.text);
    end();
    ok(nothing_left(), "... and nothing is left");
}

static void test_good(void)
{
    ok(start("o.bin", "o.bin.json", false) == CUD_OK, "made: %s", err.text);
    struct stat s = { 0 };
    ok(!stat("o.bin.part", &s) && s.st_size == 4 + 2 * ROWS && (s.st_mode & 0777) == 0640, "OUT.part has full size and the umask's mode");
    ok(access("o.bin.lock", F_OK) == 0 && access("o.bin", F_OK) != 0, "with a lock, and no OUT yet");
    ok(commit() == CUD_OK, "committed: %s", err.text);
    end();
    ok(holds("o.bin", "HEADaabbcc") && holds("o.bin.json", JSON) && nothing_left(), "output and result are there, and nothing else");

    refused("o.bin", "o.bin.json", false, CUD_EEXISTS, "o.bin exists; use -f to replace it or -o for another name");
    unlink("o.bin");
    refused("o.bin", "o.bin.json", false, CUD_EEXISTS, "o.bin.json exists; use -f");
    refused("o.bin", "none", false, CUD_EEXISTS, "o.bin.json exists; use -f");

    put("o.bin", "older");
    ok(start("o.bin", "o.bin.json", true) == CUD_OK && holds("o.bin", "older") && holds("o.bin.json", JSON), "-f touches nothing yet");
    end();
    ok(holds("o.bin", "older") && holds("o.bin.json", JSON) && nothing_left(), "a run that fails leaves the older output");
    put("o.bin.json", "old result");
    ok(start("o.bin", "none", true) == CUD_OK && commit() == CUD_OK, "replaced: %s", err.text);
    end();
    ok(holds("o.bin", "HEADaabbcc") && holds("o.bin.json", NULL), "an old result does not stand beside a new output");
    unlink("o.bin");
    ok(start("none", "r.json", false) == CUD_OK && commit() == CUD_OK, "a result alone: %s", err.text);
    end();
    ok(holds("r.json", JSON) && nothing_left(), "is written");
    refused("none", "r.json", false, CUD_EEXISTS, "r.json exists; use -f to replace it or --result for another name");
    unlink("r.json");
}

/* A run that is killed when it has made OUT.part; or, `late`, between the renames of the output and of the result. */
static void killed(const char *path, const char *result, bool late)
{
    int code = -1;
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(start(path, result, false) != CUD_OK || (late && commit() != CUD_OK));
    ok(waitpid(pid, &code, 0) == pid && code == 0, "a run is killed");
    if (late)
        rename("o.bin.json", "o.bin.json.tmp");
}

static void test_stale(void)
{
    put("o.bin.part", "a user's own");
    enum cud_status got = start("o.bin", "none", true);
    ok(got == CUD_EEXISTS && strstr(err.text, "o.bin.part exists, and no lock says that a killed run left it"), "%s", err.text);
    end();
    ok(holds("o.bin.part", "a user's own"), "is as it was");
    unlink("o.bin.part");
    put("o.bin.json.tmp", "a user's own");
    got = start("o.bin", "o.bin.json", true);
    ok(got == CUD_EEXISTS && strstr(err.text, "o.bin.json.tmp exists, and no lock"), "%s", err.text);
    end();
    ok(holds("o.bin.json.tmp", "a user's own"), "is as it was");
    unlink("o.bin.json.tmp");

    killed("o.bin", "none", false);
    ok(!access("o.bin.part", F_OK) && !access("o.bin.lock", F_OK), "it leaves its .part and .lock");
    struct cud_sink_facts f = facts("o.bin", "none", false);
    ok(cud_target_check(&f, &target, &err) == CUD_OK && !access("o.bin.part", F_OK), "which a look does not mind, nor touch: %s", err.text);
    end();
    ok(start("o.bin", "none", false) == CUD_OK && commit() == CUD_OK, "the next run discards them: %s", err.text);
    end();
    ok(holds("o.bin", "HEADaabbcc") && nothing_left(), "and its output is right");
    unlink("o.bin");
    killed("o.bin", "none", false);
    unlink("o.bin.part");
    put("o.bin.part", "a user's own");
    got = start("o.bin", "none", true);
    ok(got == CUD_EEXISTS && holds("o.bin.part", "a user's own"), "another .part beside the lock is kept: %s", err.text);
    end();
    unlink("o.bin.part");
    unlink("o.bin.lock");
}

static void test_unfinished(void)
{
    int code = -1;
    killed("o.bin", "o.bin.json", true);
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        code = start("o.bin", "o.bin.json", false);
        end();
        _exit(code);
    }
    ok(waitpid(pid, &code, 0) == pid && code == 0 && holds("o.bin", "HEADaabbcc"), "the next run fails: the output stays");
    ok(start("o.bin", "o.bin.json", false) == CUD_OK, "the one after that makes it again: %s", err.text);
    ok(holds("o.bin", "HEADaabbcc") && commit() == CUD_OK, "%s", err.text);
    end();
    ok(holds("o.bin", "HEADaabbcc") && holds("o.bin.json", JSON) && nothing_left(), "all is there");
    unlink("o.bin");
    unlink("o.bin.json");

    killed("o.bin", "o.bin.json", true);
    ok(start("o.bin", "o.bin.json", false) == CUD_OK, "again");
    unlink("o.bin");
    put("o.bin", "came up meanwhile");
    ok(commit() == CUD_EEXISTS && holds("o.bin", "came up meanwhile"), "what is not the killed run's is kept: %s", err.text);
    end();
    ok(holds("o.bin.part", "HEADaabbcc"), "and the finished work");
    unlink("o.bin.part");
    unlink("o.bin");
}

/* A result of one name is one run's, and a default result goes with its output. */
static void test_one_result(void)
{
    static const char *const both[][2][2] = { { { "none", "r.json" }, { "none", "r.json" } }, { { "none", "r.json" }, { "./r", "none" } },
                                              { { "o.bin", "none" }, { "none", "o.bin.json" } }, { { "o.bin", "r.txt" }, { "none", "./r.txt" } },
                                              { { "o.bin", "none" }, { "r.bin", "o.bin" } }, { { "o.bin", "r.bin" }, { "r.bin", "none" } } };
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        ok(start(both[i][0][0], both[i][0][1], false) == CUD_OK, "-o %s --result %s", both[i][0][0], both[i][0][1]);
        struct cud_target first = target;
        const int first_fd = fd;
        memset(&target, 0, sizeof target);
        ok(start(both[i][1][0], both[i][1][1], true) == CUD_EEXISTS && strstr(err.text, "another run is writing this output"), "%s", err.text);
        end();
        target = first;
        fd = first_fd;
        ok(commit() == CUD_OK, "the first one is through: %s", err.text);
        end();
        ok(nothing_left() && access("r.lock", F_OK) && access("r.txt.lock", F_OK) && access("r.bin.lock", F_OK), "and no lock is left");
        unlink("o.bin");
        unlink("r.json");
        unlink("r.txt");
        unlink("r.bin");
    }
}

static void test_in_use(void)
{
    ok(start("o.bin", "none", false) == CUD_OK, "a run");
    struct cud_target first = target;
    memset(&target, 0, sizeof target);
    int first_fd = fd;
    ok(start("o.bin", "none", true) == CUD_EEXISTS && strstr(err.text, "another run is writing"), "a second: %s", err.text);
    end();
    target = first;
    fd = first_fd;
}

/* Goes on where the last one stopped: a run that is cut off. */
static void test_cut_off(void)
{
    ok(!access("o.bin.part", F_OK), "the second run did not remove the first one's .part");
    rename("o.bin.part", "mine");
    put("o.bin.part", "another's");
    ok(commit() == CUD_EFAILED && strstr(err.text, "replaced"), "another's .part is not committed: %s", err.text);
    unlink("o.bin.lock");
    ok(commit() == CUD_EFAILED && strstr(err.text, "lock is gone"), "nor without the lock: %s", err.text);
    end();
    ok(holds("o.bin.part", "another's") && access("o.bin", F_OK), "nor removed");
    unlink("o.bin.part");
    unlink("mine");

    ok(start("o.bin", "o.bin.json", false) == CUD_OK, "a run");
    put("o.bin", "came up meanwhile");
    ok(commit() == CUD_EEXISTS && strstr(err.text, "o.bin.part: rename it"), "%s", err.text);
    end();
    ok(holds("o.bin", "came up meanwhile") && holds("o.bin.part", "HEADaabbcc") && holds("o.bin.json.tmp", NULL), "both are kept");
    unlink("o.bin");
    unlink("o.bin.part");

    ok(start("o.bin", "none", true) == CUD_OK, "a run that may replace");
    mkdir("o.bin", 0777);
    ok(commit() == CUD_EEXISTS && strstr(err.text, "o.bin.part: rename it"), "a folder: %s", err.text);
    end();
    ok(rmdir("o.bin") == 0 && holds("o.bin.part", "HEADaabbcc"), "both are kept");
    unlink("o.bin.part");

    ok(start("o.bin", "o.bin.json", false) == CUD_OK, "a run");
    put("o.bin.json", "came up meanwhile");
    ok(commit() == CUD_EEXISTS && strstr(err.text, "it is o.bin.json.tmp: rename it"), "%s", err.text);
    end();
    ok(holds("o.bin.json", "came up meanwhile") && holds("o.bin.json.tmp", JSON), "a result that came up meanwhile, and the new one");
    unlink("o.bin");
    unlink("o.bin.json");
    unlink("o.bin.json.tmp");

    ok(start("o.bin", "o.bin.json", false) == CUD_OK, "a run");
    put("o.bin.json.tmp", "came up meanwhile");
    ok(commit() == CUD_EFAILED && strstr(err.text, "o.bin.json.tmp: cannot be made"), "%s", err.text);
    end();
    ok(holds("o.bin.json.tmp", "came up meanwhile") && access("o.bin", F_OK) && access("o.bin.part", F_OK), "is kept, and nothing is in place");
    unlink("o.bin.json.tmp");
}

static void test_refused(void)
{
    put("in.npy", "input");
    refused("in.npy", "none", true, CUD_EUSAGE, "is read by this run");
    refused("./in.npy", "none", false, CUD_EUSAGE, "is read by this run");
    refused("o.bin", "in.npy", true, CUD_EUSAGE, "is read by this run");
    ok(link("in.npy", "o.bin") == 0, "a hard link to the input");
    refused("o.bin", "none", true, CUD_EUSAGE, "is read by this run");
    rename("o.bin", "o.bin.part");
    unlink("o.bin");                       /* a rename between two links of one file does nothing */
    unlink("o.bin.part");
    ok(link("in.npy", "o.bin.part") == 0, "a hard link to the input, called .part");
    struct cud_sink_facts f = facts("o.bin", "none", true);
    memset(&err, 0, sizeof err);
    ok(cud_target_check(&f, &target, &err) == CUD_EUSAGE && strstr(err.text, "is read by this run"), "refused: %s", err.text);
    end();
    ok(holds("in.npy", "input"), "the input is as it was");
    unlink("o.bin.part");
    ok(symlink("in.npy", "o.bin") == 0, "a link to the input");
    refused("o.bin", "none", true, CUD_EUSAGE, "is a symbolic link");
    unlink("o.bin");
    refused("/dev/null", "none", true, CUD_EUSAGE, "is not a regular file");
    refused("none", "/dev/null", true, CUD_EUSAGE, "is not a regular file");
    mkdir("d", 0777);
    refused("d", "none", true, CUD_EUSAGE, "is a folder");
    refused("d/", "none", true, CUD_EUSAGE, "is a folder");
    rmdir("d");
    refused("no/o.bin", "none", false, CUD_EUSAGE, "folder no: No such file");
    refused("in.npy/o.bin", "none", false, CUD_EUSAGE, "in.npy is not a folder");
    refused("o.bin", "no/r.json", false, CUD_EUSAGE, "folder no: No such file");
    refused("o.bin", "./o.bin", false, CUD_EUSAGE, "the result and the output;");
    refused("o.bin", "./o.bin.lock", false, CUD_EUSAGE, "the output's lock");
    refused("o.bin", "o.bin.part", false, CUD_EUSAGE, "the unfinished output");
    char name[300];
    memset(name, 'x', 255);
    name[255] = 0;
    refused(name, "none", false, CUD_EUSAGE, "File name too long");
    if (geteuid() != 0) {
        mkdir("r", 0555);
        refused("r/o.bin", "none", false, CUD_EUSAGE, "Permission denied");
        rmdir("r");
    }
    unlink("in.npy");
}

int main(void)
{
    char folder[] = "/tmp/cudist-commit-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder))
        return 99;
    umask(027);
    setvbuf(stdout, NULL, _IOLBF, 0);
    test_refused();
    test_good();
    test_stale();
    test_unfinished();
    test_one_result();
    test_in_use();
    test_cut_off();
    ok(rmdir(folder) == 0, "no file is left");
    return done_testing();
}
