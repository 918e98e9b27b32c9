/* random:shape=1000000x16[,KEY=VALUE...]: data without a file.  Element i is a function of seed and i alone.
 *
 *   dist     uniform (the default): low <= x < high, from 24 random bits (f64: 53, f16: 11, bf16: 8); f16 bf16 f32 f64
 *            normal: mean and std, the quantile of 32 random bits (f64: 52); f16 bf16 f32 f64
 *            integer: whole numbers, low <= x < high, any type that holds them all exactly
 *            index: the element's own number, 0, 1, 2, ..., any type that holds them all exactly
 *   seed     0 to 2^64 - 1, default 0
 *   dtype    default f32; integer: i32, index: i64
 *   low high default 0 and 1; integer: 0 and 100 (bool: 2).  x = low + (high - low) u may round to high where low is not 0
 *   mean std default 0 and 1 */
#include "config.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "flat.h"
#include "number.h"
#include "params.h"
#include "random.h"
#include "registry.h"

#define PREFIX "random:"

static const char *const dists[CUD_DISTS] = {"uniform", "normal", "integer", "index"};

enum key { SHAPE, DIST, SEED, DTYPE, LOW, HIGH, MEAN, STD, KEYS };
static const char *const keys[KEYS] = {"shape", "dist", "seed", "dtype", "low", "high", "mean", "std"};

struct tail {                              /* the text behind PREFIX, taken apart */
    const char *path;
    struct cud_params params;
    const char *value[KEYS];               /* NULL: not given */
};

/* ---- parameters */

static enum cud_status bad(const struct tail *t, enum key key, const char *wanted, struct cud_err *err)
{
    return FAIL(err, CUD_EUSAGE, "%s: %s=%s: wanted %s", t->path, keys[key], t->value[key], wanted);
}

static enum cud_status find_values(struct tail *t, struct cud_err *err)
{
    for (size_t i = 0; i < t->params.n; i++) {
        const char *const name = t->params.param[i].key;
        int key = 0;
        while (key < KEYS && strcmp(keys[key], name) != 0)
            key++;
        const char *const near = key < KEYS ? NULL : cud_registry_nearest(name, keys, KEYS);
        if (key == KEYS)
            return FAIL(err, CUD_EUSAGE, "%s: %s= is no parameter%s%s%s; they are shape=, dist=, seed=, dtype=, low=, high=, "
                        "mean= and std=", t->path, name, near ? " (did you mean " : "", near ? near : "", near ? "=?)" : "");
        t->value[key] = t->params.param[i].value;
    }
    return CUD_OK;
}

static enum cud_status read_tail(struct tail *t, struct cud_err *err)
{
    struct cud_err why = {0};
    if (cud_params_parse(t->path, &t->params, &why) != CUD_OK)
        return FAIL(err, (enum cud_status)why.status, "%s: %s", t->path, why.text);
    if (strlen(t->params.name) > strlen(PREFIX))
        return FAIL(err, CUD_EUSAGE, "%s: '%s' should read KEY=VALUE", t->path, t->params.name + strlen(PREFIX));
    return find_values(t, err);
}

static enum cud_status read_real(const struct tail *t, enum key key, double *x, struct cud_err *err)
{
    struct cud_err why = {0};
    double value;
    if (t->value[key] == NULL)
        return CUD_OK;
    if (cud_number_read(t->value[key], false, &value, &why) != CUD_OK)
        return FAIL(err, CUD_EUSAGE, "%s: %s=%s: %s", t->path, keys[key], t->value[key], why.text);
    if (!isfinite(value))
        return bad(t, key, "a finite number", err);
    *x = value;
    return CUD_OK;
}

static enum cud_status read_whole(const struct tail *t, enum key key, int64_t *x, struct cud_err *err)
{
    struct cud_err why = {0};
    const char *const text = t->value[key];
    uint64_t value;
    if (text == NULL)
        return CUD_OK;
    const bool negative = *text == '-';
    if (cud_number_whole(text + negative, strlen(text + negative), (uint64_t)INT64_MAX + negative, &value, &why) != CUD_OK)
        return bad(t, key, "a whole number from -2^63 to 2^63 - 1", err);
    *x = (int64_t)(negative ? 0 - value : value);
    return CUD_OK;
}

static enum cud_status read_seed(const struct tail *t, uint64_t *seed, struct cud_err *err)
{
    struct cud_err why = {0};
    const char *const text = t->value[SEED];
    if (text && cud_number_whole(text, strlen(text), UINT64_MAX, seed, &why) != CUD_OK)
        return bad(t, SEED, "a whole number from 0 to 2^64 - 1", err);
    return CUD_OK;
}

static enum cud_status read_dist(const struct tail *t, enum cud_dist *dist, struct cud_err *err)
{
    int d = 0;
    while (t->value[DIST] && d < CUD_DISTS && strcmp(t->value[DIST], dists[d]) != 0)
        d++;
    if (d == CUD_DISTS)
        return bad(t, DIST, "uniform, normal, integer or index", err);
    *dist = (enum cud_dist)d;
    bool bounds = d == CUD_UNIFORM || d == CUD_INTEGER, moments = d == CUD_NORMAL;
    for (int key = LOW; key < KEYS; key++)
        if (t->value[key] && !(key < MEAN ? bounds : moments))
            return FAIL(err, CUD_EUSAGE, "%s: %s= means nothing for dist=%s", t->path, keys[key], dists[d]);
    return CUD_OK;
}

static enum cud_status read_type(const struct tail *t, enum cud_dist dist, enum cud_type *type, struct cud_err *err)
{
    *type = dist == CUD_INTEGER ? CUD_I32 : dist == CUD_INDEX ? CUD_I64 : CUD_F32;
    if (t->value[DTYPE] && !cud_type_find(t->value[DTYPE], type))
        return bad(t, DTYPE, "a type such as f32", err);
    if ((dist == CUD_UNIFORM || dist == CUD_NORMAL) && !cud_type_is_float(*type))
        return bad(t, DTYPE, "f16, bf16, f32 or f64 (or dist=integer)", err);
    return CUD_OK;
}

/* Whether a type holds each whole number from first to last. */
static bool holds(enum cud_type type, int64_t first, int64_t last)
{
    static const int bits[CUD_TYPES] = {
        [CUD_BOOL] = 1, [CUD_I8] = 7, [CUD_U8] = 8, [CUD_I16] = 15, [CUD_U16] = 16, [CUD_I32] = 31, [CUD_U32] = 32,
        [CUD_I64] = 63, [CUD_U64] = 63, [CUD_F16] = 11, [CUD_BF16] = 8, [CUD_F32] = 24, [CUD_F64] = 53};
    const bool real = cud_type_is_float(type), below = type == CUD_I8 || type == CUD_I16 || type == CUD_I32 || type == CUD_I64;
    const int64_t most = (int64_t)((UINT64_C(1) << bits[type]) - !real), least = real ? -most : below ? -most - 1 : 0;
    return first >= least && last <= most;
}

static enum cud_status check_holds(const struct tail *t, enum cud_type type, int64_t first, int64_t last, struct cud_err *err)
{
    char list[CUD_TYPES * 8] = "";
    if (holds(type, first, last))
        return CUD_OK;
    for (int other = 0; other < CUD_TYPES; other++)
        if (holds((enum cud_type)other, first, last))
            strcat(strcat(list, " "), cud_type_name((enum cud_type)other));
    return FAIL(err, CUD_EINPUT, "%s: %s does not hold all whole numbers from %" PRId64 " to %" PRId64 "; dtypes that do:%s",
                t->path, cud_type_name(type), first, last, list);
}

static enum cud_status read_integers(const struct tail *t, enum cud_type type, struct cud_random *r, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    int64_t low = 0, high = type == CUD_BOOL ? 2 : 100;
    TRY(read_whole(t, LOW, &low, err));
    TRY(read_whole(t, HIGH, &high, err));
    if (low >= high)
        TRY(FAIL(err, CUD_EUSAGE, "%s: low=%" PRId64 " is not below high=%" PRId64, t->path, low, high));
    TRY(check_holds(t, type, low, high - 1, err));
    r->first = low;
    r->range = (uint64_t)high - (uint64_t)low;
done:
    return status;
}

static enum cud_status check_index(const struct tail *t, const struct cud_array *a, struct cud_err *err)
{
    const uint64_t elems = cud_shape_rows(&a->shape) * cud_shape_cols(&a->shape);
    return elems ? check_holds(t, a->type, 0, (int64_t)(elems - 1), err) : CUD_OK;
}

static double largest(enum cud_type type)
{
    return type == CUD_F16 ? 65504 : type == CUD_BF16 ? 0x1.fep127 : type == CUD_F32 ? FLT_MAX : DBL_MAX;
}

static enum cud_status read_bounds(const struct tail *t, enum cud_type type, struct cud_random *r, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    double low = 0, high = 1, most = largest(type);
    TRY(read_real(t, LOW, &low, err));
    TRY(read_real(t, HIGH, &high, err));
    if (!(low < high) || low < -most || high > most || high - low > most)
        TRY(FAIL(err, CUD_EUSAGE, "%s: wanted low below high, and both and high - low in the range of %s", t->path,
                 cud_type_name(type)));
    r->start = low;
    r->scale = high - low;
done:
    return status;
}

static enum cud_status read_moments(const struct tail *t, enum cud_type type, struct cud_random *r, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    r->scale = 1;
    TRY(read_real(t, MEAN, &r->start, err));
    TRY(read_real(t, STD, &r->scale, err));
    if (r->scale < 0 || r->scale > largest(type) || fabs(r->start) > largest(type))
        TRY(FAIL(err, CUD_EUSAGE, "%s: wanted mean and std in the range of %s, std 0 or more", t->path, cud_type_name(type)));
done:
    return status;
}

static enum cud_status read_shape(const struct tail *t, enum cud_type type, struct cud_shape *shape, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_err why = {0};
    uint64_t bytes;
    if (t->value[SHAPE] == NULL)
        TRY(FAIL(err, CUD_EUSAGE, "%s: say how much, for example random:shape=1000000x16,dist=uniform,seed=1", t->path));
    if (cud_shape_parse(t->value[SHAPE], shape, &why) != CUD_OK)
        TRY(FAIL(err, CUD_EUSAGE, "%s: %s", t->path, why.text));
    if (!cud_shape_bytes(shape, cud_type_bytes(type), &bytes))
        TRY(bad(t, SHAPE, "less than 2^63 bytes", err));
done:
    return status;
}

static enum cud_status read_parameters(const struct tail *t, struct cud_array *array, struct cud_random *r, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    TRY(read_dist(t, &r->dist, err));
    TRY(read_type(t, r->dist, &array->type, err));
    TRY(read_shape(t, array->type, &array->shape, err));
    TRY(read_seed(t, &r->seed, err));
    if (r->dist == CUD_INTEGER)
        TRY(read_integers(t, array->type, r, err));
    else if (r->dist == CUD_UNIFORM)
        TRY(read_bounds(t, array->type, r, err));
    else if (r->dist == CUD_NORMAL)
        TRY(read_moments(t, array->type, r, err));
    else
        TRY(check_index(t, array, err));
done:
    return status;
}

/* ---- the format */

static int sniff(const char *path, const unsigned char *head, size_t have)
{
    (void)head, (void)have;
    return strncmp(path, PREFIX, strlen(PREFIX)) == 0 ? 2 : 0;
}

static void identify(struct cud_source *source, const struct cud_random *r)
{
    uint64_t words[6] = {(uint64_t)r->dist, r->seed, (uint64_t)r->first, r->range};
    memcpy(words + 4, &r->start, sizeof r->start);
    memcpy(words + 5, &r->scale, sizeof r->scale);
    XXH128_hash_t hash = XXH3_128bits(words, sizeof words);
    cud_source_identify(source, (uint64_t[2]){hash.high64, hash.low64});
}

static enum cud_status open_random(struct cud_source *source, const struct cud_given *given, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct tail t = {.path = source->path};
    struct cud_random *r = calloc(1, sizeof *r);
    if (r == NULL)
        TRY(FAIL(err, CUD_EFAILED, "%s: no memory for its parameters", source->path));
    TRY(read_tail(&t, err));
    TRY(read_parameters(&t, &source->array, r, err));
    TRY(cud_given_agrees(given, source, err));
    identify(source, r);
    source->own = r;
    r = NULL;
done:
    cud_params_free(&t.params);
    free(r);
    return status;
}

static enum cud_status read_random(const struct cud_source *source, uint64_t elem0, uint64_t elems, void *dst,
                                   struct cud_err *err)
{
    (void)err;
    cud_random_values(source->own, source->array.type, elem0, elems, dst);
    return CUD_OK;
}

static void close_random(struct cud_source *source)
{
    free(source->own);
    source->own = NULL;
}

extern const struct cud_format cud_format_random;
const struct cud_format cud_format_random = {
    .name = "random",
    .brief = "random:shape=1000x16 is made-up data, without a file; with commas: seed=N, dtype=T, dist=uniform (low= high=), "
             "normal (mean= std=), integer (low= high=) or index",
    .suffixes = "",
    .sniff = sniff,
    .open = open_random,
    .read = read_random,
    .close = close_random,
    .head = NULL,
};
