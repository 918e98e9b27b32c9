/* The sink with ranks that are threads and messages that are lists: every way, every number of ranks, and failures. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../tap.h"
#include "sink.h"

enum { RANKS_MAX = 5, WINDOWS = 3, EAGER = 200 };

/* ---- ranks */

struct cud_message {
    struct cud_message *next;
    int from, to, tag;
    size_t n;
    const void *bytes;                     /* the sender's, or a copy */
    bool copied, taken;                    /* taken: the other side has it */
    void *into;                            /* a receive */
};

static struct cud_ranks { int me; } rank_of[RANKS_MAX];
static int count;
static pthread_barrier_t all_here;
static pthread_mutex_t post = PTHREAD_MUTEX_INITIALIZER;
static struct cud_message *mail;           /* sends not yet received, in order */
static int in_flight;                      /* messages not yet freed */
static struct cud_err error_of[RANKS_MAX];
static uint64_t shared[2];
static bool apart;                         /* the last rank's host has another folder of that name */

int cud_rank_me(const struct cud_ranks *r) { return r->me; }
int cud_rank_count(const struct cud_ranks *r) { (void)r; return count; }
const char *cud_rank_host(const struct cud_ranks *r) { (void)r; return "here"; }

enum cud_status cud_rank_agree(struct cud_ranks *r, struct cud_err *err)
{
    error_of[r->me] = *err;
    pthread_barrier_wait(&all_here);
    for (int i = count - 1; i >= 0; i--)
        if (error_of[i].status)
            *err = error_of[i];
    pthread_barrier_wait(&all_here);
    return (enum cud_status)err->status;
}

enum cud_status cud_rank_bcast(struct cud_ranks *r, void *bytes, size_t n, struct cud_err *err)
{
    (void)err;
    if (r->me == 0)
        memcpy(shared, bytes, n);
    pthread_barrier_wait(&all_here);
    memcpy(bytes, shared, n);
    ((char *)bytes)[0] ^= (char)(apart && r->me == count - 1);
    pthread_barrier_wait(&all_here);
    return CUD_OK;
}

const struct cud_report *cud_rank_report(const struct cud_ranks *r, int rank)
{
    static const struct cud_report none;
    (void)r, (void)rank;
    return &none;
}

enum cud_status cud_rank_pump(struct cud_ranks *r, const struct cud_report *mine, bool *others_failed, struct cud_err *err)
{
    (void)r, (void)mine, (void)err;
    *others_failed = false;
    return CUD_OK;
}

static struct cud_message *message(int from, int to, int tag, size_t n)
{
    struct cud_message *m = calloc(1, sizeof *m);
    *m = (struct cud_message){ .from = from, .to = to, .tag = tag, .n = n };
    in_flight++;
    return m;
}

enum cud_status cud_rank_send(struct cud_ranks *r, int to, int tag, const void *bytes, size_t n, struct cud_message **out,
                              struct cud_err *err)
{
    (void)err;
    pthread_mutex_lock(&post);
    struct cud_message *m = message(r->me, to, tag, n), **end = &mail;
    m->bytes = bytes;
    if (n <= EAGER) {                      /* as MPI does: the sender is done before anyone receives */
        m->bytes = memcpy(malloc(n + 1), bytes, n);
        m->copied = true;
    }
    while (*end)
        end = &(*end)->next;
    *end = m;
    *out = m;
    if (m->copied) {
        *out = message(r->me, to, tag, n);
        (*out)->taken = true;
    }
    pthread_mutex_unlock(&post);
    return CUD_OK;
}

static struct cud_message **find(int from, int to, int tag)
{
    struct cud_message **m = &mail;
    while (*m && !((*m)->to == to && (*m)->tag == tag && (from < 0 || (*m)->from == from)))
        m = &(*m)->next;
    return m;
}

enum cud_status cud_rank_receive(struct cud_ranks *r, int from, int tag, void *bytes, size_t n, struct cud_message **out,
                                 struct cud_err *err)
{
    (void)err;
    pthread_mutex_lock(&post);
    *out = message(from, r->me, tag, n);
    (*out)->into = bytes;
    pthread_mutex_unlock(&post);
    return CUD_OK;
}

enum cud_status cud_rank_probe(struct cud_ranks *r, int from, int tag, bool *found, int *who, size_t *n, struct cud_err *err)
{
    (void)err;
    pthread_mutex_lock(&post);
    const struct cud_message *m = *find(from, r->me, tag);
    *found = m != NULL;
    if (m)
        *who = m->from, *n = m->n;
    pthread_mutex_unlock(&post);
    return CUD_OK;
}

static void match(struct cud_message *receive)
{
    struct cud_message **at = find(receive->from, receive->to, receive->tag), *m = *at;
    if (!m)
        return;
    *at = m->next;
    memcpy(receive->into, m->bytes, m->n);
    receive->taken = m->n == receive->n;
    m->taken = true;
    if (m->copied) {
        free((void *)m->bytes);
        free(m);
        in_flight--;
    }
}

enum cud_status cud_message_test(struct cud_message **m, bool *done, struct cud_err *err)
{
    (void)err;
    pthread_mutex_lock(&post);
    if ((*m)->into && !(*m)->taken)
        match(*m);
    *done = (*m)->taken;
    if (*done) {
        free(*m);
        in_flight--;
        *m = NULL;
    }
    pthread_mutex_unlock(&post);
    return CUD_OK;
}

/* A lane that is ready now and then. */
struct cud_lane {
    struct cud_ranks *ranks;
    int tag;
    unsigned turns;
    struct { struct cud_message *message; char *bytes; } place[8];
};

static enum cud_status lane_open(struct cud_ranks *r, const struct cud_lane_facts *facts, struct cud_lane **lane, struct cud_err *err)
{
    struct cud_lane *l = *lane = calloc(1, sizeof *l);
    l->ranks = r;
    l->tag = facts->tag;
    for (unsigned i = 0; i < facts->places; i++)
        l->place[i].bytes = malloc(facts->bytes + 1);
    return cud_rank_agree(r, err);
}

static void lane_close(struct cud_lane *l)
{
    for (unsigned i = 0; l && i < 8; i++)
        free(l->place[i].bytes);
    free(l);
}

static enum cud_status lane_ready(struct cud_lane *l, bool *ready, struct cud_err *err)
{
    (void)err;
    *ready = l->turns++ % 3 == 2;
    return CUD_OK;
}

static enum cud_status lane_send(struct cud_lane *l, unsigned place, const void *bytes, size_t n, struct cud_err *err)
{
    return cud_rank_send(l->ranks, 0, l->tag, bytes, n, &l->place[place].message, err);
}

static enum cud_status lane_receive(struct cud_lane *l, unsigned place, int from, size_t n, struct cud_err *err)
{
    return cud_rank_receive(l->ranks, from, l->tag, l->place[place].bytes, n, &l->place[place].message, err);
}

static enum cud_status lane_test(struct cud_lane *l, unsigned place, bool *done, struct cud_err *err)
{
    struct cud_message **const m = &l->place[place].message;
    *done = true;
    return *m ? cud_message_test(m, done, err) : CUD_OK;
}

static const char *lane_bytes(const struct cud_lane *l, unsigned place) { return l->place[place].bytes; }
static void lane_give_up(struct cud_lane *l) { (void)l; }

static const struct cud_lane_kind lane = { .name = "test", .open = lane_open, .close = lane_close, .ready = lane_ready, .send = lane_send,
                                           .receive = lane_receive, .test = lane_test, .bytes = lane_bytes, .give_up = lane_give_up };

/* ---- a run */

static struct scene {
    const char *path;
    bool direct, force;
    uint64_t rows, unit_rows, window_rows, row_bytes;
    int fails;                             /* the rank that fails, -1: none */
    uint64_t after;                        /* so many windows of its own */
} scene;
static const unsigned char head[] = "the head: 24 bytes long.";
static struct cud_plan plan;
static atomic_bool failed;
static struct cud_grove *grove;            /* rank 0's */
static struct cud_err outcome[RANKS_MAX];

static void fill(char *bytes, uint64_t row0, uint64_t rows)
{
    for (uint64_t i = 0; i < rows * scene.row_bytes; i++) {
        uint64_t at = row0 * scene.row_bytes + i;
        bytes[i] = (char)(at ^ at >> 8 ^ at >> 16 ^ at >> 20);
    }
}

static void forest_of(const struct cud_window *w, const char *bytes, struct cud_forest *f)
{
    static const struct cud_leaf leaf = { .argmin = CUD_NONE, .argmax = CUD_NONE, .first_nan = CUD_NONE, .first_pinf = CUD_NONE,
                                          .first_ninf = CUD_NONE };
    static const struct cud_lost lost;
    cud_forest_start(f, w->unit0);
    for (uint64_t row = 0; row < w->rows; row += plan.unit_rows) {
        uint64_t rows = w->rows - row < plan.unit_rows ? w->rows - row : plan.unit_rows;
        cud_forest_add(f, CUD_REAL, &leaf, &lost, bytes + row * scene.row_bytes, rows * scene.row_bytes);
    }
}

struct slot { char *bytes; struct cud_forest forest; struct cud_window w; int state; };   /* 0 free, 1 filled, 2 passed */

/* One turn of the main thread of a rank; *next: the window to be made. */
static enum cud_status turn(struct cud_sink *sink, struct slot *slot, int me, uint64_t *next, bool *done, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    bool idle, taken = true;
    struct slot *s = &slot[*next % WINDOWS];
    if (atomic_load(&failed))
        return FAIL(err, CUD_ESTOPPED, "another one");
    if (s->state == 0 && cud_plan_window(&plan, me, *next, &s->w)) {
        if (me == scene.fails && *next == scene.after)
            return FAIL(err, CUD_EFAILED, "as wished");
        fill(s->bytes, s->w.row0, s->w.rows);
        forest_of(&s->w, s->bytes, &s->forest);
        s->state = 1;
    }
    if (s->state == 1) {
        if (cud_sink_by_main(sink))
            TRY(cud_sink_pass(sink, &s->w, s->bytes, &s->forest, s, &taken, err));
        else
            TRY(cud_sink_write(sink, s->w.row0, s->w.rows, s->bytes, err));
        s->state = !taken ? 1 : cud_sink_by_main(sink) ? 2 : 0;
        *next += taken;
    }
    TRY(cud_sink_turn(sink, grove, &idle, done, err));
    *done = *done && *next == cud_plan_windows(&plan, me);
    for (struct slot *back; (back = cud_sink_sent(sink));)
        back->state = 0;
    if (idle)
        usleep(20);
done:
    return status;
}

/* What a rank does that fails or hears of it: until nothing is under way.  Returns the windows that came back. */
static int give_up(struct cud_sink *sink, enum cud_status status)
{
    bool idle, done = false;
    int back = 0;
    struct cud_err ignored = { 0 };
    atomic_store(&failed, true);
    cud_sink_give_up(sink, status);
    while (!done && cud_sink_turn(sink, grove, &idle, &done, &ignored) == CUD_OK)
        usleep(20);
    while (cud_sink_sent(sink))
        back++;
    return back;
}

static void stream(struct cud_sink *sink, int me, struct cud_err *err)
{
    struct slot slot[WINDOWS] = { { 0 } };
    uint64_t next = 0;
    bool done = false;
    enum cud_status status = CUD_OK;
    for (int i = 0; i < WINDOWS; i++)
        slot[i].bytes = malloc(plan.window_units * plan.unit_rows * scene.row_bytes + 1);
    while (!done && status == CUD_OK)
        status = turn(sink, slot, me, &next, &done, err);
    int held = 0;
    for (int i = 0; i < WINDOWS; i++)
        held += slot[i].state == 2;
    if (status != CUD_OK && give_up(sink, status) < held)
        snprintf(err->text, sizeof err->text, "windows were not given back");
    for (int i = 0; i < WINDOWS; i++)
        free(slot[i].bytes);
}

static void *rank_run(void *arg)
{
    struct cud_ranks *r = arg;
    struct cud_err err = { 0 };
    struct cud_sink *sink = NULL;
    char result[256];
    snprintf(result, sizeof result, scene.path[0] == '/' ? "%s.json" : "none", scene.path);
    struct cud_sink_facts facts = { .path = scene.path, .result = result, .force = scene.force, .direct = scene.direct,
                                    .lane = &lane, .plan = &plan, .head = head, .head_bytes = sizeof head - 1,
                                    .row_bytes = scene.row_bytes, .rows = scene.rows };
    if (cud_sink_open(&facts, r, &sink, &err) == CUD_OK) {
        stream(sink, r->me, &err);
        outcome[r->me] = err;
        if (cud_rank_agree(r, &err) == CUD_OK) {
            (void)cud_sink_close(sink, &err);
            if (cud_rank_agree(r, &err) == CUD_OK && r->me == 0)
                (void)cud_sink_commit(sink, "{}\n", 3, &err);
        }
        cud_sink_free(sink);
    }
    outcome[r->me] = err;
    return NULL;
}

static enum cud_status run(int ranks)
{
    pthread_t thread[RANKS_MAX];
    bool ordered = scene.path[0] == '-';
    count = ranks;
    atomic_store(&failed, false);
    memset(outcome, 0, sizeof outcome);
    cud_plan_make(&(struct cud_plan_facts){ .rows = scene.rows, .in_row_bytes = scene.row_bytes, .out_row_bytes = scene.row_bytes,
                                            .widest_cols = 1, .batch = scene.unit_rows, .ordered = ordered,
                                            .window_bytes = scene.window_rows * scene.row_bytes, .head_bytes = sizeof head - 1,
                                            .ranks = ranks }, &plan);
    grove = cud_grove_make(CUD_REAL);
    pthread_barrier_init(&all_here, NULL, (unsigned)ranks);
    for (int i = 0; i < ranks; i++) {
        rank_of[i].me = i;
        pthread_create(&thread[i], NULL, rank_run, &rank_of[i]);
    }
    for (int i = 0; i < ranks; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&all_here);
    return (enum cud_status)outcome[0].status;
}

/* ---- what must come out */

static bool bytes_right(FILE *f)
{
    char got[sizeof head - 1], *row = malloc(scene.row_bytes + 1), *want = malloc(scene.row_bytes + 1);
    bool good = fread(got, 1, sizeof got, f) == sizeof got && !memcmp(got, head, sizeof got);
    for (uint64_t i = 0; good && i < scene.rows; i++) {
        fill(want, i, 1);
        good = fread(row, 1, scene.row_bytes, f) == scene.row_bytes && !memcmp(row, want, scene.row_bytes);
    }
    good = good && fgetc(f) == EOF;
    free(row);
    free(want);
    return good;
}

static bool forest_right(void)
{
    struct cud_forest all;
    char *bytes = malloc(scene.rows * scene.row_bytes + 1);
    fill(bytes, 0, scene.rows);
    forest_of(&(struct cud_window){ .rows = scene.rows, .units = plan.units }, bytes, &all);
    free(bytes);
    if (!scene.rows)
        return cud_grove_count(grove) == 0;
    return cud_grove_count(grove) == 1 && !memcmp(cud_grove_at(grove, 0), &all, CUD_FOREST_BYTES(all.n));
}

static char folder[] = "/tmp/cudist-sink-XXXXXX", out[64], name[96];

static bool exists(const char *suffix)
{
    snprintf(name, sizeof name, "%s%s", out, suffix);
    return access(name, F_OK) == 0;
}

static void file_case(int ranks)
{
    enum cud_status got = run(ranks);
    FILE *f = fopen(out, "r");
    ok(got == CUD_OK && f && bytes_right(f) && exists(".json") && !exists(".part") && !exists(".lock") && !in_flight,
       "%s, %d ranks, %llu rows of %llu bytes %s", scene.direct ? "direct" : "root", ranks, (unsigned long long)scene.rows,
       (unsigned long long)scene.row_bytes, outcome[0].text);
    if (f)
        fclose(f);
    cud_grove_free(grove);
    unlink(out);
    unlink((exists(".json"), name));
}

/* stdout is a pipe while the run lasts; its reader is slow, or leaves after so many bytes. */
static struct { int fd; uint64_t leaves; bool right; } reader;

static void *reader_run(void *arg)
{
    FILE *f = fdopen(reader.fd, "r");
    (void)arg;
    if (reader.leaves == 0)
        reader.right = bytes_right(f);
    for (uint64_t i = 0; i < reader.leaves && fgetc(f) != EOF; i++)
        ;
    fclose(f);
    return NULL;
}

static enum cud_status run_to_pipe(int ranks, uint64_t leaves)
{
    int ends[2], saved = dup(STDOUT_FILENO);
    pthread_t thread;
    if (pipe(ends))
        return CUD_EFAILED;
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    reader.fd = ends[0];
    reader.leaves = leaves;
    reader.right = false;
    pthread_create(&thread, NULL, reader_run, NULL);
    enum cud_status got = run(ranks);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    pthread_join(thread, NULL);
    return got;
}

static void stdout_case(int ranks)
{
    enum cud_status got = run_to_pipe(ranks, 0);
    ok(got == CUD_OK && reader.right && forest_right() && !in_flight, "stdout, %d ranks, %llu rows of %llu bytes %s", ranks,
       (unsigned long long)scene.rows, (unsigned long long)scene.row_bytes, outcome[0].text);
    cud_grove_free(grove);
}

static void test_good(void)
{
    static const uint64_t shape[][4] = { { 1000, 8, 24, 16 }, { 17, 2, 5, 1500000 }, { 0, 8, 8, 16 }, { 3, 1, 1, 8 }, { 5, 1, 2, 0 },
                                         { 5000, 1, 1, 4 }, { 9, 100, 100, 1000000 } };
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        scene = (struct scene){ .rows = shape[i][0], .unit_rows = shape[i][1], .window_rows = shape[i][2], .row_bytes = shape[i][3],
                                .fails = -1 };
        for (int ranks = 1; ranks <= RANKS_MAX; ranks += ranks == 3 ? 2 : 1) {
            scene.path = out;
            scene.direct = true;
            file_case(ranks);
            scene.direct = false;
            file_case(ranks);
            scene.path = "-";
            stdout_case(ranks);
        }
    }
    scene.path = "none";
    ok(run(3) == CUD_OK && !exists("") && !exists(".part"), "none: nothing is written");
    cud_grove_free(grove);
}

static void fail_case(int ranks)
{
    bool to_pipe = scene.path[0] == '-';
    enum cud_status got = to_pipe ? run_to_pipe(ranks, UINT64_MAX) : run(ranks);
    int right = got == CUD_EFAILED || got == CUD_ESTOPPED, as_wished = !strcmp(outcome[scene.fails].text, "as wished");
    for (int i = 0; i < ranks; i++)
        right += !strcmp(outcome[i].text, "as wished") || !strcmp(outcome[i].text, "another one");
    ok(right == ranks + 1 && (as_wished || ranks > 1) && !in_flight && !mail && (to_pipe || !exists("")) && !exists(".part") &&
           !exists(".lock"),
       "%s, %d ranks, %d fails after %llu windows: all end, nothing is left", to_pipe ? "stdout" : scene.direct ? "direct" : "root",
       ranks, scene.fails, (unsigned long long)scene.after);
    cud_grove_free(grove);
}

static void test_fail(void)
{
    for (int ranks = 1; ranks <= 4; ranks++)
        for (int way = 0; way < 3; way++)
            for (int k = 0; k < 3 * ranks; k++) {
                scene = (struct scene){ .path = way == 2 ? "-" : out, .direct = way == 0, .rows = 200, .unit_rows = 1,
                                        .window_rows = 5, .row_bytes = 40000, .fails = k / 3, .after = (uint64_t)(k % 3) * 4 };
                fail_case(ranks);
            }
}

static void test_stdout_gone(void)
{
    for (int ranks = 1; ranks <= 3; ranks++) {
        scene = (struct scene){ .path = "-", .rows = 500, .unit_rows = 1, .window_rows = 5, .row_bytes = 40000, .fails = -1 };
        enum cud_status got = run_to_pipe(ranks, 3000000);
        ok(got == CUD_EFAILED && !strcmp(outcome[0].text, "stdout: its reader has gone") && !in_flight,
           "stdout's reader leaves, %d ranks: %s", ranks, outcome[0].text);
        cud_grove_free(grove);
        int saved = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY);
        dup2(full, STDOUT_FILENO);
        close(full);
        got = run(ranks);
        dup2(saved, STDOUT_FILENO);
        close(saved);
        ok(got == CUD_EFAILED && !strcmp(outcome[0].text, "stdout: No space left on device") && !in_flight, "it is full: %s",
           outcome[0].text);
        cud_grove_free(grove);
    }
}

static void test_open(void)
{
    scene = (struct scene){ .path = out, .direct = true, .rows = 10, .unit_rows = 1, .window_rows = 5, .row_bytes = 4, .fails = -1 };
    close(open(out, O_CREAT | O_WRONLY, 0666));
    ok(run(3) == CUD_EEXISTS && outcome[2].status == CUD_EEXISTS && strstr(outcome[2].text, "exists; use -f"),
       "all ranks leave with rank 0's error: %s", outcome[2].text);
    cud_grove_free(grove);
    scene.force = true;
    apart = true;
    ok(run(3) == CUD_EFAILED && strstr(outcome[0].text, "does not see the file") && exists("") && !exists(".part"),
       "a host with a folder of its own: %s", outcome[0].text);
    cud_grove_free(grove);
    apart = false;
    file_case(3);
    scene.force = false;
    scene.rows = (uint64_t)1 << 50;        /* more than a file can be, here or anywhere */
    scene.row_bytes = 8192;
    ok(run(2) == CUD_EFAILED && !exists(".part") && !exists(".lock"), "too long a file: %s", outcome[1].text);
    cud_grove_free(grove);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 99;
    stdout = fdopen(dup(STDOUT_FILENO), "w");
    snprintf(out, sizeof out, "%s/o.bin", folder);
    test_open();
    test_good();
    test_fail();
    test_stdout_gone();
    ok(rmdir(folder) == 0, "no file is left");
    int bad = done_testing();
    fflush(stdout);
    return bad;
}
