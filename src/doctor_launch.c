/* How the ranks were started, and what runs on their hosts. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include "doctor_own.h"
#include "registry.h"

#define CLOCKS_MAY_DIFFER 1.0              /* seconds */

static int tasks_of_slurm(void)
{
    const char *const tasks = getenv("SLURM_NTASKS");
    return tasks ? atoi(tasks) : 0;
}

void cud_check_launch(struct cud_doctor *d, struct cud_finding *f)
{
    const char *const by = cud_rank_launcher(d->ranks);
    if (d->me != 0)
        return;
    if (d->count == 1)
        cud_fine(f, "1 rank, on host %s, started by %s", d->host[0], by);
    else
        cud_fine(f, "%d ranks on %d host%s%s, started by %s", d->count, d->hosts, d->hosts > 1 ? "s, rank 0 on " : " ",
                 d->host[0], by);
    if (d->count == 1 && tasks_of_slurm() > 1 && strcmp(by, "hand") == 0)
        cud_find(f, CUD_WARNING, "srun --mpi=pmix cudist ..., or mpirun cudist ...",
                 "1 rank, started by hand, in a Slurm job of %d tasks", tasks_of_slurm());
}

/* The text is what all must have in common: rank 0's is everyone's measure. */
void cud_check_program(struct cud_doctor *d, struct cud_finding *f)
{
    struct utsname system;
    char mine[256];
    const bool known = uname(&system) == 0;
    snprintf(mine, sizeof mine, "cudist %s %s CUDA for %s, %s", PACKAGE_VERSION,
             cud_registry_device("cuda") ? "with" : "without", known ? system.machine : "unknown", cud_rank_library(d->ranks));
    char (*const all)[256] = cud_doctor_all(d, mine, sizeof mine);
    if (!all)
        return;
    if (strcmp(all[0], mine) == 0)
        cud_fine(f, "%s", mine);
    else
        cud_find(f, CUD_PROBLEM, "install the same on all hosts", "%s", mine);
    free(all);
}

/* ---- clocks: times in lock files and results are compared and read by people */

static double clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double cud_clock_differs(double before, double after, double theirs)
{
    return theirs > after ? theirs - after : theirs < before ? before - theirs : 0;
}

/* Every rank reads its clock after a meeting that nobody leaves before all have come, and before the end of a second one: rank
 * 0 knows between which two moments. */
void cud_check_clocks(struct cud_doctor *d, struct cud_finding *f)
{
    if (d->hosts == 1)
        return;
    const double before = clock_now();
    if (cud_rank_agree(d->ranks, &d->err) != CUD_OK)
        return;
    const double mine = clock_now();
    double *const all = cud_doctor_all(d, &mine, sizeof mine), after = clock_now();
    double most = 0;
    for (int r = 1; all && d->me == 0 && r < d->count; r++) {
        const double differs = cud_clock_differs(before, after, all[r]);
        if (differs > most && differs > CLOCKS_MAY_DIFFER)
            cud_find(f, CUD_WARNING, "NTP on all hosts", "the clock of host %s is %.0f s off that of host %s", d->host[r],
                     differs, d->host[0]);
        most = differs > most ? differs : most;
    }
    if (all && d->me == 0)
        cud_fine(f, "those of the hosts agree to a second");
    free(all);
}
