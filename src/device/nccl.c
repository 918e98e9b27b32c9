#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include "nccl.h"
#include "symbols.h"

#define OLDEST 21400

/* All calls into n. */
static bool find_calls(void *library, const char *soname, struct cud_nccl *n, char why[200])
{
    const struct cud_symbol calls[] = {
        {"ncclGetVersion", &n->get_version}, {"ncclGetUniqueId", &n->get_unique_id}, {"ncclCommInitRankConfig", &n->init},
        {"ncclCommGetAsyncError", &n->async_error}, {"ncclCommFinalize", &n->finalize}, {"ncclCommDestroy", &n->destroy},
        {"ncclCommAbort", &n->abort}, {"ncclSend", &n->send}, {"ncclRecv", &n->receive}, {"ncclGetErrorString", &n->error},
        {"ncclGetLastError", &n->last_error}};
    return cud_symbols_find(library, soname, calls, sizeof calls / sizeof *calls, why);
}

/* NCCL_VERSION of nccl.h: 22809 is 2.28.9; before 2.9, 2804 was 2.8.4. */
static bool check_version(struct cud_nccl *n, const char *soname, char why[200])
{
    int v = 0;
    if (n->get_version(&v) != CUD_NCCL_DONE || v <= 0) {
        snprintf(why, 200, "%s does not tell its version", soname);
        return false;
    }
    const int major = v < 10000 ? v / 1000 : v / 10000, minor = v < 10000 ? v % 1000 / 100 : v % 10000 / 100;
    snprintf(n->name, sizeof n->name, "NCCL %d.%d.%d", major, minor, v % 100);
    if (v < OLDEST)
        snprintf(why, 200, "%s is %s, and 2.14 is the oldest that will do", soname, n->name);
    return v >= OLDEST;
}

const struct cud_nccl *cud_nccl_open(const char *soname, char why[200])
{
    static struct cud_nccl opened;         /* written by the main thread alone */
    struct cud_nccl n = {.name = ""};
    if (opened.send)
        return &opened;
    void *const library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, 200, "%s", dlerror());
        return NULL;
    }
    if (!find_calls(library, soname, &n, why) || !check_version(&n, soname, why)) {
        dlclose(library);
        return NULL;
    }
    opened = n;
    return &opened;
}
