#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../tap.h"
#include "lock.h"

static char folder[] = "/tmp/cudist-lock-XXXXXX", path[64];
static struct cud_left left;

static enum cud_status take(const char *host, struct cud_lock **l, struct cud_err *err)
{
    memset(err, 0, sizeof *err);
    memset(&left, 0, sizeof left);
    *l = NULL;
    return cud_lock_take(path, host, l, &left, err);
}

static void write_lock(const char *text, int age)
{
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
    struct timespec t[2] = { { .tv_sec = time(NULL) - age }, { .tv_sec = time(NULL) - age } };
    utimensat(AT_FDCWD, path, t, 0);
}

/* A child that takes the lock, says so, and waits to be killed. */
static pid_t holder(void)
{
    int ready[2];
    char byte = 0;
    if (pipe(ready))
        exit(99);
    pid_t pid = fork();
    if (pid == 0) {
        struct cud_lock *l;
        struct cud_err err;
        byte = take("here", &l, &err) == CUD_OK;
        if (write(ready[1], &byte, 1) == 1)
            pause();
        _exit(0);
    }
    ok(read(ready[0], &byte, 1) == 1 && byte == 1, "another process takes the lock");
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void test_one(void)
{
    struct cud_lock *l, *second;
    struct cud_err err;
    char text[512] = "", want[64];
    ok(take("here", &l, &err) == CUD_OK && !*left.who, "a free lock is taken: %s", err.text);
    FILE *f = fopen(path, "r");
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    snprintf(want, sizeof want, "host here\npid %ld\n", (long)getpid());
    ok(!strncmp(text, "cudist lock\nrun ", 16) && strstr(text, want), "it says who");
    ok(take("here", &second, &err) == CUD_EEXISTS && strstr(err.text, "on host here"), "not twice: %s", err.text);
    struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    utimensat(AT_FDCWD, path, old, 0);
    memset(&err, 0, sizeof err);
    struct stat s = { 0 };
    ok(cud_lock_check(l, &err) == CUD_OK && !stat(path, &s) && time(NULL) - s.st_mtime < 5, "a check keeps it fresh");
    cud_lock_drop(l, false);
    ok(access(path, F_OK) != 0, "dropped, it is gone");
    cud_lock_drop(NULL, false);
}

static void test_owners(void)
{
    struct cud_lock *l;
    struct cud_err err;
    pid_t pid = holder();
    char want[64];
    snprintf(want, sizeof want, "pid %ld on host here", (long)pid);
    ok(take("here", &l, &err) == CUD_EEXISTS && strstr(err.text, want), "a live owner is named: %s", err.text);
    kill(pid, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    ok(take("here", &l, &err) == CUD_OK && !strcmp(left.who, want), "a killed one's lock is taken over, not yet reaped: %s", left.who);
    waitpid(pid, NULL, 0);
    cud_lock_drop(l, false);

    /* Without a lock on the open file: what the text says. */
    char text[256];
    snprintf(text, sizeof text, "cudist lock\nrun a\nhost here\npid %ld\nstart 0\njob none\n", (long)getpid());
    write_lock(text, 100);
    ok(take("here", &l, &err) == CUD_EEXISTS, "a process that is there: %s", err.text);
    snprintf(text, sizeof text, "cudist lock\nrun a\nhost here\npid %ld\nstart 1\njob none\n", (long)getpid());
    write_lock(text, 0);
    ok(take("here", &l, &err) == CUD_OK, "its number was used before, by one that started at another time: %s", err.text);
    cud_lock_drop(l, false);
}

static void test_hosts(void)
{
    struct cud_lock *l;
    struct cud_err err;
    const char *text = "cudist lock\nrun a\nhost there\npid 1\nstart 5\njob 77\n";
    write_lock(text, 10);
    ok(take("here", &l, &err) == CUD_EEXISTS && strstr(err.text, "pid 1 on host there, Slurm job 77"), "fresh: %s", err.text);
    write_lock(text, -10);
    ok(take("here", &l, &err) == CUD_EEXISTS, "fresh, and its clock is ahead");
    write_lock(text, 100);
    ok(take("here", &l, &err) == CUD_OK && !strcmp(left.who, "pid 1 on host there, Slurm job 77"), "silent: taken over");
    cud_lock_drop(l, false);

    write_lock(text, 5000);
    pid_t pid = fork();
    if (pid == 0) {                        /* its clock is behind, but it lives */
        for (int i = 0; i < 40; i++) {
            struct timespec t[2] = { { .tv_sec = time(NULL) - 5000, .tv_nsec = i }, { .tv_sec = time(NULL) - 5000, .tv_nsec = i } };
            utimensat(AT_FDCWD, path, t, 0);
            usleep(100000);
        }
        _exit(0);
    }
    ok(take("here", &l, &err) == CUD_EEXISTS, "its clock is behind, but moves: %s", err.text);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void test_odd(void)
{
    struct cud_lock *l;
    struct cud_err err;
    write_lock("", 0);
    ok(take("here", &l, &err) == CUD_OK && !*left.who, "an empty one, never signed: %s", err.text);
    write_lock("cudist lock\nrun x\nhost there\npid 5\nstart 1\njob none\n", 0);
    memset(&err, 0, sizeof err);
    ok(cud_lock_check(l, &err) == CUD_EFAILED && strstr(err.text, "pid 5 on host there"), "taken over while we slept: %s", err.text);
    cud_lock_drop(l, false);
    ok(access(path, F_OK) == 0, "another's is not removed");

    write_lock("cudist lo", 0);
    ok(take("here", &l, &err) == CUD_OK, "a torn one");
    unlink(path);
    memset(&err, 0, sizeof err);
    ok(cud_lock_check(l, &err) == CUD_EFAILED && strstr(err.text, "gone"), "removed: %s", err.text);
    cud_lock_drop(l, false);

    write_lock("my shopping list\n", 0);
    ok(take("here", &l, &err) == CUD_EEXISTS && strstr(err.text, "not a lock of cudist"), "somebody's file: %s", err.text);
    unlink(path);
    ok(symlink("/dev/null", path) == 0 && take("here", &l, &err) == CUD_EEXISTS, "a link: %s", err.text);
    unlink(path);
    mkdir(path, 0777);
    ok(take("here", &l, &err) == CUD_EEXISTS, "a folder: %s", err.text);
    rmdir(path);
    memset(&err, 0, sizeof err);
    ok(cud_lock_take("/nonexistent/x.lock", "here", &l, &left, &err) == CUD_EFAILED, "no such folder: %s", err.text);
}

static void put_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    fputs(text, f);
    fclose(f);
}

/* What a killed run left is told from anything else of that name. */
static void test_files(void)
{
    struct cud_lock *l;
    struct cud_err err;
    char part[64], other[64];
    snprintf(part, sizeof part, "%s/o.part", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    put_file(part, "a user's own");
    ok(take("here", &l, &err) == CUD_OK && !left.found && !cud_left_has(&left, part), "without a lock nothing is a killed run's");
    cud_lock_drop(l, true);
    ok(take("there", &l, &err) == CUD_EEXISTS, "a lock that is left as a killed run leaves it");
    write_lock("cudist lock\nrun a\nhost here\npid 4194304\nstart 5\njob none\n", 0);
    ok(take("here", &l, &err) == CUD_OK && left.found && !cud_left_has(&left, part), "a dead run's lock that names no file");
    put_file(other, "");
    ok(cud_left_has(&left, other), "but an empty file beside it may be its");
    put_file(other, "not empty");
    ok(cud_lock_claim(l, other, &err) == CUD_OK && cud_lock_claim(l, part, &err) == CUD_OK, "files are claimed: %s", err.text);
    struct cud_left seen = {0};
    cud_lock_look(path, &seen);
    ok(cud_left_has(&seen, other) && cud_left_has(&seen, part), "the lock tells so to whoever looks");

    /* Its owner dies, and so does the next one, before it has done anything. */
    char text[1024] = "", *files;
    FILE *f = fopen(path, "r");
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    cud_lock_drop(l, false);
    files = strstr(text, "file ");
    char dead[1024];
    snprintf(dead, sizeof dead, "cudist lock\nrun a\nhost here\npid 4194304\nstart 5\njob none\n%s", files ? files : "");
    for (int i = 0; i < 2; i++) {
        write_lock(dead, 0);
        ok(take("here", &l, &err) == CUD_OK && cud_left_has(&left, other) && cud_left_has(&left, part), "a dead run's files are known");
        memset(&seen, 0, sizeof seen);
        cud_lock_look(path, &seen);
        ok(cud_left_has(&seen, part), "and the new owner's lock names them too");
        cud_lock_drop(l, false);
    }
    unlink(other);
    put_file(other, "another one of that name");
    ok(!cud_left_has(&left, other), "a new file of that name is not the dead run's");
    for (int i = 0; i < 3 * CUD_LOCK_FILES; i++) {
        if (i == 0)
            take("here", &l, &err);
        cud_lock_claim(l, i % 2 ? part : other, &err);
    }
    memset(&seen, 0, sizeof seen);
    cud_lock_look(path, &seen);
    ok(seen.files == CUD_LOCK_FILES && cud_left_has(&seen, part), "the last %d count", CUD_LOCK_FILES);
    cud_lock_drop(l, false);
    unlink(other);
    unlink(part);
}

/* The name of a lock that is held, while it is something else. */
static void test_replaced(void)
{
    struct cud_lock *l;
    struct cud_err err;
    ok(take("here", &l, &err) == CUD_OK, "a lock");
    unlink(path);
    mkdir(path, 0777);
    ok(cud_lock_check(l, &err) == CUD_EFAILED && strstr(err.text, "replaced by something else"), "by a folder: %s", err.text);
    rmdir(path);
    memset(&err, 0, sizeof err);
    mkfifo(path, 0666);
    alarm(20);
    ok(cud_lock_check(l, &err) == CUD_EFAILED && strstr(err.text, "replaced by something else"), "by a pipe: %s", err.text);
    alarm(0);
    cud_lock_drop(l, false);
    ok(access(path, F_OK) == 0, "that is not removed");
    unlink(path);
}

/* Of many that come at once, to a dead owner's lock, one gets it. */
static void test_race(void)
{
    enum { RUNS = 12, ROUNDS = 6 };
    int bad = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int winners = 0, code;
        if (round % 2)
            write_lock("cudist lock\nrun a\nhost here\npid 4194304\nstart 5\njob none\n", 0);
        for (int i = 0; i < RUNS; i++)
            if (fork() == 0) {
                struct cud_lock *l;
                struct cud_err err;
                enum cud_status got = take("here", &l, &err);
                usleep(200000);            /* nobody leaves before all have come */
                _exit(got == CUD_OK ? 1 : got == CUD_EEXISTS ? 0 : 100);
            }
        for (int i = 0; i < RUNS; i++) {
            wait(&code);
            winners += WIFEXITED(code) ? WEXITSTATUS(code) : 1000;
        }
        bad += winners != 1;
        unlink(path);
    }
    ok(!bad, "of %d runs at once one gets the lock, %d times", RUNS, ROUNDS);
}

/* Owners that come and go: there are never two. */
static void test_turns(void)
{
    enum { RUNS = 8, TURNS = 4000 };
    char inside[64];
    int bad = 0, code, had = 0;
    snprintf(inside, sizeof inside, "%s/inside", folder);
    for (int i = 0; i < RUNS; i++)
        if (fork() == 0) {
            int wrong = 0, mine = 0;
            for (int turn = 0; turn < TURNS; turn++) {
                struct cud_lock *l;
                struct cud_err err;
                enum cud_status got = take("here", &l, &err);
                wrong += got != CUD_OK && got != CUD_EEXISTS;
                if (got != CUD_OK)
                    continue;
                int fd = open(inside, O_CREAT | O_EXCL | O_WRONLY, 0600);
                wrong += fd < 0;
                close(fd);
                unlink(inside);
                cud_lock_drop(l, false);
                mine = 1;
            }
            _exit(wrong ? 2 : mine);
        }
    for (int i = 0; i < RUNS; i++) {
        wait(&code);
        bad += !WIFEXITED(code) || WEXITSTATUS(code) > 1;
        had += WIFEXITED(code) && WEXITSTATUS(code) == 1;
    }
    ok(!bad && had && access(path, F_OK) != 0, "%d runs, %d times each: never two at once, and the last one leaves nothing", RUNS, TURNS);
}

int main(void)
{
    unsetenv("SLURM_JOB_ID");
    if (!mkdtemp(folder))
        return 99;
    snprintf(path, sizeof path, "%s/o.lock", folder);
    test_one();
    test_owners();
    test_hosts();
    test_odd();
    test_files();
    test_replaced();
    test_race();
    test_turns();
    rmdir(folder);
    return done_testing();
}
