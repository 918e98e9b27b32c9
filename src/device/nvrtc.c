#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "nvrtc.h"
#include "symbols.h"

/* Machine code at the beginning, which is a whole number of 16 bytes, then PTX, which ends in a 0. */
struct cud_nvrtc_image {
    size_t ptx;                            /* where it begins in text */
    _Alignas(16) char text[];
};

const void *cud_nvrtc_machine_code(const struct cud_nvrtc_image *image) { return image->text; }
const char *cud_nvrtc_ptx(const struct cud_nvrtc_image *image) { return image->text + image->ptx; }

static const char *const sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

static struct {
    int (*create)(void **program, const char *source, const char *name, int headers, const char *const *text, const char *const *names);
    int (*compile)(void *program, int options, const char *const *option);
    int (*destroy)(void **program);
    int (*log_bytes)(void *program, size_t *bytes);
    int (*log)(void *program, char *text);
    int (*ptx_bytes)(void *program, size_t *bytes);
    int (*ptx)(void *program, char *text);
    int (*code_bytes)(void *program, size_t *bytes);
    int (*code)(void *program, char *bytes);
    const char *(*error)(int code);
} rt;                                      /* written once, by the main thread, before there are others */

static const struct cud_symbol symbols[] = {
    {"nvrtcCreateProgram", &rt.create},
    {"nvrtcCompileProgram", &rt.compile},
    {"nvrtcDestroyProgram", &rt.destroy},
    {"nvrtcGetProgramLogSize", &rt.log_bytes},
    {"nvrtcGetProgramLog", &rt.log},
    {"nvrtcGetPTXSize", &rt.ptx_bytes},
    {"nvrtcGetPTX", &rt.ptx},
    {"nvrtcGetCUBINSize", &rt.code_bytes},
    {"nvrtcGetCUBIN", &rt.code},
    {"nvrtcGetErrorString", &rt.error},
};

static bool open_library(char why[200])
{
    void *library = NULL;
    if (rt.error)
        return true;
    for (size_t i = 0; i < sizeof sonames / sizeof *sonames && !library; i++)
        library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, 200, "%s cannot be opened", sonames[0]);
        return false;
    }
    return cud_symbols_find(library, "libnvrtc", symbols, sizeof symbols / sizeof *symbols, why);
}

/* The first line of what the compiler says. */
static void complaint(void *program, int code, char why[200])
{
    size_t n = 0;
    char *text = NULL;
    if (rt.log_bytes(program, &n) == 0 && n > 1 && (text = calloc(1, n + 1)) && rt.log(program, text) == 0)
        snprintf(why, 200, "NVRTC: %.*s", (int)strcspn(text, "\n"), text);
    else
        snprintf(why, 200, "NVRTC: %s", rt.error(code));
    free(text);
}

static enum cud_status fetch(void *program, void **image, size_t *bytes, struct cud_err *err)
{
    size_t ptx = 0, code = 0;
    (void)rt.ptx_bytes(program, &ptx);
    (void)rt.code_bytes(program, &code);
    const size_t room = (code + 15) / 16 * 16;
    struct cud_nvrtc_image *const i = calloc(1, sizeof *i + room + ptx + 1);
    if (!i)
        return FAIL(err, CUD_EFAILED, "no memory for what NVRTC made, %zu bytes", room + ptx);
    i->ptx = room;
    (void)rt.code(program, i->text);
    (void)rt.ptx(program, i->text + room);
    *image = i;
    *bytes = sizeof *i + room + ptx + 1;
    return CUD_OK;
}

/* The arithmetic is as nvcc's, Makefile.am: no contraction. */
enum cud_status cud_nvrtc_compile(const char *source, const char *kind, void **image, size_t *bytes, char why[200], struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    char arch[100];
    const char *const options[] = {arch, "--std=c++17", "--fmad=false", "-default-device", "--disable-warnings"};
    void *program = NULL;
    *image = NULL;
    *bytes = 0;
    snprintf(arch, sizeof arch, "--gpu-architecture=%s", kind);
    if (!open_library(why))
        return CUD_OK;
    int code = rt.create(&program, source, "cudist.cu", 0, NULL, NULL);
    if (code) {
        snprintf(why, 200, "NVRTC: %s", rt.error(code));
        return CUD_OK;
    }
    code = rt.compile(program, sizeof options / sizeof *options, options);
    if (code)
        complaint(program, code, why);
    else
        status = fetch(program, image, bytes, err);
    (void)rt.destroy(&program);
    return status;
}
