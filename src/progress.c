#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "clock.h"
#include "progress.h"
#include "rank.h"

void cud_progress_start(struct cud_progress *p, double seconds, bool quiet)
{
    const bool terminal = isatty(STDERR_FILENO);
    *p = (struct cud_progress){.bar = terminal && seconds < 0, .start = cud_now()};
    p->every = quiet ? 0 : seconds >= 0 ? seconds : terminal ? 0.2 : 60;
    p->next = p->start + (p->bar ? 0.5 : p->every);          /* a job of half a second shows nothing */
}

static void time_text(double seconds, char text[16])
{
    const unsigned long s = seconds < 3.6e6 ? (unsigned long)(seconds + 0.5) : 3600000;
    if (s < 3600)
        snprintf(text, 16, "%lu:%02lu", s / 60, s % 60);
    else
        snprintf(text, 16, "%lu:%02lu:%02lu", s / 3600 % 1000, s / 60 % 60, s % 60);
}

void cud_progress_tick(struct cud_progress *p, uint64_t rows, uint64_t all, uint64_t bytes)
{
    enum { WIDTH = 30 };
    const double now = cud_now(), took = now - p->start, part = all ? (double)rows / (double)all : 1;
    char bar[WIDTH + 1], left[16] = "-:--";
    if (p->every <= 0 || now < p->next)
        return;
    p->next = now + p->every;
    if (part > 0)
        time_text(took / part - took, left);
    const double speed = took > 0 ? (double)bytes / took / (1 << 30) : 0;
    if (!p->bar) {
        cud_say(-1, "%llu of %llu rows (%.0f %%), %.2f GiB/s, %s left", (unsigned long long)rows, (unsigned long long)all,
                100 * part, speed, left);
        return;
    }
    const int full = (int)(part * WIDTH);
    memset(bar, '#', (size_t)full);
    memset(bar + full, '.', (size_t)(WIDTH - full));
    bar[WIDTH] = 0;
    fprintf(stderr, "\r\033[K[%s] %3.0f %%  %.2f GiB/s  %s left", bar, 100 * part, speed, left);
    fflush(stderr);
    p->drawn = true;
}

void cud_progress_end(struct cud_progress *p)
{
    if (p->drawn)
        fputs("\r\033[K", stderr);
    p->drawn = false;
}
