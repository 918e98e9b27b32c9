/* The control groups of this process: where their limits lie, in version 1 and 2. */
#ifndef CUD_CGROUP_H
#define CUD_CGROUP_H

#include <stddef.h>

#define CUD_CGROUP_PATH 512

/* One line of /proc/self/cgroup to the folder of a controller's ("cpu", "memory") limits; pure.  "" if the line is not about it. */
void cud_cgroup_folder(const char *line, const char *controller, char folder[CUD_CGROUP_PATH]);
/* look(folder, arg) for this process's group and each one above it: a limit holds for all below it. */
void cud_cgroup_each(const char *controller, void (*look)(const char *folder, void *arg), void *arg);
/* The first line of a small file there; "" where there is none. */
void cud_cgroup_text(const char *folder, const char *name, char *text, size_t room);

#endif
