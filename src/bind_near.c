#include "config.h"
#include <sched.h>
#include <string.h>
#ifdef HAVE_HWLOC
#include <hwloc.h>
#endif
#include "bind_near.h"

#ifdef HAVE_HWLOC

/* PCI slots and no other devices: looking for those would start CUDA, OpenCL and the like.  hwloc's x86 part would run on each
 * CPU in turn. */
static bool load(hwloc_topology_t t)
{
    return hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86") == 0 &&
           hwloc_topology_set_type_filter(t, HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) == 0 &&
           hwloc_topology_load(t) == 0 && hwloc_topology_is_thissystem(t);
}

enum { UNKNOWN = CUD_NEAR_UNKNOWN };

static bool look(const char *pci, struct cud_cpus *near)
{
    hwloc_topology_t t;
    if (hwloc_topology_init(&t) != 0)
        return false;
    const hwloc_obj_t slot = load(t) ? hwloc_get_pcidev_by_busidstring(t, pci) : NULL;
    const hwloc_obj_t place = slot ? hwloc_get_non_io_ancestor_obj(t, slot) : NULL;
    memset(near->mask, 0, sizeof near->mask);
    for (unsigned c = 0; place && c < CUD_CPUS_MAX; c++)
        if (hwloc_bitmap_isset(place->cpuset, c))
            near->mask[c / 64] |= (uint64_t)1 << (c % 64);
    hwloc_topology_destroy(t);
    return place != NULL;
}

#else

enum { UNKNOWN = CUD_NEAR_NO_HWLOC };

static bool look(const char *pci, struct cud_cpus *near)
{
    (void)pci, (void)near;
    return false;
}

#endif

enum cud_near cud_near_find(const char *pci, const struct cud_cpus *may, struct cud_cpus *near)
{
    struct cud_cpus found = *may;
    bool some = false, all = true;
    if (!look(pci, &found))
        return (enum cud_near)UNKNOWN;
    for (int i = 0; i < CUD_CPUS_MAX / 64; i++) {
        found.mask[i] &= may->mask[i];
        some |= found.mask[i] != 0;
        all &= found.mask[i] == may->mask[i];
    }
    if (!some)
        return CUD_NEAR_NONE;
    *near = found;
    return all ? CUD_NEAR_ALL : CUD_NEAR_SOME;
}

enum cud_near cud_near_bind(const char *pci)
{
    struct cud_cpus may, near;
    cud_cpus_look(&may);
    const enum cud_near found = cud_near_find(pci, &may, &near);
    if (found == CUD_NEAR_SOME && !cud_cpus_bind(&near))
        return CUD_NEAR_UNKNOWN;
    return found;
}
