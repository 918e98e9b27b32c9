/* Numbers: one rule for reading them; what is written reads back. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "number.h"
#include "tap.h"

static bool same(double a, double b) { return a == b ? !signbit(a) == !signbit(b) : isnan(a) && isnan(b); }

static void test_read(void)
{
    static const struct { const char *text; double want; } t[] = {
        {"0", 0}, {"-0", -0.0}, {"2", 2}, {"-17", -17}, {"007", 7}, {"1.5", 1.5}, {".5", .5}, {"5.", 5}, {"-.5e-3", -.5e-3},
        {"1e3", 1e3}, {"1E3", 1e3}, {"1e+30", 1e30}, {"2.5e-10", 2.5e-10}, {"1e0003", 1e3}, {"0e999", 0}, {"0.0e-999", 0},
        {"1.7976931348623157e308", DBL_MAX}, {"5e-324", 0x1p-1074}, {"inf", HUGE_VAL}, {"-inf", -HUGE_VAL}, {"nan", NAN},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct cud_err err = {0};
        double got = 99;
        const enum cud_status status = cud_number_read(t[i].text, false, &got, &err);
        ok(status == CUD_OK && same(got, t[i].want), "%s: %g %s", t[i].text, got, err.text);
    }
}

static void refused(const char *text, bool single, const char *says)
{
    struct cud_err err = {0};
    double got = 99;
    const enum cud_status status = cud_number_read(text, single, &got, &err);
    ok(status == CUD_EUSAGE && got == 99 && strstr(err.text, says), "'%s' is refused: %s", text, err.text);
}

static void test_refused(void)
{
    static const char *const none[] = {
        "", " 1", "1 ", "+5", "--5", "1e", "1e+", "e5", ".", "-", "-.e1", "1.2.3", "1e2e3", "1e1.5", "0x10", "0x1p3", "1f",
        "1_000", "1,5", "\xd9\xa1", "Inf", "+inf", "infinity", "NaN", "-nan", "nan(1)", "1\n",
    };
    static const struct { const char *text; bool single; const char *says; } t[] = {
        {"1e400", false, "too large for f64"}, {"-1e400", false, "too large for f64"}, {"1.8e308", false, "too large for f64"},
        {"1e-400", false, "too small for f64"}, {"-0.1e-400", false, "too small for f64"},
        {"1e39", true, "too large for f32"}, {"-3.5e38", true, "too large for f32"}, {"1e-46", true, "too small for f32"},
        {"1e400", true, "too large for f32"},
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        refused(none[i], false, "not a number");
    for (size_t i = 0; i < sizeof t / sizeof *t; i++)
        refused(t[i].text, t[i].single, t[i].says);
    double got;
    struct cud_err err = {0};
    ok(cud_number_read("3.4028235e38", true, &got, &err) == CUD_OK && cud_number_read("1e-45", true, &got, &err) == CUD_OK &&
       cud_number_read("-inf", true, &got, &err) == CUD_OK, "the largest f32, the smallest, infinity: %s", err.text);
    ok(cud_number_read("0.1", true, &got, &err) == CUD_OK && got == 0.1, "a number for an f32 is not rounded to one");
}

static void test_whole(void)
{
    static const struct { const char *text; uint64_t most, want; const char *says; } t[] = {
        {"0", 9, 0, NULL}, {"9", 9, 9, NULL}, {"0009", 9, 9, NULL}, {"18446744073709551615", UINT64_MAX, UINT64_MAX, NULL},
        {"10", 9, 1, "too large: at most 9"}, {"18446744073709551616", UINT64_MAX, 1, "too large"},
        {"99999999999999999999999", UINT64_MAX, 1, "too large"}, {"", 9, 1, "not a whole"}, {"-1", 9, 1, "not a whole"},
        {"+1", 9, 1, "not a whole"}, {" 1", 9, 1, "not a whole"}, {"1 ", 9, 1, "not a whole"}, {"1.0", 9, 1, "not a whole"},
        {"1e1", 99, 1, "not a whole"}, {"0x1", 9, 1, "not a whole"}, {"\xd9\xa1", 9, 1, "not a whole"},
        {"99999999999999999999999x", 9, 1, "not a whole"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct cud_err err = {0};
        uint64_t got = 1;
        const enum cud_status status = cud_number_whole(t[i].text, strlen(t[i].text), t[i].most, &got, &err);
        const bool good = t[i].says ? status == CUD_EUSAGE && strstr(err.text, t[i].says) : status == CUD_OK;
        ok(got == t[i].want && good, "'%s': %llu %s", t[i].text, (unsigned long long)got, err.text);
    }
}

static void test_text(void)
{
    static const double values[] = {0.1, -0.0, 1e300, 1e-310, 5e-324, DBL_MAX, 1.0 / 3, HUGE_VAL, -HUGE_VAL, NAN};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct cud_err err = {0};
        char text[32];
        double back = 99;
        cud_number_text(values[i], false, text);
        ok(cud_number_read(text, false, &back, &err) == CUD_OK && same(back, values[i]), "%s reads back", text);
    }
}

int main(void)
{
    test_read();
    test_refused();
    test_whole();
    test_text();
    return done_testing();
}
