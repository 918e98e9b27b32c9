/* Lines on stderr.  One write(2) a line, so that the lines of several ranks do not mix. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "rank.h"
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
    size_t room = sizeof line - (size_t)head - 1;      /* one byte is for the newline */

    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(line + head, room, format, args);
    va_end(args);

    size_t n = (size_t)head + (wanted < 0 ? 0 : (size_t)wanted < room ? (size_t)wanted : room - 1);
    line[n++] = '\n';
    cud_line_write(line, n);
}
