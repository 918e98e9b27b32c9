/* .npy: NumPy's own format, one array a file.
 *
 * NumPy writes several arrays to one file when asked to, and reads the first; that would lose the others without a word, so a
 * file that goes on after its array is refused.  Types without a counterpart are refused by name (npyhead.c). */
#include <stdlib.h>
#include <string.h>
#include "flat.h"
#include "npyhead.h"

static int sniff(const char *path, const unsigned char *head, size_t have)
{
    (void)path;
    return have >= 6 && memcmp(head, CUD_NPY_MAGIC, 6) == 0 ? 2 : 0;
}

static enum cud_status read_head(struct cud_source *source, const struct cud_given *given, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_flat *flat = source->own;
    unsigned char fixed[CUD_NPY_FIXED], *bytes = NULL;
    size_t have = flat->file_bytes < sizeof fixed ? (size_t)flat->file_bytes : sizeof fixed, length;
    TRY(cud_file_read(flat->fd, source->path, fixed, have, 0, err));
    TRY(cud_npy_length(source->path, fixed, have, &length, err));
    if (length > flat->file_bytes)
        TRY(FAIL(err, CUD_EINPUT, "%s: is cut short: its .npy header has %zu bytes, %zu are missing", source->path, length,
                 length - (size_t)flat->file_bytes));
    if ((bytes = malloc(length)) == NULL)
        TRY(FAIL(err, CUD_EFAILED, "%s: no memory for its header of %zu bytes", source->path, length));
    TRY(cud_file_read(flat->fd, source->path, bytes, length, 0, err));
    TRY(cud_npy_parse(source->path, bytes, length, given, &source->array, err));
    source->offset = length;
done:
    free(bytes);
    return status;
}

static enum cud_status open_npy(struct cud_source *source, const struct cud_given *given, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    TRY(cud_flat_open(source, err));
    TRY(read_head(source, given, err));
    TRY(cud_given_agrees(given, source, err));
    TRY(cud_flat_end(source, err));
done:
    if (status != CUD_OK)
        cud_flat_close(source);
    return status;
}

static enum cud_status head(const struct cud_array *array, unsigned char bytes[CUD_HEAD_MAX], size_t *n, struct cud_err *err)
{
    (void)err;
    cud_npy_write(array, bytes, n);
    return CUD_OK;
}

extern const struct cud_format cud_format_npy;
const struct cud_format cud_format_npy = {
    .name = "npy",
    .brief = "NumPy's .npy, versions 1 to 3, C order, either byte order",
    .suffixes = ".npy",
    .sniff = sniff,
    .open = open_npy,
    .read = cud_flat_read,
    .still = cud_flat_still,
    .close = cud_flat_close,
    .head = head,
};
