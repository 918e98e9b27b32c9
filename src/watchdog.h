/* The watchdog: a thread that calls no MPI and ends the process when even the main thread is stuck.
 *
 * It counts its own ticks, not the clock: a process that was stopped and goes on is not blamed for the time between. */
#ifndef CUD_WATCHDOG_H
#define CUD_WATCHDOG_H

#include <stddef.h>
#include "cudist/err.h"

struct cud_watchdog;

enum cud_status cud_watchdog_start(struct cud_watchdog **watchdog, struct cud_err *err);
void cud_watchdog_stop(struct cud_watchdog *watchdog);            /* NULL is fine */

/* Main thread: I have come by. */
void cud_watchdog_beat(struct cud_watchdog *watchdog);
/* Main thread: so many seconds without a beat end the process with exit code 1; 0: never.  Counts from now. */
void cud_watchdog_limit(struct cud_watchdog *watchdog, double seconds);
/* Main thread: the line (newline included) that is then said; "" for none. */
void cud_watchdog_line(struct cud_watchdog *watchdog, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes all of the bytes to stderr; async-signal-safe. */
void cud_line_write(const char *line, size_t n);

#endif
