/* Progress on stderr: a bar on a terminal, a line now and then elsewhere.  Rank 0 only. */
#ifndef CUD_PROGRESS_H
#define CUD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct cud_progress {
    double every;                          /* seconds; 0: silent */
    bool bar;
    double start, next;
    bool drawn;                            /* a bar is on the screen */
};

/* seconds: 0 silent, > 0 a line that often, < 0 a bar on a terminal and a line a minute elsewhere. */
void cud_progress_start(struct cud_progress *p, double seconds, bool quiet);
/* Says so many of so many rows, if it is time. */
void cud_progress_tick(struct cud_progress *p, uint64_t rows, uint64_t all, uint64_t bytes);
void cud_progress_end(struct cud_progress *p);                    /* takes the bar off the screen */

#endif
