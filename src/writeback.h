/* Early writeback: a thread that asks the kernel to start writing what is behind the writers, so that the sync at the end is
 * short.  The call can wait for a slow disk; here no writer waits for it. */
#ifndef CUD_WRITEBACK_H
#define CUD_WRITEBACK_H

#include <stdint.h>

struct cud_writeback;

/* NULL: no thread could be made; the sync at the end then does all.  fd stays the caller's, and open until stop. */
struct cud_writeback *cud_writeback_start(int fd);
/* Any thread: bytes offset .. offset + bytes - 1 were written.  A hint: one too many is dropped.  NULL is fine. */
void cud_writeback_ask(struct cud_writeback *w, uint64_t offset, uint64_t bytes);
void cud_writeback_stop(struct cud_writeback *w);     /* NULL is fine; waits for the call in progress */

#endif
