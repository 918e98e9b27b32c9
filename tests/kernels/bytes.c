/* bytes: runs every kernel of one build over a fixed set of data, and prints a hash for each case.  Builds that agree print
 * the same.  builds.t makes one for each compiler and level, with a tables.inc of its kernels and those of functions.cu.
 *
 *     bytes [large]       large: more elements */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cudist/kernel.h"
#include "functions.h"
#include "tables.inc"                     /* kernels, NULL at the end */

static const unsigned char bytes_of[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};

static void *room(size_t bytes)
{
    void *const p = calloc(bytes + 1, 1);
    if (!p)
        abort();
    return p;
}

static void die(const char *name, const char *why)
{
    fprintf(stderr, "%s: %s\n", name, why);
    exit(1);
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
    size_t out_bytes, out1_bytes;
};

/* Launches, and prints the outputs' hash. */
static void run(const char *what, struct launch l)
{
    const size_t bytes = l.out_bytes + l.out1_bytes;
    char *const out = room(bytes);
    void *const work = room(1 << 20);
    for (int i = 0; i < 3; i++)
        l.call.in[i] = l.in[i];
    l.call.out[0] = out;
    l.call.out[1] = l.out1_bytes ? out + l.out_bytes : NULL;
    l.call.work = work;
    const int bad = l.kernel->launch(&l.call);
    if (bad)
        printf("error %d\n", bad);
    say(what, out, bytes);
    free(out);
    free(work);
}

/* Numbers that leave no kernel as it is, or whole ones.  Each choice of each parameter has its turn, then the others have their
 * first.  False: no such turn. */
static bool set_params(const struct cud_kernel *k, int turn, bool whole, double param[CUD_PARAMS_MAX])
{
    static const double numbers[CUD_PARAMS_MAX] = {1.1, -0.3, 0.7, 2.5, -1.9, 3.1, 0.2, -0.6};
    int first = 0;                         /* the turn in which this parameter's first choice is made */
    for (int i = 0; k->param && k->param[i].name; i++) {
        int choices = k->param[i].kind == CUD_CHOICE;
        param[i] = choices ? 0 : whole ? i + 2 : numbers[i];
        for (const char *c = choices ? k->param[i].choices : ""; *c; c++)
            choices += *c == ',';
        if (turn >= first && turn < first + choices)
            param[i] = turn - first;
        first += choices;
    }
    return turn < (first ? first : 1);
}

/* Sets parameters that it takes for rows of facts->cols, and what goes out then.  False: there are none. */
static bool takes(const struct cud_kernel *k, int turn, struct cud_step_facts *facts, uint64_t *cols_out)
{
    struct cud_err err = {0};
    for (int whole = 0; whole < 2; whole++) {
        *cols_out = facts->cols;
        set_params(k, turn, whole, facts->param);
        if (!k->shape || k->shape(facts, cols_out, &err) == CUD_OK)
            return true;
    }
    return false;
}

static bool step_of(const struct cud_kernel *k, enum cud_type type, int turn, size_t m, size_t cols)
{
    struct cud_step_facts facts = {.type = type, .cols = cols};
    uint64_t cols_out;
    if (!takes(k, turn, &facts, &cols_out))
        return false;
    for (int kind = 0; kind < KINDS; kind++) {
        char what[80];
        void *const x = data(type, kind, m * cols, 2);
        struct launch l = {.kernel = k, .call = {.dim = {m, cols, cols_out}, .type = type}, .in = {x},
                           .out_bytes = m * cols_out * bytes_of[type]};
        memcpy(l.call.param, facts.param, sizeof facts.param);
        snprintf(what, sizeof what, "%s, turn %d, type %d, data %d, rows of %zu", k->name, turn, (int)type, kind, cols);
        run(what, l);
        free(x);
    }
    return true;
}

/* A step without arrays: elements where rows do not matter, else rows of several lengths. */
static void step(const struct cud_kernel *k, enum cud_type type, size_t n)
{
    static const size_t lengths[] = {1, 3, 31, 32, 33, 100, 784, 4096, 4097, 9000};
    double param[CUD_PARAMS_MAX];
    for (int turn = 0; set_params(k, turn, false, param); turn++) {
        bool any = false;
        for (size_t i = 0; i < (k->kind == CUD_MAP ? 1 : sizeof lengths / sizeof *lengths); i++)
            any |= step_of(k, type, turn, k->kind == CUD_MAP ? n : n / lengths[i] + 1, lengths[i]);
        if (!any)
            die(k->name, "it takes none of the parameters that bytes.c has");
    }
}

static void functions(const struct cud_kernel *kernel, enum cud_type type, size_t n)
{
    static const char *const names[] = {
#define AS_NAME(name, x_y, most) #name,
        FUNCTIONS(AS_NAME)
    };
    for (int f = 0; f < (int)(sizeof names / sizeof *names); f++)
        for (int kind = 0; kind < KINDS; kind++) {
            char what[80];
            void *const x = data(type, kind, n, 8), *const y = data(type, kind, n, 9);
            snprintf(what, sizeof what, "function %s, type %d, data %d", names[f], (int)type, kind);
            run(what, (struct launch){.kernel = kernel, .call = {.dim = {n, 1, 1}, .param = {f}, .type = type}, .in = {x, y},
                                      .out_bytes = n * bytes_of[type]});
            free(x);
            free(y);
        }
}

static void dense(const struct cud_kernel *kernel, enum cud_type type)
{
    static const size_t shapes[][3] = {{1, 1, 1}, {7, 5, 3}, {33, 40, 65}, {65, 33, 130}, {17, 100, 10}};
    const size_t e = bytes_of[type];
    for (size_t i = 0; i < 4 * sizeof shapes / sizeof *shapes; i++) {
        const size_t m = shapes[i / 4][0], k = shapes[i / 4][1], n = shapes[i / 4][2];
        const int kind = i % 2 ? SPECIAL : SMALL, layout = i / 2 % 2, biased = i % 3 != 0, activation = (int)i % 3;
        char what[80];
        void *const x = data(type, kind, m * k, 3), *const w = data(type, SMALL, k * n, 4), *const b = data(type, SMALL, n, 5);
        snprintf(what, sizeof what, "dense, type %d, data %d, %zu x %zu x %zu, layout %d", (int)type, kind, m, k, n, layout);
        run(what, (struct launch){.kernel = kernel, .in = {x, w, biased ? b : NULL},
                                  .call = {.dim = {m, k, n}, .param = {1, biased, activation, layout}, .type = type},
                                  .out_bytes = m * n * e});
        free(x);
        free(w);
        free(b);
    }
}

static void stats(const struct cud_kernel *kernel, enum cud_type type, size_t n)
{
    static const size_t units[] = {1, 80, 640, 1568, 4096, 5000, 50176};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        for (int kind = 0; kind <= FIRST; kind++) {
            const size_t unit = units[i], have = unit < 100 ? n / 20 : n;
            const size_t leaves = (have / unit + 1) * ((unit + CUD_LEAF - 1) / CUD_LEAF);
            char what[80];
            void *const x = data(type, kind, have, 6);
            snprintf(what, sizeof what, "stats, type %d, data %d, units of %zu", (int)type, kind, unit);
            run(what, (struct launch){.kernel = kernel, .call = {.dim = {have, 0, unit}, .type = type}, .in = {x},
                                      .out_bytes = leaves * sizeof(struct cud_leaf)});
            free(x);
        }
}

static void convert(const struct cud_kernel *kernel, enum cud_type from, enum cud_type to, size_t n)
{
    const size_t unit = 5000, leaves = (n / unit + 1) * 2;
    for (int kind = SPECIAL; kind <= BITS; kind++) {
        char what[80];
        void *const x = data(from, kind, n, 7);
        snprintf(what, sizeof what, "convert, types %d to %d, data %d", (int)from, (int)to, kind);
        run(what, (struct launch){.kernel = kernel, .in = {x}, .out_bytes = (n * bytes_of[to] + 7) / 8 * 8,
                                  .call = {.dim = {n, 0, unit}, .param = {(from + to) % 2}, .type = from, .type2 = to},
                                  .out1_bytes = leaves * sizeof(struct cud_lost)});
        free(x);
    }
}

static bool takes_arrays(const struct cud_kernel *k)
{
    for (const struct cud_param *p = k->param; p && p->name; p++)
        if (p->kind == CUD_ARRAY)
            return true;
    return false;
}

/* What is no plain step has data made for it, by its name. */
static void kernel(const struct cud_kernel *k, size_t n)
{
    static const enum cud_type computed[] = {CUD_F32, CUD_F64}, summed[] = {CUD_F32, CUD_F64, CUD_I64, CUD_U64};
    if (strcmp(k->name, "convert") == 0)
        for (int pair = 0; pair < CUD_TYPES * CUD_TYPES; pair++)
            convert(k, (enum cud_type)(pair / CUD_TYPES), (enum cud_type)(pair % CUD_TYPES), n / 2);
    else if (strcmp(k->name, "stats") == 0)
        for (int i = 0; i < 4; i++)
            stats(k, summed[i], n);
    else if (strcmp(k->name, "dense") == 0)
        for (int i = 0; i < 2; i++)
            dense(k, computed[i]);
    else if (strcmp(k->name, "functions") == 0)
        for (int i = 0; i < 2; i++)
            functions(k, computed[i], n);
    else if (k->kind == CUD_INTERNAL || takes_arrays(k))
        die(k->name, "bytes.c has no data for it");
    else
        for (int i = 0; i < 2; i++)
            step(k, computed[i], n);
}

int main(int argc, char **argv)
{
    const size_t n = argc > 1 && strcmp(argv[1], "large") == 0 ? 200003 : 20003;
    for (const struct cud_kernel *const *k = kernels; *k; k++)
        kernel(*k, n);
    return 0;
}
