/* Functions of a library that is opened at run time. */
#ifndef CUD_SYMBOLS_H
#define CUD_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

struct cud_symbol {
    const char *name;
    void *to;                              /* the pointer to a function that is set */
};

/* Sets all n.  False: why says "LIBRARY has no NAME"; some may be set. */
bool cud_symbols_find(void *handle, const char *library, const struct cud_symbol *symbol, size_t n, char why[200]);

#endif
