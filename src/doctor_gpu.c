/* GPUs: the driver, who takes which, and whether that one works. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bind_gpus.h"
#include "bind_near.h"
#include "doctor_own.h"
#include "nvml.h"
#include "registry.h"

#define SHOWN 8                            /* GPUs of a rank in a line */
#ifndef CUDA_CODE
#define CUDA_CODE ""
#endif

static bool wanted(const struct cud_doctor *d) { return strcmp(d->job->device, "cuda") == 0; }
static bool unwanted(const struct cud_doctor *d) { return strcmp(d->job->device, "cpu") == 0; }
static double gib(uint64_t bytes) { return (double)bytes / (1 << 30); }

/* The CPUs will do, unless GPUs are asked for. */
static void without(const struct cud_doctor *d, struct cud_finding *f, enum cud_verdict verdict, const char *cure,
                    const char *what)
{
    cud_find(f, wanted(d) ? CUD_PROBLEM : verdict, cure, wanted(d) ? "%s" : "%s: the CPUs work", what);
    f->code = wanted(d) ? CUD_ENOGPU : CUD_OK;
}

void cud_check_driver(struct cud_doctor *d, struct cud_finding *f)
{
    const struct cud_device *const cuda = cud_registry_device("cuda");
    struct cud_nvml nvml;
    char why[200], cure[120], text[200];
    int driver, runtime;
    if (unwanted(d))
        return;
    if (!cuda) {
        without(d, f, CUD_FINE, "build it where nvcc is, or use the CPUs (-d cpu)", "cudist was built without CUDA");
        return;
    }
    cuda->versions(&driver, &runtime);
    (void)cud_nvml_look("", &nvml, why);
    snprintf(cure, sizeof cure, "a driver for CUDA %d or later, or a cudist built with CUDA %d", runtime / 1000, driver / 1000);
    snprintf(text, sizeof text, "%s%sfor CUDA up to %d.%d; cudist was built with CUDA %d.%d", nvml.driver,
             *nvml.driver ? ", " : "", driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    if (driver == 0)
        without(d, f, CUD_FINE, "ask for hosts with GPUs and their driver, or use the CPUs (-d cpu)", "none");
    else if (driver / 1000 < runtime / 1000)
        without(d, f, CUD_WARNING, cure, text);
    else
        cud_fine(f, "%s", text);
}

/* ---- who takes which */

static void seen_text(const struct cud_seen *seen, char text[256])
{
    size_t at = 0;
    text[0] = '\0';
    for (int g = 0; g < seen->devices && g < SHOWN; g++)
        at += (size_t)snprintf(text + at, 256 - at, "%s%d %.12s", g ? ", " : "", g, seen->uuid[g]);
    if (seen->devices > SHOWN)
        snprintf(text + at, 256 - at, " and %d more", seen->devices - SHOWN);
}

static void judge_none(struct cud_doctor *d, struct cud_finding *f)
{
    struct cud_nvml nvml;
    char why[200], text[80];
    if (!cud_registry_device("cuda"))      /* said already */
        return;
    if (!cud_nvml_look("", &nvml, why) || nvml.gpus == 0) {
        without(d, f, CUD_FINE, "ask for hosts with GPUs, or use the CPUs (-d cpu)", "no rank sees one");
        return;
    }
    snprintf(text, sizeof text, "the host has %u, and no rank sees one", nvml.gpus);
    without(d, f, CUD_WARNING, "ask for them (Slurm: --gpus-per-task=1), look at CUDA_VISIBLE_DEVICES, or take the CPUs "
            "(-d cpu)", text);
}

static void judge_mine(struct cud_doctor *d, const struct cud_seen *mine, int number, struct cud_finding *f)
{
    char list[256];
    struct cud_err err = {0};
    seen_text(mine, list);
    if (number < 0 && mine->devices == 0)
        cud_find(f, CUD_PROBLEM, "ranks only where GPUs are, or the CPUs (-d cpu)", "sees none");
    else if (number < 0)
        cud_find(f, CUD_PROBLEM, "fewer ranks, --share-gpus, or the CPUs (-d cpu); of a GPU in MIG mode a process sees one "
                 "instance: give each rank its own (CUDA_VISIBLE_DEVICES=MIG-...)", "none of its own: it sees %s", list);
    else if (cud_registry_device("cuda")->identify(number, &d->facts, &err) != CUD_OK)
        cud_find_error(f, &err);
    else
        cud_fine(f, "takes %d: %s, %.12s, %s; it sees %d", number, d->facts.name, d->facts.uuid, d->facts.pci, mine->devices);
    if (number < 0)
        f->code = CUD_ENOGPU;
}

/* Collective.  Could all ranks ask their driver? */
static bool all_see(struct cud_doctor *d, struct cud_seen *mine, struct cud_finding *f)
{
    struct cud_err err = {0};
    bool good = cud_gpus_look(mine, &err) == CUD_OK, *const all = cud_doctor_all(d, &good, sizeof good);
    if (!good)
        cud_find_error(f, &err);
    for (int r = 0; all && r < d->count; r++)
        good &= all[r];
    free(all);
    d->no_gpu = !good;
    return good && d->err.status == CUD_OK;
}

void cud_check_gpus(struct cud_doctor *d, struct cud_finding *f)
{
    struct cud_seen mine = {.node = d->first[d->me]}, *all;
    int any = 0, *const number = calloc((size_t)d->count, sizeof *number);
    if (!number)
        (void)FAIL(&d->err, CUD_EFAILED, "no memory to match %d ranks and their GPUs", d->count);
    if (unwanted(d) || !all_see(d, &mine, f) || !(all = cud_doctor_all(d, &mine, sizeof mine))) {
        free(number);
        return;
    }
    for (int r = 0; r < d->count; r++)
        any += all[r].devices > 0;
    const int served = any ? cud_bind_gpus(all, d->count, d->job->share_gpus, number) : 0;
    if (served < 0) {
        (void)FAIL(&d->err, CUD_EFAILED, "no memory to match %d ranks and their GPUs", d->count);
    } else if (any) {
        d->cuda = served == d->count;
        d->no_gpu = !d->cuda;
        d->number = number[d->me];
        judge_mine(d, &mine, d->number, f);
    } else {
        d->no_gpu = wanted(d);
        judge_none(d, f);
    }
    free(all);
    free(number);
}

void cud_check_near(struct cud_doctor *d, struct cud_finding *f)
{
    struct cud_cpus mine;
    if (!d->cuda)
        return;
    const enum cud_near near = cud_near_bind(d->facts.pci);
    cud_cpus_look(&mine);
    switch (near) {
    case CUD_NEAR_NO_HWLOC:
        cud_fine(f, "built without hwloc: threads stay where the launcher put them");
        break;
    case CUD_NEAR_UNKNOWN:
        cud_fine(f, "hwloc does not know which they are: threads stay where the launcher put them");
        break;
    case CUD_NEAR_ALL:
        cud_fine(f, "all that the rank may use are near its GPU");
        break;
    case CUD_NEAR_SOME:
        cud_fine(f, "the rank's threads keep to the %d that are near its GPU", cud_cpus_count(&mine));
        break;
    case CUD_NEAR_NONE:
        cud_find(f, CUD_WARNING, "mpirun --bind-to none (threads then find their GPU), or srun --gpu-bind=closest",
                 "none that the rank may use is near its GPU %s", d->facts.pci);
    }
}

/* ---- this rank's own */

void cud_check_device(struct cud_doctor *d, struct cud_finding *f)
{
    struct cud_err err = {0};
    if (d->no_gpu)
        return;
    d->device = cud_bind_backend(d->cuda);
    if (!d->device)
        (void)FAIL(&err, CUD_EFAILED, "this cudist was built without that device");
    else if (d->device->open(d->number, &d->dev, &err) == CUD_OK)
        (void)d->device->facts(d->number, &d->facts, &err);
    if (err.status != CUD_OK)
        cud_find_error(f, &err);
    else if (d->cuda)
        cud_find(f, d->facts.bytes_free * 2 >= d->facts.bytes_total ? CUD_FINE : CUD_WARNING,
                 "nvidia-smi shows who else uses it; take another GPU, or wait", "%.1f of %.1f GiB free",
                 gib(d->facts.bytes_free), gib(d->facts.bytes_total));
}

static const char *ecc_text(const struct cud_nvml *n)
{
    return n->ecc ? "none; ECC is on" : n->has_ecc ? "ECC is off" : "it has no ECC";
}

void cud_check_gpu_errors(struct cud_doctor *d, struct cud_finding *f)
{
    static const char reset[] = "take another GPU; an administrator can look at nvidia-smi -q, and reset it (--gpu-reset)";
    struct cud_nvml n;
    char why[200];
    if (!d->cuda)
        return;
    if (!cud_nvml_look(d->facts.pci, &n, why))
        cud_fine(f, "not looked at: %s", why);
    else if (n.remap_failed)
        cud_find(f, CUD_PROBLEM, reset, "rows of its memory are broken and cannot be replaced");
    else if (n.uncorrected || n.remap_pending)
        cud_find(f, CUD_WARNING, reset, "%" PRIu64 " errors of its memory that ECC could not correct%s", n.uncorrected,
                 n.remap_pending ? "; rows are to be replaced at its next reset" : "");
    else
        cud_fine(f, "%s%s", ecc_text(&n), n.mig ? "; it is cut into instances (MIG)" : "");
}

/* Machine code runs on its own major version from its minor one on, "90a" on exactly that; PTX on all later ones (CUDA C++
 * Programming Guide, "Binary Compatibility", "PTX Compatibility"). */
enum cud_code cud_code_for(const char *built, const char *kind)
{
    enum cud_code best = CUD_CODE_NONE;
    char what[16] = "", suffix;
    int gpu = 0, code = 0;
    if (sscanf(kind, "sm_%d", &gpu) != 1)
        return best;
    for (const char *word = built; *word; word += strcspn(word, " "), word += strspn(word, " ")) {
        suffix = '\0';
        if (sscanf(word, "%15[a-z]_%d%c", what, &code, &suffix) < 2 || (suffix == 'a' && code != gpu))
            continue;
        if (strcmp(what, "sm") == 0 && code / 10 == gpu / 10 && code <= gpu)
            return CUD_CODE_NATIVE;
        if (strcmp(what, "compute") == 0 && code <= gpu)
            best = CUD_CODE_PTX;
    }
    return best;
}

void cud_check_gpu_code(struct cud_doctor *d, struct cud_finding *f)
{
    char cure[160];
    int driver, runtime;
    if (!d->cuda || !CUDA_CODE[0])
        return;
    cud_registry_device("cuda")->versions(&driver, &runtime);
    const char *const number = d->facts.kind + strcspn(d->facts.kind, "_") + 1;
    snprintf(cure, sizeof cure, "configure cudist with GENCODE='-gencode arch=compute_%s,code=sm_%s'", number, number);
    switch (cud_code_for(CUDA_CODE, d->facts.kind)) {
    case CUD_CODE_NATIVE:
        cud_fine(f, "cudist has machine code for %s", d->facts.kind);
        break;
    case CUD_CODE_PTX:
        if (driver < runtime)
            cud_find(f, CUD_PROBLEM, cure, "for %s there is PTX only, which this driver is too old to compile", d->facts.kind);
        else
            cud_find(f, CUD_WARNING, cure, "for %s there is PTX only: the driver compiles it at the first start, which is slow",
                     d->facts.kind);
        break;
    case CUD_CODE_NONE:
        cud_find(f, CUD_PROBLEM, cure, "cudist has no code for %s (it has %s)", d->facts.kind, CUDA_CODE);
    }
}

/* ---- a kernel, from copy in to copy out */

enum { ELEMS = 1000 };

static enum cud_status run_scale(struct cud_doctor *d, float *host, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_device *const v = d->device;
    const struct cud_kernel *const scale = cud_registry_kernel(v->name, "scale");
    struct cud_stream *stream = NULL;
    void *at = NULL;
    TRY(v->enter(d->dev, err));
    TRY(v->stream(d->dev, 0, &stream, err));
    TRY(v->alloc(d->dev, CUD_ON_DEVICE, ELEMS * sizeof *host, &at, err));
    const struct cud_call call = {.in = {at}, .out = {at}, .dim = {ELEMS, 1, 1}, .param = {2}, .type = CUD_F32};
    TRY(v->put(stream, at, host, ELEMS * sizeof *host, err));
    TRY(v->launch(stream, scale, &call, err));
    TRY(v->get(stream, host, at, ELEMS * sizeof *host, err));
    TRY(v->wait(stream, err));
done:
    v->stream_free(stream);
    v->free(d->dev, CUD_ON_DEVICE, at);
    return status;
}

void cud_check_kernels(struct cud_doctor *d, struct cud_finding *f)
{
    struct cud_err err = {0};
    int wrong = 0;
    void *host = NULL;
    if (!d->dev || d->device->alloc(d->dev, CUD_ON_HOST, ELEMS * sizeof(float), &host, &err) != CUD_OK) {
        if (err.status != CUD_OK)
            cud_find_error(f, &err);
        return;
    }
    float *const x = host;
    for (int i = 0; i < ELEMS; i++)
        x[i] = (float)i;
    if (run_scale(d, x, &err) != CUD_OK)
        cud_find_error(f, &err);
    for (int i = 0; i < ELEMS; i++)
        wrong += x[i] != 2 * (float)i;
    if (wrong)
        cud_find(f, CUD_PROBLEM, "take another device; if it is all of this kind, please report it",
                 "%d of %d numbers came back wrong", wrong, ELEMS);
    else
        cud_fine(f, "one gave what it must, on %s", d->cuda ? d->facts.name : d->facts.kind);
    d->device->free(d->dev, CUD_ON_HOST, host);
}
