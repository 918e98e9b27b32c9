/* Reading by position when the system is in a mood: interruptions, short counts, errors, the end of the file.  pread is the
 * test's own. */
#include "config.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>
#include "format/flat.h"
#include "files.h"

#define SIZE 1000                          /* of the file that there is not */

static enum { WHOLE, SHORT, BROKEN, HUGE_FILE } mood;
static unsigned calls;
static size_t longest;

static unsigned char byte_at(size_t i) { return (unsigned char)(i * 7 + i / 256); }

ssize_t pread(int fd, void *to, size_t n, off_t offset)
{
    (void)fd;
    calls++;
    longest = n > longest ? n : longest;
    if (mood == HUGE_FILE)
        return (ssize_t)n;
    if (mood != WHOLE && calls % 3 == 0) {
        errno = EINTR;
        return -1;
    }
    if (mood == BROKEN && calls > 20) {
        errno = EIO;
        return -1;
    }
    size_t left = offset < SIZE ? SIZE - (size_t)offset : 0;
    n = n < left ? n : left;
    if (mood != WHOLE && n > calls % 5 + 1)
        n = calls % 5 + 1;
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)to)[i] = byte_at((size_t)offset + i);
    return (ssize_t)n;
}

static bool reads(uint64_t bytes, uint64_t offset)
{
    unsigned char got[SIZE + 1];
    struct cud_err err = {0};
    memset(got, 0xee, sizeof got);
    bool good = cud_file_read(-1, "f", got, bytes, offset, &err) == CUD_OK && err.status == CUD_OK && got[bytes] == 0xee;
    for (size_t i = 0; good && i < bytes; i++)
        good = got[i] == byte_at(offset + i);
    return good;
}

static void test_moods(void)
{
    unsigned char got[2 * SIZE];
    struct cud_err err = {0};
    for (int m = WHOLE; m <= SHORT; m++) {
        mood = m;
        ok(reads(0, 0) && reads(SIZE, 0) && reads(1, SIZE - 1) && reads(0, SIZE) && reads(123, 456), "%s: every byte",
           m == WHOLE ? "whole counts" : "short counts and interruptions");
        failed(cud_file_read(-1, "f", got, 500, 600, &err), CUD_EFAILED, &err,
               "f: ended at byte 1000 while it was read, 100 bytes are missing");
        failed(cud_file_read(-1, "f", got, 7, 5000, &err), CUD_EFAILED, &err, "f: ended at byte 5000 while it was read, 7");
    }
    mood = BROKEN, calls = 0;
    failed(cud_file_read(-1, "f", got, 500, 0, &err), CUD_EFAILED, &err, ": Input/output error");
}

/* Nobody touches the memory. */
static void test_pieces(void)
{
    uint64_t bytes = (UINT64_C(5) << 30) + 17;
    struct cud_err err = {0};
    void *nowhere = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    mood = HUGE_FILE, calls = 0, longest = 0;
    if (nowhere == MAP_FAILED) {
        ok(1, "# SKIP no address space");
        return;
    }
    went(cud_file_read(-1, "f", nowhere, bytes, 3, &err), &err, "5 GiB and 17 bytes");
    ok(calls == 6 && longest == (size_t)1 << 30, "  in pieces of at most 1 GiB");
    munmap(nowhere, bytes);
}

static void test_bytes(void)
{
    static const struct { struct cud_shape shape; bool fits; uint64_t bytes; } shapes[] = {
        {{0, {0}}, true, 8},
        {{3, {2, 3, 4}}, true, 192},
        {{1, {(UINT64_C(1) << 60) - 1}}, true, 8 * ((UINT64_C(1) << 60) - 1)},
        {{1, {UINT64_C(1) << 60}}, false, 0},
        {{2, {0, (UINT64_C(1) << 60) - 1}}, true, 0},
        {{2, {0, UINT64_C(1) << 60}}, false, 0},
        {{3, {UINT64_C(1) << 31, 0, UINT64_C(1) << 31}}, false, 0},
        {{2, {UINT64_MAX, UINT64_MAX}}, false, 0},
        {{3, {UINT64_C(1) << 32, UINT64_C(1) << 32, 1}}, false, 0},
    };
    int good = 1;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        uint64_t bytes = 0;
        good &= cud_shape_bytes(&shapes[i].shape, 8, &bytes) == shapes[i].fits && bytes == shapes[i].bytes;
    }
    ok(good, "sizes of shapes, up to 2^63");
}

int main(void)
{
    test_moods();
    test_pieces();
    test_bytes();
    return done_testing();
}
