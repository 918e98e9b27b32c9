#include "config.h"
#include "source.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include "format/map.h"
#include "registry.h"

/* ---- which format */

struct head {
    size_t have;
    unsigned char bytes[CUD_HEAD_MAX];
};

static enum cud_status read_head(const char *path, struct head *head, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    int fd = -1;
    uint64_t size;
    TRY(cud_file_open(path, &fd, &size, err));
    head->have = size < CUD_HEAD_MAX ? (size_t)size : CUD_HEAD_MAX;
    TRY(cud_file_read(fd, path, head->bytes, head->have, 0, err));
done:
    if (fd >= 0)
        close(fd);
    return status;
}

static const struct cud_format *format_by_bytes(const char *path, const struct head *head, int least)
{
    const struct cud_format *f;
    for (size_t i = 0; (f = cud_registry_format_at(i)) != NULL; i++)
        if (f->sniff(path, head->bytes, head->have) >= least)
            return f;
    return NULL;
}

/* What people try that is no plain array. */
static const char *foreign(const struct head *head)
{
    static const struct { const char *magic, *what; } known[] = {
        {"PK\003\004", "it is a zip archive or .npz: unpack it and give one .npy"},
        {"\x89HDF\r\n\032\n", "it is HDF5: save one of its arrays as .npy"},
        {"CDF", "it is NetCDF: save one of its arrays as .npy"},
        {"\x1f\x8b", "it is compressed: gunzip it first"},
        {"\x28\xb5\x2f\xfd", "it is compressed: unzstd it first"},
        {"\xfd" "7zXZ", "it is compressed: unxz it first"},
    };
    if (head->have == 0)
        return "it is empty";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (head->have >= strlen(known[i].magic) && memcmp(head->bytes, known[i].magic, strlen(known[i].magic)) == 0)
            return known[i].what;
    return NULL;
}

static enum cud_status choose(const char *path, const struct cud_given *given, const struct cud_format **format,
                              struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct head head = {.have = 0};
    /* What is no file at all says so by its name. */
    if ((*format = format_by_bytes(path, &head, 2)) != NULL)
        return CUD_OK;
    TRY(read_head(path, &head, err));
    if ((*format = format_by_bytes(path, &head, 2)) != NULL)
        return CUD_OK;
    const char *hint = foreign(&head);
    const struct cud_format *named = cud_registry_format_of(path);
    if (named && named->sniff(path, head.bytes, head.have) == 0)
        TRY(FAIL(err, CUD_EINPUT, "%s: is named as %s but does not begin like one: %s", path, named->name,
                 hint ? hint : "if it is raw data, name it .bin"));
    bool said = given->has_type || given->has_shape || given->has_offset;
    *format = named ? named : said ? format_by_bytes(path, &head, 1) : NULL;
    if (*format == NULL)
        TRY(FAIL(err, hint ? CUD_EINPUT : CUD_EUSAGE, "%s: is in no format that cudist knows by its bytes or its name: %s",
                 path, hint ? hint : "save it as .npy, or give --dtype if it is raw input"));
done:
    return status;
}

/* ---- one file */

enum cud_status cud_source_open(const char *path, const struct cud_given *given, struct cud_source *source, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_source s = {0};
    TRY(choose(path, given, &s.format, err));
    if ((s.path = strdup(path)) == NULL)
        TRY(FAIL(err, CUD_EFAILED, "%s: no memory to open it", path));
    TRY(s.format->open(&s, given, err));
    *source = s;
    s = (struct cud_source){0};
done:
    cud_source_close(&s);
    return status;
}

void cud_source_close(struct cud_source *source)
{
    if (source->format)
        source->format->close(source);
    free((char *)source->path);
    *source = (struct cud_source){0};
}

/* ---- several files */

static enum cud_status check_like(const struct cud_source *a, const struct cud_source *b, struct cud_err *err)
{
    const struct cud_array *x = &a->array, *y = &b->array;
    char one[CUD_SHAPE_TEXT], two[CUD_SHAPE_TEXT];
    if (x->shape.ndim == 0 || y->shape.ndim == 0)
        return FAIL(err, CUD_EINPUT, "%s: has no rows (its shape is ()): it cannot be one of several inputs",
                    x->shape.ndim == 0 ? a->path : b->path);
    if (x->type != y->type)
        return FAIL(err, CUD_EINPUT, "%s is %s but %s is %s: several inputs are one array and have one type", a->path,
                    cud_type_name(x->type), b->path, cud_type_name(y->type));
    if (x->swapped != y->swapped)
        return FAIL(err, CUD_EINPUT, "%s and %s differ in byte order: several inputs are one array; save one of them again "
                    "(numpy: a.astype(a.dtype.newbyteorder('<')))", a->path, b->path);
    struct cud_shape like = y->shape;
    like.dim[0] = x->shape.dim[0];
    if (!cud_shape_same(&x->shape, &like))
        return FAIL(err, CUD_EINPUT, "%s has the shape %s but %s has %s: several inputs are one array, only their first "
                    "dimensions may differ", a->path, cud_shape_text(&x->shape, one), b->path, cud_shape_text(&y->shape, two));
    return CUD_OK;
}

static uint64_t elems_of(const struct cud_shape *s)
{
    return cud_shape_rows(s) * cud_shape_cols(s);
}

/* The k-th file behind the others. */
static enum cud_status append(struct cud_input *in, size_t k, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_array *a = &in->file[k].array;
    uint64_t bytes;
    if (k == 0) {
        in->array = *a;
    } else {
        TRY(check_like(&in->file[0], &in->file[k], err));
        in->array.shape.dim[0] += a->shape.dim[0];   /* two numbers below 2^63 */
        if (in->array.shape.dim[0] > INT64_MAX || !cud_shape_bytes(&in->array.shape, cud_type_bytes(a->type), &bytes))
            TRY(FAIL(err, CUD_EINPUT, "%s: with it the inputs have 2^63 bytes or more", in->file[k].path));
    }
    in->first[k + 1] = in->first[k] + elems_of(&a->shape);
done:
    return status;
}

static enum cud_status identify(struct cud_input *in, struct cud_err *err)
{
    uint64_t *all = malloc(in->files * sizeof in->file[0].identity);
    if (all == NULL)
        return FAIL(err, CUD_EFAILED, "no memory for %zu inputs", in->files);
    for (size_t k = 0; k < in->files; k++)
        memcpy(all + 2 * k, in->file[k].identity, sizeof in->file[k].identity);
    XXH128_hash_t hash = XXH3_128bits(all, in->files * sizeof in->file[0].identity);
    in->identity[0] = hash.high64;
    in->identity[1] = hash.low64;
    free(all);
    return CUD_OK;
}

enum cud_status cud_input_open(size_t files, char *const *path, const struct cud_given *given, struct cud_input *input,
                               struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_input in = {.files = files};
    assert(files > 0);
    in.file = calloc(files, sizeof *in.file);
    in.first = calloc(files + 1, sizeof *in.first);
    if (in.file == NULL || in.first == NULL)
        TRY(FAIL(err, CUD_EFAILED, "no memory for %zu inputs", files));
    for (size_t k = 0; k < files; k++) {
        TRY(cud_source_open(path[k], given, &in.file[k], err));
        TRY(append(&in, k, err));
    }
    TRY(identify(&in, err));
    *input = in;
    in = (struct cud_input){0};
done:
    cud_input_close(&in);
    return status;
}

void cud_input_close(struct cud_input *input)
{
    for (size_t k = 0; input->file && k < input->files; k++)
        cud_source_close(&input->file[k]);
    free(input->file);
    free(input->first);
    *input = (struct cud_input){0};
}

/* The file that has element elem: the last whose first element is not behind it. */
static size_t file_of(const struct cud_input *input, uint64_t elem)
{
    size_t low = 0, high = input->files;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (input->first[middle] <= elem)
            low = middle;
        else
            high = middle;
    }
    return low;
}

enum cud_status cud_input_read(const struct cud_input *input, uint64_t elem0, uint64_t elems, void *dst, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    size_t each = cud_type_bytes(input->array.type);
    unsigned char *to = dst;
    assert(elem0 <= input->first[input->files] && elems <= input->first[input->files] - elem0);
    for (size_t k = file_of(input, elem0); elems > 0; k++) {
        const struct cud_source *file = &input->file[k];
        uint64_t left = input->first[k + 1] - elem0, n = elems < left ? elems : left;
        if (n > 0)
            TRY(file->format->read(file, elem0 - input->first[k], n, to, err));
        to += n * each;
        elem0 += n;
        elems -= n;
    }
done:
    return status;
}

const void *cud_input_map(const struct cud_input *input, uint64_t elem0, uint64_t elems)
{
    const size_t k = file_of(input, elem0), each = cud_type_bytes(input->array.type);
    const struct cud_source *file = &input->file[k];
    const uint64_t at = file->offset + (elem0 - input->first[k]) * each;
    if (!file->map || elem0 + elems > input->first[k + 1])
        return NULL;
    return file->map + at;
}

void cud_input_unmap(const struct cud_input *input, uint64_t elem0, uint64_t elems)
{
    const size_t k = file_of(input, elem0), each = cud_type_bytes(input->array.type);
    const struct cud_source *file = &input->file[k];
    cud_map_drop(file->map, file->map_bytes, file->offset + (elem0 - input->first[k]) * each, elems * each);
}

enum cud_status cud_input_still(const struct cud_input *input, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    for (size_t k = 0; k < input->files; k++)
        if (input->file[k].format->still)
            TRY(input->file[k].format->still(&input->file[k], err));
done:
    return status;
}

enum cud_status cud_input_whole(const struct cud_input *input, struct cud_err *err)
{
    return cud_map_lost(NULL) ? cud_input_still(input, err) : CUD_OK;
}

/* ---- weights */

static void swap_bytes(unsigned char *at, size_t each, uint64_t n)
{
    for (; n > 0; n--, at += each)
        for (size_t i = 0; i < each / 2; i++) {
            unsigned char byte = at[i];
            at[i] = at[each - 1 - i];
            at[each - 1 - i] = byte;
        }
}

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float f16_value(uint16_t h)
{
    uint32_t sign = (uint32_t)(h >> 15) << 31, exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 0)                     /* 0 and subnormal: units of 2^-24 */
        return sign ? -((float)fraction * 0x1p-24f) : (float)fraction * 0x1p-24f;
    return from_bits(sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13);
}

static float bf16_value(uint16_t h) { return from_bits((uint32_t)h << 16); }
static int bool_value(uint8_t b) { return b != 0; }

/* Elements of type T, each through the function `of`, to f32 or f64: one rounding. */
#define CONVERT(T, of)                                                \
    for (uint64_t i = 0; i < n; i++) {                                \
        T x;                                                          \
        memcpy(&x, (const char *)from + i * sizeof x, sizeof x);      \
        if (as == CUD_F32)                                            \
            ((float *)to)[i] = (float)of(x);                          \
        else                                                          \
            ((double *)to)[i] = (double)of(x);                        \
    }                                                                 \
    break

static void convert(const void *from, enum cud_type type, uint64_t n, enum cud_type as, void *to)
{
    switch (type) {
    case CUD_BOOL: CONVERT(uint8_t, bool_value);
    case CUD_I8: CONVERT(int8_t,);
    case CUD_U8: CONVERT(uint8_t,);
    case CUD_I16: CONVERT(int16_t,);
    case CUD_U16: CONVERT(uint16_t,);
    case CUD_I32: CONVERT(int32_t,);
    case CUD_U32: CONVERT(uint32_t,);
    case CUD_I64: CONVERT(int64_t,);
    case CUD_U64: CONVERT(uint64_t,);
    case CUD_F16: CONVERT(uint16_t, f16_value);
    case CUD_BF16: CONVERT(uint16_t, bf16_value);
    case CUD_F32: CONVERT(float,);
    case CUD_F64: CONVERT(double,);
    case CUD_TYPES: assert(!"a type");
    }
}

static enum cud_status load(const struct cud_source *s, enum cud_type as, void **values, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    uint64_t n = elems_of(&s->array.shape), bytes;
    size_t each = cud_type_bytes(s->array.type);
    void *stored = NULL, *to = NULL;
    if (!cud_shape_bytes(&s->array.shape, sizeof(double), &bytes) || (stored = malloc(n * each + 1)) == NULL ||
        (to = malloc(n * cud_type_bytes(as) + 1)) == NULL)
        TRY(FAIL(err, CUD_EFAILED, "%s: not enough memory for its %" PRIu64 " values", s->path, n));
    if (n > 0)
        TRY(s->format->read(s, 0, n, stored, err));
    if (s->array.swapped)
        swap_bytes(stored, each, n);
    convert(stored, s->array.type, n, as, to);
    *values = to;
    to = NULL;
done:
    free(stored);
    free(to);
    return status;
}

enum cud_status cud_source_load(const char *path, enum cud_type as, struct cud_shape *shape, void **values, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_source s = {0};
    assert(as == CUD_F32 || as == CUD_F64);
    TRY(cud_source_open(path, &(struct cud_given){0}, &s, err));
    TRY(load(&s, as, values, err));
    *shape = s.array.shape;
done:
    cud_source_close(&s);
    return status;
}
