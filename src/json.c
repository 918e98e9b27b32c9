#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "json.h"
#include "number.h"
#include "text.h"

/* A writer of our own and not a library's: cJSON and jansson have no say over how a double is written, hold no integers of
 * 64 bits (cJSON), and pass on or refuse file names that are not UTF-8; all that would be left of them are the commas. */

static void begin(struct cud_json *j, const char *key)
{
    const bool flat = j->flat[j->level];
    if (!j->first)
        fputs(flat ? ", " : ",", j->to);
    if (j->level && !flat)
        fprintf(j->to, "\n%*s", (int)(2 * j->level), "");
    if (key)
        fprintf(j->to, "\"%s\": ", key);
    j->first = false;
}

void cud_json_open(struct cud_json *j, const char *key, char kind, bool flat)
{
    begin(j, key);
    assert(j->level + 1 < sizeof j->flat / sizeof *j->flat);
    fputc(kind, j->to);
    j->flat[j->level + 1] = flat || j->flat[j->level];
    j->level++;
    j->first = true;
}

void cud_json_close(struct cud_json *j, char kind)
{
    const bool flat = j->flat[j->level];
    j->level--;
    if (!flat && !j->first)
        fprintf(j->to, "\n%*s", (int)(2 * j->level), "");
    fputc(kind, j->to);
    j->first = false;
}

void cud_json_null(struct cud_json *j, const char *key)
{
    begin(j, key);
    fputs("null", j->to);
}

void cud_json_string(struct cud_json *j, const char *key, const char *s)
{
    if (!s) {
        cud_json_null(j, key);
        return;
    }
    begin(j, key);
    fputc('"', j->to);
    for (size_t n; *s; s += n ? n : 1) {
        n = cud_text_utf8(s);
        if (*s == '"' || *s == '\\')
            fprintf(j->to, "\\%c", *s);
        else if (n == 1 && (unsigned char)*s < 0x20)
            fprintf(j->to, "\\u%04x", (unsigned)*s);
        else if (n)
            fwrite(s, 1, n, j->to);
        else
            fputs("\\ufffd", j->to);
    }
    fputc('"', j->to);
}

void cud_json_number(struct cud_json *j, const char *key, double value)
{
    char text[32];
    cud_number_text(value, false, text);
    if (!isfinite(value)) {
        cud_json_string(j, key, text);
        return;
    }
    begin(j, key);
    fputs(text, j->to);
    if (!text[strspn(text, "-0123456789")])                       /* -0 would be read as an integer, and lose its sign */
        fputs(".0", j->to);
}

void cud_json_count(struct cud_json *j, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    cud_json_integer(j, key, text);
}

void cud_json_integer(struct cud_json *j, const char *key, const char *digits)
{
    const bool exact = fabs(strtod(digits, NULL)) < 0x1p53 || !strcmp(digits + (*digits == '-'), "9007199254740992");
    if (!exact) {
        cud_json_string(j, key, digits);
        return;
    }
    begin(j, key);
    fputs(digits, j->to);
}

void cud_json_shape(struct cud_json *j, const char *key, const struct cud_shape *shape)
{
    cud_json_open(j, key, '[', true);
    for (unsigned i = 0; i < shape->ndim; i++)
        cud_json_count(j, NULL, shape->dim[i]);
    cud_json_close(j, ']');
}
