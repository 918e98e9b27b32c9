/* Lines on stderr.  One write(2) a line, so that the lines of several ranks do not mix. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "rank.h"
#include "text.h"
#include "watchdog.h"

void cud_line_write(const char *line, size_t n)
{
    while (n > 0) {
        ssize_t done = write(STDERR_FILENO, line, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return;                        /* nobody to tell it to */
        line += done;
        n -= (size_t)done;
    }
}

void cud_say(int rank, const char *format, ...)
{
    char line[2048];
    int head = rank < 0 ? snprintf(line, sizeof line, "cudist: ") : snprintf(line, sizeof line, "cudist: rank %d: ", rank);
    va_list args;
    va_start(args, format);
    cud_text_line(line + head, sizeof line - (size_t)head - 1, format, args);     /* one byte is for the newline */
    va_end(args);
    size_t n = strlen(line);
    line[n++] = '\n';
    cud_line_write(line, n);
}
