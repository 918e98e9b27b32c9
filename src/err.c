#include <stdarg.h>
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
