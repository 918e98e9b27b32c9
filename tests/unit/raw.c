/* .bin, .raw: sizes, and what the options say. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "source.h"
#include "files.h"

static enum cud_status open_bytes(size_t n, const struct cud_given *given, struct cud_source *s, struct cud_err *err)
{
    unsigned char bytes[256];
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(i * 37);
    file_write("a.bin", bytes, n);
    return cud_source_open("a.bin", given, s, err);
}

static void test_opens(size_t n, struct cud_given given, enum cud_type type, const char *shape)
{
    struct cud_source s = {0};
    struct cud_err err = {0};
    char text[CUD_SHAPE_TEXT];
    int good = open_bytes(n, &given, &s, &err) == CUD_OK && s.array.type == type && !s.array.swapped &&
               s.offset == given.offset && strcmp(cud_shape_text(&s.array.shape, text), shape) == 0;
    if (!ok(good, "%zu bytes are %s of %s", n, shape, cud_type_name(type)))
        printf("# %s\n", err.text);
    cud_source_close(&s);
}

static void test_accepted(void)
{
    test_opens(0, (struct cud_given){0}, CUD_F32, "(0,)");
    test_opens(4, (struct cud_given){0}, CUD_F32, "(1,)");
    test_opens(96, (struct cud_given){0}, CUD_F32, "(24,)");
    test_opens(96, (struct cud_given){.has_type = true, .type = CUD_F64}, CUD_F64, "(12,)");
    test_opens(97, (struct cud_given){.has_type = true, .type = CUD_U8}, CUD_U8, "(97,)");
    test_opens(97, (struct cud_given){.has_type = true, .type = CUD_BF16, .has_offset = true, .offset = 1}, CUD_BF16, "(48,)");
    test_opens(97, (struct cud_given){.has_offset = true, .offset = 97}, CUD_F32, "(0,)");
    test_opens(96, (struct cud_given){.has_shape = true, .shape = {2, {6, 4}}}, CUD_F32, "(6, 4)");
    test_opens(4, (struct cud_given){.has_shape = true, .shape = {0, {0}}}, CUD_F32, "()");
    test_opens(7, (struct cud_given){.has_shape = true, .shape = {2, {0, 9}}, .has_offset = true, .offset = 7}, CUD_F32,
               "(0, 9)");
}

static void test_refused(void)
{
    static const struct { size_t n; struct cud_given given; const char *says; } bad[] = {
        {95, {0}, "a.bin: 95 bytes from byte 0 on are no whole number of f32 of 4 bytes, 3 left over: give its --dtype"},
        {96, {.has_offset = true, .offset = 1}, "a.bin: 95 bytes from byte 1 on"},
        {96, {.has_offset = true, .offset = 97}, "a.bin: has 96 bytes, fewer than --offset 97"},
        {96, {.has_shape = true, .shape = {2, {7, 4}}}, "from byte 0 on end at byte 112, but it has 96 bytes: 16 are missing"},
        {96, {.has_shape = true, .shape = {2, {5, 4}}}, "end at byte 80, but it has 96 bytes: 16 too many"},
        {96, {.has_shape = true, .shape = {2, {6, 4}}, .has_offset = true, .offset = 4}, "end at byte 100"},
        {0, {.has_shape = true, .shape = {2, {UINT64_C(1) << 40, UINT64_C(1) << 40}}}, "is too big: 2^63 bytes or more"},
        {0, {.has_shape = true, .shape = {2, {0, UINT64_C(1) << 61}}}, "is too big: 2^63 bytes or more"},
    };
    struct cud_source s;
    struct cud_err err = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        failed(open_bytes(bad[i].n, &bad[i].given, &s, &err), CUD_EINPUT, &err, bad[i].says);
}

static void test_read(void)
{
    struct cud_given given = {.has_type = true, .type = CUD_I16, .has_offset = true, .offset = 3};
    struct cud_source s;
    struct cud_err err = {0};
    unsigned char got[256];
    if (!went(open_bytes(103, &given, &s, &err), &err, "opens i16 from byte 3 on"))
        return;
    int good = 1;
    for (unsigned from = 0; from <= 50; from++)
        for (unsigned n = 0; n <= 50 - from; n++) {
            memset(got, 0xee, sizeof got);
            good &= s.format->read(&s, from, n, got, &err) == CUD_OK && got[2 * n] == 0xee;
            for (unsigned i = 0; i < 2 * n; i++)
                good &= got[i] == (unsigned char)((3 + 2 * from + i) * 37);
        }
    ok(good, "  any piece has its bytes");
    cud_source_close(&s);
}

static void test_head(void)
{
    struct cud_source s;
    struct cud_err err = {0};
    unsigned char head[CUD_HEAD_MAX];
    size_t n = 9;
    if (!went(open_bytes(8, &(struct cud_given){0}, &s, &err), &err, "opens"))
        return;
    went(s.format->head(&s.array, head, &n, &err), &err, "  writes its head");
    ok(n == 0, "  of no bytes");
    cud_source_close(&s);
}

int main(void)
{
    files_start();
    test_accepted();
    test_refused();
    test_read();
    test_head();
    unlink("a.bin");
    files_end();
    return done_testing();
}
