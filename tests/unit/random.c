/* random: Philox by its authors' known answers, the normal quantile by erfc, values, parameters. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "format/normal.h"
#include "format/philox.h"
#include "source.h"
#include "files.h"

static const struct cud_given nothing;

/* kat_vectors of Random123, philox4x32 with 10 rounds. */
static void test_known_answers(void)
{
    static const struct { uint32_t counter[4], key[2], words[4]; } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    static uint32_t words[4 * CUD_PHILOX_BLOCKS], again[4 * CUD_PHILOX_BLOCKS];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        cud_philox(known[i].key, known[i].counter, words);
        ok(memcmp(words, known[i].words, sizeof known[i].words) == 0, "Philox4x32-10, known answer %zu", i + 1);
    }
    cud_philox((uint32_t[2]){1, 2}, (uint32_t[4]){0xffffff80, 7, 5, 6}, words);
    int good = 1;
    for (uint32_t block = 0; block < CUD_PHILOX_BLOCKS; block++) {
        uint32_t low = 0xffffff80 + block;
        cud_philox((uint32_t[2]){1, 2}, (uint32_t[4]){low, low < 0x80 ? 8 : 7, 5, 6}, again);
        good &= memcmp(words + 4 * block, again, 16) == 0;
    }
    ok(good, "a call's blocks are those of the counters one after the other");
}

static void test_quantile(void)
{
    double worst = 0;
    for (int i = 1; i < 20000; i++) {
        double p = i < 10000 ? i / 10000.0 : ldexp(1.37, 9998 - i < -900 ? (9998 - i) % 900 - 2 : 9998 - i);
        double z = cud_normal_quantile(p), density = exp(-z * z / 2) / sqrt(2 * M_PI);
        /* How far z is off, by Newton's step; in the lower half, where erfc is exact. */
        double off = p < 0.4999 ? fabs((0.5 * erfc(-z / sqrt(2)) - p) / density / z) : 0;
        worst = off > worst ? off : worst;
    }
    ok(worst < 1e-14, "the normal quantile is off by %g at most", worst);
    ok(cud_normal_quantile(0.5) == 0, "  is 0 at 1/2");
    int odd = 1;
    for (int i = 1; i < 1000; i++)
        odd &= cud_normal_quantile(i / 1024.0) == -cud_normal_quantile(1 - i / 1024.0);
    ok(odd, "  is odd about it");
}

/* ---- values */

static void *values_of(const char *path, size_t *n)
{
    struct cud_source s;
    struct cud_err err = {0};
    void *values = NULL;
    *n = 0;
    if (cud_source_open(path, &nothing, &s, &err) == CUD_OK) {
        *n = cud_shape_rows(&s.array.shape) * cud_shape_cols(&s.array.shape);
        values = malloc(*n * cud_type_bytes(s.array.type) + 1);
        if (s.format->read(&s, 0, *n, values, &err) != CUD_OK)
            *n = 0;
        cud_source_close(&s);
    }
    if (*n == 0)
        printf("# %s\n", err.text);
    return values;
}

static void test_pieces(const char *dist, const char *type, size_t of)
{
    char path[128];
    size_t n, each;
    struct cud_source s;
    struct cud_err err = {0};
    enum cud_type t = CUD_F32;
    snprintf(path, sizeof path, "random:shape=%zu,dist=%s,dtype=%s,seed=7", of, dist, type);
    unsigned char *all = values_of(path, &n), *part = malloc(5000 * 8 + 8);
    cud_type_find(type, &t);
    each = cud_type_bytes(t);
    if (n != of || cud_source_open(path, &nothing, &s, &err) != CUD_OK) {
        ok(0, "%s", path);
    } else {
        int good = 1;
        for (size_t from = 0; from < n; from += 1 + from * 3 / 7)
            for (size_t k = 0; k <= n - from; k += 1 + k * 2 / 3) {
                memset(part + k * each, 0xee, 8);
                good &= s.format->read(&s, from, k, part, &err) == CUD_OK && memcmp(part, all + from * each, k * each) == 0 &&
                        part[k * each] == 0xee;
            }
        ok(good, "%s of %s: any piece has its values", dist, type);
        cud_source_close(&s);
    }
    free(all);
    free(part);
}

static void test_all_pieces(void)
{
    static const char *const floats[] = {"f16", "bf16", "f32", "f64"};
    for (int i = 0; i < 4; i++) {
        test_pieces("uniform", floats[i], 5000);
        test_pieces("normal", floats[i], 5000);
    }
    for (int t = 0; t < CUD_TYPES; t++) {
        test_pieces("integer", cud_type_name((enum cud_type)t), 5000);
        const bool byte = cud_type_bytes((enum cud_type)t) == 1;       /* no more numbers than it holds */
        const size_t n = t == CUD_BOOL ? 2 : byte ? 128 : t == CUD_BF16 ? 256 : 2049;
        test_pieces("index", cud_type_name((enum cud_type)t), n);
    }
}

/* Which bits make which value: by hand from Philox's words. */
static void test_words(void)
{
    uint32_t w[4 * CUD_PHILOX_BLOCKS];
    size_t n;
    cud_philox((uint32_t[2]){0x89abcdef, 0x01234567}, (uint32_t[4]){0}, w);
    float *f = values_of("random:shape=9,seed=81985529216486895", &n);
    double *d = values_of("random:shape=9,seed=81985529216486895,dtype=f64", &n);
    int32_t *k = values_of("random:shape=9,seed=81985529216486895,dist=integer,low=-50,high=51", &n);
    double *z = values_of("random:shape=9,seed=81985529216486895,dist=normal,dtype=f64", &n);
    float *y = values_of("random:shape=9,seed=81985529216486895,dist=normal,mean=3,std=0.5", &n);
    int good[5] = {1, 1, 1, 1, 1};
    for (size_t i = 0; i < 9; i++) {
        double high = w[2 * i + 1], low = w[2 * i];
        good[0] &= f[i] == (float)(w[i] >> 8) / 16777216;
        good[1] &= d[i] == (high * 0x1p21 + floor(low / 2048)) * 0x1p-53;
        good[2] &= k[i] == (int)floor((high + low * 0x1p-32) * 101 * 0x1p-32) - 50;
        good[3] &= z[i] == cud_normal_quantile((high * 0x1p20 + floor(low / 4096) + 0.5) * 0x1p-52);
        good[4] &= y[i] == (float)(3 + 0.5 * cud_normal_quantile((w[i] + 0.5) * 0x1p-32));
    }
    static const char *const names[5] = {"uniform f32", "uniform f64", "integer", "normal f64", "normal f32"};
    for (int i = 0; i < 5; i++)
        ok(good[i], "%s of its words", names[i]);
    free(f), free(d), free(k), free(z), free(y);
}

static void test_moments(void)
{
    size_t n;
    float *u = values_of("random:shape=1000x1000,low=-2,high=6,seed=3", &n);
    double sum = 0, square = 0, least = 9, most = -9;
    for (size_t i = 0; i < n; i++) {
        sum += u[i], square += (double)u[i] * u[i];
        least = u[i] < least ? u[i] : least, most = u[i] > most ? u[i] : most;
    }
    ok(fabs(sum / 1e6 - 2) < 0.01 && fabs(square / 1e6 - 4 - 64 / 12.0) < 0.05, "uniform: mean %g, square %g", sum / 1e6,
       square / 1e6);
    ok(least >= -2 && most <= 6 && least < -1.999 && most > 5.999, "  from %g to %g", least, most);
    double *z = values_of("random:shape=1000000,dist=normal,mean=-1,std=2,dtype=f64", &n);
    sum = square = 0;
    for (size_t i = 0; i < n; i++)
        sum += z[i], square += (z[i] + 1) * (z[i] + 1);
    ok(fabs(sum / 1e6 + 1) < 0.01 && fabs(square / 1e6 - 4) < 0.03, "normal: mean %g, variance %g", sum / 1e6, square / 1e6);
    uint8_t *k = values_of("random:shape=1000000,dist=integer,low=3,high=9,dtype=u8", &n);
    size_t seen[256] = {0};
    for (size_t i = 0; i < n; i++)
        seen[k[i]]++;
    int good = 1;
    for (int v = 0; v < 256; v++)
        good &= v < 3 || v > 8 ? seen[v] == 0 : fabs(seen[v] / 1e6 - 1 / 6.0) < 0.002;
    ok(good, "integer: 3 to 8 alike");
    free(u), free(z), free(k);
}

/* The nearest f16 or bf16, ties to even, in doubles. */
static double nearest(double x, int bits, int least)
{
    int e;
    frexp(x, &e);
    double unit = ldexp(1, (e - bits > least ? e - bits : least));
    return rint(x / unit) * unit;
}

static double f16_to_double(uint16_t h)
{
    int e = h >> 10 & 31;
    double m = e ? ldexp(1024 + (h & 1023), e - 25) : ldexp(h & 1023, -24);
    return e == 31 ? INFINITY : h & 0x8000 ? -m : m;
}

static double bf16_to_double(uint16_t h)
{
    float x;
    uint32_t bits = (uint32_t)h << 16;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void test_halves(void)
{
    size_t n;
    float *f = values_of("random:shape=300000,dist=normal,mean=1e-5,std=4e-5", &n);
    uint16_t *h = values_of("random:shape=300000,dist=normal,mean=1e-5,std=4e-5,dtype=f16", &n);
    uint16_t *b = values_of("random:shape=300000,dist=normal,mean=1e-5,std=4e-5,dtype=bf16", &n);
    int good16 = 1, goodb = 1;
    for (size_t i = 0; i < n; i++) {
        good16 &= f16_to_double(h[i]) == nearest(f[i], 11, -24);
        goodb &= bf16_to_double(b[i]) == nearest(f[i], 8, -133);
    }
    ok(n > 0 && good16, "f16 is f32 rounded, subnormal and normal");
    ok(n > 0 && goodb, "bf16 is f32 rounded");
    free(f), free(h), free(b);
    h = values_of("random:shape=100000,dtype=f16", &n);
    b = values_of("random:shape=100000,dtype=bf16", &n);
    good16 = goodb = 1;
    for (size_t i = 0; i < n; i++)
        good16 &= f16_to_double(h[i]) < 1, goodb &= bf16_to_double(b[i]) < 1;
    ok(n > 0 && good16 && goodb, "uniform f16 and bf16 stay below 1");
    free(h), free(b);
}

static void test_index(void)
{
    size_t n;
    uint8_t *k = values_of("random:shape=256,dist=index,dtype=u8", &n);
    uint8_t *b = values_of("random:shape=2,dist=index,dtype=bool", &n);
    int64_t *l = values_of("random:shape=10x100,dist=index", &n);
    uint16_t *h = values_of("random:shape=2049,dist=index,dtype=f16", &n);
    int good = b[0] == 0 && b[1] == 1;
    for (size_t i = 0; i < 1000; i++)
        good &= k[i % 256] == i % 256 && l[i] == (int64_t)i;
    for (size_t i = 0; i < 2049; i++)
        good &= f16_to_double(h[i]) == (double)i;
    ok(good, "index is the element's number");
    free(k), free(b), free(l), free(h);
    struct cud_source s;
    struct cud_err err = {0};
    double x[2];
    const char *path = "random:shape=1000000000000,dist=index,dtype=f64";
    if (went(cud_source_open(path, &nothing, &s, &err), &err, "10^12 of them")) {
        went(s.format->read(&s, 999999999998, 2, x, &err), &err, "  the last two");
        ok(x[0] == 999999999998 && x[1] == 999999999999, "  are right");
        cud_source_close(&s);
    }
}

static int same(const char *one, const char *two)
{
    size_t n, m;
    unsigned char *a = values_of(one, &n), *b = values_of(two, &m);
    int equal = n == m && n > 0 && memcmp(a, b, 4 * n) == 0;
    free(a);
    free(b);
    return equal;
}

static int same_identity(const char *one, const char *two)
{
    struct cud_source a = {0}, b = {0};
    struct cud_err err = {0};
    int good = cud_source_open(one, &nothing, &a, &err) == CUD_OK && cud_source_open(two, &nothing, &b, &err) == CUD_OK &&
               memcmp(a.identity, b.identity, sizeof a.identity) == 0;
    cud_source_close(&a);
    cud_source_close(&b);
    return good;
}

static void test_what_counts(void)
{
    ok(same("random:shape=100", "random:shape=10x10,dist=uniform,seed=0,dtype=f32,low=0,high=1"), "defaults, and any shape");
    ok(same("random:shape='10,10'", "random:shape=10x10"), "a quoted value may have commas");
    ok(!same("random:shape=100", "random:shape=100,seed=1"), "another seed");
    ok(!same("random:shape=100,seed=1", "random:shape=100,seed=4294967297"), "all 64 bits of it");
    ok(same_identity("random:shape=100", "random:seed=0,shape=100"), "identity: however it is written");
    ok(!same_identity("random:shape=100", "random:shape=10x10"), "  not of another shape");
    ok(!same_identity("random:shape=100", "random:shape=100,seed=1"), "  not of another seed");
    ok(!same_identity("random:shape=100", "random:shape=100,high=2"), "  not of other bounds");
    ok(!same_identity("random:shape=100", "random:shape=100,dist=normal"), "  not of another distribution");
}

/* The same bytes from every compiler and CPU: hashes of the first version's. */
static void test_pinned(void)
{
    static const struct { const char *path; uint64_t hash; } pinned[] = {
        {"random:shape=10007,seed=5,dist=uniform,low=-3,high=7", 0x6a02c06ebb96e50f},
        {"random:shape=10007,seed=5,dist=uniform,dtype=f64,low=-3,high=7", 0x2640ca535f77cde4},
        {"random:shape=10007,seed=5,dist=normal,mean=1,std=3", 0x073bdc22f0d0ec12},
        {"random:shape=10007,seed=5,dist=normal,dtype=f64,mean=1,std=3", 0xb3a6fd5b70bacecf},
        {"random:shape=10007,seed=5,dist=normal,dtype=f16", 0x5f4f2240072771ea},
        {"random:shape=10007,seed=5,dist=normal,dtype=bf16", 0x71cff8b03d54b728},
        {"random:shape=10007,seed=5,dist=integer,dtype=i64,low=-1000000000000,high=1000000000000", 0xca1b9d68cbe07a99},
    };
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) {
        enum cud_type type = CUD_F32;
        size_t n;
        const char *dtype = strstr(pinned[i].path, "dtype=");
        char name[8] = "f32";
        if (dtype)
            snprintf(name, sizeof name, "%.*s", (int)strcspn(dtype + 6, ","), dtype + 6);
        cud_type_find(name, &type);
        void *values = values_of(pinned[i].path, &n);
        uint64_t hash = XXH3_64bits(values, n * cud_type_bytes(type));
        ok(hash == pinned[i].hash, "%s: %016llx", pinned[i].path, (unsigned long long)hash);
        free(values);
    }
}

/* ---- parameters */

static void test_refused(void)
{
    static const struct { const char *path, *says; } bad[] = {
        {"random:", "say how much, for example random:shape=1000000x16"},
        {"random:seed=1", "say how much"},
        {"random:shape", "'shape' should read KEY=VALUE"},
        {"random:5:shape=3", "'5' should read KEY=VALUE"},
        {"random:shape=3,sed=1", "sed= is no parameter (did you mean seed=?); they are shape=, dist="},
        {"random:shape=3,,seed=1", "',seed=1' should read KEY=VALUE"},
        {"random:shape=3,", "ends in a comma"},
        {"random:shape=3, seed=1", "' seed=1' should read KEY=VALUE"},
        {"random:shape=3,shape=4", "shape= is given twice"},
        {"random:shape='3", "the quote of shape= is not closed"},
        {"random:shape='3'x", "shape '3x'"},
        {"random:shape=3y", "random:shape=3y: shape '3y'"},
        {"random:shape=3x", "shape '3x': '' is not a whole number"},
        {"random:shape=1152921504606846976", "2^63 bytes or more"},
        {"random:shape=0x4611686018427387904", "it makes 2^63 bytes or more"},
        {"random:shape=3,dist=gauss", "dist=gauss: wanted uniform, normal, integer or index"},
        {"random:shape=3,dtype=float", "dtype=float: wanted a type such as f32"},
        {"random:shape=3,dtype=i32", "dtype=i32: wanted f16, bf16, f32 or f64 (or dist=integer)"},
        {"random:shape=3,seed=-1", "seed=-1: wanted a whole number from 0 to 2^64 - 1"},
        {"random:shape=3,seed=18446744073709551616", "wanted a whole number from 0 to 2^64 - 1"},
        {"random:shape=3,seed=", "seed=: wanted a whole number"},
        {"random:shape=3,seed=+1", "seed=+1: wanted a whole number"},
        {"random:shape=3,low=x", "low=x: not a number"},
        {"random:shape=3,low=0x1p3", "low=0x1p3: not a number"},
        {"random:shape=3,high=1e400", "high=1e400: too large for f64"},
        {"random:shape=3,low=nan", "low=nan: wanted a finite number"},
        {"random:shape=3,low=1", "wanted low below high"},
        {"random:shape=3,high=1e39", "in the range of f32"},
        {"random:shape=3,dtype=f16,high=65505", "in the range of f16"},
        {"random:shape=3,dist=normal,std=-1", "std 0 or more"},
        {"random:shape=3,dist=normal,low=0", "low= means nothing for dist=normal"},
        {"random:shape=3,mean=0", "mean= means nothing for dist=uniform"},
        {"random:shape=3,dist=index,high=9", "high= means nothing for dist=index"},
        {"random:shape=3,dist=integer,low=1.5", "low=1.5: wanted a whole number"},
        {"random:shape=3,dist=integer,low=-", "low=-: wanted a whole number"},
        {"random:shape=3,dist=integer,low=-9223372036854775809", "wanted a whole number from -2^63 to"},
        {"random:shape=3,dist=integer,low=100", "low=100 is not below high=100"},
    };
    static const struct { const char *path, *says; } narrow[] = {      /* the type does not hold them */
        {"random:shape=3,dist=integer,high=129,dtype=i8", "i8 does not hold all whole numbers from 0 to 128; dtypes that"},
        {"random:shape=3,dist=integer,low=-1,dtype=u8", "from -1 to 99; dtypes that do: i8 i16 i32 i64 f16 bf16 f32 f64"},
        {"random:shape=3,dist=integer,high=16777218,dtype=f32", "dtypes that do: i32 u32 i64 u64 f64"},
        {"random:shape=3,dist=integer,low=-9223372036854775808,high=9223372036854775807", "i32 does not hold"},
        {"random:shape=129,dist=index,dtype=i8", "from 0 to 128; dtypes that do: u8 i16 u16 i32"},
        {"random:shape=43x3,dist=index,dtype=i8", "from 0 to 128;"},
        {"random:shape=3,dist=index,dtype=bool", "from 0 to 2;"},
        {"random:shape=2050,dist=index,dtype=f16", "f16 does not hold all whole numbers from 0 to 2049; dtypes that do: i16"},
        {"random:shape=4294967297,dist=index,dtype=u32", "dtypes that do: i64 u64 f64"},
        {"random:shape=1000000000000000000,dist=index,dtype=f64", "dtypes that do: i64 u64"},
    };
    struct cud_source s;
    struct cud_err err = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        failed(cud_source_open(bad[i].path, &nothing, &s, &err), CUD_EUSAGE, &err, bad[i].says);
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        failed(cud_source_open(narrow[i].path, &nothing, &s, &err), CUD_EINPUT, &err, narrow[i].says);
    struct cud_given given = {.has_type = true, .type = CUD_F64};
    failed(cud_source_open("random:shape=3", &given, &s, &err), CUD_EUSAGE, &err, "says by itself that it is f32");
    went(cud_source_open("random:shape=3,dtype=f64", &given, &s, &err), &err, "--dtype that says the same");
    cud_source_close(&s);
    const char *all = "random:shape=0x5,dist=integer,low=-128,high=128,dtype=i8";
    went(cud_source_open(all, &nothing, &s, &err), &err, "all of i8, no rows");
    cud_source_close(&s);
}

int main(void)
{
    test_known_answers();
    test_quantile();
    test_all_pieces();
    test_words();
    test_moments();
    test_halves();
    test_index();
    test_what_counts();
    test_pinned();
    test_refused();
    return done_testing();
}
