/* NVRTC, NVIDIA's compiler as a library, opened at run time: where it is not, nothing is compiled while running. */
#ifndef CUD_NVRTC_H
#define CUD_NVRTC_H

#include <stddef.h>
#include "cudist/err.h"

struct cud_nvrtc_image;                    /* plain bytes: sent between ranks */
const void *cud_nvrtc_machine_code(const struct cud_nvrtc_image *image);
const char *cud_nvrtc_ptx(const struct cud_nvrtc_image *image);

/* struct cud_device's compile.  Main thread. */
enum cud_status cud_nvrtc_compile(const char *source, const char *kind, void **image, size_t *bytes, char why[200], struct cud_err *err);

#endif
