/* Numbers as text: one rule for reading them wherever a user writes one, and one way to write them. */
#ifndef CUD_NUMBER_H
#define CUD_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cudist/err.h"

/* Reading.  No blank, no +, no hexadecimal digit, and nothing behind the number; what a type cannot hold is refused, not
 * bent.  An error's text is the reason alone ("not a whole number"). */

/* The n characters at text, all of them digits, at least one; at most `most`. */
enum cud_status cud_number_whole(const char *text, size_t n, uint64_t most, uint64_t *value, struct cud_err *err);
/* Digits with a point among them or not, a - in front or not, and perhaps e or E and a whole number, with + or - or not; or
 * inf, -inf, nan.  single: a float is to hold it.  Refuses what would round to infinity, or to 0 without being 0. */
enum cud_status cud_number_read(const char *text, bool single, double *value, struct cud_err *err);

/* The shortest decimal text that reads back as the same double (or, when single, as the same float); "nan", "inf", "-inf". */
const char *cud_number_text(double value, bool single, char text[32]);

/* "160 bytes", "38.1 MiB". */
const char *cud_number_bytes(uint64_t bytes, char text[32]);

static inline uint64_t cud_min64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t cud_max64(uint64_t a, uint64_t b) { return a > b ? a : b; }

#endif
