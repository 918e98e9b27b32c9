/* The start of a job of ranks. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rank_own.h"

/* How many ranks the launcher says there are; 0: it does not say.  SLURM_NTASKS is the job's, not the step's, and legal runs
 * differ from it. */
static long ranks_expected(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value)
            return strtol(value, NULL, 10);
    }
    return 0;
}

#define FIRST_TIMEOUT 300                  /* seconds, until the job's own is known */
#define OWN_FILES ((rlim_t)8 << 20)        /* PMIx 4 and the shared memory of Open MPI 4 take 4 MiB each */
#define CURE "use srun --mpi=pmix (srun --mpi=list shows what this Slurm has), or mpirun of the MPI that cudist was built with"

/* Where every one of the launcher's programs has the same to say, one does. */
static bool first_task(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value)
            return strtol(value, NULL, 10) <= 0;
    }
    return true;
}

/* Why MPI may not start, and the cure; NULL: nothing is known. */
static const char *hint_text(long expected)
{
    struct rlimit files;
    if (!first_task())
        return NULL;
    if (getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur < OWN_FILES)
        return "MPI did not start: it needs larger files of its own than are allowed here (ulimit -f); ulimit -f unlimited";
    if (expected < 2 || getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK"))
        return NULL;
    return "MPI did not start: the launcher offers nothing that it knows; " CURE;
}

/* Open MPI 4 ends the process inside of MPI_Init, with a page of text, where srun offers no PMIx, or it cannot make its files.
 * So a child waits, and when its pipe ends without a word it says in a line what to do.  Returns the pipe, or -1. */
static int hint_start(long expected)
{
    int ends[2];
    const char *const hint = hint_text(expected);
    if (!hint || pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    const pid_t child = fork();
    if (child == 0) {
        char word;
        cud_signals_default();
        close(ends[1]);
        if (read(ends[0], &word, 1) == 0)
            cud_say(-1, "%s", hint);
        _exit(0);
    }
    close(ends[0]);
    if (child > 0)
        return ends[1];
    close(ends[1]);
    return -1;
}

static void hint_end(int end)
{
    if (end < 0)
        return;
    (void)!write(end, "", 1);
    close(end);
    while (wait(NULL) < 0 && errno == EINTR)
        ;
}

static enum cud_status refuse_singleton(long expected, struct cud_err *err)
{
    if (!first_task())
        exit(CUD_EUSAGE);
    return FAIL(err, CUD_EUSAGE, "the launcher started %ld programs, but each is a job of its own: they found no way to meet; "
                CURE, expected);
}

/* "Open MPI v4.1.4, package: ..." to "Open MPI 4.1.4", "MPICH Version:\t4.0.2\n..." to "MPICH 4.0.2". */
static void library_name(char name[64])
{
    static const char *const before[] = {" v", " Version:"};
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n = 0;
    MPI_Get_library_version(text, &n);
    text[strcspn(text, ",\n")] = '\0';
    for (char *c = text; *c; c++)
        if (*c == '\t')
            *c = ' ';
    snprintf(name, 64, "%.63s", text);
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        const char *const at = strstr(text, before[i]), *const version = at ? at + strlen(before[i]) : NULL;
        if (version) {
            snprintf(name, 64, "%.*s %.40s", at - text > 20 ? 20 : (int)(at - text), text, version + strspn(version, " "));
            return;
        }
    }
}

/* MPI_Comm_split_type has no form that does not block. */
static void find_node(struct cud_ranks *r)
{
    MPI_Comm node;
    MPI_Request request;
    CUD_MPI(r, MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, r->me, MPI_INFO_NULL, &node));
    CUD_MPI(r, MPI_Comm_rank(node, &r->node_me));
    CUD_MPI(r, MPI_Comm_size(node, &r->node_count));
    r->node_first = r->me;
    CUD_MPI(r, MPI_Ibcast(&r->node_first, 1, MPI_INT, 0, node, &request));
    cud_ranks_complete(r, &request);
    CUD_MPI(r, MPI_Comm_free(&node));
}

static enum cud_status find_ranks(struct cud_ranks *r, struct cud_err *err)
{
    library_name(r->library);
    if (gethostname(r->host, sizeof r->host - 1) != 0)
        snprintf(r->host, sizeof r->host, "unknown");
    find_node(r);
    CUD_MPI(r, MPI_Comm_dup(MPI_COMM_WORLD, &r->mail));
    return cud_mail_start(r, err);
}

/* *up: MPI is running, even where this fails. */
static enum cud_status start_mpi(int *argc, char ***argv, bool *up, struct cud_err *err)
{
    int given;
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);    /* more ranks than cores: do not spin where MPI itself waits */
    if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS)
        return FAIL(err, CUD_EFAILED, "MPI does not start: what it says itself stands above");
    *up = true;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (given < MPI_THREAD_FUNNELED)
        return FAIL(err, CUD_EFAILED, "this MPI was built without threads (MPI_THREAD_FUNNELED): use one with them");
    return CUD_OK;
}

enum cud_status cud_ranks_start(int *argc, char ***argv, struct cud_ranks **ranks, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    bool up = false;
    const enum cud_launcher launcher = cud_signals_launcher();    /* these two before MPI changes the environment */
    const long expected = ranks_expected();
    struct cud_ranks *r = calloc(1, sizeof *r);
    if (!r)
        return FAIL(err, CUD_EFAILED, "no memory to start");
    r->mail = MPI_COMM_NULL;
    r->piece = CUD_MESSAGE_PIECE;
    r->launcher = launcher == CUD_BY_MPIRUN ? "mpirun" : launcher == CUD_BY_SLURM ? "srun" : "hand";

    const int hint = hint_start(expected);
    status = start_mpi(argc, argv, &up, err);
    hint_end(hint);
    TRY(status);
    MPI_Comm_rank(MPI_COMM_WORLD, &r->me);
    MPI_Comm_size(MPI_COMM_WORLD, &r->count);
    if (r->count == 1 && expected > 1) {
        up = false;
        cud_ranks_end_mpi();
        TRY(refuse_singleton(expected, err));
    }
    cud_seen_now(&r->seen);
    cud_signals_run(launcher, r->me == 0, &r->seen);
    TRY(cud_watchdog_start(&r->watchdog, err));
    TRY(find_ranks(r, err));
    cud_ranks_timeout(r, FIRST_TIMEOUT);
    *ranks = r;
    return CUD_OK;
done:
    if (up)                                /* others may wait for this rank */
        cud_ranks_abort(r, err);
    free(r);
    return status;
}
