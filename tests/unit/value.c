/* Values as people write them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../tap.h"
#include "value.h"

#define BAD UINT64_MAX

static void test_sizes(void)
{
    static const struct { const char *text; uint64_t want; } cases[] = {
        {"0", 0}, {"1", 1}, {"007", 7}, {"4096", 4096}, {"1K", 1024}, {"1k", 1024}, {"64M", 64u << 20}, {"64MiB", 64u << 20},
        {"3m", 3u << 20},
        {"2G", 2ull << 30}, {"2GiB", 2ull << 30}, {"1T", 1ull << 40}, {"8388607T", 8388607ull << 40}, {"8388608T", BAD},
        {"9007199254740991K", 9007199254740991ull << 10},
        {"9007199254740992K", BAD}, {"9223372036854775807", INT64_MAX}, {"9223372036854775808", BAD},
        {"18446744073709551616", BAD},
        {"18446744073709551617K", BAD}, {"99999999999999999999999999999999", BAD}, {"", BAD}, {" 1", BAD}, {"1 ", BAD},
        {"-1", BAD}, {"+1", BAD},
        {"K", BAD}, {"1KB", BAD}, {"1KK", BAD}, {"1KiBx", BAD}, {"1Ki", BAD}, {"1.5M", BAD}, {"0x10", BAD}, {"1e3", BAD},
        {"1P", BAD}, {"nan", BAD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t got = BAD;
        struct cud_err err = {0};
        enum cud_status status = cud_value_size(cases[i].text, 0, &got, &err);
        ok(got == cases[i].want && (status == CUD_EUSAGE) == (got == BAD), "size '%s': %llu %s", cases[i].text,
           (unsigned long long)got, err.text);
    }
    uint64_t n = 5;
    struct cud_err err = {0};
    ok(cud_value_size("0K", 1, &n, &err) == CUD_EUSAGE && n == 5, "too small a size leaves the output alone: %s", err.text);
}

static void test_counts(void)
{
    static const struct { const char *text; uint64_t want; } cases[] = {
        {"1", 1}, {"10", 10}, {"010", 10}, {"0", BAD}, {"11", BAD}, {"", BAD}, {"-1", BAD}, {"+1", BAD}, {" 1", BAD},
        {"1 ", BAD}, {"1K", BAD},
        {"1.0", BAD}, {"99999999999999999999", BAD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t got = BAD;
        struct cud_err err = {0};
        enum cud_status status = cud_value_count(cases[i].text, 1, 10, &got, &err);
        ok(got == cases[i].want && (status == CUD_EUSAGE) == (got == BAD), "count '%s': %s", cases[i].text, err.text);
    }
}

static void test_seconds(void)
{
    static const struct { const char *text; double want; } cases[] = {
        {"0", 0}, {"300", 300}, {"1.5", 1.5}, {".5", .5}, {"5.", 5}, {"1e3", 1000}, {"1E-3", .001}, {"1000000000", 1e9},
        {"1e9", 1e9},
        {"1000000001", -1}, {"1e400", -1}, {"1e-400", -1}, {"", -1}, {".", -1}, {"-1", -1}, {"-0", -1}, {"+1", -1}, {" 1", -1},
        {"1 ", -1}, {"1s", -1}, {"nan", -1},
        {"inf", -1}, {"0x10", -1}, {"1e", -1}, {"1..2", -1}, {"e5", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double got = -1;
        struct cud_err err = {0};
        enum cud_status status = cud_value_seconds(cases[i].text, &got, &err);
        ok(got == cases[i].want && (status == CUD_EUSAGE) == (got == -1), "seconds '%s': %g %s", cases[i].text, got, err.text);
    }
}

static void test_words(void)
{
    static const char *const yes[] = {"yes", "true", "on", "1", "YES", "True"}, *const no[] = {"no", "false", "off", "0", "No"},
                      *const neither[] = {"", "y", "2", "yes ", "01", "nope"};
    struct cud_err err = {0};
    bool flag = false;
    size_t place = 99;
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        ok(cud_value_flag(yes[i], &flag, &err) == CUD_OK && flag, "%s is yes", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        ok(cud_value_flag(no[i], &flag, &err) == CUD_OK && !flag, "%s is no", no[i]);
    for (size_t i = 0; i < sizeof neither / sizeof *neither; i++) {
        err = (struct cud_err){0};
        ok(cud_value_flag(neither[i], &flag, &err) == CUD_EUSAGE, "'%s' is neither: %s", neither[i], err.text);
    }
    err = (struct cud_err){0};
    ok(cud_value_choice("root", "auto direct root", &place, &err) == CUD_OK && place == 2, "a choice");
    ok(cud_value_choice("", "auto direct root", &place, &err) == CUD_EUSAGE &&
       strcmp(err.text, "must be auto, direct or root") == 0, "%s", err.text);
    err = (struct cud_err){0};
    ok(cud_value_choice("Root", "auto direct root", &place, &err) == CUD_EUSAGE && strstr(err.text, "did you mean root?"),
       "%s", err.text);
}

static void test_paths(void)
{
    static const struct { const char *path, *want; } cases[] = {
        {"a", "@/a"}, {"./a", "@/a"}, {".///./a", "@/a"}, {"../a", "@/../a"}, {"/a", "/a"}, {"/", "/"}, {".", "@/."},
        {"a/./b", "@/a/./b"},
        {"...", "@/..."}, {".a", "@/.a"}, {"-", "@/-"},
    };
    char *here = get_current_dir_name(), want[8192];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = NULL;
        struct cud_err err = {0};
        snprintf(want, sizeof want, "%s%s", cases[i].want[0] == '@' ? here : "", cases[i].want + (cases[i].want[0] == '@'));
        ok(cud_value_path(cases[i].path, &got, &err) == CUD_OK && strcmp(got, want) == 0, "path %s: %s", cases[i].path, got
           ? got : err.text);
        free(got);
    }
    char *none = NULL;
    struct cud_err err = {0};
    ok(cud_value_path("", &none, &err) == CUD_EUSAGE && !none, "%s", err.text);
    free(here);
}

int main(void)
{
    test_sizes();
    test_counts();
    test_seconds();
    test_words();
    test_paths();
    return done_testing();
}
