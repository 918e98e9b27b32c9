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
