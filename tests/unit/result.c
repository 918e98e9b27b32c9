#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../tap.h"
#include "integer.h"
#include "result.h"

/* A run of two ranks; tests change what they are about. */
static struct cud_step steps[2];
static struct cud_program program;
static struct cud_summary summary;
static struct cud_rank_facts ranks[3];
static struct cud_binding binding;
static struct cud_run_facts facts;

static void start(enum cud_type type, uint64_t rows, uint64_t cols)
{
    const struct cud_array array = {.shape = {.ndim = 2, .dim = {rows, cols}}, .type = type};
    steps[0] = (struct cud_step){.text = "scale:factor=2"};
    program = (struct cud_program){.steps = 1, .step = steps, .in = array, .out = array};
    summary = (struct cud_summary){
        .kind = cud_stats_kind(type), .count = rows * cols, .first_nan = CUD_NONE, .first_pinf = CUD_NONE,
        .first_ninf = CUD_NONE, .argmin = 6, .argmax = 3, .min = {0.1f}, .max = {1.5}, .sum = {8}, .mean = 1,
        .variance = 0.25, .variance_sample = 0.3, .std = 0.5, .rms = 1.1, .has_mean = true, .has_sample = true,
        .digest = {0x5f0c, 0xabc}};
    for (int i = 0; i < 3; i++) {
        ranks[i] = (struct cud_rank_facts){.rank = i, .host = "n1", .device = {.name = "cpu"}};
        strcpy(ranks[i].host, i == 1 ? "n2" : "n1");
    }
    binding = (struct cud_binding){.all = ranks, .ranks = 3, .hosts = 2};
    facts = (struct cud_run_facts){
        .program = &program, .summary = &summary, .binding = &binding, .mpi_library = "Open MPI 4.1.4", .output = "out.npy",
        .write = "direct", .window_bytes = 1048576, .start = 0.1000001, .stream = 0.25, .commit = 1, .bytes_read = 64000000,
        .bytes_written = (uint64_t)1 << 60, .bottleneck = "write", .comm = "nccl", .started = "2026-01-31T12:00:00Z"};
}

static char *json(void)
{
    struct cud_err err = {0};
    char *text = NULL;
    size_t n = 0;
    if (cud_result_json(&facts, &text, &n, &err) != CUD_OK || strlen(text) != n)
        exit(99);
    return text;
}

static int same(const char *got, const char *want, const char *what)
{
    const int good = !strcmp(got, want);
    ok(good, "%s", what);
    if (!good)
        printf("# got:\n%s\n# want:\n%s\n", got, want);
    return good;
}

static void has(const char *what, const char *const *want)
{
    char *const text = json();
    int good = 1;
    for (; *want; want++)
        if (!strstr(text, *want)) {
            printf("# no %s\n", *want);
            good = 0;
        }
    ok(good, "%s", what);
    if (!good)
        printf("# %s\n", text);
    free(text);
}
#define HAS(what, ...) has((what), (const char *const[]){__VA_ARGS__, NULL})

static const char whole[] =
    "{\n"
    "  \"schema\": 1,\n"
    "  \"result\": {\n"
    "    \"input\": {\"shape\": [2, 4], \"dtype\": \"f32\"},\n"
    "    \"steps\": [\n"
    "      \"scale:factor=2\"\n"
    "    ],\n"
    "    \"output\": {\"shape\": [2, 4], \"dtype\": \"f32\", \"digest\": \"xxh3-128:0000000000005f0c0000000000000abc\"},\n"
    "    \"statistics\": {\n"
    "      \"count\": 8,\n"
    "      \"nan\": 0,\n"
    "      \"pos_inf\": 0,\n"
    "      \"neg_inf\": 0,\n"
    "      \"first_nan_row\": null,\n"
    "      \"min\": 0.10000000149011612,\n"
    "      \"argmin\": [1, 2],\n"
    "      \"max\": 1.5,\n"
    "      \"argmax\": [0, 3],\n"
    "      \"sum\": 8.0,\n"
    "      \"mean\": 1.0,\n"
    "      \"variance\": 0.25,\n"
    "      \"variance_sample\": 0.3,\n"
    "      \"std\": 0.5,\n"
    "      \"rms\": 1.1,\n"
    "      \"histogram\": null,\n"
    "      \"quantiles\": null,\n"
    "      \"columns\": null\n"
    "    },\n"
    "    \"converted\": {\"rounded\": 0, \"saturated\": 0, \"nan_to_zero\": 0}\n"
    "  },\n"
    "  \"run\": {\n"
    "    \"version\": \"" PACKAGE_VERSION "\",\n"
    "    \"libraries\": {\"mpi\": \"Open MPI 4.1.4\", \"vendor\": null},\n"
    "    \"ranks\": 3,\n"
    "    \"hosts\": [\"n1\", \"n2\"],\n"
    "    \"devices\": [\n"
    "      {\"rank\": 0, \"name\": \"cpu\"},\n"
    "      {\"rank\": 1, \"name\": \"cpu\"},\n"
    "      {\"rank\": 2, \"name\": \"cpu\"}\n"
    "    ],\n"
    "    \"write\": \"direct\",\n"
    "    \"comm\": \"nccl\",\n"
    "    \"window_bytes\": 1048576,\n"
    "    \"times\": {\"start\": 0.1, \"stream\": 0.25, \"commit\": 1.0},\n"
    "    \"bytes\": {\"read\": 64000000, \"written\": \"1152921504606846976\"},\n"
    "    \"bottleneck\": \"write\",\n"
    "    \"restarts\": 0,\n"
    "    \"started\": \"2026-01-31T12:00:00Z\",\n"
    "    \"slurm_job\": null\n"
    "  },\n"
    "  \"checksums\": []\n"
    "}\n";

static void test_whole(void)
{
    start(CUD_F32, 2, 4);
    unsetenv("SLURM_JOB_ID");
    char *const text = json();
    same(text, whole, "the whole text");
    free(text);
    setenv("SLURM_JOB_ID", "4711", 1);
    HAS("a Slurm job is named", "\"slurm_job\": \"4711\"");
    unsetenv("SLURM_JOB_ID");
}

static void test_kinds(void)
{
    start(CUD_I64, 2, 4);
    summary.min.i = INT64_MIN;
    summary.max.i = 9007199254740992;
    summary.sum.u = UINT64_MAX;            /* -1 in 128 bits */
    summary.sum_lo.u = UINT64_MAX;
    HAS("i64", "\"min\": \"-9223372036854775808\"", "\"max\": 9007199254740992,", "\"sum\": -1,", "\"mean\": 1.0,");
    start(CUD_U64, 2, 4);
    summary.min.u = 9007199254740993;
    summary.max.u = UINT64_MAX;
    summary.sum.u = 7;
    summary.sum_lo.u = UINT64_MAX - 1;
    HAS("u64", "\"min\": \"9007199254740993\"", "\"max\": \"18446744073709551615\"", "\"sum\": \"147573952589676412926\"");
    start(CUD_I32, 2, 4);
    summary.min.f = -2147483648.0;
    summary.max.f = 0;
    summary.sum.f = -0x1p80;
    summary.sum_lo.f = 3;
    HAS("i32: whole numbers without a point",
        "\"min\": -2147483648,", "\"max\": 0,", "\"sum\": \"-1208925819614629174706173\"");
    start(CUD_F64, 2, 4);
    summary.min.f = -0.0;
    summary.max.f = 0x1p60;
    summary.sum.f = INFINITY;
    summary.mean = -INFINITY;
    summary.variance = summary.variance_sample = summary.std = NAN;
    summary.rms = 5e-324;
    summary.nan = 2;
    summary.first_nan = 7;
    HAS("f64: what JSON has no numbers for", "\"min\": -0.0,", "\"max\": 1.152921504606847e+18,", "\"sum\": \"inf\"",
        "\"mean\": \"-inf\"", "\"variance\": \"nan\"", "\"variance_sample\": \"nan\"", "\"std\": \"nan\"", "\"rms\": 5e-324",
        "\"first_nan_row\": 1,");
}

static void test_nothing(void)
{
    start(CUD_F32, 0, 4);
    summary = (struct cud_summary){.argmin = CUD_NONE, .argmax = CUD_NONE, .first_nan = CUD_NONE, .mean = NAN, .variance = NAN,
                                   .variance_sample = NAN, .std = NAN, .rms = NAN};
    program.steps = 0;
    HAS("no elements", "\"steps\": []", "\"shape\": [0, 4]", "\"count\": 0,", "\"min\": null", "\"argmin\": null",
        "\"max\": null", "\"argmax\": null", "\"sum\": 0.0,", "\"mean\": null", "\"variance\": null",
        "\"variance_sample\": null", "\"std\": null", "\"rms\": null");
    program.out.shape = (struct cud_shape){.ndim = 0};
    summary.count = 1;
    summary.argmin = summary.argmax = 0;
    HAS("a shape of no dimensions", "\"shape\": []", "\"argmin\": [0, 0]");
    program.out.shape = (struct cud_shape){.ndim = 3, .dim = {5, 3, 4}};
    summary.argmin = 4 * 12 + 11;
    HAS("three dimensions: the place within the row", "\"shape\": [5, 3, 4]", "\"argmin\": [4, 11]");
}

/* Bytes that are no UTF-8 become U+FFFD; what is, stays. */
static void test_strings(void)
{
    start(CUD_F32, 2, 4);
    program.steps = 2;
    strcpy(steps[0].text, "a\"b\\c\n\x01\x7f \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf");
    strcpy(steps[1].text, "\xff \xc0\xaf \xed\xa0\x80 \xe0\x80\x80 \xf4\x90\x80\x80 \xf5\x80\x80\x80 \xe2\x82");
    HAS("strings", "\"a\\\"b\\\\c\\u000a\\u0001\x7f \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf\",",
        "\"\\ufffd \\ufffd\\ufffd \\ufffd\\ufffd\\ufffd "
        "\\ufffd\\ufffd\\ufffd \\ufffd\\ufffd\\ufffd\\ufffd \\ufffd\\ufffd\\ufffd\\ufffd \\ufffd\\ufffd\"");
}

/* Python reads what was written and finds the very numbers. */
static void test_parse(void)
{
    FILE *const python = popen("python3 -c 'import json, sys\n"
        "d = json.loads(sys.stdin.buffer.read().decode(\"utf-8\"))\n"
        "s = d[\"result\"][\"statistics\"]\n"
        "good = (list(d) == [\"schema\", \"result\", \"run\", \"checksums\"]\n"
        "    and s[\"mean\"] == 0.1 + 0.2 and s[\"min\"] == 2.0**-1074\n"
        "    and s[\"max\"] == 1.7976931348623157e308 and s[\"rms\"] == \"nan\"\n"
        "    and d[\"result\"][\"steps\"] == [\"q\\\"\\ufffd\"])\n"
        "sys.exit(7 if not good else 0)'", "w");
    start(CUD_F64, 2, 4);
    strcpy(steps[0].text, "q\"\xff");
    summary.mean = 0.1 + 0.2;
    summary.min.f = 0x1p-1074;
    summary.max.f = 1.7976931348623157e308;
    summary.rms = NAN;
    char *const text = json();
    fputs(text, python);
    free(text);
    const int rc = pclose(python);
    ok(rc == 0 || rc == 127 << 8, "Python reads it back%s", rc ? " # SKIP no python3" : "");
}

static const char lines[] =
    "out.npy: (2, 4) f32\n"
    "  digest    xxh3-128:0000000000005f0c0000000000000abc\n"
    "  count     8\n"
    "  NaN       2, first at row 1, column 3\n"
    "  min       0.1  row 1, column 2\n"
    "  max       1.5  row 0, column 3\n"
    "  mean      1\n"
    "  std       nan\n"
    "  variance  0.25\n"
    "  rms       1.1\n"
    "  sum       8\n"
    "  converted to f32: 3 rounded, 1 NaN made 0\n"
    "  time      1.350 s (start 0.100, stream 0.250, commit 1.000)\n"
    "  data      61.0 MiB read, 1.0 EiB written; 4.29e+09 GiB/s (slowest: write)\n";

static void test_lines(void)
{
    char *text = NULL;
    size_t n;
    FILE *const to = open_memstream(&text, &n);
    start(CUD_F32, 2, 4);
    summary.nan = 2;
    summary.first_nan = 7;
    summary.std = NAN;
    summary.lost = (struct cud_lost){.rounded = 3, .nan_to_zero = 1};
    cud_result_print(&facts, to);
    fclose(to);
    same(text, lines, "the lines a person reads");
    free(text);
}

static void test_numbers(void)
{
    static const struct {
        double value;
        int single;
        const char *want;
    } row[] = {{2, 0, "2"}, {0.1, 0, "0.1"}, {0.1f, 1, "0.1"}, {0.1f, 0, "0.10000000149011612"}, {100000, 0, "100000"},
               {16777216, 1, "16777216"}, {1.0 / 3, 0, "0.3333333333333333"}, {-0.0, 0, "-0"}, {5e-324, 0, "5e-324"},
               {1e-45f, 1, "1e-45"}, {1e22, 0, "1e+22"}, {INFINITY, 0, "inf"}, {-INFINITY, 1, "-inf"}, {-NAN, 0, "nan"},
               {1.7976931348623157e308, 0, "1.7976931348623157e+308"}, {3.4028234663852886e38, 1, "3.4028235e+38"}};
    char text[32];
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        same(cud_number_text(row[i].value, row[i].single, text), row[i].want, row[i].want);
    uint64_t bits = 1, bad = 0;
    for (int i = 0; i < 100000; i++) {
        double d;
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&d, &bits, sizeof d);
        const float f = (float)d;
        bad += isfinite(d) && strtod(cud_number_text(d, false, text), NULL) != d;
        bad += isfinite(f) && strtof(cud_number_text(f, true, text), NULL) != f;
    }
    ok(!bad, "100000 random numbers read back as themselves");
}

int main(void)
{
    test_whole();
    test_kinds();
    test_nothing();
    test_strings();
    test_parse();
    test_lines();
    test_numbers();
    return done_testing();
}
