/* A file's bytes where the page cache has them, without a copy: for programs on the CPU, which read every byte once. */
#ifndef CUD_MAP_H
#define CUD_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The whole file, or NULL: it is empty, or on a file system where reading is the better way (only local ones are mapped).
 * Should the file be cut short under a reader's hands, or its disk fail, the rest reads as zeros from then on, and is lost: to
 * be asked after reading, before the bytes count. */
const unsigned char *cud_map_open(int fd, uint64_t bytes);
void cud_map_close(const unsigned char *map, uint64_t bytes);     /* NULL is fine */
bool cud_map_lost(const unsigned char *map);                      /* NULL: any of all */

/* They are not needed any more: without this the process would seem to hold the whole file (of so many bytes). */
void cud_map_drop(const unsigned char *map, uint64_t bytes, uint64_t at, uint64_t n);

#endif
