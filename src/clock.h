/* The clock that all waits and times go by. */
#ifndef CUD_CLOCK_H
#define CUD_CLOCK_H

double cud_now(void);                      /* seconds, monotonic */

#endif
