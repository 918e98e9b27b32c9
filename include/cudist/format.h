/* A format: how an array lies in a file.  One format a file: src/format/npy.c, raw.c, random.c.
 *
 * A source is an opened input.  read is called by many threads at once. */
#ifndef CUDIST_FORMAT_H
#define CUDIST_FORMAT_H

#include "cudist/err.h"
#include "cudist/type.h"

/* What the user said about inputs that do not say it themselves (--dtype, --shape, --offset). */
struct cud_given {
    bool has_type, has_shape, has_offset;
    enum cud_type type;
    struct cud_shape shape;
    uint64_t offset;                       /* bytes in front of the first element */
};

struct cud_array {
    struct cud_shape shape;
    enum cud_type type;
    bool swapped;                          /* elements are in the other byte order than this machine's */
};

struct cud_source {
    const struct cud_format *format;
    const char *path;                      /* owned; for messages and for identity */
    struct cud_array array;
    uint64_t offset;                       /* bytes of the file in front of the first element; 0 if there is no file */
    uint64_t identity[2];                  /* XXH3-128 of size, header and samples: the same on every host for the same file */
    const unsigned char *map;              /* the file's bytes in memory, elements from `offset` on; NULL: use read */
    uint64_t map_bytes;
    void *own;                             /* the format's */
};

#define CUD_HEAD_MAX 4096                  /* bytes that sniff is shown, and the longest head a writer makes */

struct cud_format {
    const char *name;                      /* its file's name */
    const char *brief;                     /* one line for --help */
    const char *suffixes;                  /* ".bin .raw"; "" if none */

    /* How sure: 0 no, 1 perhaps (the suffix decides), 2 the bytes say so.  head is the file's first bytes, at most
     * CUD_HEAD_MAX; have is 0 where path is no file. */
    int (*sniff)(const char *path, const unsigned char *head, size_t have);

    /* Reads the header only and checks the file's size.  Sets source->array, offset, identity and own; path, format are set. */
    enum cud_status (*open)(struct cud_source *source, const struct cud_given *given, struct cud_err *err);
    /* Elements elem0 .. elem0 + elems - 1 in C order, as they are stored, to dst.  Within the array's bounds. */
    enum cud_status (*read)(const struct cud_source *source, uint64_t elem0, uint64_t elems, void *dst, struct cud_err *err);
    /* Is it still what was opened?  The error says what changed.  NULL: it cannot change. */
    enum cud_status (*still)(const struct cud_source *source, struct cud_err *err);
    void (*close)(struct cud_source *source);   /* frees own; NULL own is fine */

    /* Writes the bytes in front of an output's first element to head, *bytes of them.  NULL: this format cannot be written.
     * Elements follow in C order, little-endian. */
    enum cud_status (*head)(const struct cud_array *array, unsigned char head[CUD_HEAD_MAX], size_t *bytes,
                            struct cud_err *err);
};

#endif
