/* The loop: read a window, run the program on it, write it.  Workers do that, each with a window of its own; the main thread
 * passes windows on, pumps reports and watches. */
#ifndef CUD_PIPE_H
#define CUD_PIPE_H

#include "bind.h"
#include "measure.h"
#include "plan.h"
#include "program.h"
#include "sink.h"
#include "source.h"
#include "stats.h"
#include "step.h"

struct cud_pipe_facts {
    const struct cud_input *input;
    const struct cud_program *program;
    const struct cud_loaded *loaded;
    const struct cud_binding *binding;
    const struct cud_plan *plan;
    struct cud_sink *sink;
    struct cud_ranks *ranks;
    struct cud_track *const *track;        /* --trace: track[0] of the main thread, track[1 + i] of worker i; NULL: none */
    bool nan_fails;                        /* --nan fail: a rank whose rows may stop there stops at its first NaN */
    double progress;                       /* seconds between lines, 0: none; < 0: a bar on a terminal, a line a minute elsewhere */
    bool quiet;
};

struct cud_pipe_sums {
    uint64_t bytes_read, bytes_written, rows;
    double part[CUD_SUMS];                 /* seconds, all workers together */
};

/* This rank's windows.  All buffers are made first.  Not collective, but rank 0 of a root sink returns when all are through.
 * grove takes the forests of this rank's rows (rank 0 of a root sink: of all rows that came to it with their forests). */
enum cud_status cud_pipe_run(const struct cud_pipe_facts *facts, struct cud_grove *grove, struct cud_pipe_sums *sums,
                             struct cud_err *err);
/* Workers at most, so tracks besides the main thread's. */
unsigned cud_pipe_workers(const struct cud_pipe_facts *facts);
/* Bytes of memory a worker takes: host (0 where the device is shared) and device. */
void cud_pipe_bytes(const struct cud_program *program, const struct cud_plan *plan, bool shared, uint64_t *host, uint64_t *device);

#endif
