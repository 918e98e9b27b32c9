#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "doctor_own.h"
#include "run.h"

void *cud_doctor_all(struct cud_doctor *d, const void *mine, size_t n)
{
    void *all = malloc((size_t)d->count * n);
    if (!all)
        (void)FAIL(&d->err, CUD_EFAILED, "no memory for what %d ranks say", d->count);
    if (cud_rank_agree(d->ranks, &d->err) == CUD_OK && cud_rank_allgather(d->ranks, mine, n, all, &d->err) == CUD_OK)
        return all;
    free(all);
    return NULL;
}

bool cud_doctor_speaks(const struct cud_doctor *d)
{
    return d->first[d->me] == d->me;
}

/* ---- the job itself, where there is an INPUT */

static void check_job(struct cud_doctor *d, struct cud_finding *f)
{
    struct cud_outlook o = {0};
    struct cud_err err = {0};
    if (!d->job->inputs || d->no_gpu)      /* that was said already */
        return;
    const enum cud_status status = cud_run_check(d->job, d->ranks, &o, &err);
    d->out_bytes = o.out_bytes;
    if (d->me == 0 && status != CUD_OK)
        cud_find_error(f, &err);
    else if (d->me == 0)
        cud_fine(f, "%" PRIu64 " rows in, %.1f MiB out; a rank has %" PRIu64 " windows at most, and rank 0 buffers of "
                 "%.1f MiB (--dry-run says more)", o.rows_in, (double)o.out_bytes / (1 << 20), o.windows,
                 (double)o.buffer_bytes / (1 << 20));
}

/* ---- the list: a row each, in this order, for some find out what later ones need */

static const struct {
    const char *name;
    cud_check *look;
} checks[] = {
    {"launch", cud_check_launch},          {"program", cud_check_program},        {"clocks", cud_check_clocks},
    {"GPU driver", cud_check_driver},      {"GPUs", cud_check_gpus},              {"CPUs", cud_check_cpus},
    {"near CPUs", cud_check_near},         {"memory", cud_check_memory},          {"GPU memory", cud_check_device},
    {"GPU errors", cud_check_gpu_errors},  {"GPU code", cud_check_gpu_code},      {"kernels", cud_check_kernels},
    {"dense", cud_check_gemm},             {"NCCL", cud_check_nccl},              {"CUDA-aware MPI", cud_check_gpu_mpi},
    {"locked memory", cud_check_locked},   {"open files", cud_check_files},       {"job", check_job},
    {"output folder", cud_check_folder},   {"free space", cud_check_space},       {"file size", cud_check_file_size},
    {"write speed", cud_check_speed},
};

/* Collective: everyone's findings to rank 0's table. */
static enum cud_status tell(struct cud_doctor *d, const char *name, const struct cud_finding *mine)
{
    enum cud_status status = CUD_OK;
    struct cud_finding *const all = d->me == 0 ? calloc((size_t)d->count, sizeof *all) : NULL;
    if (d->me == 0 && !all)
        (void)FAIL(&d->err, CUD_EFAILED, "no memory for what %d ranks found", d->count);
    TRY(cud_rank_agree(d->ranks, &d->err));
    TRY(cud_rank_gather(d->ranks, mine, sizeof *mine, all, &d->err));
    if (d->me == 0)
        cud_table_row(&d->table, name, all, d->host, d->count);
done:
    free(all);
    return status;
}

/* The rank may be asked to stop, and to the others it is alive. */
static void pump(struct cud_doctor *d)
{
    const struct cud_report report = {.phase = CUD_PHASE_START};
    bool others_failed;
    (void)cud_rank_pump(d->ranks, &report, &others_failed, &d->err);
}

static enum cud_status begin(struct cud_doctor *d)
{
    enum cud_status status = CUD_OK;
    char host[64];
    const int32_t first = cud_rank_node_first(d->ranks);
    snprintf(host, sizeof host, "%s", cud_rank_host(d->ranks));
    cud_ranks_timeout(d->ranks, d->job->timeout);
    d->first = cud_doctor_all(d, &first, sizeof first);
    TRY((enum cud_status)d->err.status);
    d->host = cud_doctor_all(d, host, sizeof host);
    TRY((enum cud_status)d->err.status);
    for (int r = 0; r < d->count; r++)
        d->hosts += d->first[r] == r;
done:
    return status;
}

enum cud_status cud_doctor(const struct cud_job *job, struct cud_ranks *ranks, int *code, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_doctor d = {.job = job, .ranks = ranks, .me = cud_rank_me(ranks), .count = cud_rank_count(ranks),
                           .table = {.to = stdout, .quiet = job->verbose < 0}};
    TRY(begin(&d));
    if (d.me == 0)
        cud_table_start(&d.table);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        struct cud_finding mine = {0};
        pump(&d);
        checks[i].look(&d, &mine);
        TRY(tell(&d, checks[i].name, &mine));
    }
    if (d.me == 0)
        cud_table_end(&d.table);
    if (d.me == 0 && ferror(stdout) && errno != EPIPE)
        status = FAIL(&d.err, CUD_EFAILED, "writing to stdout failed: %s", strerror(errno));
    *code = d.table.code;
done:
    if (d.dev)
        d.device->close(d.dev);
    free(d.first);
    free(d.host);
    *err = d.err;
    return status;
}

int cud_doctor_no_ranks(const struct cud_job *job, const struct cud_err *why)
{
    struct cud_table t = {.to = stdout, .quiet = job->verbose < 0};
    struct cud_finding f = {0};
    char host[1][64] = {""};
    cud_find_error(&f, why);
    cud_table_start(&t);
    cud_table_row(&t, "launch", &f, host, 1);
    cud_table_end(&t);
    return t.code;
}
