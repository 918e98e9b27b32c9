#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "number.h"

enum cud_status cud_number_whole(const char *text, size_t n, uint64_t most, uint64_t *value, struct cud_err *err)
{
    uint64_t v = 0;
    bool fits = true;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            n = 0;
        else
            fits = fits && !__builtin_mul_overflow(v, 10, &v) && !__builtin_add_overflow(v, text[i] - '0', &v);
    }
    if (n == 0)
        return FAIL(err, CUD_EUSAGE, "not a whole number");
    if (!fits || v > most)
        return FAIL(err, CUD_EUSAGE, "too large: at most %llu", (unsigned long long)most);
    *value = v;
    return CUD_OK;
}

static size_t digits(const char **at)
{
    const size_t n = strspn(*at, "0123456789");
    *at += n;
    return n;
}

static bool is_decimal(const char *s)
{
    s += *s == '-';
    size_t n = digits(&s);
    if (*s == '.') {
        s++;
        n += digits(&s);
    }
    if (n && (*s == 'e' || *s == 'E')) {
        s++;
        s += *s == '+' || *s == '-';
        n = digits(&s);
    }
    return n && !*s;
}

enum cud_status cud_number_read(const char *text, bool single, double *value, struct cud_err *err)
{
    static const struct { const char *text; double value; } word[] = {{"inf", HUGE_VAL}, {"-inf", -HUGE_VAL}, {"nan", NAN}};
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (strcmp(text, word[i].text) == 0) {
            *value = word[i].value;
            return CUD_OK;
        }
    if (!is_decimal(text))
        return FAIL(err, CUD_EUSAGE, "not a number: write it like 2, -0.5, 1e-3, inf or nan");
    const double v = strtod(text, NULL), kept = single ? (double)strtof(text, NULL) : v;
    const char first = text[strcspn(text, "123456789eE")];
    if (isinf(kept))
        return FAIL(err, CUD_EUSAGE, "too large for %s: at most %s; write inf if that is meant", single ? "f32" : "f64",
                    single ? "3.4028235e+38" : "1.7976931348623157e+308");
    if (kept == 0 && first >= '1' && first <= '9')
        return FAIL(err, CUD_EUSAGE, "too small for %s: it would be 0; write 0 if that is meant", single ? "f32" : "f64");
    *value = v;
    return CUD_OK;
}

/* Every decimal of DBL_DIG (FLT_DIG) digits survives the way to binary and back, so what a user wrote comes out as it was
 * written; denormals keep fewer digits, so there the search begins at one. */
const char *cud_number_text(double value, bool single, char text[32])
{
    if (!isfinite(value)) {
        snprintf(text, 32, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return text;
    }
    const double normal = single ? FLT_MIN : DBL_MIN;
    const int most = single ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG;
    for (int digits = fabs(value) < normal ? 1 : single ? FLT_DIG : DBL_DIG; digits <= most; digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
            break;
    }
    return text;
}

const char *cud_number_bytes(uint64_t bytes, char text[32])
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t i = 0;
    for (; value >= 1023.5 && i + 1 < sizeof unit / sizeof *unit; i++)
        value /= 1024;
    snprintf(text, 32, i && value < 99.95 ? "%.1f %s" : "%.0f %s", value, unit[i]);
    return text;
}
