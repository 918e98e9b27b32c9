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

static void say(int rank, const char *format, va_list args)
{
    char line[2048];
    int head = rank < 0 ? snprintf(line, sizeof line, "cudist: ") : snprintf(line, sizeof line, "cudist: rank %d: ", rank);
    cud_text_line(line + head, sizeof line - (size_t)head - 1, format, args);     /* one byte is for the newline */
    size_t n = strlen(line);
    line[n++] = '\n';
    cud_line_write(line, n);
}

void cud_say(int rank, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(rank, format, args);
    va_end(args);
}

static bool quiet_notes;                   /* the log level */

void cud_note_quiet(bool quiet) { quiet_notes = quiet; }

void cud_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!quiet_notes)
        say(-1, format, args);
    va_end(args);
}

void cud_say_place(const char *shown, int caret)
{
    char lines[512];
    const int n = snprintf(lines, sizeof lines, "    %s\n    %*s^\n", shown, caret, "");
    cud_line_write(lines, n < (int)sizeof lines ? (size_t)n : sizeof lines - 1);
}
