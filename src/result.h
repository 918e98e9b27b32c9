/* The result: OUT.json, and the lines a person reads. */
#ifndef CUD_RESULT_H
#define CUD_RESULT_H

#include <stdio.h>
#include "bind.h"
#include "number.h"
#include "stats.h"
#include "step.h"

struct cud_run_facts {
    const struct cud_program *program;
    const struct cud_summary *summary;
    const struct cud_binding *binding;
    const char *mpi_library, *vendor_library;                     /* "Open MPI 4.1.4"; NULL */
    const char *output;                    /* as the user may read it; "none", "-" */
    const char *write;                     /* "direct", "root", "none" */
    const char *comm;                      /* how rows went to rank 0: "mpi", "nccl", "cuda-mpi" */
    uint64_t window_bytes;
    double start, stream, commit;          /* seconds */
    uint64_t bytes_read, bytes_written;
    const char *bottleneck;                /* see cud_measure_bottleneck */
    char started[32];                      /* 2026-01-31T12:00:00Z */
};

/* The JSON text, newline at the end; malloc'ed, the caller frees.  Schema: docs/result.md. */
enum cud_status cud_result_json(const struct cud_run_facts *facts, char **text, size_t *n, struct cud_err *err);
void cud_result_print(const struct cud_run_facts *facts, FILE *to);

#endif
