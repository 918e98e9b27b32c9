/* Files read by position, and sources whose elements lie in one file, one after the other: what npy.c and raw.c share. */
#ifndef CUD_FLAT_H
#define CUD_FLAT_H

#include <time.h>
#include "cudist/format.h"

/* Opens a regular file for reading; anything else (a folder, a pipe, a device) is refused without waiting for it. */
enum cud_status cud_file_open(const char *path, int *fd, uint64_t *bytes, struct cud_err *err);

/* pread until all is there, in pieces of at most 1 GiB; an end of file is an error that says how much is missing. */
enum cud_status cud_file_read(int fd, const char *path, void *dst, uint64_t bytes, uint64_t offset, struct cud_err *err);

/* The identity of a regular file: XXH3-128 of its size and of samples (first and last 64 KiB and 16 places between; a small
 * file whole).  identity[0] is the upper half. */
enum cud_status cud_file_identity(int fd, const char *path, uint64_t identity[2], struct cud_err *err);

bool cud_shape_same(const struct cud_shape *a, const struct cud_shape *b);

/* What was given (--dtype, --shape, --offset) must not contradict what the source says by itself. */
enum cud_status cud_given_agrees(const struct cud_given *given, const struct cud_source *source, struct cud_err *err);

/* A source's identity: its array's type, byte order, shape and offset, and the identity of what the values come from. */
void cud_source_identify(struct cud_source *source, const uint64_t content[2]);

struct cud_flat {                          /* source->own */
    int fd;
    uint64_t file_bytes;
    struct timespec changed;               /* when its content was last changed, as the file system says */
};

/* In the order in which a format's open calls them: open sets own; then the format sets source->array and ->offset; end checks
 * that the file has the array's bytes, no more and no less, and sets the identity. */
enum cud_status cud_flat_open(struct cud_source *source, struct cud_err *err);
enum cud_status cud_flat_end(struct cud_source *source, struct cud_err *err);

/* As in struct cud_format. */
enum cud_status cud_flat_read(const struct cud_source *source, uint64_t elem0, uint64_t elems, void *dst, struct cud_err *err);
enum cud_status cud_flat_still(const struct cud_source *source, struct cud_err *err);
void cud_flat_close(struct cud_source *source);

#endif
