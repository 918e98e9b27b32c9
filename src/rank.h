/* Ranks: the only files that call MPI are rank*.c, and the only thread that may is the main one.
 *
 * There is one wait: it tests the request, sleeps a little, pumps reports, and looks at the stop flag and the deadline.  Where
 * a rank is stuck, or MPI fails, nobody can meet any more: the job ends there, with a line that names the rank and MPI_Abort
 * (what is written stays as it is), and the call does not return.
 * "Collective." marks where all ranks must come.  A rank that failed still comes: it passes its error to the next
 * cud_rank_agree, and between two of these it only stops working. */
#ifndef CUD_RANK_H
#define CUD_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cudist/err.h"

struct cud_ranks;                          /* made once by start */

enum cud_phase { CUD_PHASE_START, CUD_PHASE_STREAM, CUD_PHASE_COMMIT, CUD_PHASE_END };

/* What a rank tells rank 0, at most once a second: progress, the culprit's name. */
struct cud_report {
    int32_t phase;                         /* enum cud_phase */
    int32_t status;                        /* enum cud_status: what it failed with, CUD_OK while it works */
    uint64_t rows_done, rows_all;          /* of its own rows; here and below, elements where rows do not matter */
    uint64_t row0, row1;                   /* the rows it is working on: row0 .. row1 - 1.  Equal: it only waits for others */
    uint64_t bytes_read, bytes_written;
};

/* Starts MPI (FUNNELED), refuses singletons (srun without PMI starts N programs that each think they are rank 0 of 1),
 * installs the signal handlers and starts the watchdog.  The deadline is 300 s until cud_ranks_timeout says otherwise. */
enum cud_status cud_ranks_start(int *argc, char ***argv, struct cud_ranks **ranks, struct cud_err *err);
/* The deadline of every wait from now on; 0: never. */
void cud_ranks_timeout(struct cud_ranks *r, double seconds);
/* Named in messages about this rank: "cpu", "cuda:0 NVIDIA H200". */
void cud_ranks_device(struct cud_ranks *r, const char *device);
/* So many of a report's rows are one to people: where rows do not matter, the elements of one. */
void cud_ranks_row(struct cud_ranks *r, uint64_t elems);
/* What this rank is at from now on, where no report says it (pump's reports do). */
void cud_ranks_phase(struct cud_ranks *r, enum cud_phase phase);
/* Its waits go to this track from now on; NULL: to none. */
struct cud_track;
void cud_ranks_trace(struct cud_ranks *r, struct cud_track *track);
/* Collective.  Finalizes MPI and returns what main must return: the code on rank 0, 0 elsewhere (a launcher kills ranks that
 * still write when another returns non-zero). */
int cud_ranks_finish(struct cud_ranks *r, int code);

int cud_rank_me(const struct cud_ranks *r);
int cud_rank_count(const struct cud_ranks *r);
int cud_rank_node_me(const struct cud_ranks *r);      /* among the ranks of this host */
int cud_rank_node_count(const struct cud_ranks *r);
int cud_rank_node_first(const struct cud_ranks *r);   /* the lowest rank of this host: tells hosts apart, as names may not */
const char *cud_rank_host(const struct cud_ranks *r);
const char *cud_rank_library(const struct cud_ranks *r);          /* "Open MPI 4.1.4" */
const char *cud_rank_launcher(const struct cud_ranks *r);         /* what started this rank: "mpirun", "srun", "hand" */

/* Collective.  From rank 0 to all; everyone knows the size. */
enum cud_status cud_rank_bcast(struct cud_ranks *r, void *bytes, size_t n, struct cud_err *err);
/* Collective.  From rank 0 to all; elsewhere *bytes is malloc'ed and the caller frees it. */
enum cud_status cud_rank_bcast_any(struct cud_ranks *r, void **bytes, size_t *n, struct cud_err *err);
/* Collective.  n bytes of every rank to all[rank * n] on rank 0 (all may be NULL elsewhere). */
enum cud_status cud_rank_gather(struct cud_ranks *r, const void *mine, size_t n, void *all, struct cud_err *err);
/* Collective.  The same to every rank. */
enum cud_status cud_rank_allgather(struct cud_ranks *r, const void *mine, size_t n, void *all, struct cud_err *err);
/* Collective.  Everyone leaves with the error of the lowest rank that failed (err->rank set), or with none.  CUD_ESTOPPED
 * counts only where nothing else is wrong. */
enum cud_status cud_rank_agree(struct cud_ranks *r, struct cud_err *err);

/* Not collective.  Called by the main thread while it works or waits, as often as it likes: sends and takes reports, resets
 * deadlines, notices what others said.  Returns CUD_OK; CUD_ESTOPPED when this rank was asked to stop (a signal here or
 * anywhere; err says by which, and it stays so).  A rank whose report does not change for the timeout while it is working on
 * rows (row0 < row1, rows_done < rows_all) ends the job as stuck.
 * *others_failed is set when another rank reported a failure (stop working, come to agree). */
enum cud_status cud_rank_pump(struct cud_ranks *r, const struct cud_report *mine, bool *others_failed, struct cud_err *err);
/* On rank 0: what rank said last. */
const struct cud_report *cud_rank_report(const struct cud_ranks *r, int rank);

/* Point to point, for sinks: at most 1 GiB a message. */
struct cud_message;                        /* in flight */
enum cud_status cud_rank_send(struct cud_ranks *r, int to, int tag, const void *bytes, size_t n, struct cud_message **m,
                              struct cud_err *err);
enum cud_status cud_rank_receive(struct cud_ranks *r, int from, int tag, void *bytes, size_t n, struct cud_message **m,
                                 struct cud_err *err);
/* Is one there?  from < 0: from anyone.  *found, and then who and how long. */
enum cud_status cud_rank_probe(struct cud_ranks *r, int from, int tag, bool *found, int *who, size_t *n, struct cud_err *err);
enum cud_status cud_message_test(struct cud_message **m, bool *done, struct cud_err *err);   /* done: *m is freed and NULL */
enum cud_status cud_message_wait(struct cud_message **m, struct cud_err *err);


/* Ends the job now: says the error in one line, MPI_Abort.  The one place that does. */
_Noreturn void cud_ranks_abort(struct cud_ranks *r, const struct cud_err *err);

/* The line all of stderr has: "cudist: rank 2: TEXT"; rank < 0: "cudist: TEXT". */
void cud_say(int rank, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What is no error ("note: ...", "warning: ..."): the same, unless -q said quiet. */
void cud_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cud_note_quiet(bool quiet);           /* once, before ranks' threads start */
/* Two more lines, indented: what the user wrote, and a caret under the place that the line is about (struct cud_err). */
void cud_say_place(const char *shown, int caret);

#endif
