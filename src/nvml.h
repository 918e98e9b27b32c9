/* What NVIDIA's management library knows of a GPU, where it is: it is opened at run time, and cudist works without it. */
#ifndef CUD_NVML_H
#define CUD_NVML_H

#include <stdbool.h>
#include <stdint.h>

struct cud_nvml {
    char driver[80];                       /* "580.65.06" */
    unsigned gpus;                         /* that the driver knows on this host */
    bool has_ecc, ecc;                     /* memory with error correction: there is such a thing, and it is on */
    uint64_t uncorrected;                  /* errors since the driver was loaded */
    bool remap_pending, remap_failed;      /* rows of memory that are to be replaced at the next reset, that cannot be */
    bool mig;                              /* cut into instances */
};

/* pci: of one GPU; "" : only driver and gpus are asked for.  False: why says what is missing. */
bool cud_nvml_look(const char *pci, struct cud_nvml *facts, char why[200]);

#endif
