/* The text of a step: NAME[:KEY=VALUE,...]. */
#ifndef CUD_STEP_PARSE_H
#define CUD_STEP_PARSE_H

#include "cudist/kernel.h"

struct cud_step_text {
    char *name;
    size_t params;
    struct { char *key, *value; } param[CUD_PARAMS_MAX + 8];
    char *memory;                          /* owned: all the strings */
};

/* A tail of parameters is what follows the last ':' outside quotes that reads as KEY=..., so names may hold colons.  A value
 * with commas is quoted with '...'; '' inside quotes is one quote. */
enum cud_status cud_step_parse(const char *text, struct cud_step_text *out, struct cud_err *err);
void cud_step_text_free(struct cud_step_text *t);                 /* all zero is fine */

#endif
