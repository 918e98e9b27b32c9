/* Errors: plain bytes that can be sent to another rank.
 *
 * A function that can fail returns enum cud_status and takes a struct cud_err * last.  The first to know the cause says it
 * (FAIL), with the facts a user can act on; everyone above passes it on (TRY).  Outputs are set only on success. */
#ifndef CUDIST_ERR_H
#define CUDIST_ERR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The values are the program's exit codes. */
enum cud_status {
    CUD_OK = 0,
    CUD_EFAILED = 1,      /* the run failed: I/O, memory, a device, a rank */
    CUD_EUSAGE = 2,       /* the command line, the environment or the job file is wrong */
    CUD_EINPUT = 3,       /* the input, a kernel or a model is wrong, or it does not fit */
    CUD_ENOGPU = 4,       /* GPUs were required and are not there for every rank */
    CUD_ECHECK = 5,       /* verification or the NaN policy failed */
    CUD_EEXISTS = 6,      /* the output exists, or another run is using it */
    CUD_ESTOPPED = 75     /* stopped on request */
};

struct cud_err {
    int status;           /* enum cud_status; CUD_OK: nothing was said yet */
    int rank;             /* who said it; set by cud_rank_agree */
    char where[48];       /* file:line of the source, shown with -v -v */
    char text[976];       /* one line, no newline: what, where, what to do */
    char shown[100];      /* part of what the user wrote, if the error is at a place in it; else "" */
    int caret;            /* how many characters of shown stand before that place */
};

/* Writes the error unless one is there already (the first cause is kept).  Returns err->status. */
enum cud_status cud_fail(struct cud_err *err, const char *file, int line, enum cud_status status, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Puts where it happened in front of an error that is passed on: "rows 0 to 99: ...".  Nothing if there is none. */
void cud_err_at(struct cud_err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The error is about what stands at text[at]: shown is its line, or the part of a long line that is near. */
void cud_err_point(struct cud_err *err, const char *text, size_t at);

/* return FAIL(err, CUD_EINPUT, "%s: no such kernel", name); */
#define FAIL(err, ...) cud_fail((err), __FILE__, __LINE__, __VA_ARGS__)

/* The function has `enum cud_status status = CUD_OK;` and a label `done:` that frees what it owns. */
#define TRY(call)                          \
    do {                                   \
        if ((status = (call)) != CUD_OK)   \
            goto done;                     \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
