/* From argv, environment and job file to a job: all places, all errors. */
#include "job_help.h"

/* ---- jobs that are right: what --show-config says of them (runs of blanks taken for one) */

static const struct { const char *env, *file, *args, *want; } good[] = {
    /* forms of the command line */
    {NULL, NULL, "in.npy|--window|64M", "window = 64M # command line"},
    {NULL, NULL, "in.npy|--window=64M", "window = 64M # command line"},
    {NULL, NULL, "in.npy|-w|64M", "window = 64M # command line"},
    {NULL, NULL, "in.npy|-w64M", "window = 64M # command line"},
    {NULL, NULL, "--win|64M|in.npy", "window = 64M # command line"},
    {NULL, NULL, "--win=64M|in.npy", "window = 64M # command line"},
    {NULL, NULL, "in.npy|-k|scale", "kernel = scale # command line"},
    {NULL, NULL, "in.npy|-kscale", "kernel = scale # command line"},
    {NULL, NULL, "in.npy|--kernel=scale:factor=3", "kernel = scale:factor=3 # command line"},
    {NULL, NULL, "in.npy|-fq", "force = yes # command line"},
    {NULL, NULL, "in.npy|-fq", "quiet = yes # command line"},
    {NULL, NULL, "in.npy|-fw1K", "window = 1K # command line"},
    {NULL, NULL, "in.npy|-fw|1K", "window = 1K # command line"},
    {NULL, NULL, "in.npy|--force=no", "force = no # command line"},
    {NULL, NULL, "in.npy|--share-gpus=Yes", "share-gpus = Yes # command line"},
    {NULL, NULL, "in.npy|-w|1K|-w|2K", "# batch = # not given\nwindow = 2K # command line"},
    {NULL, NULL, "in.npy|-v", "verbose = yes # command line"},
    {NULL, NULL, "in.npy|-v|-v", "verbose = 2 # command line"},
    {NULL, NULL, "in.npy|-vvv", "verbose = 2 # command line"},
    {NULL, NULL, "in.npy|--verbose=2", "verbose = 2 # command line"},
    {NULL, NULL, "in.npy|-q|-v", "verbose = yes # command line"},
    {NULL, NULL, "in.npy|-o|-", "output = - # command line"},
    {NULL, NULL, "in.npy|-o-", "output = - # command line"},
    {NULL, NULL, "in.npy|-t|0", "timeout = 0 # command line"},
    {NULL, NULL, "in.npy|--progress|.5", "progress = .5 # command line"},
    {NULL, NULL, "--info|@/x.npy|-w1K", "window = 1K # command line"},
    /* inputs */
    {NULL, NULL, "in.npy", "input = @/in.npy # command line"},
    {NULL, NULL, "b.npy|-f|a.npy", "input = @/b.npy # command line\ninput = @/a.npy # command line"},
    {NULL, NULL, "-f|--|-f|--window", "input = @/-f # command line\ninput = @/--window # command line"},
    {NULL, NULL, "--|--|in.npy", "input = @/-- # command line"},
    {NULL, NULL, "./-", "input = @/- # command line"},
    {NULL, NULL, ".//none", "input = @/none # command line"},
    {NULL, NULL, "/a/../b.npy", "input = /a/../b.npy # command line"},
    {NULL, NULL, "random:shape=4x4", "input = random:shape=4x4 # command line"},
    {NULL, NULL, "./random:x", "input = @/random:x # command line"},
    {NULL, NULL, "a #b.npy", "input = \"@/a #b.npy\" # command line"},
    /* what follows from the input */
    {NULL, NULL, "d/in.npy", "output = @/in.out.npy # default"},
    {NULL, NULL, "d/in.npy", "result = @/in.out.npy.json # default"},
    {NULL, NULL, "d/in.tar.npy", "output = @/in.tar.out.npy # default"},
    {NULL, NULL, "in.bin", "output = @/in.out.bin # default"},
    {NULL, NULL, "in.raw", "output = @/in.out.raw # default"},
    {NULL, NULL, "in.v2", "output = @/in.v2.out.npy # default"},
    {NULL, NULL, "in", "output = @/in.out.npy # default"},
    {NULL, NULL, ".npy", "output = @/.npy.out.npy # default"},
    {NULL, NULL, "d.d/in", "output = @/in.out.npy # default"},
    {NULL, NULL, "random:shape=4.npy", "output = @/random.out.npy # default"},
    {NULL, NULL, "a.npy|b.bin", "output = @/a.out.npy # default"},
    {NULL, NULL, "in.npy|-o|none", "output = none # command line"},
    {NULL, NULL, "in.npy|-o|none", "result = none # default"},
    {NULL, NULL, "in.npy|-o|-", "result = none # default"},
    {NULL, NULL, "in.npy|-o|./none", "result = @/none.json # default"},
    {NULL, NULL, "in.npy|--result|-", "result = - # command line"},
    {NULL, NULL, "in.npy|-o|none|--result|-", "result = - # command line"},
    /* steps */
    {NULL, NULL, "in.npy", "kernel = scale:factor=2 # default"},
    {NULL, NULL, "in.npy|-k|relu|-k|affine:a=2|-k|relu",
     "kernel = relu # command line\nkernel = affine:a=2 # command line\nkernel = relu # command line"},
    {NULL, NULL, "in.npy|-e|x*2|-k|relu|-e|-x", "expr = x*2 # command line\nkernel = relu # command line\nexpr = -x # command line"},
    {NULL, "kernel = exp\nexpr = x\nkernel = log\n", "in.npy", "kernel = exp # @job:1\nexpr = x # @job:2\nkernel = log # @job:3"},
    {NULL, "kernel = exp\n", "in.npy|-e|x", "expr = x # command line"},
    {NULL, "kernel = exp", "in.npy", "kernel = exp # @job:1"},
    {NULL, "kernel = exp\nkernel = log\n", "in.npy", "kernel = exp # @job:1\nkernel = log # @job:2"},
    {NULL, "kernel = exp\nkernel = log\n", "in.npy|-k|relu", "kernel = relu # command line\n# expr = # not given\ninput = @/in.npy"},
    {"CUDIST_KERNEL=tanh", NULL, "in.npy", "kernel = tanh # environment CUDIST_KERNEL"},
    {"CUDIST_KERNEL=tanh", "kernel = exp", "in.npy", "kernel = exp # @job:1"},
    {NULL, "window = 1K", "in.npy", "# kernel = # not given"},
    /* places */
    {NULL, NULL, "in.npy", "timeout = 300 # default"},
    {"CUDIST_TIMEOUT=1", NULL, "in.npy", "timeout = 1 # environment CUDIST_TIMEOUT"},
    {"CUDIST_TIMEOUT=1", "timeout = 2", "in.npy", "timeout = 2 # @job:1"},
    {"CUDIST_TIMEOUT=1", "timeout = 2", "in.npy|-t3", "timeout = 3 # command line"},
    {"CUDIST_TIMEOUT=1", NULL, "in.npy|-t3", "timeout = 3 # command line"},
    {"CUDIST_TIMEOUT=", NULL, "in.npy", "timeout = 300 # default"},
    {"CUDIST_NONSENSE=", NULL, "in.npy", "timeout = 300 # default"},
    {"CUDIST_SHARE_GPUS=1", NULL, "in.npy", "share-gpus = 1 # environment CUDIST_SHARE_GPUS"},
    {"CUDIST_SHARE_GPUS=1", "share-gpus = off", "in.npy", "share-gpus = off # @job:1"},
    {"CUDIST_VERBOSE=2", NULL, "in.npy|-q", "verbose = no # default"},
    {"CUDIST_VERBOSE=2", NULL, "in.npy|-v", "verbose = yes # command line"},
    {"CUDIST_VERBOSE=yes", "quiet = yes", "in.npy", "quiet = yes # @job:1"},
    {"CUDIST_ISA=x86-64|CUDIST_LIBS=own|CUDIST_STRICT=1|CUDIST_TEST_ANY=1", NULL, "in.npy", "write = auto # default"},
    {NULL, "input = a.npy\ninput = b.npy", "", "input = @/a.npy # @job:1\ninput = @/b.npy # @job:2"},
    {NULL, "input = a.npy\ninput = b.npy", "c.npy", "\ninput = @/c.npy # command line\n# dtype"},
    {NULL, "input = a.npy", "", "output = @/a.out.npy # default"},
    /* forms of a job file */
    {NULL, "# a comment = not\n\n  \t\n#\n window=8K", "in.npy", "window = 8K # @job:5"},
    {NULL, "\xef\xbb\xbfwindow = 8K\r\nbatch = 5\r\n", "in.npy", "batch = 5 # @job:2"},
    {NULL, "\xef\xbb\xbfwindow = 8K\r\nbatch = 5\r\n", "in.npy", "window = 8K # @job:1"},
    {NULL, "\twindow\t=\t8K\t# per worker\n", "in.npy", "window = 8K # @job:1"},
    {NULL, "share-gpus\n", "in.npy", "share-gpus = yes # @job:1"},
    {NULL, "share-gpus # = no\n", "in.npy", "share-gpus = yes # @job:1"},
    {NULL, "output = \"a #b.npy\" # why not", "in.npy", "output = \"@/a #b.npy\" # @job:1"},
    {NULL, "output = \"/a \"\"b\"\".npy\"", "in.npy", "output = /a \"b\".npy # @job:1"},
    {NULL, "output = \"/a\\nb\\x1b[2J\\\\\\t\\r\\xff\"", "in.npy", "output = \"/a\\nb\\x1b[2J\\\\\\x09\\x0d\\xff\" # @job:1"},
    {NULL, "output = /a\\nb", "in.npy", "output = /a\\nb # @job:1"},
    {NULL, "output = /a#b.npy", "in.npy", "output = /a#b.npy # @job:1"},
    {NULL, "output = /it's.npy # it's", "in.npy", "output = /it's.npy # @job:1"},
    {NULL, "kernel = dense:weights='a #b.npy' # c", "in.npy", "kernel = \"dense:weights='a #b.npy'\" # @job:1"},
    {NULL, "kernel = affine:a=1,b=2", "in.npy", "kernel = affine:a=1,b=2 # @job:1"},
    {NULL, "verbose = 2", "in.npy", "verbose = 2 # @job:1"},
};

/* @ is the current folder, @job the job file. */
static void expand(const char *from, char *to, size_t room)
{
    size_t n = 0;
    while (*from && n < room - 1) {
        const char *with = strncmp(from, "@job", 4) == 0 ? job_path : *from == '@' ? folder : NULL;
        if (with) {
            n += (size_t)snprintf(to + n, room - n, "%s", with);
            from += with == job_path ? 4 : 1;
        } else {
            to[n++] = *from++;
        }
    }
    to[n < room ? n : room - 1] = '\0';
}

static void one_blank(char *text)
{
    char *to = text;
    for (const char *c = text; *c; c++)
        if (*c != ' ' || to == text || to[-1] != ' ')
            *to++ = *c;
    *to = '\0';
}

static void test_good(void)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct cud_job job;
        struct cud_err err;
        char want[8192];
        char *shown = NULL;
        enum cud_status status = read_job(good[i].env, good[i].file, good[i].args, &job, &err);
        expand(good[i].want, want, sizeof want);
        if (status == CUD_OK) {
            shown = show(&job);
            one_blank(shown);
        }
        if (!ok(shown && strstr(shown, want), "%s: %.*s", good[i].args, (int)strcspn(good[i].want, "\n"), good[i].want))
            printf("# status %d %s\n# wanted: %s\n# shown:\n%s\n", status, err.text, want, shown ? shown : "");
        free(shown);
        cud_job_free(&job);
    }
}

/* ---- jobs that are wrong: what the error holds */

static const struct { const char *env, *file, *args, *want; } bad[] = {
    {NULL, NULL, "", "no INPUT: cudist [OPTION]... INPUT... (cudist --help explains)"},
    {NULL, NULL, "-f", "no INPUT"},
    {NULL, NULL, "in.npy|--windw|1K", "unknown option '--windw'; did you mean --window?"},
    {NULL, NULL, "in.npy|--out_dtype=f32", "unknown option '--out_dtype'; did you mean --out-dtype?"},
    {NULL, NULL, "in.npy|--frobnicate", "unknown option '--frobnicate'; cudist --help lists all"},
    {NULL, NULL, "in.npy|--input=x", "unknown option '--input'"},
    {NULL, NULL, "in.npy|--s", "option '--s' is not clear: --shape, --share-gpus, --show-config"},
    {NULL, NULL, "in.npy|--sha", "option '--sha' is not clear: --shape, --share-gpus"},
    {NULL, NULL, "in.npy|--=x", "unknown option '--'"},
    {NULL, NULL, "in.npy|-x", "unknown option '-x'; cudist --help"},
    {NULL, NULL, "in.npy|-fx", "unknown option '-x' in -fx; cudist --help"},
    {NULL, NULL, "in.npy|-5", "unknown option '-5'"},
    {NULL, NULL, "in.npy|-\xc3\xa9", "unknown option '-\xc3\xa9'"},
    {NULL, NULL, "in.npy|-window|1K", "unknown option '-window'; did you mean --window?"},
    {NULL, NULL, "in.npy|-output=x", "unknown option '-output'; did you mean --output?"},
    {NULL, NULL, "in.npy|-o=x.npy", "'-o=x.npy': write -o PATH or --output=PATH"},
    {NULL, NULL, "in.npy|-w", "--window needs a value: --window SIZE"},
    {NULL, NULL, "in.npy|--window", "--window needs a value: --window SIZE"},
    {NULL, NULL, "in.npy|-fw", "--window needs a value"},
    {NULL, NULL, "in.npy|-o|--force",
     "--output needs a value, but '--force' follows (if that is the value, write --output=--force)"},
    {NULL, NULL, "in.npy|--output|--|x", "--output needs a value, but '--' follows"},
    {NULL, NULL, "in.npy|--help=1", "--help takes no value"},
    {NULL, NULL, "in.npy|--show-config=yes", "--show-config takes no value"},
    {NULL, NULL, "in.npy|--force=maybe", "--force='maybe': neither yes nor no"},
    {NULL, NULL, "in.npy|-w|64X", "--window '64X': not a size"},
    {NULL, NULL, "in.npy|-w|", "--window '': not a size"},
    {NULL, NULL, "in.npy|-w|0", "--window '0': too small: at least 1"},
    {NULL, NULL, "in.npy|-w|-1", "--window '-1': not a size"},
    {NULL, NULL, "in.npy|-w|8388608T", "--window '8388608T': too large"},
    {NULL, NULL, "in.npy|-b|0", "--batch '0': too small: at least 1"},
    {NULL, NULL, "in.npy|-b|1.5", "--batch '1.5': not a whole number"},
    {NULL, NULL, "in.npy|-b|99999999999999999999", "--batch '99999999999999999999': too large"},
    {NULL, NULL, "in.npy|--threads|5000", "--threads '5000': too large: at most 4096"},
    {NULL, NULL, "in.npy|-t|-1", "--timeout '-1': seconds must not be negative"},
    {NULL, NULL, "in.npy|-t|-.5", "--timeout '-.5': seconds must not be negative"},
    {NULL, NULL, "in.npy|-t|nan", "--timeout 'nan': not a number of seconds"},
    {NULL, NULL, "in.npy|-t|5m", "--timeout '5m': not a number of seconds"},
    {NULL, NULL, "in.npy|--offset|-1", "--offset '-1': not a size"},
    {NULL, NULL, "in.npy|--shape|3y4", "--shape '3y4': "},
    {NULL, NULL, "in.npy|--dtype|f33", "--dtype 'f33': not a type (bool i8"},
    {NULL, NULL, "in.npy|--dtype|float33", "--dtype 'float33': not a type (bool i8"},
    {NULL, NULL, "in.npy|--out-dtype|bf61", "did you mean bf16?"},
    {NULL, NULL, "in.npy|--write|dirct", "--write 'dirct': must be auto, direct or root; did you mean direct?"},
    {NULL, NULL, "in.npy|-d|gpu", "--device 'gpu': must be auto, cpu or cuda"},
    {NULL, NULL, "in.npy|--comm|ncll", "--comm 'ncll': must be auto, mpi, nccl or cuda-mpi; did you mean nccl?"},
    {NULL, NULL, "in.npy|-k|", "--kernel '': needs a name"},
    {NULL, NULL, "in.npy|-k| ", "--kernel ' ': needs a name"},
    {NULL, NULL, "in.npy|-o|", "--output '': an empty path"},
    {NULL, NULL, "|-f", "INPUT '': an empty path"},
    {NULL, NULL, "-", "INPUT '-': an array cannot be read from standard input"},
    {NULL, NULL, "in.npy|-o|-|--result|-", "--output - and --result -: only one"},
    {NULL, NULL, "in.npy|-o|x|--result|./x", "--output and --result are the same file: @/x"},
    {NULL, NULL, "a.npy|b.npy|--result|b.npy", "--result is also an input: @/b.npy"},
    {NULL, NULL, "--info|a.npy|b.npy", "--info tells of one FILE and runs nothing: leave out '@/b.npy'"},
    {NULL, "window = 1K", "in.npy|--job|other.job", "--job is given twice"},
    {NULL, NULL, "in.npy|--job|no-such.job", "job file @/no-such.job: No such file or directory"},
    {NULL, NULL, "in.npy|--job|/", "job file /: Is a directory"},
    {NULL, NULL, "in.npy|--job|/dev/zero", "/dev/zero is no job file: it has more than 1 MiB"},

    {"CUDIST_WINDOW=64X", NULL, "in.npy", "CUDIST_WINDOW='64X': not a size"},
    {"CUDIST_WINDOW=64X", NULL, "in.npy|-w1K", "CUDIST_WINDOW='64X': not a size"},
    {"CUDIST_WINDWO=64M", NULL, "in.npy",
     "environment variable CUDIST_WINDWO is no option of cudist; did you mean CUDIST_WINDOW?"},
    {"CUDIST_SHAREGPUS=1", NULL, "in.npy", "did you mean CUDIST_SHARE_GPUS?"},
    {"CUDIST_X=1", NULL, "in.npy", "environment variable CUDIST_X is no option of cudist: unset it"},
    {"CUDIST_TESTS=1", NULL, "in.npy", "environment variable CUDIST_TESTS is no option"},
    {"CUDIST_FORCE=1", NULL, "in.npy", "environment variable CUDIST_FORCE: --force cannot be set in the environment"},
    {"CUDIST_JOB=x", NULL, "in.npy", "environment variable CUDIST_JOB: --job cannot be set"},
    {"CUDIST_INPUT=x", NULL, "in.npy", "environment variable CUDIST_INPUT: input cannot be set"},
    {"CUDIST_HELP=1", NULL, "in.npy", "environment variable CUDIST_HELP: --help cannot be set"},
    {"CUDIST_SHARE_GPUS=maybe", NULL, "in.npy", "CUDIST_SHARE_GPUS='maybe': neither yes nor no"},

    {NULL, "\nwindow = 64X", "in.npy", "@job:2: window = 64X: not a size"},
    {NULL, "window = 1K\nwindow = 2K", "in.npy", "@job:2: window is given on line 1 already"},
    {NULL, "quiet\n\nquiet = no", "in.npy", "@job:3: quiet is given on line 1 already"},
    {NULL, "windw = 64M", "in.npy", "@job:1: unknown option 'windw'; did you mean window?"},
    {NULL, "--window = 64M", "in.npy", "@job:1: unknown option '--window'; did you mean window?"},
    {NULL, "share_gpus = 1", "in.npy", "@job:1: unknown option 'share_gpus'; did you mean share-gpus?"},
    {NULL, "w = 1K", "in.npy", "@job:1: unknown option 'w': lines are OPTION = VALUE"},
    {NULL, "[run]", "in.npy", "@job:1: unknown option '[run]': lines are OPTION = VALUE"},
    {NULL, "= 5", "in.npy", "@job:1: unknown option ''"},
    {NULL, "help = yes", "in.npy", "@job:1: 'help' cannot be in a job file: give it on the command line"},
    {NULL, "job = x.job", "in.npy", "@job:1: 'job' cannot be in a job file"},
    {NULL, "dry-run", "in.npy", "@job:1: 'dry-run' cannot be in a job file"},
    {NULL, "window", "in.npy", "@job:1: window needs a value: window = SIZE"},
    {NULL, "window =", "in.npy", "@job:1: window needs a value: window = SIZE"},
    {NULL, "window = # 5", "in.npy", "@job:1: window needs a value: window = SIZE"},
    {NULL, "force =", "in.npy", "@job:1: force needs a value: force = yes"},
    {NULL, "output = \"x", "in.npy", "@job:1: output: its quotes \"...\" do not end"},
    {NULL, "output = \"x\" y", "in.npy", "@job:1: output: more than a comment follows its quotes"},
    {NULL, "output = \"x\"#y", "in.npy", "@job:1: output: more than a comment follows its quotes"},
    {NULL, "output = \"x\\y\"", "in.npy", "@job:1: output: in \"...\" a \\ begins"},
    {NULL, "output = \"x\\", "in.npy", "@job:1: output: in \"...\" a \\ begins"},
    {NULL, "output = \"x\\x4\"", "in.npy", "@job:1: output: in \"...\" a \\ begins"},
    {NULL, "output = \"x\\x00\"", "in.npy", "@job:1: output: in \"...\" a \\ begins"},
    {NULL, "write = dirct", "in.npy", "@job:1: write = dirct: must be auto, direct or root; did you mean direct?"},
    {NULL, "input = -", "", "@job:1: input = -: an array cannot be read from standard input"},
    {NULL, "window = 1K", "", "no INPUT"},
};

static void test_bad(void)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct cud_job job;
        struct cud_err err;
        char want[8192];
        enum cud_status status = read_job(bad[i].env, bad[i].file, bad[i].args, &job, &err);
        expand(bad[i].want, want, sizeof want);
        bool same = status == CUD_EUSAGE && strncmp(err.text, want, strlen(want)) == 0;
        bool holds = status == CUD_EUSAGE && strncmp(bad[i].want, "did you", 7) == 0 && strstr(err.text, want);
        if (!ok(same || holds, "%s %s: %.60s", bad[i].file ? "job file" : bad[i].env ? bad[i].env : "", bad[i].args,
                bad[i].want))
            printf("# status %d: %s\n# wanted: %s\n", status, err.text, want);
        cud_job_free(&job);
    }
}

/* ---- actions: --help and the like end the command line where they stand, whatever else is wrong */

static const struct { const char *args; enum cud_action action; } actions[] = {
    {"in.npy", CUD_RUN}, {"-h", CUD_HELP}, {"--help", CUD_HELP}, {"--he", CUD_HELP}, {"-V", CUD_VERSION},
    {"--version", CUD_VERSION},
    {"-fh|--nonsense", CUD_HELP}, {"--list-kernels|--nonsense", CUD_LIST_KERNELS}, {"-V|-h", CUD_VERSION},
    {"--show-config", CUD_SHOW_CONFIG}, {"in.npy|--show", CUD_SHOW_CONFIG}, {"--info|x.npy", CUD_INFO},
    {"--info=random:shape=3", CUD_INFO},
};

static void test_actions(void)
{
    struct cud_job job;
    struct cud_err err;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        enum cud_status status = read_job(NULL, NULL, actions[i].args, &job, &err);
        if (!ok(status == CUD_OK && job.action == actions[i].action, "action of %s", actions[i].args))
            printf("# status %d, action %d: %s\n", status, job.action, err.text);
        cud_job_free(&job);
    }
    ok(read_job("CUDIST_WINDOW=junk|CUDIST_NONSENSE=1", NULL, "-h", &job, &err) == CUD_OK, "--help with a bad environment");
    cud_job_free(&job);
    ok(read_job(NULL, "nonsense = 1", "-h", &job, &err) == CUD_OK, "--help with a bad job file");
    cud_job_free(&job);
    ok(read_job(NULL, NULL, "--nonsense|-h", &job, &err) == CUD_EUSAGE, "an error in front of --help");
}

/* ---- job files of any length, and what is no text */

static void test_job_files(void)
{
    struct cud_job job;
    struct cud_err err = {0};
    enum { LONG = 500000 };
    char *text = malloc(LONG + 64), *argv[] = {(char *)"cudist", (char *)"in.npy", (char *)"--job", job_path, NULL};
    size_t n = (size_t)sprintf(text, "kernel = ");
    memset(text + n, 'x', LONG);
    n += LONG;
    n += (size_t)sprintf(text + n, "\nwindow = 5K");
    write_job(text, n);
    bool good_job = cud_job_read(4, argv, &job, &err) == CUD_OK;
    ok(good_job && job.steps == 1 && strlen(job.step[0].text) == LONG && job.window == 5 * 1024,
       "a line of half a million letters");
    cud_job_free(&job);
    memcpy(text, "window", 6);
    text[6] = 'x';
    write_job(text, LONG);
    err = (struct cud_err){0};
    ok(cud_job_read(4, argv, &job, &err) == CUD_EUSAGE && strstr(err.text, ":1: unknown option 'windowx"),
       "a long name is cut: %s", err.text);
    write_job("window = 5K\0\n", 13);
    err = (struct cud_err){0};
    ok(cud_job_read(4, argv, &job, &err) == CUD_EUSAGE && strstr(err.text, "is no job file: it is not a text"),
       "a NUL byte: %s", err.text);
    write_job("", 0);
    err = (struct cud_err){0};
    ok(cud_job_read(4, argv, &job, &err) == CUD_OK && job.steps == 0 && !job.default_step, "an empty job has no step");
    cud_job_free(&job);
    free(text);
}

int main(void)
{
    begin();
    test_good();
    test_bad();
    test_actions();
    test_job_files();
    return end();
}
