/* Files for the tests of inputs, in a folder of their own, and what an error must say. */
#ifndef FILES_H
#define FILES_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cudist/err.h"
#include "../tap.h"

static char files_folder[256];

static inline void files_start(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(files_folder, sizeof files_folder, "%s/cudist-test.XXXXXX", tmp ? tmp : "/tmp");
    if (mkdtemp(files_folder) == NULL || chdir(files_folder) != 0) {
        printf("Bail out! no folder for files: %s\n", files_folder);
        exit(99);
    }
}

/* The tests unlink what they made. */
static inline void files_end(void)
{
    if (chdir("/") != 0 || rmdir(files_folder) != 0)
        printf("# left behind: %s\n", files_folder);
}

static inline void file_write(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(name, "wb");
    if (f == NULL || (n > 0 && fwrite(bytes, 1, n, f) != n) || fclose(f) != 0) {
        printf("Bail out! cannot write %s\n", name);
        exit(99);
    }
}

/* The call failed with that status and its one line has that text. */
static inline int failed(enum cud_status got, enum cud_status wanted, struct cud_err *err, const char *text)
{
    int good = got == wanted && err->status == (int)wanted && strstr(err->text, text) && !strchr(err->text, '\n');
    ok(good, "%d: %s", (int)wanted, text);
    if (!good)
        printf("# got %d: %s\n", (int)got, err->text);
    *err = (struct cud_err){0};
    return good;
}

/* The call went well. */
static inline int went(enum cud_status got, struct cud_err *err, const char *what)
{
    int good = ok(got == CUD_OK && err->status == CUD_OK, "%s", what);
    if (!good)
        printf("# got %d: %s\n", (int)got, err->text);
    *err = (struct cud_err){0};
    return good;
}

#endif
