#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "cudist/err.h"
#include "text.h"

#define HOST_ROOM 96                       /* a rank that is not alone may append its host */

enum cud_status cud_fail(struct cud_err *err, const char *file, int line, enum cud_status status, const char *format, ...)
{
    va_list args;
    if (err->status != CUD_OK)
        return (enum cud_status)err->status;
    err->status = (int)status;
    err->rank = -1;
    const char *const base = strrchr(file, '/');
    snprintf(err->where, sizeof err->where, "%s:%d", base ? base + 1 : file, line);
    va_start(args, format);
    cud_text_line(err->text, sizeof err->text - HOST_ROOM, format, args);
    va_end(args);
    return status;
}

void cud_err_at(struct cud_err *err, const char *format, ...)
{
    char line[2 * sizeof err->text];
    va_list args;
    if (err->status == CUD_OK)
        return;
    va_start(args, format);
    int n = vsnprintf(line, sizeof err->text - 2, format, args);
    va_end(args);
    n = n < (int)sizeof err->text - 2 ? n : (int)sizeof err->text - 3;
    snprintf(line + n, sizeof line - (size_t)n, ": %s", err->text);
    cud_text_fit(cud_text_clean(line), sizeof err->text - HOST_ROOM);
    memcpy(err->text, line, strlen(line) + 1);
}

static bool starts_character(char c) { return ((unsigned char)c & 0xc0) != 0x80; }

void cud_err_point(struct cud_err *err, const char *text, size_t at)
{
    static const char dots[] = "...";
    const size_t room = sizeof err->shown - sizeof dots, before = 60;
    size_t from = at, n = 0;
    while (from > 0 && text[from - 1] != '\n' && (at - from < before || !starts_character(text[from])))
        from--;
    const bool cut = from > 0 && text[from - 1] != '\n';
    while (text[from + n] && text[from + n] != '\n' && n < room)
        n++;
    while (n > 0 && !starts_character(text[from + n]))
        n--;
    snprintf(err->shown, sizeof err->shown, "%s%.*s", cut ? dots : "", (int)n, text + from);
    err->caret = cut ? (int)strlen(dots) : 0;
    for (size_t k = from; k < at; k++)
        err->caret += starts_character(text[k]);
    for (char *c = err->shown; *c; c++)
        *c = *c > 0 && *c < ' ' ? ' ' : *c;             /* tabs and the like are blanks in expressions */
    cud_text_clean(err->shown);
}
