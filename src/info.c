#include "info.h"

#include <inttypes.h>
#include "source.h"
#include "text.h"

static const char *byte_order(const struct cud_array *a)
{
    if (cud_type_bytes(a->type) == 1)
        return "none (1-byte elements)";
    return a->swapped ? "big-endian" : "little-endian";
}

enum cud_status cud_info_print(const char *path, const struct cud_given *given, FILE *to, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_source s = {0};
    char shape[CUD_SHAPE_TEXT];
    TRY(cud_source_open(path, given, &s, err));
    const struct cud_array *a = &s.array;
    size_t each = cud_type_bytes(a->type);
    fputs("path: ", to);
    cud_text_put(path, to);
    fprintf(to, "\nformat: %s\n", s.format->name);
    fprintf(to, "dtype: %s\n", cud_type_name(a->type));
    fprintf(to, "byte order: %s\n", byte_order(a));
    fprintf(to, "shape: %s\n", cud_shape_text(&a->shape, shape));
    fprintf(to, "data offset: %" PRIu64 "\n", s.offset);
    fprintf(to, "bytes: %" PRIu64 "\n", cud_shape_rows(&a->shape) * cud_shape_cols(&a->shape) * each);
    fprintf(to, "identity: xxh3-128:%016" PRIx64 "%016" PRIx64 "\n", s.identity[0], s.identity[1]);
done:
    cud_source_close(&s);
    return status;
}
