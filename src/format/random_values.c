#include "random.h"

#include <math.h>
#include <string.h>
#include "normal.h"
#include "philox.h"

/* Random words to numbers, numbers to the type, a piece at a time. */
#define WORDS (4 * CUD_PHILOX_BLOCKS)

struct piece {
    size_t n;                              /* at most WORDS */
    const uint32_t *words;
    union {                                /* index and integer; uniform and normal of f64; of the shorter floats */
        int64_t whole[WORDS];
        double real[WORDS];
        float single[WORDS];
    } value;
};

static uint16_t to_bf16(float x)           /* finite */
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static uint16_t to_f16(float x)            /* finite */
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    if (bits >= 0x47800000)                /* 2^16 and more: infinite */
        return (uint16_t)(sign | 0x7c00);
    if (bits < 0x38800000) {               /* below 2^-14: units of 2^-24, which are also those of floats from 0.5 to 1 */
        float moved = fabsf(x) + 0.5f;
        memcpy(&bits, &moved, sizeof bits);
        return (uint16_t)(sign | (bits - 0x3f000000));
    }
    bits += 0xfff + (bits >> 13 & 1);
    return (uint16_t)(sign | (bits - 0x38000000) >> 13);
}

static bool takes_one_word(const struct cud_random *r, enum cud_type type)
{
    return (r->dist == CUD_UNIFORM || r->dist == CUD_NORMAL) && type != CUD_F64;
}

static uint64_t pair(const uint32_t *words, size_t i)
{
    return words[2 * i] | (uint64_t)words[2 * i + 1] << 32;
}

static void make_uniform(const struct cud_random *r, enum cud_type type, struct piece *p)
{
    if (type == CUD_F64) {
        for (size_t i = 0; i < p->n; i++)
            p->value.real[i] = r->start + r->scale * ((double)(pair(p->words, i) >> 11) * 0x1p-53);
        return;
    }
    unsigned bits = type == CUD_F32 ? 24 : type == CUD_F16 ? 11 : 8;
    float start = (float)r->start, scale = (float)r->scale, unit = 1.0f / (float)(1u << bits);
    for (size_t i = 0; i < p->n; i++)
        p->value.single[i] = start + scale * ((float)(int32_t)(p->words[i] >> (32 - bits)) * unit);
}

static void make_normal(const struct cud_random *r, enum cud_type type, struct piece *p)
{
    if (type == CUD_F64)
        for (size_t i = 0; i < p->n; i++)
            p->value.real[i] = r->start + r->scale * cud_normal_quantile(((double)(pair(p->words, i) >> 12) + 0.5) * 0x1p-52);
    else
        for (size_t i = 0; i < p->n; i++)
            p->value.single[i] = (float)(r->start + r->scale * cud_normal_quantile(((double)p->words[i] + 0.5) * 0x1p-32));
}

/* The upper half of 64 random bits times the range.  Some numbers are likelier than others by range / 2^64. */
static void make_integer(const struct cud_random *r, struct piece *p)
{
    __extension__ typedef unsigned __int128 u128;
    for (size_t i = 0; i < p->n; i++)
        p->value.whole[i] = (int64_t)((uint64_t)r->first + (uint64_t)((u128)pair(p->words, i) * r->range >> 64));
}

#define STORE(T, from, of)                 \
    do {                                   \
        T *to = dst;                       \
        for (size_t i = 0; i < p->n; i++)  \
            to[i] = (T)of(p->value.from[i]);   \
    } while (0)

static void store_single(enum cud_type type, const struct piece *p, void *dst)
{
    if (type == CUD_F32)
        STORE(float, single,);
    else if (type == CUD_F16)
        STORE(uint16_t, single, to_f16);
    else
        STORE(uint16_t, single, to_bf16);
}

static void store_whole(enum cud_type type, const struct piece *p, void *dst)
{
    switch (type) {
    case CUD_BOOL:
    case CUD_I8:
    case CUD_U8: STORE(uint8_t, whole,); break;
    case CUD_I16:
    case CUD_U16: STORE(uint16_t, whole,); break;
    case CUD_I32:
    case CUD_U32: STORE(uint32_t, whole,); break;
    case CUD_I64:
    case CUD_U64: STORE(uint64_t, whole,); break;
    case CUD_F16: STORE(uint16_t, whole, to_f16); break;
    case CUD_BF16: STORE(uint16_t, whole, to_bf16); break;
    case CUD_F32: STORE(float, whole,); break;
    default: STORE(double, whole,); break;
    }
}

static void make_piece(const struct cud_random *r, enum cud_type type, uint64_t elem0, struct piece *p)
{
    if (r->dist == CUD_UNIFORM)
        make_uniform(r, type, p);
    else if (r->dist == CUD_NORMAL)
        make_normal(r, type, p);
    else if (r->dist == CUD_INTEGER)
        make_integer(r, p);
    else
        for (size_t i = 0; i < p->n; i++)
            p->value.whole[i] = (int64_t)(elem0 + i);
}

static void store_piece(const struct cud_random *r, enum cud_type type, const struct piece *p, void *dst)
{
    if (takes_one_word(r, type))
        store_single(type, p, dst);
    else if (r->dist == CUD_INTEGER || r->dist == CUD_INDEX)
        store_whole(type, p, dst);
    else
        STORE(double, real,);
}

void cud_random_values(const struct cud_random *r, enum cud_type type, uint64_t elem0, uint64_t elems, void *dst)
{
    unsigned per_block = takes_one_word(r, type) ? 4 : 2;
    uint32_t key[2] = {(uint32_t)r->seed, (uint32_t)(r->seed >> 32)}, words[WORDS];
    struct piece p;
    for (unsigned char *to = dst; elems > 0; to += p.n * cud_type_bytes(type), elem0 += p.n, elems -= p.n) {
        uint64_t block = elem0 / per_block, skip = elem0 % per_block, most = per_block * CUD_PHILOX_BLOCKS - skip;
        p.n = (size_t)(elems < most ? elems : most);
        p.words = words + skip * (4 / per_block);
        if (r->dist != CUD_INDEX)
            cud_philox(key, (uint32_t[4]){(uint32_t)block, (uint32_t)(block >> 32), 0, 0}, words);
        make_piece(r, type, elem0, &p);
        store_piece(r, type, &p, to);
    }
}
