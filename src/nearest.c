#include <ctype.h>
#include <string.h>
#include "registry.h"

#define LETTERS 63                         /* longer words are not compared */

/* Upper and lower case, and - and _, are taken for the same letter. */
static int letter(char c)
{
    return c == '_' ? '-' : tolower((unsigned char)c);
}

static size_t least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Letters to insert, remove, replace or swap with the next to make b of a (optimal string alignment). */
static size_t edits(const char *a, size_t na, const char *b, size_t nb)
{
    size_t d[3][LETTERS + 1];              /* the rows before last, last and now */
    for (size_t j = 0; j <= nb; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *now = d[i % 3], *last = d[(i + 2) % 3], *before = d[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            bool same = letter(a[i - 1]) == letter(b[j - 1]);
            now[j] = least(last[j] + 1, now[j - 1] + 1, last[j - 1] + !same);
            bool swapped = i > 1 && j > 1 && letter(a[i - 1]) == letter(b[j - 2]) && letter(a[i - 2]) == letter(b[j - 1]);
            if (swapped && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
    }
    return d[na % 3][nb];
}

const char *cud_registry_nearest(const char *typed, const char *const *names, size_t n)
{
    const char *best = NULL;
    size_t fewest = LETTERS, have = strlen(typed);
    for (size_t i = 0; i < n && have <= LETTERS; i++) {
        size_t length = strlen(names[i]), longer = length > have ? length : have;
        if (length > LETTERS)
            continue;
        size_t e = edits(typed, have, names[i], length);
        bool begins = have >= 3 && length >= have && edits(typed, have, names[i], have) == 0;
        if (e < fewest && (3 * e < longer + (longer > 5) || begins)) {   /* gpu is not meant to be cpu */
            fewest = e;
            best = names[i];
        }
    }
    return best;
}
