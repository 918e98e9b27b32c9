/* What sink.c and sink_root.c share. */
#ifndef CUD_SINK_OWN_H
#define CUD_SINK_OWN_H

#include <stdatomic.h>
#include "commit.h"
#include "sink.h"

enum sink_way { SINK_NONE, SINK_DIRECT, SINK_ROOT };

struct cud_root;                           /* windows on their way to rank 0 */

struct cud_sink {
    enum sink_way way;
    bool to_stdout;
    int me, count;
    struct cud_ranks *ranks;
    const struct cud_lane_kind *kind;
    const struct cud_device *device;
    struct cud_dev *dev;
    const struct cud_plan *plan;
    uint64_t head_bytes, row_bytes, rows;
    int fd;                                /* -1: none */
    struct cud_writeback *writeback;       /* of fd; NULL: none */
    bool patient;                          /* a write to stdout that would have to wait says EAGAIN; else poll must say first */
    char *name;                            /* of what fd writes: OUT.part or "stdout" */
    atomic_uint_fast64_t rows_put;         /* rank 0 of a root sink: written to fd */
    struct cud_target target;              /* rank 0 */
    struct cud_root *root;                 /* the root way, more than one rank or stdout; else NULL */
};

/* Bytes to their place in the file, with early writeback. */
enum cud_status cud_sink_put(struct cud_sink *s, uint64_t offset, uint64_t bytes, const void *from, struct cud_err *err);

/* head: written to stdout ahead of all else. */
enum cud_status cud_root_make(struct cud_sink *s, const unsigned char *head, struct cud_err *err);
/* Collective, where there are several ranks: the lane. */
enum cud_status cud_root_open(struct cud_sink *s, struct cud_err *err);
void cud_root_free(struct cud_sink *s);    /* where there is none: nothing */

#endif
