#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "symbols.h"

bool cud_symbols_find(void *handle, const char *library, const struct cud_symbol *symbol, size_t n, char why[200])
{
    for (size_t i = 0; i < n; i++) {
        void *const at = dlsym(handle, symbol[i].name);
        if (!at) {
            snprintf(why, 200, "%s has no %s", library, symbol[i].name);
            return false;
        }
        memcpy(symbol[i].to, &at, sizeof at);           /* ISO C has no cast from void * to a function */
    }
    return true;
}
