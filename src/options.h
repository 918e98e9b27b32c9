/* The options, one row each: from this table come the command line, the environment's CUDIST_..., the keys of job files,
 * --help, --show-config, the man page and what tests/unit/options.c checks.
 *
 * A new option is a row in options.c, a field in job.h and a line in job_pack.c. */
#ifndef CUD_OPTIONS_H
#define CUD_OPTIONS_H

#include "job.h"

enum cud_option_place { CUD_IN_ENV = 1, CUD_IN_FILE = 2, CUD_IN_ARGV = 4, CUD_IN_ANY = 7 };

enum cud_option_group { CUD_GROUP_STEPS, CUD_GROUP_INPUT, CUD_GROUP_OUTPUT, CUD_GROUP_STATS, CUD_GROUP_RUN, CUD_GROUP_TELL, CUD_GROUPS };

/* What happens to values of one option (or of those of a kind) in one place: the last counts, or all do, in their order.
 * Those of a stronger place always replace those of a weaker one. */
enum cud_option_many { CUD_LAST, CUD_ALL_STEPS, CUD_ALL_INPUTS, CUD_ALL_LOUDNESS, CUD_MANY };

struct cud_option {
    const char *name;                      /* long: "window" */
    char letter;                           /* short: 'w'; 0: none */
    const char *value;                     /* what it takes, for people: "SIZE"; NULL: nothing, a flag (yes or no) */
    const char *fallback;                  /* the default, as a user would write it; NULL: not a fixed value */
    enum cud_option_group group;
    unsigned places;                       /* cud_option_place: where it may be written */
    enum cud_option_many many;
    enum cud_action action;                /* what the program does then; CUD_RUN: an option like any other */
    const char *choices;                   /* "auto direct root"; NULL */
    size_t at;                             /* its field in struct cud_job */
    /* Checks the value and sets the field.  The error's text is the reason alone.  NULL: the action is all there is. */
    enum cud_status (*set)(const struct cud_option *o, const char *value, struct cud_job *job, struct cud_err *err);
    const char *help;
};

const struct cud_option *cud_option_at(size_t i);                 /* in the order of --help; NULL: past the end */
const char *cud_option_group(enum cud_option_group group);        /* its heading */
/* By its exact long name, by its letter; NULL: none, or not to be written in that place. */
const struct cud_option *cud_option_named(const char *name, enum cud_option_place place);
const struct cud_option *cud_option_lettered(char letter);
/* On the command line a long name may be cut short.  n letters of name.  An error lists the candidates or names the nearest. */
enum cud_status cud_option_long(const char *name, size_t n, const struct cud_option **o, struct cud_err *err);
/* The name nearest to a mistyped one, or NULL. */
const char *cud_option_nearest(const char *name, enum cud_option_place place);

#define CUD_OPTION_ENV 64
const char *cud_option_env(const struct cud_option *o, char text[CUD_OPTION_ENV]);   /* "CUDIST_SHARE_GPUS" */
/* CUDIST_... that is no option but read elsewhere (CUDIST_ISA, CUDIST_TEST_...). */
bool cud_option_env_other(const char *name);

/* Values are given to a job place by place, the weakest first: the environment, the job file, the command line. */
struct cud_reading {
    struct cud_job *job;
    enum cud_option_place place;
    enum cud_option_place since[CUD_MANY]; /* whose values a job's steps, inputs, ... are */
};
/* One value.  Flags: "yes" or NULL.  said: how it was written, in front of errors ("--window 64X"); origin: see job.h. */
enum cud_status cud_option_give(struct cud_reading *r, const struct cud_option *o, const char *value, const char *said,
                                const char *origin, struct cud_err *err);

/* src/job_file.c: gives all of a job file's values.  For what comes through a pipe it waits so many seconds; 0: for ever. */
enum cud_status cud_job_file_read(const char *path, double wait, struct cud_reading *r, struct cud_err *err);

#endif
