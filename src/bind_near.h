/* The CPUs near a GPU: those of the NUMA node that its PCI slot belongs to, as hwloc knows it. */
#ifndef CUD_BIND_NEAR_H
#define CUD_BIND_NEAR_H

#include "bind_cpus.h"

enum cud_near {
    CUD_NEAR_NO_HWLOC,                     /* built without it */
    CUD_NEAR_UNKNOWN,                      /* it does not know this slot */
    CUD_NEAR_ALL,                          /* all CPUs that may be used are near */
    CUD_NEAR_SOME,                         /* some are */
    CUD_NEAR_NONE                          /* those that are near may not be used */
};

/* pci: "0000:17:00.0".  *near: the CPUs of may that are near; set for SOME and ALL. */
enum cud_near cud_near_find(const char *pci, const struct cud_cpus *may, struct cud_cpus *near);

/* Where some are near, the calling thread runs on those alone from now on, and so do the threads that it starts then, and where
 * it or they touch memory first, that is near too.  Never outside of the CPUs it may use. */
enum cud_near cud_near_bind(const char *pci);

#endif
