/* What is wanted: the command line, the environment and the job file, checked but not yet looked at the input. */
#ifndef CUD_JOB_H
#define CUD_JOB_H

#include <stdio.h>
#include "cudist/format.h"
#include "stats.h"

enum cud_write { CUD_WRITE_AUTO, CUD_WRITE_DIRECT, CUD_WRITE_ROOT };

enum cud_action {                          /* all but the first two end the program before MPI starts */
    CUD_RUN, CUD_DOCTOR, CUD_HELP, CUD_VERSION, CUD_LIST_KERNELS, CUD_SHOW_CONFIG, CUD_INFO
};

struct cud_job_step {
    char kind;                             /* the short option: 'k' */
    char *text;                            /* as the user wrote it: "scale:factor=2" */
};

struct cud_job_setting {                   /* for --show-config: what was said, and where */
    const char *option;                    /* its long name, in the table's memory */
    char *value, *origin;                  /* "64M"; "command line", "environment CUDIST_WINDOW", "x.job:3" */
};

struct cud_job {
    enum cud_action action;
    char *info;                            /* --info FILE */
    size_t inputs;
    char **input;                          /* absolute paths, or "random:..." */
    size_t steps;
    struct cud_job_step *step;
    bool default_step;                     /* no step was given, nor a job file: scale:factor=2 was put in */
    struct cud_given given;
    char *output;                          /* absolute path, "-", "none"; never NULL after cud_job_read */
    char *trace;                           /* absolute path; NULL: none */
    char *result;                          /* absolute path, "-", "none"; never NULL after cud_job_read */
    bool force;
    bool has_out_type;
    enum cud_type out_type;
    enum cud_write write;
    enum cud_nan nan;
    char *device;                          /* "auto", "cpu", "cuda" */
    char *comm;                            /* "auto", "mpi", "nccl", "cuda-mpi" */
    bool share_gpus;
    uint64_t batch;                        /* rows; 0: not given */
    uint64_t window;                       /* bytes; 0: not given */
    unsigned threads;                      /* a rank; 0: not given */
    double timeout;                        /* seconds; 0: never */
    double progress;                       /* seconds; 0: off; < 0: not given */
    bool dry_run;
    int verbose;                           /* -1 quiet, 0, 1, 2 */
    char *job_file;                        /* absolute, or NULL */
    size_t settings;                       /* only where the job was read: not sent to other ranks */
    struct cud_job_setting *setting;       /* those in effect */
};

/* Reads argv, the environment and the job file; rank 0 does.  Touches no input. */
enum cud_status cud_job_read(int argc, char **argv, struct cud_job *job, struct cud_err *err);
void cud_job_free(struct cud_job *job);                           /* all zero is fine */

/* The same job as bytes, to be sent to the other ranks: malloc'ed, the caller frees. */
enum cud_status cud_job_pack(const struct cud_job *job, void **bytes, size_t *n, struct cud_err *err);
enum cud_status cud_job_unpack(const void *bytes, size_t n, struct cud_job *job, struct cud_err *err);

/* Texts made from the table of options, the kernels and the formats. */
void cud_job_help(FILE *to);
void cud_job_list_kernels(FILE *to);
/* Every option, its value and where it came from: default, environment, job file:line, command line. */
void cud_job_show(const struct cud_job *job, FILE *to);

#endif
