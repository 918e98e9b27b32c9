#include "writeback.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

/* The disk starts in runs of some length: measured on ext4, a call for each MiB cost more than one for eight. */
#define RUN ((uint64_t)8 << 20)

enum { ROOM = 64 };

struct range { uint64_t from, to; };

struct cud_writeback {
    int fd;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t asked;
    bool stop;
    unsigned first, n;                     /* of the ring */
    struct range ring[ROOM];
};

static bool next(struct cud_writeback *w, struct range *r)
{
    pthread_mutex_lock(&w->lock);
    while (w->n == 0 && !w->stop)
        pthread_cond_wait(&w->asked, &w->lock);
    const bool more = !w->stop;
    if (more) {
        *r = w->ring[w->first];
        w->first = (w->first + 1) % ROOM;
        w->n--;
    }
    pthread_mutex_unlock(&w->lock);
    return more;
}

static void *work(void *arg)
{
    struct cud_writeback *const w = arg;
    for (struct range r; next(w, &r);)
        sync_file_range(w->fd, (off_t)r.from, (off_t)(r.to - r.from), SYNC_FILE_RANGE_WRITE);
    return NULL;
}

struct cud_writeback *cud_writeback_start(int fd)
{
    struct cud_writeback *const w = calloc(1, sizeof *w);
    sigset_t all, before;
    if (!w)
        return NULL;
    w->fd = fd;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->asked, NULL);
    sigfillset(&all);                      /* signals are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(&w->thread, NULL, work, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0)
        return w;
    free(w);
    return NULL;
}

/* The last run but one: in the last one other threads may still be at work. */
void cud_writeback_ask(struct cud_writeback *w, uint64_t offset, uint64_t bytes)
{
    uint64_t from = offset / RUN;
    const uint64_t to = (offset + bytes) / RUN;
    if (from > 0)
        from--;
    if (!w || to <= from + 1)
        return;
    pthread_mutex_lock(&w->lock);
    if (w->n < ROOM) {
        w->ring[(w->first + w->n++) % ROOM] = (struct range){from * RUN, (to - 1) * RUN};
        pthread_cond_signal(&w->asked);
    }
    pthread_mutex_unlock(&w->lock);
}

void cud_writeback_stop(struct cud_writeback *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->asked);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->asked);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
