/* NAME[:KEY=VALUE,...], as steps and made data are written. */
#ifndef CUD_PARAMS_H
#define CUD_PARAMS_H

#include "cudist/err.h"
#include "cudist/kernel.h"

struct cud_params {
    char *name;
    size_t n;
    struct { char *key, *value; } param[CUD_PARAMS_MAX + 8];
    char *memory;                          /* owned: all the strings */
};

/* A tail of parameters is what follows the last ':' outside quotes that reads as KEY=..., so names may hold colons.  A value
 * with commas is quoted with '...'; '' inside quotes is one quote.  No key twice.  An error's text is the reason alone. */
enum cud_status cud_params_parse(const char *text, struct cud_params *out, struct cud_err *err);
const char *cud_params_find(const struct cud_params *p, const char *key);     /* its value; NULL: not given */
void cud_params_free(struct cud_params *p);                       /* all zero is fine */

#endif
