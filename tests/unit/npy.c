/* .npy: what is read, what is refused and how, and what is written. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "format/npyhead.h"
#include "source.h"
#include "files.h"

static const struct cud_given nothing;
static const struct cud_given as_bf16 = {.has_type = true, .type = CUD_BF16};

/* A version 1 file: the header's text, filled up as NumPy does, and n bytes of data 0, 1, 2, ... */
static size_t compose(const char *text, size_t n, unsigned char file[4096])
{
    size_t length = strlen(text), all = (10 + length + 1 + 63) / 64 * 64;
    memcpy(file, "\x93NUMPY\x01", 8);
    file[8] = (unsigned char)(all - 10);
    file[9] = (unsigned char)((all - 10) >> 8);
    memset(file + 10, ' ', all - 10);
    memcpy(file + 10, text, length);
    file[all - 1] = '\n';
    for (size_t i = 0; i < n; i++)
        file[all + i] = (unsigned char)i;
    return all + n;
}

static enum cud_status parse(const char *text, const struct cud_given *given, struct cud_array *a, struct cud_err *err)
{
    unsigned char file[4096];
    return cud_npy_parse("f.npy", file, compose(text, 0, file), given, a, err);
}

static void test_accepted(void)
{
    static const struct { const char *text; enum cud_type type; int swapped; const char *shape; } good[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", CUD_F32, 0, "(3, 4)"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (3, 4)}", CUD_F32, 1, "(3, 4)"},
        {"{\"shape\":(3,4,),\"descr\":\"<f8\",\"fortran_order\":False,}", CUD_F64, 0, "(3, 4)"},
        {"{ 'fortran_order' :\tFalse ,\n'shape'\n: ( 5 , ) , 'descr' : '<f2' }\n\n", CUD_F16, 0, "(5,)"},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (), }", CUD_BOOL, 0, "()"},
        {"{'descr': '>i1', 'fortran_order': False, 'shape': (7,), }", CUD_I8, 0, "(7,)"},
        {"{'descr': '<u1', 'fortran_order': False, 'shape': (7,), }", CUD_U8, 0, "(7,)"},
        {"{'descr': '>i2', 'fortran_order': False, 'shape': (7,), }", CUD_I16, 1, "(7,)"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (7,), }", CUD_U16, 0, "(7,)"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (7,), }", CUD_I32, 0, "(7,)"},
        {"{'descr': '>u4', 'fortran_order': False, 'shape': (7,), }", CUD_U32, 1, "(7,)"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (7,), }", CUD_I64, 0, "(7,)"},
        {"{'descr': '<u8', 'fortran_order': False, 'shape': (7,), }", CUD_U64, 0, "(7,)"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807), }", CUD_F32, 0,
         "(0, 9223372036854775807)"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (), }", CUD_F32, 0, "()"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (9,), }", CUD_F32, 0, "(9,)"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 9, 1), }", CUD_F32, 0, "(1, 9, 1)"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (5, 9, 0), }", CUD_F32, 0, "(5, 9, 0)"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct cud_array a = {0};
        struct cud_err err = {0};
        char shape[CUD_SHAPE_TEXT];
        int fine = parse(good[i].text, &nothing, &a, &err) == CUD_OK && a.type == good[i].type &&
                   a.swapped == good[i].swapped && strcmp(cud_shape_text(&a.shape, shape), good[i].shape) == 0;
        char name[128];
        snprintf(name, sizeof name, "%s", good[i].text);
        for (char *c = name; *c; c++)
            *c = *c == '\n' ? ' ' : *c;
        if (!ok(fine, "reads %s", name))
            printf("# %s\n", err.text);
    }
}

static void test_refused(void)
{
    static const struct { const char *text, *says; } bad[] = {
        {"", "does not begin with '{'"},
        {" {'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "does not begin with '{'"},
        {"{}", "lacks 'descr'"},
        {"{,}", "character 2: wanted 'descr', 'fortran_order' or 'shape', found ',}"},
        {"{'descr': '<f4', 'fortran_order': False, }", "lacks 'shape'"},
        {"{'descr': '<f4', 'shape': (3,), }", "lacks 'fortran_order'"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "repeated key 'descr'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'a': 1}", "unknown key 'a'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } x", "wanted spaces only, found 'x"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (3,), }", "wanted ',' or '}', found ''fortran_ord'"},
        {"{'descr', '<f4', 'fortran_order': False, 'shape': (3,), }", "wanted ':', found ',"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (3,), }", "wanted True or False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3), }", "(3,) and not (3)"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': [3,], }", "wanted a tuple such as (1000, 16)"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 3, }", "wanted a tuple such as (1000, 16)"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (,), }", "wanted a number in plain decimal, found ',"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,,4), }", "wanted a number in plain decimal"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3 4), }", "wanted ',' or ')', found '4)"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "wanted a number in plain decimal"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (+1,), }", "wanted a number in plain decimal"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (03,), }", "wanted a number in plain decimal, found '03"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3L,), }", "wanted ',' or ')', found 'L"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1_0,), }", "wanted ',' or ')', found '_0"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0x9,), }", "wanted ',' or ')', found 'x9"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,), }", "wanted a number below 2^63"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (True,), }", "wanted a number in plain decimal"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,", "wanted a number in plain decimal, found its end"},
        {"{'descr': '<f4', 'fortran_order': False, "
         "'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}", "has more than 32 dimensions"},
        {"{'descr': '<f4", "plain characters"},
        {"{'desc\\x72': '<f4', 'fortran_order': False, 'shape': (3,), }", "plain characters"},
        {"{b'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "wanted 'descr', 'fortran_order' or 'shape', found 'b'"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }", "numpy.ascontiguousarray"},
        {"{'descr': [('x', '<f4'), ('y', '<f4')], 'fortran_order': False, 'shape': (3,), }", "records (a structured dtype)"},
        {"{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (3,), }", "records (a structured dtype)"},
        {"{'descr': 3, 'fortran_order': False, 'shape': (3,), }", "wanted a type such as '<f4'"},
    };
    static const struct { const char *descr, *says; } types[] = {
        {"|O", "Python objects ('|O')"}, {"|S5", "text ('|S5')"},      {"<U5", "text ('<U5')"},
        {"<M8[ns]", "dates ('<M8[ns]')"}, {"<m8[s]", "time spans"},    {"<c8", "complex numbers ('<c8')"},
        {">c16", "complex numbers"},     {"<f16", "long doubles"},     {"<f12", "long doubles"},
        {"|V2", "--dtype bf16"},         {"|V8", "bytes without a type ('|V8')"},
        {"f4", "the type 'f4'"},         {"=f4", "the type '=f4'"},    {"|f4", "the type '|f4'"},
        {"?", "the type '?'"},           {"", "the type ''"},          {"<", "the type '<'"},
        {"<f3", "the type '<f3'"},       {"<b2", "the type '<b2'"},    {"<f4 ", "the type '<f4 '"},
        {"float32", "the type 'float32'"}, {"<f\xc3", "the type '<f?'"},
    };
    struct cud_array a;
    struct cud_err err = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        failed(parse(bad[i].text, &nothing, &a, &err), CUD_EINPUT, &err, bad[i].says);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char text[128];
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (3,), }", types[i].descr);
        failed(parse(text, &nothing, &a, &err), CUD_EINPUT, &err, types[i].says);
    }
}

static void test_bf16(void)
{
    static const char *const twos[] = {"|V2", "<V2", "<u2", "<i2"};
    struct cud_array a;
    struct cud_err err = {0};
    char text[128];
    for (size_t i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (3,), }", twos[i]);
        went(parse(text, &as_bf16, &a, &err), &err, twos[i]);
        ok(a.type == CUD_BF16 && !a.swapped, "  is bf16");
    }
    went(parse("{'descr': '>u2', 'fortran_order': False, 'shape': (3,), }", &as_bf16, &a, &err), &err, ">u2");
    ok(a.type == CUD_BF16 && a.swapped, "  is bf16 in the other order");
    failed(parse("{'descr': '|V4', 'fortran_order': False, 'shape': (3,), }", &as_bf16, &a, &err), CUD_EINPUT, &err, "'|V4'");
}

static void test_length(void)
{
    unsigned char b[12] = "\x93NUMPY\x01\x00\x76\x00";
    struct cud_err err = {0};
    size_t n;
    went(cud_npy_length("f", b, 10, &n, &err), &err, "version 1");
    ok(n == 128, "  length");
    failed(cud_npy_length("f", b, 9, &n, &err), CUD_EINPUT, &err, "does not begin like one");
    b[6] = 2, b[10] = 1;
    went(cud_npy_length("f", b, 12, &n, &err), &err, "version 2");
    ok(n == 12 + 0x10076, "  length");
    failed(cud_npy_length("f", b, 11, &n, &err), CUD_EINPUT, &err, "is cut short");
    b[6] = 3, b[11] = 1;
    failed(cud_npy_length("f", b, 12, &n, &err), CUD_EINPUT, &err, "more than 1 MiB");
    b[6] = 4;
    failed(cud_npy_length("f", b, 12, &n, &err), CUD_EINPUT, &err, "version 4.0");
    b[6] = 1, b[7] = 1;
    failed(cud_npy_length("f", b, 12, &n, &err), CUD_EINPUT, &err, "version 1.1");
    b[7] = 0, b[1] = 'n';
    failed(cud_npy_length("f", b, 12, &n, &err), CUD_EINPUT, &err, "is no .npy file");
}

/* What numpy.save wrote (1.24).  97 bytes and 20 for growth would just fit 128, and NumPy takes 64 more. */
static void test_written(void)
{
    static const struct { enum cud_type type; struct cud_shape shape; const char *text; size_t bytes; } heads[] = {
        {CUD_F32, {2, {1000, 16}}, "{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 16), }", 128},
        {CUD_BOOL, {0, {0}}, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }", 128},
        {CUD_I8, {1, {0}}, "{'descr': '|i1', 'fortran_order': False, 'shape': (0,), }", 128},
        {CUD_BF16, {1, {5}}, "{'descr': '|V2', 'fortran_order': False, 'shape': (5,), }", 128},
        {CUD_U64, {9, {3, 1, 1, 1, 1, 1, 1, 1, 1}},
         "{'descr': '<u8', 'fortran_order': False, 'shape': (3, 1, 1, 1, 1, 1, 1, 1, 1), }", 128},
        {CUD_F64, {14, {3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10}},
         "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10), }", 128},
        {CUD_F64, {14, {3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 100}},
         "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 100), }", 192},
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        unsigned char head[CUD_HEAD_MAX];
        size_t n = 0, length = strlen(heads[i].text);
        cud_npy_write(&(struct cud_array){.type = heads[i].type, .shape = heads[i].shape}, head, &n);
        int good = n == heads[i].bytes && memcmp(head, "\x93NUMPY\x01\x00", 8) == 0 &&
                   (head[8] | head[9] << 8) == (int)n - 10 && memcmp(head + 10, heads[i].text, length) == 0 &&
                   head[n - 1] == '\n';
        for (size_t k = 10 + length; good && k < n - 1; k++)
            good = head[k] == ' ';
        ok(good, "writes %s", heads[i].text);
    }
    struct cud_array all = {.type = CUD_F64, .shape = {.ndim = CUD_DIMS_MAX}}, back;
    for (unsigned i = 0; i < CUD_DIMS_MAX; i++)
        all.shape.dim[i] = i == 9 ? 0 : INT64_MAX;
    unsigned char head[CUD_HEAD_MAX];
    struct cud_err err = {0};
    size_t n, length;
    cud_npy_write(&all, head, &n);
    went(cud_npy_length("f", head, n, &length, &err), &err, "the longest head there is");
    ok(n == length && n % 64 == 0, "  its length");
    went(cud_npy_parse("f", head, n, &nothing, &back, &err), &err, "  is read back");
    ok(cud_shape_same(&back.shape, &all.shape), "  the same");
}

static enum cud_status open_file(const unsigned char *bytes, size_t n, const struct cud_given *given, struct cud_source *s,
                                 struct cud_err *err)
{
    file_write("a.npy", bytes, n);
    return cud_source_open("a.npy", given, s, err);
}

static void test_pieces(const unsigned char *file, size_t size, unsigned elems)
{
    struct cud_source s;
    struct cud_err err = {0};
    unsigned char whole[256], part[256];
    if (!went(open_file(file, size, &nothing, &s, &err), &err, "opens a file"))
        return;
    size_t bytes = elems * cud_type_bytes(s.array.type);
    ok(s.offset == size - bytes, "  its offset");
    went(s.format->read(&s, 0, elems, whole, &err), &err, "  reads it whole");
    ok(memcmp(whole, file + s.offset, bytes) == 0, "  the bytes");
    int good = 1;
    for (unsigned from = 0; from <= elems; from++)
        for (unsigned n = 0; n <= elems - from; n++) {
            size_t each = bytes / elems;
            memset(part, 0xee, sizeof part);
            good &= s.format->read(&s, from, n, part, &err) == CUD_OK && memcmp(part, whole + from * each, n * each) == 0 &&
                    part[n * each] == 0xee;
        }
    ok(good, "  and in any piece");
    cud_source_close(&s);
}

static void test_sizes(const unsigned char *file, size_t size)
{
    struct cud_source s;
    struct cud_err err = {0};
    size_t n = 0;
    for (; n < size; n++) {
        bool good = open_file(file, n, &nothing, &s, &err) == CUD_EINPUT && strstr(err.text, "a.npy: is ");
        if (!good)
            printf("# %zu bytes: %s\n", n, err.text);
        if (!good)
            break;
        err = (struct cud_err){0};
    }
    ok(n == size, "cut short at any of %zu bytes, it is refused", size);
    failed(open_file(file, size - 5, &nothing, &s, &err), CUD_EINPUT, &err, "5 are missing");
    unsigned char longer[4096];
    memcpy(longer, file, size);
    longer[size] = 1;
    failed(open_file(longer, size + 1, &nothing, &s, &err), CUD_EINPUT, &err, "1 too many (one array a file, and nothing");
}

static void test_files(void)
{
    unsigned char file[4096];
    size_t n = compose("{'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), }", 60, file);
    test_pieces(file, n, 15);
    test_sizes(file, n);
    n = compose("{'descr': '>i8', 'fortran_order': False, 'shape': (7,), }", 56, file);
    test_pieces(file, n, 7);
    memmove(file + 12, file + 10, n - 10);  /* the same as version 2 */
    file[6] = 2, file[10] = file[11] = 0;
    test_pieces(file, n + 2, 7);
    test_sizes(file, n + 2);
    unlink("a.npy");
}

static void test_too_big(void)
{
    static const char *const shapes[] = {"(2305843009213693952,)", "(4294967296, 4294967296)", "(0, 2305843009213693952)",
                                         "(1099511627776, 0, 1099511627776)", "(9223372036854775807, 9223372036854775807, 3)"};
    unsigned char file[4096];
    struct cud_source s;
    struct cud_err err = {0};
    char text[256];
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", shapes[i]);
        failed(open_file(file, compose(text, 0, file), &nothing, &s, &err), CUD_EINPUT, &err, "is too big: 2^63 bytes or more");
    }
    size_t n = compose("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 2305843009213693951), }", 0, file);
    if (went(open_file(file, n, &nothing, &s, &err), &err, "no rows of almost 2^63 bytes"))
        cud_source_close(&s);
    n = compose("{'descr': '<f4', 'fortran_order': False, 'shape': (2305843009213693951,), }", 4, file);
    failed(open_file(file, n, &nothing, &s, &err), CUD_EINPUT, &err, "is too big");   /* with its header */
    unlink("a.npy");
}

static void test_given(void)
{
    struct cud_given right = {.has_type = true, .has_shape = true, .has_offset = true, .type = CUD_F32, .shape = {1, {3}},
                              .offset = 128}, wrong;
    unsigned char file[4096];
    struct cud_source s;
    struct cud_err err = {0};
    size_t n = compose("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 12, file);
    if (went(open_file(file, n, &right, &s, &err), &err, "options that say the same"))
        cud_source_close(&s);
    wrong = right, wrong.type = CUD_F64;
    failed(open_file(file, n, &wrong, &s, &err), CUD_EUSAGE, &err, "says by itself that it is f32: leave out --dtype f64");
    wrong.type = CUD_BF16;
    failed(open_file(file, n, &wrong, &s, &err), CUD_EUSAGE, &err, "leave out --dtype bf16");
    wrong = right, wrong.shape.ndim = 0;
    failed(open_file(file, n, &wrong, &s, &err), CUD_EUSAGE, &err, "its shape is (3,): leave out --shape, which says ()");
    wrong = right, wrong.offset = 0;
    failed(open_file(file, n, &wrong, &s, &err), CUD_EUSAGE, &err, "begin at byte 128: leave out --offset 0");
    unlink("a.npy");
}

int main(void)
{
    files_start();
    test_accepted();
    test_refused();
    test_bf16();
    test_length();
    test_written();
    test_files();
    test_too_big();
    test_given();
    files_end();
    return done_testing();
}
