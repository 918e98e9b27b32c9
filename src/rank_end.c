#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include "rank_own.h"

#define LIBRARIES_MAX 512

struct names { size_t n; char *name[LIBRARIES_MAX]; };

static int add_name(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct names *const all = arg;
    (void)size;
    if (info->dlpi_name && *info->dlpi_name && all->n < LIBRARIES_MAX)
        all->n += (all->name[all->n] = strdup(info->dlpi_name)) != NULL;
    return 0;
}

/* Open MPI unloads its components in MPI_Finalize, and threads of its own may still be running in them: seen on a machine with
 * much else to do as a segmentation fault after all was done.  So nothing that is loaded leaves before the process does. */
static void keep_libraries(void)
{
    struct names all = {0};
    dl_iterate_phdr(add_name, &all);
    for (size_t i = 0; i < all.n; i++) {
        (void)dlopen(all.name[i], RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        free(all.name[i]);
    }
}

void cud_ranks_end_mpi(void)
{
    keep_libraries();
    MPI_Finalize();
}
