/* Mutated .npy files, in memory: each is refused with a line, or read as a second, simple reading of its header has it.
 *
 *   npy_fuzz.t              TAP, 100,000 of them
 *   npy_fuzz.t show N       a line for each of the first N small ones, for npy_numpy.py: its bytes in hex, then "no" and why,
 *                           or "yes", type, byte order, offset and shape
 *   npy_fuzz.t heads        reads lines "TYPE SHAPE", writes each one's head in hex */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "format/flat.h"
#include "format/npyhead.h"
#include "../tap.h"

#define SIZE_MAX_FILE 2048

struct file {
    size_t n;
    unsigned char bytes[SIZE_MAX_FILE];
};

static uint64_t seed = 20260131;
static uint64_t random64(void)             /* splitmix64 */
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static size_t below(size_t n) { return (size_t)(random64() % n); }

/* ---- seeds */

static const struct { const char *text; int version; size_t data; } seeds[] = {
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", 1, 48},
    {"{'descr': '>f8', 'fortran_order': False, 'shape': (5,), }", 1, 40},
    {"{'descr': '|b1', 'fortran_order': False, 'shape': (), }", 1, 1},
    {"{\"shape\": (2, 1, 3), \"fortran_order\": False, \"descr\": \"<i8\"}", 2, 48},
    {"{'descr': '|V2', 'fortran_order': False, 'shape': (0, 7), }", 3, 0},
    {"{'fortran_order':True,'descr':'<u2','shape':(1,9,1)}", 1, 18},
    {"{ 'descr' : '|u1' ,\n 'fortran_order' : False ,\t'shape' : ( 10 , 2 , ) , }", 2, 20},
    {"{'descr': '<f2', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), }", 3, 2},
};
enum { SEEDS = sizeof seeds / sizeof *seeds };

static size_t head_start(const struct file *f) { return f->n > 6 && f->bytes[6] == 1 ? 10 : 12; }

static void set_length(struct file *f, size_t data)
{
    size_t start = head_start(f);
    if (f->n < start + data)
        return;
    size_t n = f->n - data - start;
    f->bytes[8] = (unsigned char)n;
    f->bytes[9] = (unsigned char)(n >> 8);
    if (start == 12)
        f->bytes[10] = f->bytes[11] = 0;
}

static void make_seed(size_t k, struct file *f)
{
    size_t start = seeds[k].version == 1 ? 10 : 12, length = strlen(seeds[k].text);
    size_t head = (start + length + 1 + 15) / 16 * 16;
    memset(f->bytes, ' ', head);
    memcpy(f->bytes, CUD_NPY_MAGIC, 6);
    f->bytes[6] = (unsigned char)seeds[k].version;
    f->bytes[7] = 0;
    memcpy(f->bytes + start, seeds[k].text, length);
    f->bytes[head - 1] = '\n';
    for (size_t i = 0; i < seeds[k].data; i++)
        f->bytes[head + i] = (unsigned char)(i + 1);
    f->n = head + seeds[k].data;
    set_length(f, seeds[k].data);
}

/* ---- mutations */

static void insert(struct file *f, size_t at, const char *bytes, size_t n)
{
    if (f->n + n > SIZE_MAX_FILE || at > f->n)
        return;
    memmove(f->bytes + at + n, f->bytes + at, f->n - at);
    memcpy(f->bytes + at, bytes, n);
    f->n += n;
}

static void delete(struct file *f, size_t at, size_t n)
{
    if (at + n > f->n)
        return;
    memmove(f->bytes + at, f->bytes + at + n, f->n - at - n);
    f->n -= n;
}

static const char *const words[] = {
    " ", "\n", "\t", ",", ")", "(", "{", "}", ":", "'", "\"", "0", "1", "9", "-", "L", "_", "\\", "#", "[", "True", "False",
    "None", "'descr': ", "'shape': ", "'fortran_order': ", "'<f4'", "'|V2'", "'>i2'", "'|O'", "'=f4'", "(1,)", "()", ", ",
    "4294967296", "9223372036854775807", "18446744073709551616", "1, ", "0, ", "+", "0x", "u'", "\r", "\f", "\x80", "L,"};
enum { WORDS = sizeof words / sizeof *words };

static void insert_word(struct file *f, size_t at)
{
    const char *word = words[below(WORDS)];
    insert(f, at, word, strlen(word));
}

/* Finds a digit behind `at` and makes its number longer. */
static void grow_number(struct file *f, size_t at)
{
    while (at < f->n && (f->bytes[at] < '0' || f->bytes[at] > '9'))
        at++;
    for (size_t k = below(21); at < f->n && k > 0; k--)
        insert(f, at, (char[]){(char)('0' + below(10))}, 1);
}

static void change_number(struct file *f, size_t at)
{
    while (at < f->n && (f->bytes[at] < '0' || f->bytes[at] > '9'))
        at++;
    if (at < f->n)
        f->bytes[at] = (unsigned char)('0' + below(10));
}

static void swap_spaces(struct file *f, size_t at)
{
    while (at < f->n && f->bytes[at] != ' ')
        at++;
    if (at < f->n && below(2))
        f->bytes[at] = below(2) ? '\n' : '\t';
    else
        delete(f, at, 1);
}

static void splice(struct file *f)
{
    struct file other;
    make_seed(below(SEEDS), &other);
    size_t cut = below(f->n + 1), from = below(other.n + 1);
    if (cut + other.n - from > SIZE_MAX_FILE)
        return;
    memcpy(f->bytes + cut, other.bytes + from, other.n - from);
    f->n = cut + other.n - from;
}

static void mutate(struct file *f)
{
    size_t at = f->n ? below(f->n) : 0;
    switch (below(10)) {
    case 0:
        if (f->n)
            f->bytes[at] ^= (unsigned char)(1u << below(8));
        break;
    case 1:
        if (f->n)
            f->bytes[at] = (unsigned char)random64();
        break;
    case 2: insert_word(f, at); break;
    case 3: insert_word(f, at); break;
    case 4: delete(f, at, 1 + below(4)); break;
    case 5: f->n = below(3) ? f->n : at; break;
    case 6: splice(f); break;
    case 7: grow_number(f, at); break;
    case 8: change_number(f, at); break;
    default: swap_spaces(f, at); break;
    }
}

static void make_case(struct file *f)
{
    size_t k = below(SEEDS);
    make_seed(k, f);
    for (size_t n = 1 + below(4); n > 0; n--)
        mutate(f);
    if (f->n > 12 && below(4))             /* mostly the lengths fit, so that the text is what is looked at */
        set_length(f, seeds[k].data);
}

/* ---- the reading under test, of a copy as long as the bytes so that a sanitizer sees a step too far */

struct reading {
    enum cud_status status;
    struct cud_err err;
    struct cud_array array;
    size_t offset;
    uint64_t bytes;
};

static struct reading read_file(const struct file *f, const struct cud_given *given)
{
    struct reading r = {.status = CUD_OK};
    unsigned char *fixed = malloc(f->n < 12 ? f->n + 1 : 12), *head = NULL;
    size_t have = f->n < 12 ? f->n : 12;
    memcpy(fixed, f->bytes, have);
    r.status = cud_npy_length("f", fixed, have, &r.offset, &r.err);
    if (r.status == CUD_OK && r.offset <= f->n) {
        head = malloc(r.offset);
        memcpy(head, f->bytes, r.offset);
        r.status = cud_npy_parse("f", head, r.offset, given, &r.array, &r.err);
    }
    if (r.status == CUD_OK && (r.offset > f->n || !cud_shape_bytes(&r.array.shape, cud_type_bytes(r.array.type), &r.bytes) ||
                               r.offset + r.bytes != f->n))
        r.status = cud_fail(&r.err, "", 0, CUD_EINPUT, "f: the size is wrong");
    free(fixed);
    free(head);
    return r;
}

/* ---- the second reading: without blanks, with ' for ", and without the last commas there are only so many texts */

static size_t squeeze(const struct file *f, size_t end, char *to)
{
    size_t n = 0;
    int quote = 0;
    for (size_t i = head_start(f); i < end; i++) {
        int c = f->bytes[i];
        if (quote == 0 && (c == ' ' || c == '\n' || c == '\t'))
            continue;
        if (quote == 0 && (c == '\'' || c == '"'))
            quote = c;
        else if (c == quote)
            quote = 0;
        if (quote == 0 && n > 0 && to[n - 1] == ',' && (c == '}' || c == ')'))
            n--;
        to[n++] = (char)(c == '"' ? '\'' : c);
    }
    to[n] = '\0';
    return n;
}

static const char spelt[CUD_TYPES][3] = {
    [CUD_BOOL] = "b1", [CUD_I8] = "i1", [CUD_U8] = "u1", [CUD_I16] = "i2", [CUD_U16] = "u2", [CUD_I32] = "i4", [CUD_U32] = "u4",
    [CUD_I64] = "i8", [CUD_U64] = "u8", [CUD_F16] = "f2", [CUD_BF16] = "V2", [CUD_F32] = "f4", [CUD_F64] = "f8"};

static void shape_text(const struct cud_shape *s, char text[1024])
{
    size_t n = 0;
    text[n++] = '(';
    for (unsigned i = 0; i < s->ndim; i++)
        n += (size_t)sprintf(text + n, "%s%llu", i ? "," : "", (unsigned long long)s->dim[i]);
    strcpy(text + n, ")");
}

static bool one_text_is(const char *squeezed, const char *entry[3])
{
    static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    char text[4096];
    for (int k = 0; k < 6; k++) {
        sprintf(text, "{%s,%s,%s}", entry[order[k][0]], entry[order[k][1]], entry[order[k][2]]);
        if (strcmp(text, squeezed) == 0)
            return true;
    }
    return false;
}

static bool read_right(const struct file *f, const struct reading *r)
{
    static const char *const fortran[2] = {"'fortran_order':False", "'fortran_order':True"};
    char squeezed[SIZE_MAX_FILE + 1], descr[32], shape[1040] = "'shape':";
    squeeze(f, r->offset, squeezed);
    shape_text(&r->array.shape, shape + strlen(shape));
    const char *types[3] = {spelt[r->array.type], "u2", "i2"};
    for (int k = 0; k < (r->array.type == CUD_BF16 ? 3 : 1) * 3 * 2; k++) {
        sprintf(descr, "'descr':'%c%s'", r->array.swapped ? '>' : "<|>"[k % 3], types[k / 6]);
        bool none = strchr(descr, '|') && types[k / 6][1] != '1' && types[k / 6][0] != 'V';
        bool big = strchr(descr, '>') && !r->array.swapped && types[k / 6][1] != '1';
        if (!none && !big && one_text_is(squeezed, (const char *[3]){descr, fortran[k / 3 % 2], shape}))
            return true;
    }
    return false;
}

/* ---- */

static const struct cud_given givens[2] = {{.has_type = false}, {.has_type = true, .type = CUD_BF16}};

static bool fine(const struct file *f, const struct reading *r)
{
    if (r->status == CUD_OK)
        return read_right(f, r);
    return (r->status == CUD_EINPUT || r->status == CUD_EUSAGE) && r->err.status == (int)r->status &&
           strncmp(r->err.text, "f: ", 3) == 0;
}

static void show(const struct file *f, const struct reading *r)
{
    char shape[CUD_SHAPE_TEXT];
    for (size_t i = 0; i < f->n; i++)
        printf("%02x", f->bytes[i]);
    if (r->status != CUD_OK)
        printf(" no %s\n", r->err.text);
    else
        printf(" yes %s %s %zu %s\n", cud_type_name(r->array.type), r->array.swapped ? "big" : "little", r->offset,
               cud_shape_text(&r->array.shape, shape));
}

static int show_cases(long n)
{
    for (struct file f; n > 0; n--) {
        make_case(&f);
        struct reading r = read_file(&f, &givens[0]);
        show(&f, &r);
    }
    return 0;
}

static int show_heads(void)
{
    char type[16], shape[800];
    while (scanf("%15s %799s", type, shape) == 2) {
        struct cud_array a = {.swapped = false};
        struct cud_err err = {0};
        unsigned char head[CUD_HEAD_MAX];
        size_t n;
        if (!cud_type_find(type, &a.type) || cud_shape_parse(shape, &a.shape, &err) != CUD_OK)
            return 1;
        cud_npy_write(&a, head, &n);
        for (size_t i = 0; i < n; i++)
            printf("%02x", head[i]);
        putchar('\n');
    }
    return 0;
}

static int run(size_t n)
{
    size_t bad = 0, read = 0, refused = 0;
    struct file f;
    for (size_t i = 0; i < n; i++) {
        make_case(&f);
        for (int g = 0; g < 2; g++) {
            struct reading r = read_file(&f, &givens[g]);
            read += r.status == CUD_OK;
            refused += r.status != CUD_OK;
            if (fine(&f, &r))
                continue;
            if (++bad <= 5) {
                printf("# ");
                show(&f, &r);
            }
        }
    }
    ok(bad == 0, "all were refused with a line or read right");
    ok(read > n / 10 && refused > n / 10, "%zu read, %zu refused", read, refused);
    return done_testing();
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "show") == 0)
        return show_cases(atol(argv[2]));
    if (argc == 2 && strcmp(argv[1], "heads") == 0)
        return show_heads();
    return run(100000);
}
