/* A program on a device: its arrays there, its kernels of that machine, and one call that runs it on a window. */
#ifndef CUD_PROGRAM_H
#define CUD_PROGRAM_H

#include "step.h"

struct cud_loaded;                         /* one for a rank, used by all its workers */
enum cud_status cud_program_load(const struct cud_program *program, const struct cud_device *device, struct cud_dev *dev,
                                 struct cud_loaded **loaded, struct cud_err *err);
/* Its expressions, made to an image for devices of a kind by struct cud_device's compile, which must be there. */
enum cud_status cud_program_compile(const struct cud_program *program, const struct cud_device *device, const char *kind,
                                    void **image, size_t *bytes, char why[200], struct cud_err *err);
uint64_t cud_program_bytes(const struct cud_program *program);    /* of device memory that load takes */
void cud_loaded_free(struct cud_loaded *loaded);                  /* NULL is fine */
const char *cud_loaded_vendor(const struct cud_loaded *loaded);   /* the vendor's library in use, or NULL */

/* What a worker needs beside the window: buffers for the values between steps.  rows: of a window. */
struct cud_scratch;
enum cud_status cud_scratch_make(const struct cud_loaded *loaded, uint64_t unit_rows, uint64_t rows, struct cud_scratch **scratch,
                                 struct cud_err *err);
void cud_scratch_free(struct cud_scratch *scratch);               /* NULL is fine */
/* Rows that one call of run takes at most: all of a window, or, on a shared device, as many as stay in the core's cache. */
uint64_t cud_scratch_rows(const struct cud_scratch *scratch);
/* Device bytes that a scratch takes. */
uint64_t cud_scratch_bytes(const struct cud_program *program, bool shared, uint64_t unit_rows, uint64_t rows);

/* Leaves of so many rows that start at a unit. */
uint64_t cud_program_leaves(const struct cud_program *program, uint64_t unit_rows, uint64_t rows);

/* May a piece's out be its in? */
bool cud_program_in_place(const struct cud_program *program);
/* Do the bytes that come in go out as they are?  Then out must be in. */
bool cud_program_passes(const struct cud_program *program);

/* Has the device load all that run will launch, which would else happen while rows stream.  in, out: of a window of so many
 * rows; what is there is lost.  Does nothing on a shared device. */
enum cud_status cud_program_warm(const struct cud_loaded *loaded, struct cud_scratch *scratch, struct cud_stream *stream,
                                 void *in, void *out, struct cud_err *err);

struct cud_piece {
    uint64_t row0, rows;                   /* whole units, but for the array's end; at most cud_scratch_rows */
    const void *in;                        /* device memory */
    void *out;                             /* device memory; may be in: see above */
    struct cud_leaf *leaf;                 /* host memory (pinned when the device is not shared): the statistics of each leaf */
    struct cud_lost *lost;                 /* and what its conversion lost */
};

/* Marks that run sets, each behind a CUD_PART_... of trace.h: CONVERT, STEP + i, STATS. */
size_t cud_program_marks(const struct cud_program *program);
/* Queues the program on a piece.  leaf and lost are valid after the stream was waited for. */
enum cud_status cud_program_run(const struct cud_loaded *loaded, struct cud_scratch *scratch, struct cud_stream *stream,
                                const struct cud_piece *piece, struct cud_err *err);

#endif
