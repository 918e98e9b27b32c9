#include "config.h"
#include "flat.h"
#include "format/map.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define PIECE ((uint64_t)1 << 30)
#define END_SAMPLE ((uint64_t)64 << 10)    /* at each end of a file */
#define SAMPLE ((uint64_t)4 << 10)         /* at each place between */
#define PLACES 16

/* ---- files */

static enum cud_status check_kind(const char *path, mode_t mode, struct cud_err *err)
{
    if (S_ISREG(mode))
        return CUD_OK;
    const char *what = S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
    return FAIL(err, CUD_EINPUT, "%s: is %s; give a regular file", path, what);
}

static enum cud_status cannot_open(const char *path, struct cud_err *err)
{
    const char *why = strerror(errno);
    if (errno == EMFILE)
        return FAIL(err, CUD_EFAILED, "%s: %s: allow more (ulimit -n) or give fewer inputs", path, why);
    bool ours = errno == ENFILE || errno == ENOMEM || errno == EIO;
    return FAIL(err, ours ? CUD_EFAILED : CUD_EINPUT, "%s: %s", path, why);
}

enum cud_status cud_file_open(const char *path, int *fd, uint64_t *bytes, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct stat st;
    int f = -1;
    /* Opening a device may do something, and a socket's error says nothing: look first. */
    if (stat(path, &st) != 0)
        return cannot_open(path, err);
    TRY(check_kind(path, st.st_mode, err));
    /* It may have become something else meanwhile; O_NONBLOCK so that a pipe does not hold us. */
    f = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (f < 0 || fstat(f, &st) != 0)
        TRY(cannot_open(path, err));
    TRY(check_kind(path, st.st_mode, err));
    *fd = f;
    *bytes = (uint64_t)st.st_size;
    f = -1;
done:
    if (f >= 0)
        close(f);
    return status;
}

enum cud_status cud_file_read(int fd, const char *path, void *dst, uint64_t bytes, uint64_t offset, struct cud_err *err)
{
    unsigned char *to = dst;
    while (bytes > 0) {
        ssize_t got = pread(fd, to, bytes < PIECE ? bytes : PIECE, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return FAIL(err, CUD_EFAILED, "%s: reading at byte %" PRIu64 ": %s", path, offset, strerror(errno));
        if (got == 0)
            return FAIL(err, CUD_EFAILED, "%s: ended at byte %" PRIu64 " while it was read, %" PRIu64
                        " bytes are missing: leave inputs as they are during a run", path, offset, bytes);
        to += got;
        offset += (uint64_t)got;
        bytes -= (uint64_t)got;
    }
    return CUD_OK;
}

/* What samples are hashed to: eight bytes a number, little-endian on any machine. */
struct digest {
    size_t n;
    unsigned char bytes[8 * (2 * (2 + PLACES) + 8 + CUD_DIMS_MAX)];
};

static void add_number(struct digest *d, uint64_t x)
{
    for (int i = 0; i < 8; i++)
        d->bytes[d->n++] = (unsigned char)(x >> 8 * i);
}

static void finish(const struct digest *d, uint64_t identity[2])
{
    XXH128_hash_t hash = XXH3_128bits(d->bytes, d->n);
    identity[0] = hash.high64;
    identity[1] = hash.low64;
}

static enum cud_status add_sample(struct digest *d, int fd, const char *path, uint64_t range[2], struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    size_t n = (size_t)(range[1] - range[0]);
    void *buffer = malloc(n + 1);
    if (buffer == NULL)
        TRY(FAIL(err, CUD_EFAILED, "%s: no memory to look at it", path));
    TRY(cud_file_read(fd, path, buffer, n, range[0], err));
    XXH128_hash_t hash = XXH3_128bits(buffer, n);
    add_number(d, hash.high64);
    add_number(d, hash.low64);
done:
    free(buffer);
    return status;
}

enum cud_status cud_file_identity(int fd, const char *path, uint64_t identity[2], struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct digest d = {0};
    struct stat st;
    if (fstat(fd, &st) != 0)
        return FAIL(err, CUD_EFAILED, "%s: %s", path, strerror(errno));
    uint64_t size = (uint64_t)st.st_size;
    add_number(&d, size);
    if (size <= 2 * END_SAMPLE + PLACES * SAMPLE) {
        TRY(add_sample(&d, fd, path, (uint64_t[2]){0, size}, err));
    } else {
        TRY(add_sample(&d, fd, path, (uint64_t[2]){0, END_SAMPLE}, err));
        uint64_t step = (size - 2 * END_SAMPLE) / PLACES;
        for (uint64_t k = 0; k < PLACES; k++) {
            uint64_t at = END_SAMPLE + k * step + (step - SAMPLE) / 2;
            TRY(add_sample(&d, fd, path, (uint64_t[2]){at, at + SAMPLE}, err));
        }
        TRY(add_sample(&d, fd, path, (uint64_t[2]){size - END_SAMPLE, size}, err));
    }
    finish(&d, identity);
done:
    return status;
}

/* ---- arrays */

bool cud_shape_same(const struct cud_shape *a, const struct cud_shape *b)
{
    return a->ndim == b->ndim && memcmp(a->dim, b->dim, a->ndim * sizeof a->dim[0]) == 0;
}

enum cud_status cud_given_agrees(const struct cud_given *given, const struct cud_source *source, struct cud_err *err)
{
    const struct cud_array *a = &source->array;
    char one[CUD_SHAPE_TEXT], two[CUD_SHAPE_TEXT];
    if (given->has_type && given->type != a->type)
        return FAIL(err, CUD_EUSAGE, "%s: says by itself that it is %s: leave out --dtype %s", source->path,
                    cud_type_name(a->type), cud_type_name(given->type));
    if (given->has_shape && !cud_shape_same(&given->shape, &a->shape))
        return FAIL(err, CUD_EUSAGE, "%s: says by itself that its shape is %s: leave out --shape, which says %s", source->path,
                    cud_shape_text(&a->shape, one), cud_shape_text(&given->shape, two));
    if (given->has_offset && given->offset != source->offset)
        return FAIL(err, CUD_EUSAGE, "%s: says by itself that its elements begin at byte %" PRIu64 ": leave out --offset %"
                    PRIu64, source->path, source->offset, given->offset);
    return CUD_OK;
}

void cud_source_identify(struct cud_source *source, const uint64_t content[2])
{
    const struct cud_array *a = &source->array;
    struct digest d = {0};
    add_number(&d, content[0]);
    add_number(&d, content[1]);
    add_number(&d, a->type);
    add_number(&d, a->swapped);
    add_number(&d, source->offset);
    add_number(&d, a->shape.ndim);
    for (unsigned i = 0; i < a->shape.ndim; i++)
        add_number(&d, a->shape.dim[i]);
    finish(&d, source->identity);
}

/* ---- sources */

enum cud_status cud_flat_open(struct cud_source *source, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_flat *flat = malloc(sizeof *flat);
    if (flat == NULL)
        return FAIL(err, CUD_EFAILED, "%s: no memory to open it", source->path);
    flat->fd = -1;
    source->own = flat;
    TRY(cud_file_open(source->path, &flat->fd, &flat->file_bytes, err));
    struct stat st;
    if (fstat(flat->fd, &st) != 0)
        TRY(FAIL(err, CUD_EFAILED, "%s: %s", source->path, strerror(errno)));
    flat->changed = st.st_mtim;
done:
    if (status != CUD_OK)
        cud_flat_close(source);
    return status;
}

enum cud_status cud_flat_still(const struct cud_source *source, struct cud_err *err)
{
    const struct cud_flat *flat = source->own;
    struct stat st;
    if (fstat(flat->fd, &st) != 0)
        return FAIL(err, CUD_EFAILED, "%s: %s", source->path, strerror(errno));
    if ((uint64_t)st.st_size < flat->file_bytes)
        return FAIL(err, CUD_EFAILED, "%s: was cut short, to %" PRIu64 " of %" PRIu64 " bytes, while it was being read; leave "
                    "inputs as they are during a run, and run again", source->path, (uint64_t)st.st_size, flat->file_bytes);
    if (source->map && cud_map_lost(source->map))
        return FAIL(err, CUD_EFAILED, "%s: could not be read to its end: its disk failed, or it was cut short for a moment",
                    source->path);
    if ((uint64_t)st.st_size == flat->file_bytes && st.st_mtim.tv_sec == flat->changed.tv_sec &&
        st.st_mtim.tv_nsec == flat->changed.tv_nsec)
        return CUD_OK;
    return FAIL(err, CUD_EFAILED, "%s: was changed while it was being read; leave inputs as they are during a run, and run "
                "again", source->path);
}

/* Elements must lie as their type wants them. */
static void map(struct cud_source *source)
{
    const struct cud_flat *flat = source->own;
    if (source->offset % cud_type_bytes(source->array.type) == 0)
        source->map = cud_map_open(flat->fd, flat->file_bytes);
    source->map_bytes = flat->file_bytes;
}

static enum cud_status check_size(const struct cud_source *source, struct cud_err *err)
{
    const struct cud_flat *flat = source->own;
    const struct cud_array *a = &source->array;
    char shape[CUD_SHAPE_TEXT];
    uint64_t bytes;
    cud_shape_text(&a->shape, shape);
    if (!cud_shape_bytes(&a->shape, cud_type_bytes(a->type), &bytes) || bytes > INT64_MAX - source->offset)
        return FAIL(err, CUD_EINPUT, "%s: a shape of %s is too big: 2^63 bytes or more", source->path, shape);
    uint64_t end = source->offset + bytes, have = flat->file_bytes;
    if (have == end)
        return CUD_OK;
    return FAIL(err, CUD_EINPUT, "%s: is too %s: %s of %s from byte %" PRIu64 " on end at byte %" PRIu64 ", but it has %" PRIu64
                " bytes: %" PRIu64 " %s", source->path, have < end ? "short" : "long", shape, cud_type_name(a->type),
                source->offset, end, have, have < end ? end - have : have - end,
                have < end ? "are missing" : "too many (one array a file, and nothing after it)");
}

enum cud_status cud_flat_end(struct cud_source *source, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_flat *flat = source->own;
    uint64_t content[2];
    TRY(check_size(source, err));
    TRY(cud_file_identity(flat->fd, source->path, content, err));
    cud_source_identify(source, content);
    map(source);
done:
    return status;
}

enum cud_status cud_flat_read(const struct cud_source *source, uint64_t elem0, uint64_t elems, void *dst, struct cud_err *err)
{
    const struct cud_flat *flat = source->own;
    size_t each = cud_type_bytes(source->array.type);
    return cud_file_read(flat->fd, source->path, dst, elems * each, source->offset + elem0 * each, err);
}

void cud_flat_close(struct cud_source *source)
{
    struct cud_flat *flat = source->own;
    if (flat != NULL)
        cud_map_close(source->map, source->map_bytes);
    source->map = NULL;
    if (flat != NULL && flat->fd >= 0)
        close(flat->fd);
    free(flat);
    source->own = NULL;
}
