/* NumPy's description of the format: numpy.lib.format, "Format Version 1.0" to "3.0". */
#include "npyhead.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define LENGTH_MAX ((size_t)1 << 20)

enum cud_status cud_npy_length(const char *path, const unsigned char *bytes, size_t have, size_t *length, struct cud_err *err)
{
    if (have < 10 || memcmp(bytes, CUD_NPY_MAGIC, 6) != 0)
        return FAIL(err, CUD_EINPUT, "%s: is no .npy file: it does not begin like one", path);
    unsigned major = bytes[6], minor = bytes[7];
    if (major < 1 || major > 3 || minor != 0)
        return FAIL(err, CUD_EINPUT, "%s: is .npy of version %u.%u; 1.0, 2.0 and 3.0 are known", path, major, minor);
    size_t n = bytes[8] | (size_t)bytes[9] << 8, fixed = 10;
    if (major > 1) {
        if (have < CUD_NPY_FIXED)
            return FAIL(err, CUD_EINPUT, "%s: is cut short: it ends within its .npy header", path);
        n |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
        fixed = CUD_NPY_FIXED;
    }
    if (n > LENGTH_MAX - fixed)
        return FAIL(err, CUD_EINPUT, "%s: its .npy header claims %zu bytes, more than 1 MiB: is it damaged?", path, n);
    *length = fixed + n;
    return CUD_OK;
}

/* ---- the literal */

struct text {
    const char *path;
    const char *start, *at, *end;
};

struct piece {                             /* of the text, not terminated */
    const char *at;
    size_t n;
};

enum { DESCR, FORTRAN_ORDER, SHAPE, KEYS };
static const char *const keys[KEYS] = {"descr", "fortran_order", "shape"};

struct fields {
    struct piece descr;
    bool fortran;
    struct cud_shape shape;
};

static void skip(struct text *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\n' || *t->at == '\t'))
        t->at++;
}

static bool take(struct text *t, char c)
{
    skip(t);
    if (t->at == t->end || *t->at != c)
        return false;
    t->at++;
    return true;
}

static bool take_word(struct text *t, const char *word)
{
    size_t n = strlen(word);
    skip(t);
    if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n) != 0)
        return false;
    t->at += n;
    return true;
}

/* Text of a file in a message: short, and nothing that a terminal would obey. */
static const char *shown(struct piece p, char text[64])
{
    size_t n = p.n < 60 ? p.n : 60;
    for (size_t i = 0; i < n; i++)
        text[i] = p.at[i] < ' ' || p.at[i] > '~' ? '?' : p.at[i];
    strcpy(text + n, p.n > n ? "..." : "");
    return text;
}

static enum cud_status wrong(const struct text *t, const char *wanted, struct cud_err *err)
{
    char found[64];
    size_t n = t->end - t->at < 12 ? (size_t)(t->end - t->at) : 12;
    return FAIL(err, CUD_EINPUT, "%s: .npy header, character %zu: wanted %s, found %s%s%s", t->path,
                (size_t)(t->at - t->start) + 1, wanted, n ? "'" : "its end",
                n ? shown((struct piece){t->at, n}, found) : "", n ? "'" : "");
}

static enum cud_status read_string(struct text *t, const char *wanted, struct piece *p, struct cud_err *err)
{
    skip(t);
    if (t->at == t->end || (*t->at != '\'' && *t->at != '"'))
        return wrong(t, wanted, err);
    char quote = *t->at++;
    p->at = t->at;
    while (t->at < t->end && *t->at != quote) {
        if (*t->at == '\\' || (*t->at >= 0 && *t->at < ' ') || *t->at == 0x7f)
            return wrong(t, "plain characters", err);
        t->at++;
    }
    p->n = (size_t)(t->at - p->at);
    return take(t, quote) ? CUD_OK : wrong(t, "a quote", err);
}

static enum cud_status read_number(struct text *t, uint64_t *x, struct cud_err *err)
{
    skip(t);
    const char *first = t->at;
    uint64_t value = 0;
    for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++) {
        uint64_t digit = (uint64_t)(*t->at - '0');
        if (value > (INT64_MAX - digit) / 10) {
            t->at = first;
            return wrong(t, "a number below 2^63", err);
        }
        value = 10 * value + digit;
    }
    if (t->at == first || (*first == '0' && t->at - first > 1)) {
        t->at = first;
        return wrong(t, "a number in plain decimal", err);
    }
    *x = value;
    return CUD_OK;
}

static enum cud_status read_shape(struct text *t, struct cud_shape *s, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    bool comma = true;
    s->ndim = 0;
    if (!take(t, '('))
        TRY(wrong(t, "a tuple such as (1000, 16)", err));
    while (!take(t, ')')) {
        if (!comma)
            TRY(wrong(t, "',' or ')'", err));
        if (s->ndim == CUD_DIMS_MAX)
            TRY(FAIL(err, CUD_EINPUT, "%s: has more than %d dimensions: reshape it", t->path, CUD_DIMS_MAX));
        TRY(read_number(t, &s->dim[s->ndim++], err));
        comma = take(t, ',');
    }
    if (s->ndim == 1 && !comma)
        TRY(wrong(t, "a tuple, (3,) and not (3),", err));
done:
    return status;
}

static enum cud_status read_descr(struct text *t, struct piece *p, struct cud_err *err)
{
    skip(t);
    if (t->at < t->end && (*t->at == '[' || *t->at == '('))
        return FAIL(err, CUD_EINPUT, "%s: its elements are records (a structured dtype), which cudist does not read: save one "
                    "field of it, numpy.save(FILE, a[FIELD])", t->path);
    return read_string(t, "a type such as '<f4'", p, err);
}

static enum cud_status read_value(struct text *t, int key, struct fields *f, struct cud_err *err)
{
    if (key == DESCR)
        return read_descr(t, &f->descr, err);
    if (key == SHAPE)
        return read_shape(t, &f->shape, err);
    f->fortran = take_word(t, "True");
    return f->fortran || take_word(t, "False") ? CUD_OK : wrong(t, "True or False", err);
}

static enum cud_status read_entry(struct text *t, struct fields *f, bool seen[KEYS], struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct piece name;
    char text[64];
    TRY(read_string(t, "'descr', 'fortran_order' or 'shape'", &name, err));
    int key = 0;
    while (key < KEYS && (strlen(keys[key]) != name.n || memcmp(keys[key], name.at, name.n) != 0))
        key++;
    if (key == KEYS || seen[key])
        TRY(FAIL(err, CUD_EINPUT, "%s: .npy header: %s key '%s'", t->path, key == KEYS ? "unknown" : "repeated",
                 shown(name, text)));
    seen[key] = true;
    if (!take(t, ':'))
        TRY(wrong(t, "':'", err));
    TRY(read_value(t, key, f, err));
done:
    return status;
}

static enum cud_status read_fields(struct text *t, struct fields *f, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    bool seen[KEYS] = {false}, comma = true;
    if (t->at == t->end || *t->at++ != '{')
        return FAIL(err, CUD_EINPUT, "%s: .npy header does not begin with '{'", t->path);
    while (!take(t, '}')) {
        if (!comma)
            TRY(wrong(t, "',' or '}'", err));
        TRY(read_entry(t, f, seen, err));
        comma = take(t, ',');
    }
    skip(t);
    if (t->at < t->end)
        TRY(wrong(t, "spaces only", err));
    for (int key = 0; key < KEYS; key++)
        if (!seen[key])
            TRY(FAIL(err, CUD_EINPUT, "%s: .npy header lacks '%s'", t->path, keys[key]));
done:
    return status;
}

/* ---- types */

static const struct { char kind, size; enum cud_type type; } known[] = {
    {'b', '1', CUD_BOOL}, {'i', '1', CUD_I8},  {'u', '1', CUD_U8},  {'i', '2', CUD_I16}, {'u', '2', CUD_U16},
    {'i', '4', CUD_I32},  {'u', '4', CUD_U32}, {'i', '8', CUD_I64}, {'u', '8', CUD_U64}, {'f', '2', CUD_F16},
    {'f', '4', CUD_F32},  {'f', '8', CUD_F64}, {'V', '2', CUD_BF16},
};

static const struct { const char *kinds, *what, *cure; } refused[] = {
    {"c", "complex numbers", "save a.view(a.real.dtype), which has real and imaginary parts one after the other"},
    {"f", "long doubles", "save a.astype(numpy.float64)"},
    {"O", "Python objects", "save a.astype(numpy.float32), if they are numbers"},
    {"SUa", "text", "save numbers, a.astype(numpy.float32) if it spells some"},
    {"M", "dates", "save a.view(numpy.int64)"},
    {"m", "time spans", "save a.view(numpy.int64)"},
    {"V", "bytes without a type", "give --dtype bf16 if they are that (2 bytes each); else save them as numbers"},
};

static enum cud_status refuse(const char *path, struct piece d, struct cud_err *err)
{
    char text[64];
    char kind = d.n > 1 && strchr("<>|=", d.at[0]) ? d.at[1] : d.n ? d.at[0] : 0;
    shown(d, text);
    for (size_t i = 0; kind && i < sizeof refused / sizeof *refused; i++)
        if (strchr(refused[i].kinds, kind) && !(kind == 'f' && strncmp(text + 1, "f1", 2) != 0))
            return FAIL(err, CUD_EINPUT, "%s: its elements are %s ('%s'), which cudist does not read: %s", path,
                        refused[i].what, text, refused[i].cure);
    return FAIL(err, CUD_EINPUT, "%s: its elements have the type '%s'; known are |b1 |i1 |u1, and i2 i4 i8 u2 u4 u8 f2 f4 f8 "
                "behind < or >", path, text);
}

static bool find_type(struct piece d, struct cud_array *array)
{
    if (d.n != 3 || memchr("<>|", d.at[0], 3) == NULL)
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].kind != d.at[1] || known[i].size != d.at[2])
            continue;
        bool bytes = d.at[2] == '1', none = d.at[0] == '|';
        if (none && !bytes && d.at[1] != 'V')
            return false;                  /* '|f4' does not say which byte is first */
        array->type = known[i].type;
        array->swapped = d.at[0] == '>' && !bytes;
        return true;
    }
    return false;
}

static enum cud_status read_type(const char *path, struct piece d, const struct cud_given *given, struct cud_array *array,
                                 struct cud_err *err)
{
    bool bf16 = given->has_type && given->type == CUD_BF16;
    if (!find_type(d, array) || (array->type == CUD_BF16 && !bf16))
        return refuse(path, d, err);
    if (bf16 && (array->type == CUD_U16 || array->type == CUD_I16))
        array->type = CUD_BF16;
    return CUD_OK;
}

/* Fortran order is C order where at most one dimension is not 1, or there are no elements. */
static bool order_matters(const struct cud_shape *s)
{
    unsigned long_ones = 0;
    for (unsigned i = 0; i < s->ndim; i++) {
        if (s->dim[i] == 0)
            return false;
        long_ones += s->dim[i] > 1;
    }
    return long_ones > 1;
}

enum cud_status cud_npy_parse(const char *path, const unsigned char *bytes, size_t length, const struct cud_given *given,
                              struct cud_array *array, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const char *start = (const char *)bytes + (bytes[6] == 1 ? 10 : CUD_NPY_FIXED);
    struct text t = {.path = path, .start = start, .at = start, .end = (const char *)bytes + length};
    struct cud_array a = {0};
    struct fields f;
    TRY(read_fields(&t, &f, err));
    TRY(read_type(path, f.descr, given, &a, err));
    if (f.fortran && order_matters(&f.shape))
        TRY(FAIL(err, CUD_EINPUT, "%s: is in Fortran order, columns first: save numpy.ascontiguousarray(a)", path));
    a.shape = f.shape;
    *array = a;
done:
    return status;
}

/* ---- writing */

void cud_npy_write(const struct cud_array *array, unsigned char head[CUD_HEAD_MAX], size_t *bytes)
{
    char shape[CUD_SHAPE_TEXT], dim[24], *text = (char *)head + 10;
    size_t i = 0;
    while (known[i].type != array->type)
        i++;
    char order = known[i].size == '1' || known[i].kind == 'V' ? '|' : '<';
    int n = sprintf(text, "{'descr': '%c%c%c', 'fortran_order': False, 'shape': %s, }", order, known[i].kind, known[i].size,
                    cud_shape_text(&array->shape, shape));
    /* NumPy leaves room for the first dimension to grow to 21 digits, and fills up with 64 bytes where none were needed. */
    if (array->shape.ndim > 0)
        n += sprintf(text + n, "%*s", 21 - sprintf(dim, "%llu", (unsigned long long)array->shape.dim[0]), "");
    n += sprintf(text + n, "%*s\n", 64 - (10 + n + 1) % 64, "");
    assert(10 + n <= CUD_HEAD_MAX && n <= UINT16_MAX);
    memcpy(head, CUD_NPY_MAGIC "\x01", 8);
    head[8] = (unsigned char)n;
    head[9] = (unsigned char)(n >> 8);
    *bytes = 10 + (size_t)n;
}
