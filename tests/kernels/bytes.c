/* bytes: runs every kernel of one build over a fixed set of data, and prints a hash for each case.  Builds that agree print
 * the same.  builds.t makes one for each compiler and level; -DBYTES_SUFFIX=cpu_v1 names the kernels' suffix.
 *
 *     bytes [large]       large: more elements */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cudist/kernel.h"

#define PASTE_(k, s) cud_kernel_##k##_##s
#define PASTE(k, s) PASTE_(k, s)
#define KERNEL(k) PASTE(k, BYTES_SUFFIX)
extern const struct cud_kernel KERNEL(affine), KERNEL(convert), KERNEL(copy), KERNEL(dense), KERNEL(exp), KERNEL(log),
    KERNEL(relu), KERNEL(scale), KERNEL(softmax), KERNEL(stats), KERNEL(sum), KERNEL(tanh);

static const unsigned char bytes_of[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};

/* Memory where the kernels run; another file may have it, for kernels that do not run here. */
void *device_new(size_t bytes);
void device_free(void *p);
void device_put(void *device, const void *host, size_t bytes);
void device_get(void *host, const void *device, size_t bytes);
#ifndef BYTES_DEVICE
void *device_new(size_t bytes) { return malloc(bytes); }
void device_free(void *p) { free(p); }
void device_put(void *device, const void *host, size_t bytes) { memcpy(device, host, bytes); }
void device_get(void *host, const void *device, size_t bytes) { memcpy(host, device, bytes); }
#endif

static void *room(size_t bytes)
{
    void *const p = calloc(bytes + 1, 1);
    if (!p)
        abort();
    return p;
}

/* FNV-1a. */
static void say(const char *what, const void *p, size_t bytes)
{
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ ((const unsigned char *)p)[i]) * 0x100000001b3;
    printf("%016llx %s\n", (unsigned long long)h, what);
    fflush(stdout);
}

static uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Kinds of data: small numbers; far from zero; of any size and sign; some not finite; any bits at all.  For stats also: the
 * first 64 of a leaf are far from the rest. */
enum { SMALL, FAR, WIDE, SPECIAL, BITS, KINDS, FIRST = KINDS };

static double number(int kind, uint64_t *state)
{
    const uint64_t b = random_bits(state);
    const double u = (double)(random_bits(state) >> 11) * 0x1p-53;
    switch (kind) {
    case FAR: return 1e8 + u;
    case WIDE: return ldexp(u - 0.5, (int)(b % 240) - 120);
    case SPECIAL: return b % 50 == 0 ? NAN : b % 50 == 1 ? HUGE_VAL : b % 50 == 2 ? -HUGE_VAL : b % 50 == 3 ? -0.0 : 4 * u - 2;
    default: return 4 * u - 2;
    }
}

static void *data(enum cud_type type, int kind, size_t n, uint64_t seed)
{
    const size_t e = bytes_of[type];
    char *const x = room(n * e);
    uint64_t state = seed * 1000 + 10 * (uint64_t)type + (uint64_t)kind;
    for (size_t i = 0; i < n; i++) {
        const bool first = kind == FIRST && i % CUD_LEAF < 64;
        const double d = number(kind, &state) * (first ? 1e20 : 1);
        const float f = (float)d;
        const uint64_t u = random_bits(&state) >> (kind != FIRST ? 0 : first ? 2 : 50);
        memcpy(x + i * e, &u, e);
        if (kind != BITS && type == CUD_F32)
            memcpy(x + i * e, &f, e);
        if (kind != BITS && type == CUD_F64)
            memcpy(x + i * e, &d, e);
    }
    return x;
}

/* A launch: out[1] lies behind out[0]. */
struct launch {
    const struct cud_kernel *kernel;
    struct cud_call call;                  /* pointers apart */
    const void *in[3];                     /* NULL: none */
    size_t in_bytes[3], out_bytes, out1_bytes;
};

/* Copies in, launches, copies out and prints the outputs' hash. */
static void run(const char *what, struct launch l)
{
    const size_t bytes = l.out_bytes + l.out1_bytes;
    void *const out = device_new(bytes + 1), *const host = room(bytes), *const work = device_new(1 << 20);
    void *in[3] = {NULL, NULL, NULL};
    device_put(out, host, bytes);
    for (int i = 0; i < 3; i++)
        if (l.in[i]) {
            l.call.in[i] = in[i] = device_new(l.in_bytes[i] + 1);
            device_put(in[i], l.in[i], l.in_bytes[i]);
        }
    l.call.out[0] = out;
    l.call.out[1] = l.out1_bytes ? (char *)out + l.out_bytes : NULL;
    l.call.work = work;
    const int bad = l.kernel->launch(&l.call);
    if (bad)
        printf("error %d\n", bad);
    device_get(host, out, bytes);
    say(what, host, bytes);
    for (int i = 0; i < 3; i++)
        if (in[i])
            device_free(in[i]);
    device_free(out);
    device_free(work);
    free(host);
}

static void maps(enum cud_type type, size_t n)
{
    static const struct cud_kernel *const maps[] = {&KERNEL(affine), &KERNEL(copy), &KERNEL(exp), &KERNEL(log), &KERNEL(relu),
                                                    &KERNEL(scale), &KERNEL(tanh)};
    const size_t bytes = n * bytes_of[type];
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            char what[80];
            void *const x = data(type, kind, n, 1);
            snprintf(what, sizeof what, "%s, type %d, data %d", maps[i]->name, (int)type, kind);
            run(what, (struct launch){.kernel = maps[i], .call = {.dim = {n, 1, 1}, .param = {1.1, -0.3}, .type = type},
                                      .in = {x}, .in_bytes = {bytes}, .out_bytes = bytes});
            free(x);
        }
}

static void rows(enum cud_type type, size_t n)
{
    static const size_t cols[] = {1, 3, 31, 32, 33, 100, 784, 4096, 4097, 9000};
    for (size_t i = 0; i < sizeof cols / sizeof *cols; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            const size_t m = n / cols[i] + 1, row = cols[i] * bytes_of[type];
            char what[80];
            void *const x = data(type, kind, m * cols[i], 2);
            struct launch l = {.kernel = &KERNEL(sum), .call = {.dim = {m, cols[i], 1}, .type = type}, .in = {x},
                               .in_bytes = {m * row}, .out_bytes = m * bytes_of[type]};
            snprintf(what, sizeof what, "sum, type %d, data %d, rows of %zu", (int)type, kind, cols[i]);
            run(what, l);
            l.kernel = &KERNEL(softmax);
            l.call.dim[2] = cols[i];
            l.out_bytes = m * row;
            snprintf(what, sizeof what, "softmax, type %d, data %d, rows of %zu", (int)type, kind, cols[i]);
            run(what, l);
            free(x);
        }
}

static void dense(enum cud_type type)
{
    static const size_t shapes[][3] = {{1, 1, 1}, {7, 5, 3}, {33, 40, 65}, {65, 33, 130}, {17, 100, 10}};
    const size_t e = bytes_of[type];
    for (size_t i = 0; i < 4 * sizeof shapes / sizeof *shapes; i++) {
        const size_t m = shapes[i / 4][0], k = shapes[i / 4][1], n = shapes[i / 4][2];
        const int kind = i % 2 ? SPECIAL : SMALL, layout = i / 2 % 2, biased = i % 3 != 0, activation = (int)i % 3;
        char what[80];
        void *const x = data(type, kind, m * k, 3), *const w = data(type, SMALL, k * n, 4), *const b = data(type, SMALL, n, 5);
        snprintf(what, sizeof what, "dense, type %d, data %d, %zu x %zu x %zu, layout %d", (int)type, kind, m, k, n, layout);
        run(what, (struct launch){.kernel = &KERNEL(dense), .in = {x, w, biased ? b : NULL},
                                  .call = {.dim = {m, k, n}, .param = {1, biased, activation, layout}, .type = type},
                                  .in_bytes = {m * k * e, k * n * e, n * e}, .out_bytes = m * n * e});
        free(x);
        free(w);
        free(b);
    }
}

static void stats(enum cud_type type, size_t n)
{
    static const size_t units[] = {1, 80, 640, 1568, 4096, 5000, 50176};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        for (int kind = 0; kind <= FIRST; kind++) {
            const size_t unit = units[i], have = unit < 100 ? n / 20 : n;
            const size_t leaves = (have / unit + 1) * ((unit + CUD_LEAF - 1) / CUD_LEAF);
            char what[80];
            void *const x = data(type, kind, have, 6);
            snprintf(what, sizeof what, "stats, type %d, data %d, units of %zu", (int)type, kind, unit);
            run(what, (struct launch){.kernel = &KERNEL(stats), .call = {.dim = {have, 0, unit}, .type = type}, .in = {x},
                                      .in_bytes = {have * bytes_of[type]}, .out_bytes = leaves * sizeof(struct cud_leaf)});
            free(x);
        }
}

static void convert(enum cud_type from, enum cud_type to, size_t n)
{
    const size_t unit = 5000, leaves = (n / unit + 1) * 2;
    for (int kind = SPECIAL; kind <= BITS; kind++) {
        char what[80];
        void *const x = data(from, kind, n, 7);
        snprintf(what, sizeof what, "convert, types %d to %d, data %d", (int)from, (int)to, kind);
        run(what, (struct launch){.kernel = &KERNEL(convert), .in = {x}, .in_bytes = {n * bytes_of[from]},
                                  .call = {.dim = {n, 0, unit}, .param = {(from + to) % 2}, .type = from, .type2 = to},
                                  .out_bytes = (n * bytes_of[to] + 7) / 8 * 8, .out1_bytes = leaves * sizeof(struct cud_lost)});
        free(x);
    }
}

int main(int argc, char **argv)
{
    const size_t n = argc > 1 && strcmp(argv[1], "large") == 0 ? 200003 : 20003;
    static const enum cud_type types[] = {CUD_F32, CUD_F64};
    for (int i = 0; i < 2; i++) {
        maps(types[i], n);
        rows(types[i], n);
        dense(types[i]);
        stats(types[i], n);
    }
    stats(CUD_I64, n);
    stats(CUD_U64, n);
    for (int from = 0; from < CUD_TYPES; from++)
        for (int to = 0; to < CUD_TYPES; to++)
            convert((enum cud_type)from, (enum cud_type)to, n / 2);
    return 0;
}
