/* What pipe.c, the main thread's part, and pipe_worker.c share. */
#ifndef CUD_PIPE_OWN_H
#define CUD_PIPE_OWN_H

#include <pthread.h>
#include <stdatomic.h>
#include "pipe.h"

/* A window belongs to its worker but while it is offered and until the sink gives it back; then it is free again. */
enum window_state { WINDOW_FREE, WINDOW_OFFERED, WINDOW_PASSED };

struct cud_pipe {
    const struct cud_pipe_facts *f;
    struct cud_grove *grove;
    enum cud_stats_kind kind;
    pthread_mutex_t lock;                  /* of what follows, and of grove */
    pthread_cond_t changed;                /* for the main thread: a worker has offered a window or ended */
    pthread_cond_t freed;                  /* for the workers */
    int running;                           /* workers */
    struct cud_err err;                    /* the first worker's that failed */
    atomic_uint_fast64_t next;             /* the next window to take */
    atomic_uint_fast64_t rows_done, bytes_read, bytes_written;
    atomic_bool stop;
    atomic_bool enough;                    /* no further window is taken: there is a NaN, and that is the end of the run */
};

struct cud_worker {
    struct cud_pipe *pipe;
    pthread_t thread;
    struct cud_stream *stream;
    struct cud_scratch *scratch;
    void *host, *dev_in, *dev_out;         /* buffers; host is NULL where the device is shared */
    const char *in;                        /* the window on the device; where the device is shared perhaps the file's own bytes */
    char *out;                             /* what it becomes, there; perhaps in */
    const char *bytes;                     /* and on the host */
    bool mapped;
    struct cud_leaf *leaf;
    struct cud_lost *lost;
    struct cud_forest forest;
    struct cud_window window;
    uint64_t number;                       /* the window's, in the rank's order */
    enum window_state state;               /* under the pipe's lock */
    struct cud_measure measure;
    struct cud_err err;
};

/* track: its own, for --trace; NULL. */
enum cud_status cud_worker_make(struct cud_worker *w, struct cud_pipe *pipe, struct cud_track *track, struct cud_err *err);
void cud_worker_free(struct cud_worker *w);           /* all zero is fine */
/* A thread: takes windows until there are no more, or the pipe is stopped.  arg: struct cud_worker. */
void *cud_worker_run(void *arg);

#endif
