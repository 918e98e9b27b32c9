/* The job as bytes; and by its bytes, that the three spellings of an option, and --show-config, lead to the same job. */
#include "job_help.h"
#include "text.h"

/* ---- the three spellings of each option lead to the same job */

static const char *sample(const struct cud_option *o)
{
    static const struct { const char *name, *value; } samples[] = {
        {"kernel", "relu"}, {"expr", "x*2"}, {"input", "x.npy"}, {"dtype", "f64"}, {"shape", "3x4"}, {"offset", "4K"}, {"output", "none"},
        {"out-dtype", "bf16"}, {"result", "r.json"}, {"trace", "t.json"}, {"write", "root"}, {"device", "cpu"}, {"comm", "mpi"},
        {"nan", "omit"}, {"batch", "7"}, {"window", "3M"}, {"threads", "5"}, {"timeout", "1.5"}, {"progress", "0"},
    };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        if (strcmp(samples[i].name, o->name) == 0)
            return samples[i].value;
    return o->value ? NULL : "yes";
}

static void *packed(const char *env, const char *file, const char *args, size_t *n)
{
    struct cud_job job;
    struct cud_err err;
    void *bytes = NULL;
    if (read_job(env, file, args, &job, &err) != CUD_OK) {
        printf("# %s\n", err.text);
        return NULL;
    }
    free(job.job_file);                    /* where it came from is all that may differ */
    job.job_file = NULL;
    if (cud_job_pack(&job, &bytes, n, &err) != CUD_OK)
        printf("# %s\n", err.text);
    cud_job_free(&job);
    return bytes;
}

static bool same(const void *a, size_t an, const void *b, size_t bn) { return a && b && an == bn && memcmp(a, b, an) == 0; }

/* By argv: --NAME=VALUE, or --NAME VALUE in two arguments. */
static void *by_argv(const struct cud_option *o, const char *value, const char *rest, bool two, size_t *n)
{
    char args[256];
    if (!(o->places & CUD_IN_ARGV))
        snprintf(args, sizeof args, "%s|%s", rest, value);
    else if (two && !o->value)
        snprintf(args, sizeof args, "%s|--%s", rest, o->name);
    else
        snprintf(args, sizeof args, "%s|--%s%c%s", rest, o->name, two ? '|' : '=', value);
    return packed(NULL, NULL, args, n);
}

static void test_spelling(const struct cud_option *o, const char *value, const char *rest)
{
    char name[CUD_OPTION_ENV], env[256], file[256];
    size_t n[5] = {0};
    snprintf(env, sizeof env, "%s=%s", cud_option_env(o, name), value);
    snprintf(file, sizeof file, "%s = %s\n", o->name, value);
    void *plain = packed(NULL, NULL, *rest == '-' ? "other.npy|-k|exp" : rest, &n[0]);
    void *one = by_argv(o, value, rest, false, &n[1]), *two = by_argv(o, value, rest, true, &n[2]);
    void *in_env = o->places & CUD_IN_ENV ? packed(env, NULL, rest, &n[3]) : NULL, *in_file = packed(NULL, file, rest, &n[4]);
    ok(plain && one && !same(one, n[1], plain, n[0]), "%s changes the job", o->name);
    ok(same(one, n[1], two, n[2]), "%s: value in the same or in the next argument", o->name);
    ok(!(o->places & CUD_IN_ENV) || same(one, n[1], in_env, n[3]), "%s: %s says the same", o->name, name);
    ok(same(one, n[1], in_file, n[4]), "%s: a job file says the same", o->name);
    free(plain);
    free(one);
    free(two);
    free(in_env);
    free(in_file);
}

static void test_spellings(void)
{
    static const char most[] = "in.npy|-k|exp";
    const struct cud_option *o;
    for (size_t i = 0; (o = cud_option_at(i)); i++) {
        const char *value = sample(o);
        if (o->action != CUD_RUN || o->places == CUD_IN_ARGV)
            continue;
        if (ok(value != NULL, "%s has a sample in this test", o->name))
            test_spelling(o, value, o->many == CUD_ALL_INPUTS ? "-k|exp" : o->many == CUD_ALL_STEPS ? "in.npy" : most);
    }
}

/* ---- --show-config is a job file that says the same */

static void test_show_config(void)
{
    static const char args[] = "in.npy|a #b.npy|-k|dense:weights='x #y',bias=\"z|-k|exp|-vv|-w|3M|--dtype|f64|--shape|3x4|-f|"
                               "--offset|1|-t|5|--out-dtype|i8|--write|root|-d|cpu|--comm|mpi|--share-gpus|-b|7|--threads|2|"
                               "--progress|3|--nan|fail";
    struct cud_job job;
    struct cud_err err;
    size_t n = 0, m = 0;
    void *first = packed(NULL, NULL, args, &n);
    if (!ok(read_job(NULL, NULL, args, &job, &err) == CUD_OK, "a job with all options"))
        printf("# %s\n", err.text);
    char *text = show(&job);
    void *again = packed(NULL, text, "", &m);
    if (!ok(same(first, n, again, m), "--show-config is a job file that says the same"))
        printf("# %s\n", text);
    cud_job_free(&job);
    free(first), free(again), free(text);
}

/* Three words of any bytes but |, which read_job splits at; often of those that mean something somewhere. */
static void any_words(unsigned seed, char word[3][16])
{
    static const char often[] = "\n\t\r\"'\\# =,:/x0\x1b\xc3\xa9\xff";
    srand(seed);
    for (int w = 0; w < 3; w++) {
        const int n = 1 + rand() % 12;
        for (int i = 0; i < n; i++) {
            const char c = rand() % 3 ? often[rand() % (int)(sizeof often - 1)] : (char)(1 + rand() % 255);
            word[w][i] = c == '|' ? 'x' : c;
        }
    }
}

/* Plain text of so many lines. */
static bool is_plain(const char *text, size_t lines)
{
    char *const copy = strdup(text), *const clean = strdup(text);
    for (char *c; (c = strchr(clean, '\n')); lines--)
        copy[c - clean] = *c = ' ';
    const bool plain = strcmp(cud_text_clean(clean), copy) == 0 && lines == 0;
    free(copy), free(clean);
    return plain;
}

static void test_any_bytes(void)
{
    size_t options = 0;
    bool good = true;
    for (size_t i = 0; cud_option_at(i); i++)
        options += cud_option_at(i)->action == CUD_RUN;
    for (unsigned seed = 1; seed <= 300 && good; seed++) {
        char word[3][16] = {"", "", ""}, args[128];
        struct cud_job job;
        struct cud_err err;
        size_t n = 0, m = 0;
        any_words(seed, word);
        snprintf(args, sizeof args, "./%s|-k|x%s|-o|./%s", word[0], word[1], word[2]);
        void *first = packed(NULL, NULL, args, &n);
        good = read_job(NULL, NULL, args, &job, &err) == CUD_OK;
        char *text = show(&job);
        void *again = packed(NULL, text, "", &m);
        good = good && is_plain(text, options) && same(first, n, again, m);
        if (!good)
            printf("# seed %u\n# %s\n", seed, text);
        cud_job_free(&job);
        free(first), free(again), free(text);
    }
    ok(good, "--show-config of any bytes is plain text, a line each, and says the same");
}

/* ---- the job as bytes */

static void test_fields(const struct cud_job *job, const struct cud_job *copy)
{
    const struct cud_given *g = &copy->given;
    ok(copy->inputs == 2 && strcmp(copy->input[0], job->input[0]) == 0 && strcmp(copy->input[1], job->input[1]) == 0, "inputs");
    ok(copy->steps == 2 && strcmp(copy->step[1].text, "exp:x=1") == 0 && copy->step[1].kind == 'k', "steps");
    ok(g->has_type && g->type == CUD_U16 && g->has_offset && g->offset == 8, "type and offset");
    ok(g->has_shape && g->shape.ndim == 3 && g->shape.dim[0] == 3 && g->shape.dim[2] == 5, "shape");
    ok(strcmp(copy->output, "none") == 0 && strcmp(copy->result, "-") == 0 && copy->force, "output and result");
    ok(copy->has_out_type && copy->out_type == CUD_F16 && copy->write == CUD_WRITE_ROOT, "how the output is written");
    ok(strcmp(copy->device, "cuda") == 0 && strcmp(copy->comm, "mpi") == 0 && copy->share_gpus, "devices");
    ok(copy->nan == CUD_NAN_OMIT && copy->batch == 9 && copy->window == 5120 && copy->threads == 6, "batch, window, threads");
    ok(copy->timeout == 7 && copy->progress == 8 && copy->dry_run && copy->verbose == -1, "timeout, progress, dry run, quiet");
    ok(copy->job_file && strcmp(copy->job_file, job->job_file) == 0 && copy->settings == 0, "job file; no origins");
}

/* n bytes in memory of just that length, byte `at` of them changed. */
static enum cud_status unpack_damaged(const void *bytes, size_t n, size_t at, unsigned char with, struct cud_err *err)
{
    struct cud_job job = {0};
    unsigned char *copy = malloc(n + !n);
    memcpy(copy, bytes, n);
    memset(err, 0, sizeof *err);
    if (at < n)
        copy[at] = with;
    enum cud_status status = cud_job_unpack(copy, n, &job, err);
    free(copy);
    cud_job_free(&job);
    return status;
}

static void test_damage(const void *bytes, size_t n)
{
    static const unsigned char with[] = {0, 1, 0x7f, 0x80, 0xff};
    struct cud_err err;
    size_t taken = 0;
    for (size_t cut = 0; cut < n; cut++)
        taken += unpack_damaged(bytes, cut, n, 0, &err) == CUD_OK;
    ok(taken == 0, "cut anywhere, it is refused");
    for (size_t i = 0; i < n * sizeof with; i++)
        taken += unpack_damaged(bytes, n, i / sizeof with, with[i % sizeof with], &err) == CUD_OK;
    ok(taken < n * sizeof with, "damaged anywhere, it does not crash");
    ok(unpack_damaged(bytes, n, 13, 0xff, &err) == CUD_EFAILED && strstr(err.text, "another version"), "%s", err.text);
}

static void test_pack(void)
{
    static const char args[] = "in.npy|b.npy|-k|relu|-k|exp:x=1|--dtype|u16|--shape|3x4x5|--offset|8|-o|none|--result|-|-f|-q|"
                               "--out-dtype|f16|--write|root|-d|cuda|--comm|mpi|--share-gpus|-b|9|-w|5K|--threads|6|-t|7|"
                               "--progress|8|--dry-run|--nan|omit";
    struct cud_job job, copy = {0};
    struct cud_err err;
    void *bytes = NULL, *again = NULL;
    size_t n = 0, m = 0;
    ok(read_job(NULL, "window = 1K", args, &job, &err) == CUD_OK, "a job with all options: %s", err.text);
    ok(cud_job_pack(&job, &bytes, &n, &err) == CUD_OK, "packed: %s", err.text);
    ok(cud_job_unpack(bytes, n, &copy, &err) == CUD_OK, "unpacked: %s", err.text);
    test_fields(&job, &copy);
    ok(cud_job_pack(&copy, &again, &m, &err) == CUD_OK && same(bytes, n, again, m), "the same bytes again");
    test_damage(bytes, n);
    cud_job_free(&copy);
    cud_job_free(&job);
    free(bytes);
    free(again);
}

/* --help and the like go to all ranks too, so that they end together. */
static void test_actions(void)
{
    static const char *const args[] = {"--help", "--version", "--list-kernels", "--show-config", "--info|x.npy", "in.npy"};
    for (size_t i = 0; i < sizeof args / sizeof *args; i++) {
        struct cud_job job, copy = {0};
        struct cud_err err;
        void *bytes = NULL;
        size_t n = 0;
        ok(read_job(NULL, NULL, args[i], &job, &err) == CUD_OK && cud_job_pack(&job, &bytes, &n, &err) == CUD_OK &&
           cud_job_unpack(bytes, n, &copy, &err) == CUD_OK && copy.action == job.action, "%s to all ranks: %s", args[i],
           err.text);
        cud_job_free(&copy);
        cud_job_free(&job);
        free(bytes);
    }
}

int main(void)
{
    begin();
    test_spellings();
    test_show_config();
    test_any_bytes();
    test_pack();
    test_actions();
    return end();
}
