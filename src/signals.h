/* Signals that ask the program to stop.
 *
 * At first, when nothing is made yet, each of them ends the process at once.  While the ranks run: USR1, USR2 and XCPU stop it
 * in good order; TERM, INT and HUP too, but under mpirun, which leaves about a second between its TERM and its KILL, they end it at
 * once (exit code 75; what is written stays).  When all rows are done and synced, the run ends by itself: none of them hurries
 * it.  A second INT always does. */
#ifndef CUD_SIGNALS_H
#define CUD_SIGNALS_H

#include <stdatomic.h>
#include <stdbool.h>

enum cud_launcher { CUD_BY_HAND, CUD_BY_MPIRUN, CUD_BY_SLURM };

/* When the main thread last came by.  A process that was away for longer than the limit (0: none), or was so until just now,
 * says nothing when it ends at once: the other ranks have said who was away. */
struct cud_seen { atomic_llong ms, limit_ms, quiet_ms; };         /* quiet: until then; all as cud_now, in milliseconds */

/* The main thread comes by. */
void cud_seen_now(struct cud_seen *seen);

/* From the environment as it was before MPI_Init, which changes it. */
enum cud_launcher cud_signals_launcher(void);

/* First of all.  speaks: this process says the line when it ends at once (one of the job's does). */
void cud_signals_catch(bool speaks);
/* The ranks run.  seen stays where it is. */
void cud_signals_run(enum cud_launcher launcher, bool speaks, const struct cud_seen *seen);
/* All rows are done: the run is about to end by itself. */
void cud_signals_finish(void);
/* Another rank has said why the job ends: INT and TERM end the process without a word. */
void cud_signals_hush(void);
/* The job is being ended: INT and TERM do nothing any more. */
void cud_signals_ignore(void);
/* As they are without us: for a child. */
void cud_signals_default(void);

/* What this process leaves behind if it is ended at once from now on; NULL: nothing.  The line names it. */
void cud_signals_leave(const char *path);

/* The first signal that asked, or 0. */
int cud_signals_asked(void);
const char *cud_signals_name(int signal);                         /* "USR1"; never NULL */

#endif
