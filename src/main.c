/* cudist: applies a program to every row of an array, on as many devices as there are ranks. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "doctor.h"
#include "info.h"
#include "job.h"
#include "launcher.h"
#include "rank.h"
#include "run.h"
#include "signals.h"

#define START_TIMEOUT 300                  /* seconds for MPI to start, on ranks that do not know the job yet */

/* What needs no ranks: texts. */
static enum cud_status say_text(const struct cud_job *job, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    switch (job->action) {
    case CUD_HELP: cud_job_help(stdout); break;
    case CUD_VERSION: puts("cudist " PACKAGE_VERSION); break;
    case CUD_LIST_KERNELS: cud_job_list_kernels(stdout); break;
    case CUD_SHOW_CONFIG: cud_job_show(job, stdout); break;
    case CUD_INFO: status = cud_info_print(job->info, &job->given, stdout, err); break;
    case CUD_RUN:
    case CUD_DOCTOR: break;
    }
    if (status == CUD_OK && (fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE)      /* cudist --help | head is fine */
        status = FAIL(err, CUD_EFAILED, "writing to stdout failed");
    return status;
}

/* Rank 0's job to all.  Collective. */
static enum cud_status share_job(struct cud_ranks *ranks, struct cud_job *job, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    void *bytes = NULL;
    size_t n = 0;
    if (cud_rank_me(ranks) == 0)
        (void)cud_job_pack(job, &bytes, &n, err);
    TRY(cud_rank_agree(ranks, err));
    TRY(cud_rank_bcast_any(ranks, &bytes, &n, err));
    if (cud_rank_me(ranks) != 0)
        (void)cud_job_unpack(bytes, n, job, err);
    TRY(cud_rank_agree(ranks, err));
done:
    free(bytes);
    return status;
}

/* What is wrong with the job every rank finds, so rank 0 says it; what has failed has failed on one. */
static void complain(const struct cud_job *job, const struct cud_err *err, int count)
{
    const int rank = count > 1 && (err->rank > 0 || err->status == CUD_EFAILED) ? err->rank : -1;
    if (err->status == CUD_OK)
        return;
    if (job->verbose >= 2)
        cud_say(rank, "%s (%s)", err->text, err->where);
    else
        cud_say(rank, "%s", err->text);
    if (*err->shown)
        cud_say_place(err->shown, err->caret);
}

static bool needs_ranks(const struct cud_job *job)
{
    return job->action == CUD_RUN || job->action == CUD_DOCTOR;
}

static int no_ranks(const struct cud_job *job, const struct cud_err *err)
{
    if (job->action == CUD_DOCTOR)
        return cud_doctor_no_ranks(job, err);
    complain(job, err, 1);
    return err->status;
}

/* With ranks: rank 0's error, or the job's own, is everyone's. */
static int with_ranks(int argc, char **argv, struct cud_job *job, struct cud_err *err)
{
    struct cud_ranks *ranks = NULL;
    int code = CUD_OK;
    cud_launcher_deadline(job->device ? job->timeout : START_TIMEOUT);
    if (cud_ranks_start(&argc, &argv, &ranks, err) != CUD_OK)
        return no_ranks(job, err);
    cud_launcher_deadline(0);              /* from here on the ranks' own watch does that */
    if (cud_rank_agree(ranks, err) == CUD_OK && share_job(ranks, job, err) == CUD_OK) {
        if (job->action == CUD_RUN)
            (void)cud_run(job, ranks, err);
        else if (job->action == CUD_DOCTOR)
            (void)cud_doctor(job, ranks, &code, err);
    }
    if (cud_rank_me(ranks) == 0)
        complain(job, err, cud_rank_count(ranks));
    return cud_ranks_finish(ranks, err->status ? err->status : code);
}

/* Closed standard descriptors would be given to the next files that are opened.  True: stdout was one of them; what is printed
 * there fails, as it should. */
static bool fill_descriptors(void)
{
    bool stdout_closed = false;
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0) {
            stdout_closed |= fd == STDOUT_FILENO;
            if (open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) != fd)
                _exit(CUD_EFAILED);
        }
    return stdout_closed;
}

int main(int argc, char **argv)
{
    struct cud_job job = {0};
    struct cud_err err = {0};
    int rank, count, code;
    const bool stdout_closed = fill_descriptors();
    cud_launcher_guess(&rank, &count);
    cud_signals_catch(rank == 0);
    signal(SIGPIPE, SIG_IGN);              /* a write's own error says more */
    if (rank == 0 && cud_job_read(argc, argv, &job, &err) == CUD_OK)
        (void)say_text(&job, &err);
    if (err.status == CUD_OK && stdout_closed && rank == 0 && job.action == CUD_RUN &&
        (strcmp(job.output, "-") == 0 || strcmp(job.result, "-") == 0))
        (void)FAIL(&err, CUD_EUSAGE, "-: stdout is closed; give a file, or open it");
    if (count == 1 && (err.status != CUD_OK || !needs_ranks(&job))) {
        complain(&job, &err, 1);
        code = err.status;
    } else {
        code = with_ranks(argc, argv, &job, &err);
    }
    cud_job_free(&job);
    return code;
}
