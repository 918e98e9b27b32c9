/* What the doctor*.c files share.  One check is one function is one row: to add one, write it and put it into the list in
 * doctor.c. */
#ifndef CUD_DOCTOR_OWN_H
#define CUD_DOCTOR_OWN_H

#include "bind.h"
#include "bind_cpus.h"
#include "doctor.h"

/* ---- what a check finds */

enum cud_verdict { CUD_FINE, CUD_WARNING, CUD_PROBLEM };

struct cud_finding {                       /* of one rank; plain bytes, all zero at first: this rank has nothing to say */
    int32_t verdict;
    int32_t code;                          /* of a problem: what the program returns */
    char text[512];
    char cure[320];
};

/* The worst that is said stays; of what is as bad, the first.  What is fine needs no cure: it is left out. */
void cud_find(struct cud_finding *f, enum cud_verdict verdict, const char *cure, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void cud_fine(struct cud_finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A problem in the words of an error; its cure is what follows the last "; ". */
void cud_find_error(struct cud_finding *f, const struct cud_err *err);

/* ---- the table: doctor_table.c */

struct cud_table {
    FILE *to;
    bool quiet;                            /* what is fine is left out */
    int warnings, problems, code;
};

void cud_table_start(struct cud_table *t);
/* What the ranks found, in lines of what several say alike, the worst first.  Nobody says anything: no row. */
void cud_table_row(struct cud_table *t, const char *name, const struct cud_finding *found, char (*host)[64], int ranks);
void cud_table_end(struct cud_table *t);

/* ---- the doctor: what is known by now, on every rank */

struct cud_doctor {
    const struct cud_job *job;
    struct cud_ranks *ranks;
    int me, count, hosts;
    int32_t *first;                        /* of every rank: the lowest rank of its host */
    char (*host)[64];                      /* of every rank: its name */
    struct cud_err err;                    /* the doctor itself failed */
    struct cud_table table;                /* rank 0's */

    bool no_gpu;                           /* a run would refuse: GPUs are missing */
    bool cuda;                             /* every rank gets a GPU */
    int number;                            /* this rank's own */
    const struct cud_device *device;
    struct cud_dev *dev;                   /* NULL: it could not be opened */
    struct cud_device_facts facts;         /* of the device */

    char folder[4096];                     /* of the output; "" : none is written */
    bool folder_bad;                       /* it cannot be written to */
    bool direct;                           /* each rank writes its rows */
    uint64_t out_bytes;                    /* of the output; 0: not known */
};

/* Collective.  n bytes of every rank, in order: the caller frees.  NULL on all ranks where it fails; then d->err says why. */
void *cud_doctor_all(struct cud_doctor *d, const void *mine, size_t n);
bool cud_doctor_speaks(const struct cud_doctor *d);   /* for its host: its first rank does */

/* A check.  Collective: all ranks call all of them in the same order, and each finds what it finds.  What several say alike is
 * one line of the table. */
typedef void cud_check(struct cud_doctor *d, struct cud_finding *f);
cud_check cud_check_launch, cud_check_program, cud_check_clocks;                          /* doctor_launch.c */
cud_check cud_check_driver, cud_check_gpus, cud_check_near, cud_check_device, cud_check_gpu_errors, cud_check_gpu_code,
    cud_check_kernels;                                                                    /* doctor_gpu.c */
cud_check cud_check_nccl, cud_check_gpu_mpi;                                              /* doctor_comm.c */
cud_check cud_check_cpus, cud_check_memory, cud_check_gemm, cud_check_files, cud_check_locked;     /* doctor_host.c */
cud_check cud_check_folder, cud_check_space, cud_check_file_size, cud_check_speed;        /* doctor_output.c */

/* ---- pure parts, for tests too */

/* Two clocks: one rank read `theirs` between `before` and `after` of another's.  The least that they differ by, in seconds. */
double cud_clock_differs(double before, double after, double theirs);

/* What runs on a GPU of kind "sm_90" of the code that was built, "sm_80 sm_90 compute_90". */
enum cud_code { CUD_CODE_NONE, CUD_CODE_PTX, CUD_CODE_NATIVE };
enum cud_code cud_code_for(const char *built, const char *kind);

#endif
