/* How much memory the ranks of a host may still take. */
#ifndef CUD_MEMORY_H
#define CUD_MEMORY_H

#include <stdint.h>

struct cud_memory_left {                        /* bytes; UINT64_MAX: unknown, or no limit */
    uint64_t host;                         /* what the host has available */
    uint64_t group;                        /* what the limits of this process's control groups leave */
};

struct cud_memory_left cud_memory_look(void);
uint64_t cud_memory_available(void);       /* the less of the two */

/* What the control group of this folder may still take: its limit less what it uses, but for the files' cache. */
uint64_t cud_memory_of_group(const char *folder);

#endif
