/* The head of a .npy file as bytes in memory: magic, version, length, and a Python literal
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (1000, 16), }
 *
 * Accepted is what NumPy and other writers write: the three keys once each in any order, strings in either quote without
 * backslashes, True or False, a tuple of plain decimal numbers; spaces, tabs and newlines between, and after, but not before.
 * NumPy reads more (any Python literal; '1_0', '0x10', '10L', comments, byte order '=' or none): refused, with the place.
 * What is accepted NumPy reads too, but it wants max_header_size for heads above 10,000 bytes. */
#ifndef CUD_NPYHEAD_H
#define CUD_NPYHEAD_H

#include "cudist/format.h"

#define CUD_NPY_FIXED 12                   /* bytes that cud_npy_length wants (10 are enough in version 1) */
#define CUD_NPY_MAGIC "\x93NUMPY"          /* 6 bytes, then the version's two */

/* How long the head is, magic and all, from the file's first bytes.  At most 1 MiB. */
enum cud_status cud_npy_length(const char *path, const unsigned char *bytes, size_t have, size_t *length, struct cud_err *err);

/* Reads a whole head of cud_npy_length bytes.  given->type may make bf16 of 2-byte elements.  The shape may be too big. */
enum cud_status cud_npy_parse(const char *path, const unsigned char *bytes, size_t length, const struct cud_given *given,
                              struct cud_array *array, struct cud_err *err);

/* The head that NumPy writes for this array (bf16 as '|V2'), little-endian; always version 1. */
void cud_npy_write(const struct cud_array *array, unsigned char head[CUD_HEAD_MAX], size_t *bytes);

#endif
