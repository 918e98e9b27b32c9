#include <inttypes.h>
#include <stdio.h>
#include "integer.h"
#include "tree.h"

const char *cud_integer_text(union cud_word value, enum cud_stats_kind kind, char text[CUD_INTEGER_TEXT])
{
    if (kind == CUD_SIGNED)
        snprintf(text, CUD_INTEGER_TEXT, "%" PRId64, value.i);
    else if (kind == CUD_UNSIGNED)
        snprintf(text, CUD_INTEGER_TEXT, "%" PRIu64, value.u);
    else
        snprintf(text, CUD_INTEGER_TEXT, "%.0f", value.f);        /* of at most 32 bits */
    return text;
}

const char *cud_integer_sum_text(const struct cud_summary *s, char text[CUD_INTEGER_TEXT])
{
    const cud_int128 sum = cud_summary_integer(s);
    char digits[CUD_INTEGER_TEXT], *d = digits + sizeof digits - 1;
    cud_int128 rest = sum;
    *d = 0;
    do {
        const int digit = (int)(rest % 10);
        *--d = (char)('0' + (digit < 0 ? -digit : digit));
        rest /= 10;
    } while (rest);
    snprintf(text, CUD_INTEGER_TEXT, "%s%s", sum < 0 ? "-" : "", d);
    return text;
}
