/* Signals that ask the program to stop.
 *
 * USR1, USR2 and XCPU: stop in good order.  TERM and INT: in good order too, but under mpirun, which leaves about a second
 * between its TERM and its KILL, the process ends at once (exit code 75; what is written stays).  A second INT always does. */
#ifndef CUD_SIGNALS_H
#define CUD_SIGNALS_H

#include <stdbool.h>

enum cud_launcher { CUD_BY_HAND, CUD_BY_MPIRUN, CUD_BY_SLURM };

/* From the environment as it was before MPI_Init, which changes it. */
enum cud_launcher cud_signals_launcher(void);
/* Installs the handlers.  speaks: this process says the line when it ends at once (one of the job's does). */
void cud_signals_catch(enum cud_launcher launcher, bool speaks);
/* The job is being ended: INT and TERM do nothing any more. */
void cud_signals_ignore(void);
/* The first signal that asked, or 0. */
int cud_signals_asked(void);
const char *cud_signals_name(int signal);                         /* "USR1"; never NULL */

#endif
