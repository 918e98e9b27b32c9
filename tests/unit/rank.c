/* Ranks: what tests/program/rank.t starts under mpirun.  Alone (make check) it does "meet" with one rank.
 *
 *   rank meet                 every collective and message, then TAP from rank 0
 *   rank work KEY=VALUE...    pretends to stream, as a program would:
 *       timeout=S seconds=S   how long a rank has rows to do
 *       stall=R               rank R's rows stop, it still pumps
 *       block=R               rank R's main thread does not come by any more
 *       last=R                rank R has four times as long to do
 *       wait=R                rank R waits for ever for something, while the others come to agree
 *       fail=R                rank R fails after half of its time
 *       early=R               rank R has no rows
 *     Rank 0 prints "pid RANK PID" of all and then "go"; at the end every rank prints "end RANK STATUS TEXT". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "rank.h"
#include "rank_own.h"
#include "tests/tap.h"


static int bad;                            /* failed checks of this rank */

static void check(int good, int line, const char *what)
{
    if (good)
        return;
    bad++;
    fprintf(stderr, "# line %d: %s\n", line, what);
}
#define CHECK(x) check(!!(x), __LINE__, #x)

/* All ranks' checks become one line of TAP. */
static void all_ok(struct cud_ranks *r, const char *name)
{
    struct cud_err err = {0};
    int *all = calloc((size_t)cud_rank_count(r), sizeof *all), sum = 0;
    CHECK(cud_rank_gather(r, &bad, sizeof bad, all, &err) == CUD_OK);
    for (int i = 0; i < cud_rank_count(r); i++)
        sum += all[i];
    if (cud_rank_me(r) == 0)
        ok(sum == 0, "%s, %d ranks", name, cud_rank_count(r));
    free(all);
    bad = 0;
}

static void meet_bytes(struct cud_ranks *r, size_t n)
{
    struct cud_err err = {0};
    const int me = cud_rank_me(r), count = cud_rank_count(r);
    unsigned char *mine = malloc(n + 1), *all = malloc(n * (size_t)count + 1);
    for (size_t i = 0; i < n; i++)
        mine[i] = (unsigned char)(me == 0 ? i * 7 : 255);
    CHECK(cud_rank_bcast(r, mine, n, &err) == CUD_OK);
    for (size_t i = 0; i < n; i++)
        if (mine[i] != (unsigned char)(i * 7))
            CHECK(!"bcast");

    void *any = me == 0 ? mine : NULL;
    size_t any_n = me == 0 ? n : 12345;
    CHECK(cud_rank_bcast_any(r, &any, &any_n, &err) == CUD_OK);
    CHECK(any_n == n && memcmp(any, mine, n) == 0);
    if (me != 0)
        free(any);

    for (size_t i = 0; i < n; i++)
        mine[i] = (unsigned char)(i + (size_t)me * 3);
    for (int pass = 0; pass < 2; pass++) {
        memset(all, 0xee, n * (size_t)count + 1);
        if (pass == 0)
            CHECK(cud_rank_gather(r, mine, n, me == 0 ? all : NULL, &err) == CUD_OK);
        else
            CHECK(cud_rank_allgather(r, mine, n, all, &err) == CUD_OK);
        for (size_t i = 0; (pass == 1 || me == 0) && i < n * (size_t)count; i++)
            if (all[i] != (unsigned char)(i % n + i / n * 3))
                CHECK(!"gather");
        CHECK(all[n * (size_t)count] == 0xee);
    }
    free(mine);
    free(all);
}

static void meet_agree(struct cud_ranks *r)
{
    const int me = cud_rank_me(r), count = cud_rank_count(r);
    struct cud_err err = {0};
    CHECK(cud_rank_agree(r, &err) == CUD_OK && err.status == CUD_OK);
    for (int first = 0; first < count; first++) {      /* first and all after it fail */
        err = (struct cud_err){0};
        if (me >= first)
            CHECK(FAIL(&err, CUD_EINPUT, "rank %d is unhappy", me) == CUD_EINPUT);
        CHECK(cud_rank_agree(r, &err) == CUD_EINPUT);
        char text[64];
        snprintf(text, sizeof text, "rank %d is unhappy", first);
        CHECK(err.rank == first && err.status == CUD_EINPUT && strcmp(err.text, text) == 0);
    }
    err = (struct cud_err){0};                         /* all stop, the last fails: that counts */
    if (me == count - 1)
        CHECK(FAIL(&err, CUD_EFAILED, "worse") == CUD_EFAILED);
    else
        CHECK(FAIL(&err, CUD_ESTOPPED, "stopped") == CUD_ESTOPPED);
    CHECK(cud_rank_agree(r, &err) == CUD_EFAILED && err.rank == count - 1);
    err = (struct cud_err){0};
    if (me == count - 1)
        CHECK(FAIL(&err, CUD_ESTOPPED, "stopped") == CUD_ESTOPPED);
    CHECK(cud_rank_agree(r, &err) == CUD_ESTOPPED && err.rank == count - 1);
}

/* Round the ring, several in flight; and to rank 0 by probe. */
static void meet_messages(struct cud_ranks *r)
{
    enum { MESSAGES = 20, BYTES = 100000 };
    const int me = cud_rank_me(r), count = cud_rank_count(r);
    struct cud_err err = {0};
    struct cud_message *out[MESSAGES], *in[MESSAGES];
    char *from = calloc(MESSAGES, BYTES), *to = calloc(MESSAGES, BYTES);
    for (int i = 0; i < MESSAGES; i++) {
        memset(from + i * BYTES, me + i, BYTES);
        CHECK(cud_rank_receive(r, (me + count - 1) % count, 7, to + i * BYTES, BYTES, &in[i], &err) == CUD_OK);
        CHECK(cud_rank_send(r, (me + 1) % count, 7, from + i * BYTES, BYTES, &out[i], &err) == CUD_OK);
    }
    for (int i = 0; i < MESSAGES; i++) {
        bool done = false;
        while (!done)
            CHECK(cud_message_test(&in[i], &done, &err) == CUD_OK);
        CHECK(in[i] == NULL && cud_message_wait(&out[i], &err) == CUD_OK && out[i] == NULL);
        CHECK(to[i * BYTES] == (char)((me + count - 1) % count + i) && to[(i + 1) * BYTES - 1] == to[i * BYTES]);
    }
    if (me != 0) {
        CHECK(cud_rank_send(r, 0, 9, from, (size_t)me, &out[0], &err) == CUD_OK);
        CHECK(cud_message_wait(&out[0], &err) == CUD_OK);
    }
    for (int left = me == 0 ? count - 1 : 0; left > 0;) {
        bool found = false;
        int who = -1;
        size_t n = 0;
        CHECK(cud_rank_probe(r, -1, 9, &found, &who, &n, &err) == CUD_OK);
        if (!found)
            continue;
        CHECK(who > 0 && n == (size_t)who);
        CHECK(cud_rank_receive(r, who, 9, to, n, &in[0], &err) == CUD_OK && cud_message_wait(&in[0], &err) == CUD_OK);
        left--;
    }
    free(from);
    free(to);
}

static int meet(struct cud_ranks *r)
{
    static const size_t sizes[] = {1, 3, 100, 1000, 4096, 100000};
    CHECK(cud_rank_me(r) >= 0 && cud_rank_me(r) < cud_rank_count(r));
    CHECK(cud_rank_node_me(r) < cud_rank_node_count(r) && cud_rank_node_first(r) <= cud_rank_me(r));
    CHECK(cud_rank_host(r)[0] && cud_rank_library(r)[0] && !strchr(cud_rank_library(r), ','));
    all_ok(r, "names and numbers");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        meet_bytes(r, sizes[i]);
    all_ok(r, "bcast, gather, allgather");
    const size_t piece = r->piece;
    r->piece = 999;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        meet_bytes(r, sizes[i]);
    r->piece = piece;
    all_ok(r, "the same in pieces");
    meet_agree(r);
    all_ok(r, "agree");
    meet_messages(r);
    all_ok(r, "messages");
    return cud_rank_me(r) == 0 ? done_testing() : 0;
}

/* ---- work */

struct script {
    double timeout, seconds;
    int stall, block, wait, fail, early, last;
};

static void read_script(int n, char **word, struct script *s)
{
    *s = (struct script){.seconds = 1, .stall = -1, .block = -1, .wait = -1, .fail = -1, .early = -1, .last = -1};
    for (int i = 0; i < n; i++) {
        const char *value = strchr(word[i], '=') ? strchr(word[i], '=') + 1 : "";
        int *const rank = !strncmp(word[i], "stall=", 6) ? &s->stall : !strncmp(word[i], "block=", 6) ? &s->block :
            !strncmp(word[i], "wait=", 5) ? &s->wait : !strncmp(word[i], "fail=", 5) ? &s->fail :
            !strncmp(word[i], "early=", 6) ? &s->early : !strncmp(word[i], "last=", 5) ? &s->last : NULL;
        if (rank)
            *rank = atoi(value);
        else
            *(strncmp(word[i], "timeout=", 8) ? &s->seconds : &s->timeout) = atof(value);
    }
}

static void show_pids(struct cud_ranks *r)
{
    struct cud_err err = {0};
    long mine = getpid(), *all = calloc((size_t)cud_rank_count(r), sizeof *all);
    (void)!cud_rank_gather(r, &mine, sizeof mine, all, &err);
    for (int i = 0; cud_rank_me(r) == 0 && i < cud_rank_count(r); i++)
        printf("pid %d %ld\n", i, all[i]);
    if (cud_rank_me(r) == 0)
        printf("go\n");
    fflush(stdout);
    free(all);
}

static void stream(struct cud_ranks *r, const struct script *s, struct cud_err *err)
{
    const int me = cud_rank_me(r);
    const double began = cud_now(), seconds = me == s->last ? 4 * s->seconds : s->seconds;
    struct cud_report mine = {.phase = CUD_PHASE_STREAM, .rows_all = 1000};
    for (double t = 0; me != s->early && mine.rows_done < mine.rows_all; t = cud_now() - began) {
        bool others_failed = false;
        while (me == s->block && t > 0.3)
            sleep(1000);
        if (!(me == s->stall && t > 0.3))
            mine.rows_done = t >= seconds ? 1000 : (uint64_t)(t / seconds * 1000);
        mine.row0 = 1000 * (uint64_t)me + mine.rows_done;
        mine.row1 = mine.row0 + 10;
        if (me == s->wait) {
            mine.rows_done = 500;
            mine.row1 = mine.row0;
        }
        if (me == s->fail && t > s->seconds / 2)
            mine.status = FAIL(err, CUD_EINPUT, "row %d is bad", 500);
        if (cud_rank_pump(r, &mine, &others_failed, err) != CUD_OK || others_failed)
            break;
        if (mine.status)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}

static int work(struct cud_ranks *r, int n, char **word)
{
    struct script s;
    struct cud_err err = {0};
    read_script(n, word, &s);
    cud_ranks_timeout(r, s.timeout);
    cud_ranks_device(r, "cpu");
    show_pids(r);
    stream(r, &s, &err);
    const enum cud_status status = cud_rank_agree(r, &err);
    printf("end %d %d %d %s\n", cud_rank_me(r), (int)status, err.rank, err.text);
    fflush(stdout);
    return status;
}

/* Of Open MPI, that are mapped. */
static int components(void)
{
    char line[4200];
    int n = 0;
    FILE *const f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f))
        n += strstr(line, " r-xp ") && strstr(line, "mca_");
    if (f)
        fclose(f);
    return n;
}

int main(int argc, char **argv)
{
    struct cud_ranks *r = NULL;
    struct cud_err err = {0};
    if (cud_ranks_start(&argc, &argv, &r, &err) != CUD_OK) {
        cud_say(-1, "%s", err.text);
        return err.status;
    }
    const char *what = argc > 1 ? argv[1] : "meet";
    const int code = strcmp(what, "work") == 0 ? work(r, argc - 2, argv + 2) : meet(r);
    const int loaded = components(), rest = cud_ranks_finish(r, code);
    const int gone = loaded - components();
#ifdef OPEN_MPI
    const bool kept = loaded > 0 && gone == 0;
#else
    const bool kept = gone == 0;           /* MPICH is one library */
#endif
    if (!kept)
        printf("# %d of %d components were unloaded, while threads of MPI may run in them\n", gone, loaded);
    return kept ? rest : 1;
}
