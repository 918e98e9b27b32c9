/* Whole numbers of the statistics, in full: the minimum, maximum and sum of an integer type. */
#ifndef CUD_INTEGER_H
#define CUD_INTEGER_H

#include "stats.h"

#define CUD_INTEGER_TEXT 48
const char *cud_integer_text(union cud_word value, enum cud_stats_kind kind, char text[CUD_INTEGER_TEXT]);
const char *cud_integer_sum_text(const struct cud_summary *s, char text[CUD_INTEGER_TEXT]);

#endif
