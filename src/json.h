/* Writes JSON, one key a line, two spaces a level, lists of scalars on one line. */
#ifndef CUD_JSON_H
#define CUD_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "cudist/type.h"

struct cud_json {
    FILE *to;
    unsigned level;                        /* of objects and lists that are open */
    bool first;                            /* nothing is in the innermost one yet */
    bool flat[8];                          /* by level: on one line */
};

/* key is NULL for an element of a list.  kind is '{' or '['. */
void cud_json_open(struct cud_json *j, const char *key, char kind, bool flat);
void cud_json_close(struct cud_json *j, char kind);               /* '}' or ']' */

void cud_json_null(struct cud_json *j, const char *key);
void cud_json_string(struct cud_json *j, const char *key, const char *s);     /* NULL: null.  Not UTF-8: U+FFFD */
void cud_json_number(struct cud_json *j, const char *key, double value);      /* reads back as the same double */
void cud_json_count(struct cud_json *j, const char *key, uint64_t value);     /* a string beyond 2^53 */
void cud_json_integer(struct cud_json *j, const char *key, const char *digits);   /* the same, of any length */
void cud_json_shape(struct cud_json *j, const char *key, const struct cud_shape *shape);

#endif
