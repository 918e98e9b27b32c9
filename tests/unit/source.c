/* Inputs: which format, one array of several files, identity, weights, --info. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "format/npyhead.h"
#include "info.h"
#include "source.h"
#include "files.h"

static const struct cud_given nothing;
static const struct cud_given as_f32 = {.has_type = true, .type = CUD_F32};

/* A .npy file of this type and shape with these bytes as its elements; big: they are stored in the other order. */
static void npy_write(const char *name, struct cud_array a, const void *data, size_t n)
{
    unsigned char file[CUD_HEAD_MAX + 4096];
    size_t head;
    cud_npy_write(&a, file, &head);
    if (a.swapped)
        file[21] = '>';                    /* {'descr': '< */
    if (n > 0)
        memcpy(file + head, data, n);
    file_write(name, file, head + n);
}

/* ---- which format */

static void test_choice(void)
{
    static const struct { const char *name, *bytes; size_t n; enum cud_status status; const char *says; } bad[] = {
        {"a.npy", "", 0, CUD_EINPUT, "a.npy: is named as npy but does not begin like one: it is empty"},
        {"a.npy", "\x93NUMP", 5, CUD_EINPUT, "does not begin like one: if it is raw data, name it .bin"},
        {"a.NPY", "01234567", 8, CUD_EINPUT, "if it is raw data, name it .bin"},
        {"a.npy", "PK\003\004....", 8, CUD_EINPUT, "zip archive or .npz"},
        {"a.npz", "PK\003\004....", 8, CUD_EINPUT, "zip archive or .npz"},
        {"a.h5", "\x89HDF\r\n\032\n", 8, CUD_EINPUT, "it is HDF5"},
        {"a.nc", "CDF\001", 4, CUD_EINPUT, "it is NetCDF"},
        {"a.npy.gz", "\x1f\x8b....", 6, CUD_EINPUT, "gunzip it first"},
        {"a.dat", "0123", 4, CUD_EUSAGE, "a.dat: is in no format that cudist knows by its bytes or its name: save it as .npy"},
        {"bin", "0123", 4, CUD_EUSAGE, "give --dtype if it is raw input"},
    };
    struct cud_source s;
    struct cud_err err = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        file_write(bad[i].name, bad[i].bytes, bad[i].n);
        failed(cud_source_open(bad[i].name, &nothing, &s, &err), bad[i].status, &err, bad[i].says);
        unlink(bad[i].name);
    }
}

static void test_chosen(const char *name, const struct cud_given *given, const char *format)
{
    struct cud_source s;
    struct cud_err err = {0};
    if (went(cud_source_open(name, given, &s, &err), &err, name)) {
        ok(strcmp(s.format->name, format) == 0 && strcmp(s.path, name) == 0, "  is %s", format);
        cud_source_close(&s);
    }
}

static void test_formats(void)
{
    struct cud_array three = {.type = CUD_F32, .shape = {1, {3}}};
    npy_write("a.bin", three, "0123456789ab", 12);
    test_chosen("a.bin", &nothing, "npy");           /* its bytes say so */
    npy_write("a.x", three, "0123456789ab", 12);
    test_chosen("a.x", &nothing, "npy");
    test_chosen("a.x", &as_f32, "npy");
    file_write("a.bin", "0123456789ab", 12);
    test_chosen("a.bin", &nothing, "raw");
    file_write("a.x", "0123456789ab", 12);
    test_chosen("a.x", &as_f32, "raw");              /* its user says so */
    test_chosen("a.x", &(struct cud_given){.has_offset = true}, "raw");
    file_write("random:shape=3.raw", "0123", 4);
    test_chosen("./random:shape=3.raw", &nothing, "raw");
    test_chosen("random:shape=3", &nothing, "random");
    unlink("a.bin"), unlink("a.x"), unlink("random:shape=3.raw");
}

static void test_kinds(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "socket.bin"};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct cud_source s;
    struct cud_err err = {0};
    if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof name) != 0 || mkfifo("pipe.bin", 0600) != 0 ||
        mkdir("d.npy", 0700) != 0)
        printf("Bail out! no socket, pipe or folder\n");
    failed(cud_source_open("none.npy", &nothing, &s, &err), CUD_EINPUT, &err, "none.npy: No such file or directory");
    failed(cud_source_open("d.npy", &nothing, &s, &err), CUD_EINPUT, &err, "d.npy: is a folder; give a regular file");
    failed(cud_source_open("pipe.bin", &nothing, &s, &err), CUD_EINPUT, &err, "pipe.bin: is a pipe; give a regular file");
    failed(cud_source_open("socket.bin", &nothing, &s, &err), CUD_EINPUT, &err, "socket.bin: is a socket; give a regular file");
    failed(cud_source_open("/dev/zero", &as_f32, &s, &err), CUD_EINPUT, &err, "/dev/zero: is a device; give a regular file");
    close(fd);
    unlink("socket.bin"), unlink("pipe.bin"), rmdir("d.npy");
}

/* ---- several files */

static const struct { const char *name; struct cud_array a; } family[] = {
    {"a.npy", {.type = CUD_U16, .shape = {2, {3, 2}}}},
    {"b.npy", {.type = CUD_U16, .shape = {2, {0, 2}}}},
    {"c.npy", {.type = CUD_U16, .shape = {2, {1, 2}}}},
    {"type.npy", {.type = CUD_I16, .shape = {2, {1, 2}}}},
    {"cols.npy", {.type = CUD_U16, .shape = {2, {2, 1}}}},
    {"dims.npy", {.type = CUD_U16, .shape = {1, {2}}}},
    {"zero.npy", {.type = CUD_U16, .shape = {0, {0}}}},
    {"order.npy", {.type = CUD_U16, .swapped = true, .shape = {2, {1, 2}}}},
};
enum { FAMILY = sizeof family / sizeof *family };

static void make_family(void)
{
    uint16_t x[6];
    for (unsigned k = 0; k < FAMILY; k++) {
        for (unsigned i = 0; i < 6; i++)
            x[i] = (uint16_t)(100 * k + i);
        npy_write(family[k].name, family[k].a, x, 2 * cud_shape_rows(&family[k].a.shape) * cud_shape_cols(&family[k].a.shape));
    }
}

static void test_several(void)
{
    static const uint16_t all[] = {0, 1, 2, 3, 4, 5, 200, 201, 0, 1, 2, 3, 4, 5};
    char *paths[] = {"b.npy", "a.npy", "b.npy", "c.npy", "a.npy", "b.npy"};
    struct cud_input in;
    struct cud_err err = {0};
    char text[CUD_SHAPE_TEXT];
    if (!went(cud_input_open(6, paths, &nothing, &in, &err), &err, "six files"))
        return;
    ok(strcmp(cud_shape_text(&in.array.shape, text), "(7, 2)") == 0 && in.array.type == CUD_U16, "  are one array");
    ok(in.files == 6 && in.first[1] == 0 && in.first[2] == 6 && in.first[3] == 6 && in.first[4] == 8 && in.first[6] == 14,
       "  and know where each begins");
    int good = 1;
    for (unsigned from = 0; from <= 14; from++)
        for (unsigned n = 0; n <= 14 - from; n++) {
            uint16_t got[15];
            memset(got, 0xee, sizeof got);
            good &= cud_input_read(&in, from, n, got, &err) == CUD_OK && memcmp(got, all + from, 2 * n) == 0;
            good &= got[n] == 0xeeee;
        }
    ok(good, "  any piece has its bytes");
    cud_input_close(&in);
    ok(in.files == 0 && in.file == NULL, "  closed");
}

static void test_unlike(void)
{
    static const struct { char *name, *says; } bad[] = {
        {"type.npy", "a.npy is u16 but type.npy is i16"},
        {"cols.npy", "a.npy has the shape (3, 2) but cols.npy has (2, 1)"},
        {"dims.npy", "a.npy has the shape (3, 2) but dims.npy has (2,)"},
        {"zero.npy", "zero.npy: has no rows (its shape is ())"},
        {"order.npy", "a.npy and order.npy differ in byte order"},
        {"none.npy", "none.npy: No such file"},
    };
    struct cud_input in;
    struct cud_err err = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *paths[] = {"a.npy", "c.npy", bad[i].name};
        failed(cud_input_open(3, paths, &nothing, &in, &err), CUD_EINPUT, &err, bad[i].says);
    }
    char *zeros[] = {"zero.npy", "zero.npy"};
    failed(cud_input_open(2, zeros, &nothing, &in, &err), CUD_EINPUT, &err, "zero.npy: has no rows");
    went(cud_input_open(1, (char *[]){"zero.npy"}, &nothing, &in, &err), &err, "() alone");
    ok(in.array.shape.ndim == 0 && in.first[1] == 1, "  is one element");
    cud_input_close(&in);
    went(cud_input_open(1, (char *[]){"order.npy"}, &nothing, &in, &err), &err, "the other byte order alone");
    ok(in.array.swapped, "  says so");
    cud_input_close(&in);
    char *huge[9];
    for (int i = 0; i < 9; i++)
        huge[i] = "random:shape=1152921504606846975,dtype=u8,dist=integer";
    failed(cud_input_open(9, huge, &nothing, &in, &err), CUD_EINPUT, &err, "with it the inputs have 2^63 bytes or more");
}

static void test_shrunk(void)
{
    struct cud_input in;
    struct cud_err err = {0};
    uint16_t got[8];
    if (!went(cud_input_open(2, (char *[]){"a.npy", "c.npy"}, &nothing, &in, &err), &err, "a file that shrinks later"))
        return;
    if (truncate("c.npy", 129) != 0)
        printf("Bail out! cannot truncate\n");
    failed(cud_input_read(&in, 0, 8, got, &err), CUD_EFAILED, &err, "c.npy: ended at byte 129 while it was read, 3 bytes are");
    went(cud_input_read(&in, 0, 6, got, &err), &err, "  what is still there can be read");
    cud_input_close(&in);
}

/* ---- identity */

static void identity_of(const char *name, const struct cud_given *given, uint64_t id[2])
{
    struct cud_source s;
    struct cud_err err = {0};
    id[0] = id[1] = 0;
    if (cud_source_open(name, given, &s, &err) != CUD_OK)
        printf("# %s\n", err.text);
    else
        memcpy(id, s.identity, sizeof s.identity);
    cud_source_close(&s);
}

static void test_identity(size_t n)
{
    char *bytes = calloc(1, n);
    uint64_t a[2], b[2];
    const size_t changes[] = {0, n / 2, n - 1};
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i * i >> 3);
    file_write("a.bin", bytes, n);
    identity_of("a.bin", &nothing, a);
    file_write("b.raw", bytes, n);
    identity_of("b.raw", &nothing, b);
    ok(a[0] != 0 && memcmp(a, b, sizeof a) == 0, "%zu bytes: the same in any file", n);
    identity_of("a.bin", &(struct cud_given){.has_shape = true, .shape = {2, {n / 4, 1}}}, b);
    ok(memcmp(a, b, sizeof a) != 0, "  not in another shape");
    identity_of("a.bin", &(struct cud_given){.has_type = true, .type = CUD_I32}, b);
    ok(memcmp(a, b, sizeof a) != 0, "  not of another type");
    for (size_t k = 0; k < 3; k += n > 200000 ? 2 : 1) {   /* what lies between is sampled only */
        bytes[changes[k]] ^= 1;
        file_write("b.raw", bytes, n);
        identity_of("b.raw", &nothing, b);
        ok(memcmp(a, b, sizeof a) != 0, "  not with byte %zu changed", changes[k]);
        bytes[changes[k]] ^= 1;
    }
    file_write("b.raw", bytes, n - 4);
    identity_of("b.raw", &nothing, b);
    ok(memcmp(a, b, sizeof a) != 0, "  not when shorter");
    unlink("a.bin"), unlink("b.raw");
    free(bytes);
}

static void test_identities(void)
{
    char *one[] = {"a.npy", "b.npy"}, *other[] = {"b.npy", "a.npy"};
    struct cud_input a, b;
    struct cud_err err = {0};
    test_identity(4);
    test_identity(100000);
    test_identity(3000000);
    went(cud_input_open(2, one, &nothing, &a, &err), &err, "two files");
    went(cud_input_open(2, other, &nothing, &b, &err), &err, "two files, the other way round");
    ok(memcmp(a.identity, b.identity, sizeof a.identity) != 0, "  are another input");
    cud_input_close(&a);
    cud_input_close(&b);
}

/* Another version's journal must still know the file: the value is that of the first version. */
static void test_pinned(void)
{
    struct cud_source s;
    struct cud_err err = {0};
    file_write("a.bin", "cudist: 16 bytes", 16);
    if (went(cud_source_open("a.bin", &nothing, &s, &err), &err, "a known file")) {
        ok(s.identity[0] == UINT64_C(0xcf8ceecacc3ee047) && s.identity[1] == UINT64_C(0x911a3a877d4f839c),
           "  has its identity %016llx%016llx", (unsigned long long)s.identity[0], (unsigned long long)s.identity[1]);
        cud_source_close(&s);
    }
    unlink("a.bin");
}

/* ---- weights */

static void reversed(void *p, size_t each, size_t n)
{
    unsigned char *b = p, t;
    for (; n-- > 0; b += each)
        for (size_t i = 0; i < each / 2; i++)
            t = b[i], b[i] = b[each - 1 - i], b[each - 1 - i] = t;
}

static int load_is(enum cud_type as, const double *wanted, size_t n)
{
    struct cud_shape shape;
    struct cud_err err = {0};
    void *values = NULL;
    int good = cud_source_load("w.npy", as, &shape, &values, &err) == CUD_OK && shape.ndim == 1 && shape.dim[0] == n;
    for (size_t i = 0; good && i < n; i++)
        good = as == CUD_F32 ? ((float *)values)[i] == (float)wanted[i] || (isnan(wanted[i]) && isnan(((float *)values)[i]))
                             : ((double *)values)[i] == wanted[i] || (isnan(wanted[i]) && isnan(((double *)values)[i]));
    if (!good)
        printf("# %s\n", err.text);
    free(values);
    return good;
}

static void test_load(enum cud_type type, const void *stored, const double *wanted, size_t n)
{
    unsigned char bytes[128];
    size_t each = cud_type_bytes(type);
    struct cud_array a = {.type = type, .shape = {1, {n}}};
    memcpy(bytes, stored, n * each);
    npy_write("w.npy", a, bytes, n * each);
    ok(load_is(CUD_F32, wanted, n) && load_is(CUD_F64, wanted, n), "%s as f32 and f64", cud_type_name(type));
    if (each == 1)
        return;
    a.swapped = true;
    reversed(bytes, each, n);
    npy_write("w.npy", a, bytes, n * each);
    ok(load_is(CUD_F32, wanted, n) && load_is(CUD_F64, wanted, n), "  in the other order");
}

static void test_loads(void)
{
    test_load(CUD_BOOL, (uint8_t[]){0, 1, 255}, (double[]){0, 1, 1}, 3);
    test_load(CUD_I8, (int8_t[]){-128, 0, 127}, (double[]){-128, 0, 127}, 3);
    test_load(CUD_U8, (uint8_t[]){0, 255}, (double[]){0, 255}, 2);
    test_load(CUD_I16, (int16_t[]){-32768, 7}, (double[]){-32768, 7}, 2);
    test_load(CUD_U16, (uint16_t[]){65535, 7}, (double[]){65535, 7}, 2);
    test_load(CUD_I32, (int32_t[]){INT32_MIN, 16777219}, (double[]){INT32_MIN, 16777219}, 2);
    test_load(CUD_U32, (uint32_t[]){UINT32_MAX, 7}, (double[]){UINT32_MAX, 7}, 2);
    test_load(CUD_I64, (int64_t[]){INT64_MIN, -1}, (double[]){-0x1p63, -1}, 2);
    test_load(CUD_U64, (uint64_t[]){UINT64_MAX, 7}, (double[]){0x1p64, 7}, 2);
    test_load(CUD_F16, (uint16_t[]){0x3c00, 0xbc01, 0x0001, 0x83ff, 0x0400, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x8000},
              (double[]){1, -1 - 0x1p-10, 0x1p-24, -1023 * 0x1p-24, 0x1p-14, 65504, INFINITY, -INFINITY, NAN, -0.0}, 10);
    test_load(CUD_F32, (float[]){1.5f, -0x1p-149f, INFINITY, NAN}, (double[]){1.5, -0x1p-149, INFINITY, NAN}, 4);
    test_load(CUD_F64, (double[]){0.1, 1e300, -0x1p-1074}, (double[]){0.1, 1e300, -0x1p-1074}, 3);
    test_load(CUD_F32, (float[]){0}, (double[]){0}, 0);
    unlink("w.npy");
}

/* Between two floats, 1 above the middle: lost on the way through f64. */
static void test_one_rounding(void)
{
    const int64_t x = (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1;
    struct cud_shape shape;
    struct cud_err err = {0};
    void *values = NULL;
    npy_write("w.npy", (struct cud_array){.type = CUD_I64, .shape = {1, {1}}}, &x, 8);
    went(cud_source_load("w.npy", CUD_F32, &shape, &values, &err), &err, "a long integer");
    ok(values && *(float *)values == 0x1p60f + 0x1p37f, "  is rounded once");
    free(values);
    unlink("w.npy");
}

/* ---- --info */

static void test_info(const char *path, const struct cud_given *given, const char *wanted)
{
    char *text = NULL;
    size_t n;
    struct cud_err err = {0};
    FILE *to = open_memstream(&text, &n);
    went(cud_info_print(path, given, to, &err), &err, path);
    fclose(to);
    int good = strncmp(text, wanted, strlen(wanted)) == 0 && strlen(text) == strlen(wanted) + 33;
    if (!ok(good, "  --info"))
        printf("# %s\n", text);
    free(text);
}

static void test_infos(void)
{
    struct cud_err err = {0};
    test_info("order.npy", &nothing, "path: order.npy\nformat: npy\ndtype: u16\nbyte order: big-endian\nshape: (1, 2)\n"
              "data offset: 128\nbytes: 4\nidentity: xxh3-128:");
    file_write("a.bin", "0123456789", 10);
    test_info("a.bin", &(struct cud_given){.has_type = true, .type = CUD_I8, .has_offset = true, .offset = 3},
              "path: a.bin\nformat: raw\ndtype: i8\nbyte order: none (1-byte elements)\nshape: (7,)\ndata offset: 3\nbytes: 7\n"
              "identity: xxh3-128:");
    test_info("random:shape=0x7,dtype=f64", &nothing, "path: random:shape=0x7,dtype=f64\nformat: random\ndtype: f64\n"
              "byte order: little-endian\nshape: (0, 7)\ndata offset: 0\nbytes: 0\nidentity: xxh3-128:");
    failed(cud_info_print("none", &nothing, stdout, &err), CUD_EINPUT, &err, "none: No such file");
    unlink("a.bin");
}

int main(void)
{
    files_start();
    test_choice();
    test_formats();
    test_kinds();
    make_family();
    test_several();
    test_unlike();
    test_infos();
    test_identities();
    test_pinned();
    test_loads();
    test_one_rounding();
    test_shrunk();
    for (unsigned k = 0; k < FAMILY; k++)
        unlink(family[k].name);
    files_end();
    return done_testing();
}
