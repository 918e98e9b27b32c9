/* Decide, then do: everything that is known before the first row. */
#ifndef CUD_PREPARE_H
#define CUD_PREPARE_H

#include "bind.h"
#include "plan.h"
#include "program.h"
#include "rank_lane.h"
#include "source.h"

struct cud_prepared {
    struct cud_input input;
    struct cud_binding binding;
    struct cud_program program;
    struct cud_loaded *loaded;
    struct cud_plan plan;
    const struct cud_format *format;       /* of the output; NULL: none is written */
    unsigned char head[CUD_HEAD_MAX];      /* the output's first bytes */
    size_t head_bytes;
    bool direct;                           /* each rank writes its own rows */
    const char *write;                     /* "direct", "root", "none" */
    uint64_t workers;                      /* of a rank: its threads at most, and perhaps one more */
    const struct cud_lane_kind *lane;      /* how rows go to rank 0, if they do */
    char why_not[CUD_WHY];                 /* auto: why not by NCCL, though rows go from GPUs to rank 0; else "" */
    uint64_t host_bytes, device_bytes;     /* a rank takes for windows and arrays of steps; on the CPU all is host */
};

/* Collective.  Opens the inputs, binds devices, resolves the program, plans; allocates no window. */
enum cud_status cud_prepare(const struct cud_job *job, struct cud_ranks *ranks, struct cud_prepared *p, struct cud_err *err);
void cud_prepared_free(struct cud_prepared *p);                   /* all zero is fine */

/* Rank 0: the plan as a person reads it (--dry-run). */
void cud_dry_run_print(const struct cud_job *job, const struct cud_prepared *p, FILE *to);

#endif
