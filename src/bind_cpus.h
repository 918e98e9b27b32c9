/* How many CPUs each rank may use. */
#ifndef CUD_BIND_CPUS_H
#define CUD_BIND_CPUS_H

#include <stdbool.h>
#include <stdint.h>

#define CUD_CPUS_MAX 4096

struct cud_cpus {                          /* plain bytes */
    int32_t node;                          /* the lowest rank of this host */
    int32_t spare;
    uint64_t mask[CUD_CPUS_MAX / 64];      /* the CPUs that the system lets this rank use */
    double quota;                          /* CPUs' worth of time that its control group may use; 0: no limit */
};

/* Of the calling process; node is left alone. */
void cud_cpus_look(struct cud_cpus *cpus);

int cud_cpus_count(const struct cud_cpus *cpus);

/* The calling thread, and those that it starts from then on, run on the CPUs of this mask.  False: the system refuses. */
bool cud_cpus_bind(const struct cud_cpus *cpus);

/* A CPU that several ranks of a host may use is shared among them, and so is a quota.  At least 1 each. */
void cud_bind_cpus(const struct cud_cpus *seen, int ranks, int *cpus);

/* The text of cpu.max ("200000 100000", "max 100000") to CPUs; 0: no limit. */
double cud_cpus_quota(const char *text);

#endif
