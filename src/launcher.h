/* What the launcher's environment says, before MPI starts. */
#ifndef CUD_LAUNCHER_H
#define CUD_LAUNCHER_H

/* This process's rank and how many there are; 0 and 1 when nothing says otherwise. */
void cud_launcher_guess(int *rank, int *count);

#endif
