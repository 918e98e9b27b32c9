#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/vfs.h>
#include "fit.h"
#include "prepare.h"
#include "probe.h"
#include "registry.h"
#include "sink.h"

/* ---- the input, the same on every rank */

static enum cud_status open_input(const struct cud_job *job, struct cud_ranks *ranks, struct cud_input *input, struct cud_err *err)
{
    struct { struct cud_array array; uint64_t identity[2]; } first;
    enum cud_status status = CUD_OK;
    if (cud_input_open(job->inputs, job->input, &job->given, input, err) != CUD_OK && cud_rank_me(ranks) > 0) {
        const size_t n = strlen(err->text);
        snprintf(err->text + n, sizeof err->text - n, " (on host %s)", cud_rank_host(ranks));
    }
    TRY(cud_rank_agree(ranks, err));
    memset(&first, 0, sizeof first);
    first.array = input->array;
    memcpy(first.identity, input->identity, sizeof first.identity);
    TRY(cud_rank_bcast(ranks, &first, sizeof first, err));
    if (memcmp(first.identity, input->identity, sizeof first.identity) != 0)
        (void)FAIL(err, CUD_EINPUT, "%s on host %s is not the file that rank 0 reads: its size or content differs", job->input[0],
                   cud_rank_host(ranks));
    TRY(cud_rank_agree(ranks, err));
done:
    return status;
}

/* ---- arrays of steps: rank 0 reads, all get the same bytes */

static enum cud_status load_shared(void *self, const char *path, enum cud_type as, struct cud_shape *shape, void **values,
                                   struct cud_err *err)
{
    struct cud_ranks *const ranks = self;
    enum cud_status status = CUD_OK;
    void *bytes = NULL;
    size_t n = 0;
    uint64_t size = 0;
    if (cud_rank_me(ranks) == 0 && cud_source_load(path, as, shape, &bytes, err) == CUD_OK)
        (void)cud_shape_bytes(shape, cud_type_bytes(as), &size);
    n = (size_t)size;
    TRY(cud_rank_agree(ranks, err));
    TRY(cud_rank_bcast(ranks, shape, sizeof *shape, err));
    TRY(cud_rank_bcast_any(ranks, &bytes, &n, err));
    *values = bytes;
    bytes = NULL;
done:
    free(bytes);
    return status;
}

/* ---- devices and libraries */

struct kind { char library[128], device[64]; };

/* Where a vendor's library does the arithmetic, all ranks must have the same one on the same kind of device. */
static enum cud_status check_vendor(const struct cud_prepared *p, struct cud_ranks *ranks, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct kind mine = {0}, first;
    const char *const library = cud_loaded_vendor(p->loaded);
    snprintf(mine.library, sizeof mine.library, "%s", library ? library : "its own kernels");
    if (library)
        snprintf(mine.device, sizeof mine.device, "%s", p->binding.all[cud_rank_me(ranks)].device.kind);
    first = mine;
    TRY(cud_rank_bcast(ranks, &first, sizeof first, err));
    if (memcmp(&first, &mine, sizeof mine) != 0)
        (void)FAIL(err, CUD_EINPUT, "host %s multiplies matrices with %s %s, rank 0 with %s %s: their last bits differ; use hosts of "
                   "one kind, or CUDIST_LIBS=own everywhere", cud_rank_host(ranks), mine.library, mine.device, first.library, first.device);
    TRY(cud_rank_agree(ranks, err));
done:
    return status;
}

/* Collective.  Expressions as code for GPUs: rank 0 compiles them, once for each kind there is, and every rank keeps its own's.  Where
 * nothing compiles, they are interpreted: slower, and the same bytes. */
static enum cud_status compile(struct cud_ranks *ranks, struct cud_prepared *p, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_rank_facts *const all = p->binding.all;
    const char *const nvrtc = getenv("CUDIST_NVRTC"), *const mine = all[cud_rank_me(ranks)].device.kind;
    char why[200] = "";
    void *image = NULL;
    bool any = false;
    for (size_t i = 0; p->binding.device->compile && i < p->program.steps; i++)
        any |= p->program.step[i].code.cuda != NULL;
    for (int r = 0; any && r < cud_rank_count(ranks); r++) {
        size_t bytes = 0;
        bool again = false;
        for (int before = 0; before < r; before++)
            again |= strcmp(all[before].device.kind, all[r].device.kind) == 0;
        if (again)
            continue;
        if (cud_rank_me(ranks) == 0 && !(nvrtc && strcmp(nvrtc, "no") == 0))
            (void)cud_program_compile(&p->program, p->binding.device, all[r].device.kind, &image, &bytes, why, err);
        TRY(cud_rank_agree(ranks, err));
        TRY(cud_rank_bcast_any(ranks, &image, &bytes, err));
        if (strcmp(all[r].device.kind, mine) == 0 && bytes)
            p->program.image = image;
        else
            free(image);
        image = NULL;
    }
    if (*why)
        cud_note("note: expressions are interpreted, which is slower on GPUs: %s", why);
done:
    free(image);
    return status;
}

/* ---- the output */

/* Of formats that can be written: ".npy .bin .raw". */
static const char *known_suffixes(char text[128])
{
    const struct cud_format *f;
    size_t n = 0;
    for (size_t i = 0; (f = cud_registry_format_at(i)) && n < 128; i++)
        if (f->head && *f->suffixes)
            n += (size_t)snprintf(text + n, 128 - n, "%s%s", n ? " " : "", f->suffixes);
    return text;
}

/* By its suffix.  Without one, or with the input's own, whatever that is: as the input, if that can be written, else .npy. */
static enum cud_status choose_format(const struct cud_job *job, struct cud_prepared *p, struct cud_err *err)
{
    char known[128];
    const struct cud_format *const named = cud_registry_format_of(job->output), *const as_input = p->input.file[0].format;
    const char *const suffix = cud_registry_suffix(job->output);
    if (strcmp(job->output, "none") == 0)
        return CUD_OK;
    if (named && named->head)
        p->format = named;
    else if (!*suffix || (as_input->head && strcasecmp(suffix, cud_registry_suffix(job->input[0])) == 0))
        p->format = as_input->head ? as_input : cud_registry_format("npy");
    else
        return FAIL(err, CUD_EUSAGE, "%s: no format that is called %s can be written; those that can: %s (without a suffix: "
                    "as the input, else as .npy)", job->output, suffix, known_suffixes(known));
    return p->format->head(&p->program.out, p->head, &p->head_bytes, err);
}

/* auto over several hosts: direct where the output's file system is one that hosts can write together, and a file that rank 0
 * makes there is seen by all. */
static enum cud_status hosts_share(const char *output, struct cud_ranks *ranks, bool *share, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    char folder[4096];
    struct statfs fs;
    snprintf(folder, sizeof folder, "%s", output);
    *(strrchr(folder, '/') ? strrchr(folder, '/') + 1 : folder) = 0;
    bool coherent = statfs(*folder ? folder : ".", &fs) == 0 && cud_probe_coherent((unsigned long)fs.f_type & 0xffffffff);
    TRY(cud_rank_bcast(ranks, &coherent, sizeof coherent, err));
    *share = false;
    if (coherent)
        TRY(cud_probe_shared(ranks, folder, share, err));
done:
    return status;
}

static enum cud_status choose_write(const struct cud_job *job, struct cud_ranks *ranks, struct cud_prepared *p, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    if (!p->format || strcmp(job->output, "-") == 0)
        p->direct = false;
    else if (job->write == CUD_WRITE_AUTO && p->binding.hosts > 1)
        TRY(hosts_share(job->output, ranks, &p->direct, err));
    else
        p->direct = job->write != CUD_WRITE_ROOT;
    p->write = !p->format ? "none" : p->direct ? "direct" : "root";
done:
    return status;
}

/* ---- how rows go to rank 0 */

/* By this rank; else why not. */
static bool lane_usable(const struct cud_lane_kind *kind, const struct cud_binding *b, const struct cud_ranks *ranks,
                        char why[CUD_WHY])
{
    int one, other;
    if (kind->from_device && !b->all[0].device.pci[0]) {
        snprintf(why, CUD_WHY, "it takes rows from GPUs, and this run is on the CPUs (-d cuda is not)");
        return false;
    }
    if (kind->between_gpus && cud_binding_share(b, &one, &other)) {
        snprintf(why, CUD_WHY, "it needs a GPU of its own for each rank, but ranks %d and %d share one (start fewer ranks)",
                 one, other);
        return false;
    }
    return kind->usable(ranks, why);
}

/* Collective.  auto, where rows go from GPUs to rank 0: the best that all ranks can use.  That it cannot be is no error. */
static enum cud_status best_lane(struct cud_ranks *ranks, struct cud_prepared *p, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_lane_kind *const nccl = cud_lane_kind("nccl");
    const int count = cud_rank_count(ranks);
    const char mine = lane_usable(nccl, &p->binding, ranks, p->why_not);
    char *const all = malloc((size_t)count);
    if (!all)
        (void)FAIL(err, CUD_EFAILED, "no memory for the answers of %d ranks", count);
    TRY(cud_rank_agree(ranks, err));
    TRY(cud_rank_allgather(ranks, &mine, 1, all, err));
    const char *const bad = memchr(all, false, (size_t)count);
    if (!bad)
        p->lane = nccl;
    else if (mine)
        snprintf(p->why_not, sizeof p->why_not, "host %s cannot use it", p->binding.all[bad - all].host);
done:
    free(all);
    return status;
}

/* What was asked for must be possible, even where no rows will travel. */
static enum cud_status choose_lane(const struct cud_job *job, struct cud_ranks *ranks, struct cud_prepared *p,
                                   struct cud_err *err)
{
    const bool travel = p->format && !p->direct && cud_rank_count(ranks) > 1;
    char why[CUD_WHY];
    p->lane = cud_lane_kind("mpi");
    if (strcmp(job->comm, "auto") == 0)
        return travel && p->binding.all[0].device.pci[0] ? best_lane(ranks, p, err) : CUD_OK;
    const struct cud_lane_kind *const asked = cud_lane_kind(job->comm);
    if (!lane_usable(asked, &p->binding, ranks, why))
        (void)FAIL(err, CUD_ENOGPU, "--comm %s cannot be used on host %s: %s; use --comm mpi", asked->name, cud_rank_host(ranks),
                   why);
    if (travel)
        p->lane = asked;
    return cud_rank_agree(ranks, err);
}

enum cud_status cud_prepare(const struct cud_job *job, struct cud_ranks *ranks, struct cud_prepared *p, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_loader loader = {.load = load_shared, .self = ranks};
    const char *const isa = getenv("CUDIST_ISA");
    if (isa && *isa && !cud_registry_isa_known(isa))
        (void)FAIL(err, CUD_EUSAGE, "CUDIST_ISA=%s: is not built, or the CPU of host %s cannot run it; unset it for the best", isa,
                   cud_rank_host(ranks));
    const char *const libs = getenv("CUDIST_LIBS");
    if (libs && *libs && strcmp(libs, "own") != 0 && strcmp(libs, "vendor") != 0)
        (void)FAIL(err, CUD_EUSAGE, "CUDIST_LIBS=%s: is neither own nor vendor", libs);
    const char *const nvrtc = getenv("CUDIST_NVRTC");
    if (nvrtc && *nvrtc && strcmp(nvrtc, "yes") != 0 && strcmp(nvrtc, "no") != 0)
        (void)FAIL(err, CUD_EUSAGE, "CUDIST_NVRTC=%s: is neither yes nor no", nvrtc);
    TRY(cud_rank_agree(ranks, err));
    TRY(open_input(job, ranks, &p->input, err));
    TRY(cud_bind(job, ranks, &p->binding, err));
    (void)cud_program_make(job, &p->input.array, &loader, &p->program, err);
    TRY(cud_rank_agree(ranks, err));
    (void)choose_format(job, p, err);
    TRY(cud_rank_agree(ranks, err));
    TRY(choose_write(job, ranks, p, err));
    TRY(choose_lane(job, ranks, p, err));
    TRY(cud_fit(job, ranks, p, err));
    TRY(compile(ranks, p, err));
    (void)cud_program_load(&p->program, p->binding.device, p->binding.dev, &p->loaded, err);
    TRY(cud_rank_agree(ranks, err));
    if (p->program.vendor)
        TRY(check_vendor(p, ranks, err));
done:
    return status;
}

void cud_prepared_free(struct cud_prepared *p)
{
    cud_loaded_free(p->loaded);
    cud_program_free(&p->program);
    cud_binding_free(&p->binding);
    cud_input_close(&p->input);
}
