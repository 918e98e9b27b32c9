/* --info FILE: what cudist sees in an input. */
#ifndef CUD_INFO_H
#define CUD_INFO_H

#include <stdio.h>
#include "cudist/format.h"

/* One "name: value" line each: path, format, dtype, byte order, shape, data offset, bytes, identity. */
enum cud_status cud_info_print(const char *path, const struct cud_given *given, FILE *to, struct cud_err *err);

#endif
