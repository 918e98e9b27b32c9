/* Inputs: one file or several as one array, read by element number. */
#ifndef CUD_SOURCE_H
#define CUD_SOURCE_H

#include "format/flat.h"                   /* cud_file_open, cud_file_read, cud_file_identity */

struct cud_input {
    size_t files;
    struct cud_source *file;               /* in order */
    uint64_t *first;                       /* first[k]: the element number of file k's first element; files + 1 of them */
    struct cud_array array;                /* of all: the first dimension is the sum, the others and the type are the same */
    uint64_t identity[2];                  /* of all files together */
};

/* Opens one path: by its bytes, then by its suffix; "random:..." makes data.  Headers only. */
enum cud_status cud_source_open(const char *path, const struct cud_given *given, struct cud_source *source, struct cud_err *err);
void cud_source_close(struct cud_source *source);                 /* all zero is fine */

enum cud_status cud_input_open(size_t files, char *const *path, const struct cud_given *given, struct cud_input *input,
                               struct cud_err *err);
void cud_input_close(struct cud_input *input);                    /* all zero is fine */
/* Elements elem0 .. elem0 + elems - 1 as stored; spans files.  Called by many threads. */
enum cud_status cud_input_read(const struct cud_input *input, uint64_t elem0, uint64_t elems, void *dst, struct cud_err *err);

/* The same elements where they lie in memory, without a copy; NULL: read them.  To be given back with cud_input_unmap.  A file
 * that is cut short meanwhile reads as zeros: what was made of its bytes counts only when cud_input_whole says so afterwards. */
const void *cud_input_map(const struct cud_input *input, uint64_t elem0, uint64_t elems);
void cud_input_unmap(const struct cud_input *input, uint64_t elem0, uint64_t elems);
enum cud_status cud_input_whole(const struct cud_input *input, struct cud_err *err);      /* any thread; cheap */

/* Are all files still what was opened? */
enum cud_status cud_input_still(const struct cud_input *input, struct cud_err *err);

/* Reads a whole array file as f32 or f64 values (weights).  *values is malloc'ed: the caller frees it. */
enum cud_status cud_source_load(const char *path, enum cud_type as, struct cud_shape *shape, void **values, struct cud_err *err);

#endif
