/* What the rank*.c files share.  The one wait is cud_ranks_wait; cud_ranks_turn is what it does between tests. */
#ifndef CUD_RANK_OWN_H
#define CUD_RANK_OWN_H

#include <mpi.h>
#include "clock.h"
#include "rank.h"
#include "signals.h"
#include "watchdog.h"

#define CUD_MESSAGE_PIECE ((size_t)1 << 30)          /* bytes; MPI counts in int, and long messages are where MPIs have bugs */

/* From a rank to rank 0, once a second.  The next one leaves only after the answer has come: so however long rank 0 is away,
 * at most one letter a rank waits for it. */
struct cud_letter {
    struct cud_report report;
    uint64_t meetings, messages;           /* collectives entered, messages completed */
    int32_t signal;                        /* that asked this rank to stop, or 0 */
    int16_t meeting;                       /* the rank waits in a collective */
    int8_t bye;                            /* this is the last one */
    int8_t ending;                         /* this rank has said why the job ends, and ends it */
    char device[64];
};

/* Rank 0's answer. */
struct cud_answer {
    struct cud_report report;              /* of rank 0, so that others can say where it was */
    int32_t signal;                        /* the job is to stop: 0, or the signal; -1: unknown */
    int32_t failed;                        /* a rank has failed */
    int32_t meeting;                       /* rank 0 waits in a collective */
    int32_t bye, ending;                   /* as in the letter that this answers */
    char device[64];
};

struct cud_peer {                          /* on rank 0, one a rank, its own too */
    char host[64];
    struct cud_letter letter;              /* its last */
    double heard;                          /* when that came */
    bool owed;                             /* an answer */
    struct cud_answer answer;              /* in flight while request is not null */
    MPI_Request request;
};

struct cud_message {
    struct cud_ranks *ranks;
    MPI_Request request;
    struct cud_message *next;              /* of the free ones */
};

struct cud_ranks {
    int me, count, node_me, node_count, node_first;
    char host[64], library[64];
    const char *launcher;
    MPI_Comm mail;                         /* letters and answers; everything else is on MPI_COMM_WORLD */
    struct cud_watchdog *watchdog;
    struct cud_track *track;               /* --trace: the main thread's; NULL */
    struct cud_message *spare;
    size_t piece;                          /* bytes a message at most */

    double timeout;                        /* seconds; 0: never */
    struct cud_seen seen;                  /* for the signals' handlers */
    double last, here;                     /* when turn was called last; since when so often that others can be judged */
    double lined, judged;                  /* when the watchdog's line was made, when others were judged */
    double moved, all_moved;               /* when this rank's report changed; on rank 0: when any rank's did */

    uint64_t row;                          /* a report's rows in one row of people's; 0: one */
    struct cud_letter mine;                /* what the next letter says */
    int signal;                            /* the job is to stop: as in cud_answer */
    bool failed;                           /* some rank has */
    bool ending;                           /* this rank ends the job */
    bool broken;                           /* all know of an error: an agree ended with one */

    /* rank 0 */
    struct cud_peer *peer;
    struct cud_letter inbox;
    MPI_Request inbox_request;             /* posted until all have said bye */
    int byes;
    size_t owed;                           /* peers with .owed */

    /* the others */
    char zero_host[64];
    struct cud_letter sent;
    struct cud_answer answer;              /* the last */
    MPI_Request mail_request[2];           /* of the answer and of the letter */
    double sent_at, heard;                 /* the letter, the answer */
    bool urgent;
};

/* Reports, answers, deadlines: once.  Where a rank is stuck it does not return. */
void cud_ranks_turn(struct cud_ranks *r);

/* The one wait: turns until done says so.  Sleeps longer and longer. */
void cud_ranks_wait(struct cud_ranks *r, bool (*done)(struct cud_ranks *r, void *arg), void *arg);
bool cud_ranks_test(struct cud_ranks *r, MPI_Request *request);   /* is it complete? */
void cud_ranks_complete(struct cud_ranks *r, MPI_Request *request);   /* waits until it is */

/* What every MPI call goes through: a failed one ends the job. */
void cud_ranks_check(struct cud_ranks *r, const char *call, int code);
#define CUD_MPI(r, call) cud_ranks_check((r), #call, (call))
/* Ends the job with a line that names its rank itself. */
_Noreturn void cud_ranks_end(struct cud_ranks *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Starts letters and answers; says the last ones and takes them. */
enum cud_status cud_mail_start(struct cud_ranks *r, struct cud_err *err);
void cud_mail_end(struct cud_ranks *r);
void cud_mail_free(struct cud_ranks *r);
void cud_mail_turn(struct cud_ranks *r, double now);              /* one turn of them */

/* Is somebody stuck?  Then it does not return. */
void cud_ranks_judge(struct cud_ranks *r, double now);
bool cud_report_busy(const struct cud_report *report);            /* rows are being worked on */
/* This rank was away: gives the others, and itself, half of the timeout anew. */
void cud_ranks_excuse(struct cud_ranks *r, double now);
/* A rank, and where it was, as this rank knows it: this one, or rank 0; rank 0 knows all. */
void cud_ranks_describe(const struct cud_ranks *r, int rank, char who[200], char where[120]);
/* The watchdog's line, as things are now. */
void cud_ranks_line(struct cud_ranks *r);

void cud_ranks_end_mpi(void);               /* MPI_Finalize, in safety */

#endif
