/* A stand-in for NVIDIA's management library on the emulated GPUs: the calls that src/nvml.c makes.
 *
 * CUDAEMU_NVML, words: absent (no driver is loaded), ecc=N (so many uncorrected errors), pending, failed (rows to be replaced, that
 * cannot be), mig.  How many devices there are says CUDAEMU_DEVICES. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NOT_FOUND = 6, DRIVER_NOT_LOADED = 9 };      /* nvmlReturn_t */

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *text, unsigned room);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **device);
int nvmlDeviceGetEccMode(void *device, int *now, int *pending);
int nvmlDeviceGetTotalEccErrors(void *device, int kind, int since, unsigned long long *errors);
int nvmlDeviceGetRemappedRows(void *device, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed);
int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *pending);

static const char *word(const char *name)
{
    const char *const words = getenv("CUDAEMU_NVML");
    return words ? strstr(words, name) : NULL;
}

static unsigned devices(void)
{
    const char *const n = getenv("CUDAEMU_DEVICES");
    return n ? (unsigned)atoi(n) : 1;
}

int nvmlInit_v2(void) { return word("absent") ? DRIVER_NOT_LOADED : SUCCESS; }
int nvmlShutdown(void) { return SUCCESS; }

int nvmlSystemGetDriverVersion(char *text, unsigned room)
{
    snprintf(text, room, "1.2.3");
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = devices();
    return SUCCESS;
}

/* As the emulator numbers them: bus 1 is device 0. */
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **device)
{
    unsigned bus;
    if (sscanf(pci, "0000:%x:00.0", &bus) != 1 || bus < 1 || bus > devices())
        return NOT_FOUND;
    *device = (void *)(size_t)bus;
    return SUCCESS;
}

int nvmlDeviceGetEccMode(void *device, int *now, int *pending)
{
    (void)device;
    *now = *pending = 1;
    return SUCCESS;
}

int nvmlDeviceGetTotalEccErrors(void *device, int kind, int since, unsigned long long *errors)
{
    const char *const n = word("ecc=");
    (void)device;
    *errors = n && kind == 1 && since == 0 ? strtoull(n + strlen("ecc="), NULL, 10) : 0;
    return SUCCESS;
}

int nvmlDeviceGetRemappedRows(void *device, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed)
{
    (void)device;
    *corrected = *uncorrected = 0;
    *pending = word("pending") != NULL;
    *failed = word("failed") != NULL;
    return SUCCESS;
}

int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *pending)
{
    (void)device;
    *now = *pending = word("mig") != NULL;
    return SUCCESS;
}
