/* Values as people write them: sizes, numbers, choices, paths.  An error's text is the reason alone ("not a size ..."): who
 * asked puts in front of it what was read, and where. */
#ifndef CUD_VALUE_H
#define CUD_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cudist/err.h"

/* A whole number, digits only, from least to most; most is less than 2^64 - 1. */
enum cud_status cud_value_count(const char *text, uint64_t least, uint64_t most, uint64_t *n, struct cud_err *err);
/* Bytes: a whole number, then nothing or K, M, G, T (powers of 1024; also k, KiB, ...).  At most 2^63 - 1. */
enum cud_status cud_value_size(const char *text, uint64_t least, uint64_t *bytes, struct cud_err *err);
/* 0 to 10^9; see number.h. */
enum cud_status cud_value_seconds(const char *text, double *seconds, struct cud_err *err);
/* yes true on 1, no false off 0. */
enum cud_status cud_value_flag(const char *text, bool *flag, struct cud_err *err);
/* One of the words of choices, "auto direct root" or "none,relu": its place. */
enum cud_status cud_value_choice(const char *text, const char *choices, size_t *place, struct cud_err *err);
/* The current folder and the path; an absolute path stays as it is.  Symbolic links are left alone: other hosts may mount
 * them elsewhere.  *full is malloc'ed, the caller frees. */
enum cud_status cud_value_path(const char *path, char **full, struct cud_err *err);

#endif
