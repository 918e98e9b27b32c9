/* The calls and constants are those of the NVML API reference, https://docs.nvidia.com/deploy/nvml-api. */
#include <dlfcn.h>
#include <stdio.h>
#include "nvml.h"
#include "symbols.h"

#define SONAME "libnvidia-ml.so.1"

enum { UNCORRECTED = 1, SINCE_LOAD = 0 };  /* NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC */

struct library {
    void *handle;
    int (*init)(void), (*shutdown)(void);
    int (*driver)(char *, unsigned), (*count)(unsigned *), (*find)(const char *, void **);
    int (*ecc_mode)(void *, int *, int *), (*ecc_errors)(void *, int, int, unsigned long long *);
    int (*remapped)(void *, unsigned *, unsigned *, unsigned *, unsigned *), (*mig)(void *, unsigned *, unsigned *);
};

static bool load(struct library *l, char why[200])
{
    const struct cud_symbol calls[] = {
        {"nvmlInit_v2", &l->init},
        {"nvmlShutdown", &l->shutdown},
        {"nvmlSystemGetDriverVersion", &l->driver},
        {"nvmlDeviceGetCount_v2", &l->count},
        {"nvmlDeviceGetHandleByPciBusId_v2", &l->find},
        {"nvmlDeviceGetEccMode", &l->ecc_mode},
        {"nvmlDeviceGetTotalEccErrors", &l->ecc_errors},
        {"nvmlDeviceGetRemappedRows", &l->remapped},
        {"nvmlDeviceGetMigMode", &l->mig},
    };
    if (!(l->handle = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL))) {
        snprintf(why, 200, "%s", dlerror());
        return false;
    }
    return cud_symbols_find(l->handle, SONAME " is too old: it", calls, sizeof calls / sizeof *calls, why);
}

/* What a GPU has not is not said by these calls; then it stays 0. */
static void look_at_gpu(const struct library *l, void *gpu, struct cud_nvml *facts)
{
    int now = 0, pending_mode = 0;
    unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0, mig = 0, pending_mig = 0;
    unsigned long long errors = 0;
    facts->has_ecc = l->ecc_mode(gpu, &now, &pending_mode) == 0;
    facts->ecc = facts->has_ecc && now != 0;
    if (facts->ecc && l->ecc_errors(gpu, UNCORRECTED, SINCE_LOAD, &errors) == 0)
        facts->uncorrected = errors;
    if (l->remapped(gpu, &corrected, &uncorrected, &pending, &failed) == 0) {
        facts->remap_pending = pending != 0;
        facts->remap_failed = failed != 0;
    }
    facts->mig = l->mig(gpu, &mig, &pending_mig) == 0 && mig != 0;
}

bool cud_nvml_look(const char *pci, struct cud_nvml *facts, char why[200])
{
    struct library l = {0};
    void *gpu = NULL;
    int code = 0;
    *facts = (struct cud_nvml){0};
    bool good = load(&l, why);
    if (good && (code = l.init()) != 0) {
        snprintf(why, 200, "%s does not start (error %d)", SONAME, code);
        good = false;
    } else if (good) {
        (void)l.driver(facts->driver, sizeof facts->driver);
        (void)l.count(&facts->gpus);
        if (*pci && (code = l.find(pci, &gpu)) == 0)
            look_at_gpu(&l, gpu, facts);
        if (code != 0)
            snprintf(why, 200, "%s does not know %s (error %d)", SONAME, pci, code);
        good = code == 0;
        (void)l.shutdown();
    }
    if (l.handle)
        dlclose(l.handle);
    return good;
}
