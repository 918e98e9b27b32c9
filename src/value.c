#include "value.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "number.h"
#include "registry.h"

#define CHOICES_MAX 16
#define SECONDS_MAX 1e9                    /* 31 years; nanoseconds of it fit 63 bits */

enum cud_status cud_value_count(const char *text, uint64_t least, uint64_t most, uint64_t *n, struct cud_err *err)
{
    uint64_t v;
    enum cud_status status = cud_number_whole(text, strlen(text), most, &v, err);
    if (status != CUD_OK)
        return status;
    if (v < least)
        return FAIL(err, CUD_EUSAGE, "too small: at least %llu", (unsigned long long)least);
    *n = v;
    return CUD_OK;
}

/* The power of two that a unit stands for, or -1. */
static int unit_bits(const char *unit)
{
    static const char letters[] = "KMGT";
    if (!*unit)
        return 0;
    const char *at = strchr(letters, toupper((unsigned char)*unit));
    if (!at || (unit[1] && strcmp(unit + 1, "iB") != 0))
        return -1;
    return 10 * (int)(at - letters + 1);
}

enum cud_status cud_value_size(const char *text, uint64_t least, uint64_t *bytes, struct cud_err *err)
{
    const size_t n = strspn(text, "0123456789");
    const int bits = unit_bits(text + n);
    struct cud_err why = {0};
    uint64_t v;
    if (n == 0 || bits < 0)
        return FAIL(err, CUD_EUSAGE, "not a size: a whole number of bytes, or of K, M, G, T (powers of 1024), such as 64K");
    if (cud_number_whole(text, n, (uint64_t)INT64_MAX >> bits, &v, &why) != CUD_OK)
        return FAIL(err, CUD_EUSAGE, "too large: 2^63 bytes or more");
    if (v << bits < least)
        return FAIL(err, CUD_EUSAGE, "too small: at least %llu", (unsigned long long)least);
    *bytes = v << bits;
    return CUD_OK;
}

enum cud_status cud_value_seconds(const char *text, double *seconds, struct cud_err *err)
{
    struct cud_err why = {0};
    double v;
    if (cud_number_read(text, false, &v, &why) != CUD_OK || isnan(v))
        return FAIL(err, CUD_EUSAGE, "not a number of seconds, such as 300 or 0.5");
    if (*text == '-')
        return FAIL(err, CUD_EUSAGE, "seconds must not be negative");
    if (v > SECONDS_MAX)
        return FAIL(err, CUD_EUSAGE, "too large: at most %.0f seconds", SECONDS_MAX);
    *seconds = v;
    return CUD_OK;
}

enum cud_status cud_value_flag(const char *text, bool *flag, struct cud_err *err)
{
    static const char *const word[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
    for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
        if (strcasecmp(text, word[i]) != 0)
            continue;
        *flag = i % 2 == 1;
        return CUD_OK;
    }
    return FAIL(err, CUD_EUSAGE, "neither yes nor no (nor true, false, on, off, 1, 0)");
}

/* The words of a list, each cut off in copy. */
static size_t split(const char *choices, char copy[256], const char *word[CHOICES_MAX])
{
    size_t n = 0;
    char *rest = NULL;
    strncpy(copy, choices, 255);
    copy[255] = '\0';
    for (char *w = strtok_r(copy, " ,", &rest); w && n < CHOICES_MAX; w = strtok_r(NULL, " ,", &rest))
        word[n++] = w;
    return n;
}

enum cud_status cud_value_choice(const char *text, const char *choices, size_t *place, struct cud_err *err)
{
    char copy[256], list[320] = "";
    const char *word[CHOICES_MAX];
    size_t n = split(choices, copy, word);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(text, word[i]) == 0) {
            *place = i;
            return CUD_OK;
        }
        strcat(strcat(list, i == 0 ? "" : i + 1 < n ? ", " : " or "), word[i]);
    }
    const char *near = cud_registry_nearest(text, word, n);
    if (near)
        return FAIL(err, CUD_EUSAGE, "must be %s; did you mean %s?", list, near);
    return FAIL(err, CUD_EUSAGE, "must be %s", list);
}

enum cud_status cud_value_path(const char *path, char **full, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    char *folder = NULL, *made = NULL;
    if (!*path)
        return FAIL(err, CUD_EUSAGE, "an empty path");
    while (path[0] == '.' && path[1] == '/')
        path += 2 + strspn(path + 2, "/");
    if (*path != '/' && !(folder = get_current_dir_name()))
        TRY(FAIL(err, CUD_EFAILED, "the current folder has no path: %s", strerror(errno)));
    const char *between = !folder || strcmp(folder, "/") == 0 ? "" : "/";
    size_t bytes = (folder ? strlen(folder) : 0) + strlen(between) + strlen(path) + 1;
    if (!(made = malloc(bytes)))
        TRY(FAIL(err, CUD_EFAILED, "no memory for a path of %zu bytes", bytes));
    strcat(strcat(strcpy(made, folder ? folder : ""), between), path);
    *full = made;
done:
    free(folder);
    return status;
}
