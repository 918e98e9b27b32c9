/* Every step against its witness (tests/kernels/NAME.tsv, see witness.py), in every build, in place and not; and all builds
 * give the same bytes. */
#include <stdio.h>
#include "kernels_help.h"

#define GUARD 64                           /* bytes behind an output that must stay as they are */
enum { TYPE, ULPS, COLS_IN, COLS_OUT, PARAMS, IN, OUT, ARRAYS, FIELDS = ARRAYS + CUD_ARRAYS_MAX };

struct numbers {
    size_t n;
    void *p;                               /* float or double */
};

struct witness {
    enum cud_type type;
    uint64_t ulps;
    size_t rows, cols_in, cols_out;
    struct numbers in, out, array[CUD_ARRAYS_MAX];
    struct cud_step_facts facts;
};

static size_t elem_bytes(enum cud_type type) { return type == CUD_F64 ? 8 : 4; }

static double get(const struct numbers *a, enum cud_type type, size_t i)
{
    return type == CUD_F64 ? ((const double *)a->p)[i] : (double)((const float *)a->p)[i];
}

static void put(struct numbers *a, enum cud_type type, double x)
{
    if ((a->n & (a->n - 1)) == 0)
        a->p = realloc(a->p, (a->n ? 2 * a->n : 1) * 8);
    if (!a->p)
        abort();
    if (type == CUD_F64)
        ((double *)a->p)[a->n++] = x;
    else
        ((float *)a->p)[a->n++] = (float)x;
}

static struct numbers parse_numbers(char *text, enum cud_type type)
{
    struct numbers a = {0};
    char *rest = NULL;
    for (char *word = strtok_r(text, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        char *const star = strchr(word, '*');
        size_t times = star ? strtoul(word, NULL, 10) : 1;
        while (times--)
            put(&a, type, strtod(star ? star + 1 : word, NULL));
    }
    return a;
}

static int place(const char *choices, const char *word)
{
    const size_t n = strlen(word);
    for (int i = 0; choices; i++, choices = strchr(choices, ',') ? strchr(choices, ',') + 1 : NULL)
        if (strncmp(choices, word, n) == 0 && (choices[n] == ',' || !choices[n]))
            return i;
    return 0;
}

/* Parameters that are not named have their fallback; arrays are 1 where there is one.  One of numbers has its number or its
 * array. */
static void parse_params(const struct cud_kernel *k, char *text, struct witness *w)
{
    for (int i = 0, array = 0; k->param && k->param[i].name; i++) {
        const struct cud_param *const p = &k->param[i];
        char value[64], *at = strstr(text, p->name);
        snprintf(value, sizeof value, "%s", p->fallback ? p->fallback : "");
        if (at && at[strlen(p->name)] == '=')
            snprintf(value, sizeof value, "%.*s", (int)strcspn(at + strlen(p->name) + 1, ","), at + strlen(p->name) + 1);
        const bool has = (p->kind == CUD_ARRAY || p->kind == CUD_NUMBERS) && w->array[array++].n > 0;
        if (p->kind == CUD_ARRAY || has)
            w->facts.param[i] = has;
        else
            w->facts.param[i] = p->kind == CUD_CHOICE ? place(p->choices, value) : strtod(value, NULL);
    }
}

static void parse_array(char *text, struct witness *w, int i)
{
    struct cud_shape *const s = &w->facts.array[i];
    if (*text == '-')
        return;
    for (char *p = text; *p && *p != ':'; p += *p == 'x')
        s->dim[s->ndim++] = strtoul(p, &p, 10);
    w->array[i] = parse_numbers(strchr(text, ':') + 1, w->type);
}

/* *in: the input's text, for lines whose input is that of the line before; the caller frees it in the end. */
static struct witness parse(const struct cud_kernel *k, char *line, char **in)
{
    struct witness w = {0};
    char *field[FIELDS] = {0}, *rest = NULL;
    int n = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *p = strtok_r(line, "\t", &rest); p && n < FIELDS; p = strtok_r(NULL, "\t", &rest))
        field[n++] = p;
    if (n < ARRAYS)
        return w;
    w.type = strcmp(field[TYPE], "f64") == 0 ? CUD_F64 : CUD_F32;
    w.ulps = strtoul(field[ULPS], NULL, 10);
    w.cols_in = strtoul(field[COLS_IN], NULL, 10);
    w.cols_out = strtoul(field[COLS_OUT], NULL, 10);
    if (strcmp(field[IN], "=") != 0) {
        free(*in);
        *in = strdup(field[IN]);
    }
    char *const numbers = strdup(*in ? *in : "");
    w.in = parse_numbers(numbers, w.type);
    free(numbers);
    w.out = parse_numbers(field[OUT], w.type);
    w.rows = w.cols_in ? w.in.n / w.cols_in : 0;
    for (int i = 0; ARRAYS + i < n; i++)
        parse_array(field[ARRAYS + i], &w, i);
    w.facts.type = w.type;
    w.facts.cols = w.cols_in;
    parse_params(k, field[PARAMS], &w);
    return w;
}

static void forget(struct witness *w)
{
    free(w->in.p);
    free(w->out.p);
    for (int i = 0; i < CUD_ARRAYS_MAX; i++)
        free(w->array[i].p);
}

/* A float's place among all floats in order, as an integer. */
static int64_t order(const void *x, enum cud_type type, size_t i)
{
    const int64_t a = type == CUD_F64 ? ((const int64_t *)x)[i] : ((const int32_t *)x)[i];
    return a >= 0 ? a : (type == CUD_F64 ? INT64_MIN : INT32_MIN) - a;
}

/* A NaN must be the one quiet NaN.  No ulps: the same bits, also of a zero. */
static bool close_enough(const void *got, const void *want, enum cud_type type, uint64_t ulps, size_t i)
{
    const size_t e = elem_bytes(type);
    const int64_t a = order(got, type, i), b = order(want, type, i);
    if (type == CUD_F64 && isnan(((const double *)want)[i]))
        return ((const uint64_t *)got)[i] == QUIET_F64;
    if (type == CUD_F32 && isnan(((const float *)want)[i]))
        return ((const uint32_t *)got)[i] == QUIET_F32;
    if (ulps == 0)
        return memcmp((const char *)got + i * e, (const char *)want + i * e, e) == 0;
    return (a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a) <= ulps;
}

/* Runs the witness's rows `times` over; the output's bytes, GUARD more behind them.  NULL: the launch failed. */
static void *run(const struct cud_kernel *k, const struct witness *w, size_t times, bool in_place)
{
    const size_t e = elem_bytes(w->type), in_bytes = w->in.n * e * times, out_bytes = w->out.n * e * times;
    char *const in = room(in_bytes + e), *const out = room(out_bytes + GUARD + e);
    char *const to = out + e, *const from = in_place ? to : in + e;             /* aligned to an element and no more */
    const size_t work_bytes = k->work_bytes ? k->work_bytes(&w->facts, w->rows * times) : 0;
    void *const work = room(work_bytes);
    struct cud_call call = {.in = {from}, .out = {to}, .dim = {w->rows * times, w->cols_in, w->cols_out}, .type = w->type,
                            .work = work};
    memset(out, 0xa5, out_bytes + GUARD + e);
    for (size_t i = 0; i < times; i++)
        memcpy(from + i * w->in.n * e, w->in.p, w->in.n * e);
    for (int i = 0; i < CUD_ARRAYS_MAX; i++)
        call.in[1 + i] = w->array[i].n ? w->array[i].p : NULL;
    memcpy(call.param, w->facts.param, sizeof call.param);
    const int bad = k->launch(&call);
    void *const result = room(out_bytes + GUARD);
    memcpy(result, to, out_bytes + GUARD);
    free(work);
    free(in);
    free(out);
    if (bad)
        free(result);
    return bad ? NULL : result;
}

/* Against the witness, every time over; nothing written behind. */
static bool right(const struct cud_kernel *k, const struct witness *w, size_t times, const void *got)
{
    const size_t e = elem_bytes(w->type);
    for (size_t i = 0; got && i < w->out.n * times; i++) {
        const struct numbers one = {1, (char *)got + i * e};
        if (!close_enough((const char *)got + i / w->out.n * w->out.n * e, w->out.p, w->type, w->ulps, i % w->out.n)) {
            printf("# %s %s: element %zu of %zu: %a instead of %a\n", k->name, cud_type_name(w->type), i, w->out.n * times,
                   get(&one, w->type, 0), get(&w->out, w->type, i % w->out.n));
            return false;
        }
    }
    for (size_t i = 0; got && i < GUARD; i++)
        if (((const unsigned char *)got)[w->out.n * e * times + i] != 0xa5) {
            printf("# %s: wrote behind its output\n", k->name);
            return false;
        }
    return got != NULL;
}

static bool shape_is_right(const struct cud_kernel *k, const struct witness *w)
{
    struct cud_err err = {0};
    uint64_t cols = w->cols_in;
    const bool good = !k->shape || k->shape(&w->facts, &cols, &err) == CUD_OK;
    if (!good || cols != w->cols_out)
        printf("# %s: %zu columns go out, not %zu: %s\n", k->name, (size_t)cols, w->cols_out, err.text);
    return good && cols == w->cols_out;
}

/* One line of the sheet, every build, few rows and many, in place and not.  *same: whether all builds gave the same bytes. */
static bool check(const char *name, char *line, char **in, bool *same)
{
    struct witness w = parse(kernel_of(ISAS - 1, name), line, in);
    const size_t many = w.in.n ? 3000 / w.in.n + 2 : 1;
    bool good = w.out.n > 0 && w.out.n == w.rows * w.cols_out;
    for (int round = 0; round < 4 && good; round++) {
        const size_t times = round < 2 ? 1 : many;
        void *first = NULL;
        for (int i = 0; i < ISAS; i++) {
            const struct cud_kernel *const k = kernel_of(i, name);
            if (!k || (round % 2 && !k->in_place))
                continue;
            void *const got = run(k, &w, times, round % 2);
            good = good && shape_is_right(k, &w) && right(k, &w, times, got);
            if (first && got && memcmp(first, got, w.out.n * elem_bytes(w.type) * times) != 0) {
                printf("# %s: other bytes from %s\n", name, isas[i]);
                *same = false;
            }
            if (first)
                free(got);
            else
                first = got;
        }
        free(first);
    }
    forget(&w);
    return good;
}

static void check_sheet(const char *name)
{
    char path[4096], *line = NULL, *in = NULL;
    size_t room_for = 0, lines = 0, bad = 0;
    bool same = true;
    snprintf(path, sizeof path, "%s/tests/kernels/%s.tsv", getenv("srcdir") ? getenv("srcdir") : ".", name);
    FILE *const f = fopen(path, "r");
    if (!ok(f != NULL, "%s has a witness, tests/kernels/%s.tsv", name, name))
        return;
    while (getline(&line, &room_for, f) > 0)
        if (line[0] != '#') {
            lines++;
            bad += !check(name, line, &in, &same);
        }
    ok(lines > 0 && bad == 0, "%s: %zu of %zu cases are as the witness says", name, lines - bad, lines);
    ok(same, "%s: the same bytes from every build", name);
    free(in);
    free(line);
    fclose(f);
}

int main(void)
{
    const struct cud_kernel *const *k = cud_registry_build("reversed");
    say_missing();
    for (; *k; k++)
        if ((*k)->kind != CUD_INTERNAL)
            check_sheet((*k)->name);
    return done_testing();
}
