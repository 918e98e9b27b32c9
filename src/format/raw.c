/* .bin, .raw: nothing but elements.  What they are the user says: --dtype, --shape, --offset. */
#include <inttypes.h>
#include <string.h>
#include "flat.h"

/* Any bytes may be raw: the suffix decides, or the user. */
static int sniff(const char *path, const unsigned char *head, size_t have)
{
    (void)path, (void)head, (void)have;
    return 1;
}

/* Without --shape: one dimension, as many elements as there are. */
static enum cud_status count(struct cud_source *source, struct cud_err *err)
{
    const struct cud_flat *flat = source->own;
    struct cud_array *a = &source->array;
    size_t each = cud_type_bytes(a->type);
    uint64_t bytes = flat->file_bytes - source->offset;
    if (bytes % each != 0)
        return FAIL(err, CUD_EINPUT, "%s: %" PRIu64 " bytes from byte %" PRIu64 " on are no whole number of %s of %zu bytes, %"
                    PRIu64 " left over: give its --dtype, or --offset if it has a header", source->path, bytes,
                    source->offset, cud_type_name(a->type), each, bytes % each);
    a->shape.ndim = 1;
    a->shape.dim[0] = bytes / each;
    return CUD_OK;
}

static enum cud_status open_raw(struct cud_source *source, const struct cud_given *given, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    TRY(cud_flat_open(source, err));
    const struct cud_flat *flat = source->own;
    source->array = (struct cud_array){.type = given->has_type ? given->type : CUD_F32};
    source->offset = given->has_offset ? given->offset : 0;
    if (source->offset > flat->file_bytes)
        TRY(FAIL(err, CUD_EINPUT, "%s: has %" PRIu64 " bytes, fewer than --offset %" PRIu64, source->path, flat->file_bytes,
                 source->offset));
    if (given->has_shape)
        source->array.shape = given->shape;
    else
        TRY(count(source, err));
    TRY(cud_flat_end(source, err));
done:
    if (status != CUD_OK)
        cud_flat_close(source);
    return status;
}

static enum cud_status head(const struct cud_array *array, unsigned char bytes[CUD_HEAD_MAX], size_t *n, struct cud_err *err)
{
    (void)array, (void)bytes, (void)err;
    *n = 0;
    return CUD_OK;
}

extern const struct cud_format cud_format_raw;
const struct cud_format cud_format_raw = {
    .name = "raw",
    .brief = "elements only, little-endian: --dtype, --shape and --offset say the rest",
    .suffixes = ".bin .raw",
    .sniff = sniff,
    .open = open_raw,
    .read = cud_flat_read,
    .still = cud_flat_still,
    .close = cud_flat_close,
    .head = head,
};
