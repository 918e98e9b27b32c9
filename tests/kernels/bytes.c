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
extern const struct cud_kernel KERNEL(affine), KERNEL(convert), KERNEL(copy), KERNEL(dense), KERNEL(exp), KERNEL(log), KERNEL(relu),
    KERNEL(scale), KERNEL(softmax), KERNEL(stats), KERNEL(sum), KERNEL(tanh);

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

/* Kinds of data: small numbers; far from zero; of any size and sign; some not finite; any bits at all. */
enum { SMALL, FAR, WIDE, SPECIAL, BITS, KINDS };

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
    static const unsigned char bytes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};
    char *const x = room(n * bytes[type]);
    uint64_t state = seed * 1000 + 10 * (uint64_t)type + (uint64_t)kind;
    for (size_t i = 0; i < n; i++) {
        const double d = number(kind, &state);
        const float f = (float)d;
        const uint64_t u = random_bits(&state);
        const void *const from = kind != BITS && type == CUD_F32 ? (const void *)&f : kind != BITS && type == CUD_F64 ? (const void *)&d : &u;
        memcpy(x + i * bytes[type], from, bytes[type]);
    }
    return x;
}

struct arrays { const void *p[2]; size_t bytes[2]; };

/* Launches with in and out copied there and back, and prints the hash of both outputs. */
static void run(const char *what, const struct cud_kernel *k, struct cud_call call, const void *in, size_t in_bytes, size_t out_bytes,
                size_t out1_bytes, const struct arrays *arrays)
{
    void *const x = device_new(in_bytes + 1), *const y = device_new(out_bytes + out1_bytes + 1), *const host = room(out_bytes + out1_bytes);
    void *more[2] = {NULL, NULL};
    device_put(x, in, in_bytes);
    device_put(y, host, out_bytes + out1_bytes);
    call.in[0] = x;
    call.out[0] = y;
    call.out[1] = out1_bytes ? (char *)y + out_bytes : NULL;
    for (int i = 0; arrays && i < 2; i++)
        if (arrays->p[i]) {
            more[i] = device_new(arrays->bytes[i]);
            device_put(more[i], arrays->p[i], arrays->bytes[i]);
            call.in[1 + i] = more[i];
        }
    void *const work = device_new(1 << 20);
    call.work = work;
    const int bad = k->launch(&call);
    if (bad)
        printf("error %d\n", bad);
    device_get(host, y, out_bytes + out1_bytes);
    say(what, host, out_bytes + out1_bytes);
    device_free(x);
    device_free(y);
    device_free(work);
    for (int i = 0; i < 2; i++)
        if (more[i])
            device_free(more[i]);
    free(host);
}

static void maps(enum cud_type type, size_t n)
{
    static const struct cud_kernel *const maps[] = {&KERNEL(affine), &KERNEL(copy), &KERNEL(exp), &KERNEL(log), &KERNEL(relu),
                                                    &KERNEL(scale), &KERNEL(tanh)};
    const size_t bytes = n * (type == CUD_F64 ? 8 : 4);
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            char what[80];
            void *const x = data(type, kind, n, 1);
            snprintf(what, sizeof what, "%s, type %d, data %d", maps[i]->name, (int)type, kind);
            run(what, maps[i], (struct cud_call){.dim = {n, 1, 1}, .param = {1.1, -0.3}, .type = type}, x, bytes, bytes, 0, NULL);
            free(x);
        }
}

static void rows(enum cud_type type, size_t n)
{
    static const size_t cols[] = {1, 3, 31, 32, 33, 100, 784, 4096, 4097, 9000};
    const size_t e = type == CUD_F64 ? 8 : 4;
    for (size_t i = 0; i < sizeof cols / sizeof *cols; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            const size_t m = n / cols[i] + 1;
            char what[80];
            void *const x = data(type, kind, m * cols[i], 2);
            snprintf(what, sizeof what, "type %d, data %d, rows of %zu", (int)type, kind, cols[i]);
            run(strcat(what, ": sum"), &KERNEL(sum), (struct cud_call){.dim = {m, cols[i], 1}, .type = type}, x, m * cols[i] * e, m * e, 0, NULL);
            run(strcat(what, ": softmax"), &KERNEL(softmax), (struct cud_call){.dim = {m, cols[i], cols[i]}, .type = type}, x,
                m * cols[i] * e, m * cols[i] * e, 0, NULL);
            free(x);
        }
}

static void dense(enum cud_type type)
{
    static const size_t shapes[][3] = {{1, 1, 1}, {7, 5, 3}, {33, 40, 65}, {65, 33, 130}, {17, 100, 10}};
    const size_t e = type == CUD_F64 ? 8 : 4;
    for (size_t i = 0; i < 4 * sizeof shapes / sizeof *shapes; i++) {
        const size_t m = shapes[i / 4][0], k = shapes[i / 4][1], n = shapes[i / 4][2];
        const int kind = i % 2 ? SPECIAL : SMALL, layout = i / 2 % 2;
        char what[80];
        void *const x = data(type, kind, m * k, 3), *const w = data(type, SMALL, k * n, 4), *const b = data(type, SMALL, n, 5);
        const struct arrays arrays = {{w, i % 3 ? b : NULL}, {k * n * e, n * e}};
        snprintf(what, sizeof what, "dense, type %d, data %d, %zu x %zu x %zu, layout %d", (int)type, kind, m, k, n, layout);
        run(what, &KERNEL(dense), (struct cud_call){.dim = {m, k, n}, .param = {1, i % 3 != 0, (double)(i % 3), layout}, .type = type}, x,
            m * k * e, m * n * e, 0, &arrays);
        free(x);
        free(w);
        free(b);
    }
}

static void stats(enum cud_type type, size_t n)
{
    static const size_t units[] = {1, 80, 640, 1568, 4096, 5000, 50176};
    const size_t e = type == CUD_F32 ? 4 : 8;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            const size_t unit = units[i], have = unit < 100 ? n / 20 : n, each = (unit + CUD_LEAF - 1) / CUD_LEAF;
            char what[80];
            void *const x = data(type, kind, have, 6);
            snprintf(what, sizeof what, "stats, type %d, data %d, units of %zu", (int)type, kind, unit);
            run(what, &KERNEL(stats), (struct cud_call){.dim = {have, 0, unit}, .type = type}, x, have * e,
                (have / unit + 1) * each * sizeof(struct cud_leaf), 0, NULL);
            free(x);
        }
}

static void convert(size_t n)
{
    static const unsigned char bytes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};
    const size_t unit = 5000, leaves = (n / unit + 1) * 2;
    for (int from = 0; from < CUD_TYPES; from++)
        for (int to = 0; to < CUD_TYPES; to++)
            for (int kind = SPECIAL; kind <= BITS; kind++) {
                char what[80];
                void *const x = data((enum cud_type)from, kind, n, 7);
                snprintf(what, sizeof what, "convert, types %d to %d, data %d", from, to, kind);
                run(what, &KERNEL(convert), (struct cud_call){.dim = {n, 0, unit}, .param = {(from + to) % 2}, .type = (enum cud_type)from,
                    .type2 = (enum cud_type)to}, x, n * bytes[from], (n * bytes[to] + 7) / 8 * 8, leaves * sizeof(struct cud_lost), NULL);
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
    convert(n / 2);
    return 0;
}
