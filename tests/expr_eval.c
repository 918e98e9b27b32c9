/* Works out expressions for tests/program/expr.t, in every build of the kernels that this CPU runs, in place too where that is
 * allowed, and says whether all gave the same bytes.
 *
 * Lines in: "data f32|f64 ROWS COLS ROW0 NROWS HEX...", the array's elements; "expr TEXT", on the array before it.
 * A line out for each expression: "= COLS HEX...", or "error COLUMN MESSAGE". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "expr.h"
#include "registry.h"

static const char *const isas[] = {"x86-64", "x86-64-v3", "x86-64-v4", "base", "reversed"};
enum { ISAS = sizeof isas / sizeof *isas };

struct data {
    struct cud_expr_array array;           /* rows: of the whole array */
    size_t rows, row0, elem;
    unsigned char *x;
};

static const struct cud_kernel *find(const struct cud_kernel *const *k, const char *name)
{
    while (strcmp((*k)->name, name) != 0)
        k++;
    return *k;
}

static void *room(size_t n)
{
    void *const p = calloc(n + 1, 1);
    if (!p)
        exit(99);
    return p;
}

static void read_data(const char *line, struct data *d)
{
    char type[4];
    int at = 0;
    unsigned long long rows, cols, row0, nrows;
    if (sscanf(line, "data %3s %llu %llu %llu %llu%n", type, &rows, &cols, &row0, &nrows, &at) != 5)
        exit(99);
    free(d->x);
    *d = (struct data){.array = {strcmp(type, "f64") == 0 ? CUD_F64 : CUD_F32, nrows, cols}, .rows = rows, .row0 = row0};
    d->elem = cud_type_bytes(d->array.type);
    d->x = room(rows * cols * d->elem);
    for (size_t i = 0; i < rows * cols; i++) {
        char *end;
        const unsigned long long bits = strtoull(line + at, &end, 16);
        at = (int)(end - line);
        memcpy(d->x + i * d->elem, &bits, d->elem);
    }
}

static void run(const struct cud_kernel *const *build, const struct data *d, const struct cud_expr_code *c, const void *in, void *out)
{
    const size_t cols = c->flat ? 1 : d->array.cols, rows = c->flat ? d->rows * d->array.cols : d->rows;
    void *const work = room(CUD_FACTS * d->rows * d->elem);
    const struct cud_call facts = {.in = {in}, .out = {work}, .dim = {rows, cols}, .param = {c->facts}, .type = d->array.type};
    const struct cud_call call = {.in = {in}, .out = {out}, .dim = {rows, cols, c->flat ? 1 : c->cols, c->flat ? d->row0 * d->array.cols : d->row0},
                                  .param = {c->by_row, c->facts}, .type = d->array.type, .code = c->program, .work = work};
    if (c->facts)
        (void)find(build, "rowfacts")->launch(&facts);
    (void)find(build, "expr")->launch(&call);
    free(work);
}

static void evaluate(const struct data *d, const struct cud_expr_code *c)
{
    const size_t n = d->rows * c->cols, bytes = n * d->elem;
    unsigned char *const first = room(bytes), *const next = room(bytes);
    int builds = 0;
    for (int k = 0; k < ISAS; k++) {
        const struct cud_kernel *const *const build = cud_registry_build(isas[k]);
        if (!build)
            continue;
        run(build, d, c, d->x, builds++ ? next : first);
        if (builds > 1 && memcmp(first, next, bytes) != 0)
            printf("(%s differs) ", isas[k]);
        if (!c->in_place)
            continue;
        memcpy(next, d->x, bytes);
        run(build, d, c, next, next);
        if (memcmp(first, next, bytes) != 0)
            printf("(%s in place differs) ", isas[k]);
    }
    printf("= %llu", (unsigned long long)c->cols);
    for (size_t i = 0; i < n; i++) {
        unsigned long long bits = 0;
        memcpy(&bits, first + i * d->elem, d->elem);
        printf(" %llx", bits);
    }
    putchar('\n');
    free(first);
    free(next);
}

int main(void)
{
    struct data d = {0};
    char *line = NULL;
    size_t size = 0;
    for (ssize_t n; (n = getline(&line, &size, stdin)) > 0;) {
        struct cud_expr *e = NULL;
        struct cud_expr_code c = {0};
        struct cud_err err = {0};
        line[n - (line[n - 1] == '\n')] = '\0';
        if (strncmp(line, "data ", 5) == 0) {
            read_data(line, &d);
            continue;
        }
        if (cud_expr_parse(line + 5, &e, &err) == CUD_OK && cud_expr_compile(e, &d.array, &c, &err) == CUD_OK)
            evaluate(&d, &c);
        else
            printf("error %d %s\n", err.caret, err.text);
        cud_expr_code_free(&c);
        cud_expr_free(e);
    }
    free(line);
    free(d.x);
    return 0;
}
