/* What the launcher's environment says, before MPI starts. */
#ifndef CUD_LAUNCHER_H
#define CUD_LAUNCHER_H

/* This process's rank and how many there are; 0 and 1 when nothing says otherwise. */
void cud_launcher_guess(int *rank, int *count);

/* Ends this process with a line and code 1 if MPI has not started within so many seconds (20 at least: a loaded machine takes
 * some): a rank that is stuck there holds all the others.  0: takes that back, or never. */
void cud_launcher_deadline(double seconds);

#endif
