#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "number.h"
#include "params.h"
#include "registry.h"
#include "step.h"
#include "text.h"
#include "value.h"

#define BATCH_DEFAULT 1024                 /* rows, when a step sees batches and --batch was not given */

/* ---- one parameter */

static enum cud_status array(const struct cud_loader *loader, struct cud_step *s, size_t i, const char *path,
                             struct cud_err *err)
{
    const size_t at = s->arrays++;
    s->facts.param[i] = *path != 0;
    if (!*path)
        return CUD_OK;
    if (!(s->array_path[at] = strdup(path)))
        return FAIL(err, CUD_EFAILED, "no memory for the name %s", path);
    const enum cud_status status = loader->load(loader->self, path, s->facts.type, &s->facts.array[at], &s->array[at], err);
    cud_err_at(err, "step '%s', %s", s->kernel->name, s->kernel->param[i].name);
    return status;
}

/* Of numbers, a file is told by its name.  One number in it is as if it were written in the step. */
static enum cud_status numbers(const struct cud_loader *loader, struct cud_step *s, size_t i, const char *path,
                               struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const size_t at = s->arrays;
    TRY(array(loader, s, i, path, err));
    struct cud_shape *const shape = &s->facts.array[at];
    if (cud_shape_rows(shape) * cud_shape_cols(shape) == 1) {
        s->facts.param[i] = s->facts.type == CUD_F64 ? *(double *)s->array[at] : *(float *)s->array[at];
        *shape = (struct cud_shape){0};
        free(s->array[at]);
        s->array[at] = NULL;
    }
done:
    return status;
}

static bool is_file(const struct cud_param *p, const char *value)
{
    const size_t n = strlen(value);
    return p->kind == CUD_ARRAY || (p->kind == CUD_NUMBERS && n > 4 && strcmp(value + n - 4, ".npy") == 0);
}

static void append(char text[CUD_STEP_TEXT], const char *more)
{
    const size_t n = strlen(text);
    snprintf(text + n, CUD_STEP_TEXT - n, "%s", more);
}

/* A value as the canonical text has it: quoted where it must be. */
static void append_quoted(char text[CUD_STEP_TEXT], const char *value)
{
    if (!strpbrk(value, ",':")) {
        append(text, value);
        return;
    }
    append(text, "'");
    for (const char *c = value; *c; c++)
        append(text, *c == '\'' ? "''" : (char[2]){*c, 0});
    append(text, "'");
}

static enum cud_status parameter(const struct cud_params *t, const struct cud_loader *loader, struct cud_step *s, size_t i,
                                 struct cud_err *err)
{
    const struct cud_param *const p = &s->kernel->param[i];
    const char *const said = cud_params_find(t, p->name), *const value = said ? said : p->fallback;
    enum cud_status status = CUD_OK;
    struct cud_err why = {0};
    size_t place = 0;
    char shown[32];
    if (!value || (said && !*said))
        return FAIL(err, CUD_EUSAGE, "step '%s' needs a value for %s= (%s)", t->name, p->name, p->help);
    const bool file = is_file(p, value);
    if (p->kind == CUD_ARRAY)
        TRY(array(loader, s, i, value, err));
    else if (file)
        TRY(numbers(loader, s, i, value, err));
    else if (p->kind == CUD_CHOICE)
        TRY(cud_value_choice(value, p->choices, &place, &why));
    else
        TRY(cud_number_read(value, s->facts.type == CUD_F32, &s->facts.param[i], &why));
    if (p->kind == CUD_CHOICE)
        s->facts.param[i] = (double)place;
    s->arrays += p->kind == CUD_NUMBERS && !file;          /* the place of the array that it is not */
    if (!*value)
        return CUD_OK;                     /* an optional array that was not given is not shown */
    append(s->text, strchr(s->text, ':') ? "," : ":");
    append(s->text, p->name);
    append(s->text, "=");
    append_quoted(s->text, p->kind == CUD_CHOICE || file ? value : cud_number_text(s->facts.param[i], false, shown));
done:
    return why.status ? FAIL(err, status, "step '%s': %s=%s: %s%s", t->name, p->name, value, why.text,
                             p->kind == CUD_NUMBERS ? "; a file's name ends in .npy" : "") : status;
}

/* ---- one step */

static enum cud_status unknown_kernel(const char *name, struct cud_err *err)
{
    const char *names[256];
    size_t n = 0;
    const struct cud_kernel *k;
    for (size_t i = 0; (k = cud_registry_kernel_at(i)) && n < sizeof names / sizeof *names; i++)
        if (k->kind != CUD_INTERNAL)
            names[n++] = k->name;
    const size_t colon = strcspn(name, ":");
    for (size_t i = 0; name[colon] && i < n; i++)
        if (strlen(names[i]) == colon && strncmp(names[i], name, colon) == 0)
            return FAIL(err, CUD_EUSAGE, "step '%s': what follows the : should read KEY=VALUE,KEY=VALUE (--list-kernels shows the "
                        "keys; a value with , or : stands in '...')", name);
    const char *const near = cud_registry_nearest(name, names, n);
    return FAIL(err, CUD_EUSAGE, "no kernel is called '%s'%s%s%s (--list-kernels shows them all)", name,
                near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static enum cud_status known_parameters(const struct cud_params *t, const struct cud_kernel *k, struct cud_err *err)
{
    const char *names[CUD_PARAMS_MAX];
    size_t n = 0;
    for (const struct cud_param *p = k->param; p && p->name; p++)
        names[n++] = p->name;
    for (size_t i = 0; i < t->n; i++) {
        bool known = false;
        for (size_t j = 0; j < n; j++)
            known |= strcmp(names[j], t->param[i].key) == 0;
        const char *const near = known ? NULL : cud_registry_nearest(t->param[i].key, names, n);
        if (!known)
            return FAIL(err, CUD_EUSAGE, "step '%s' has no parameter %s=%s%s%s (--list-kernels shows what it takes)", t->name,
                        t->param[i].key, near ? "; did you mean " : "", near ? near : "", near ? "=?" : "");
    }
    return CUD_OK;
}

static enum cud_status resolve(const struct cud_params *t, const struct cud_loader *loader, struct cud_step *s,
                               struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_err why = {0};
    s->kernel = cud_registry_kernel("cpu", t->name);
    if (!s->kernel || s->kernel->kind == CUD_INTERNAL)
        return unknown_kernel(t->name, err);
    TRY(known_parameters(t, s->kernel, err));
    append(s->text, t->name);
    for (size_t i = 0; s->kernel->param && s->kernel->param[i].name; i++)
        TRY(parameter(t, loader, s, i, err));
    if (strlen(s->text) == CUD_STEP_TEXT - 1)
        return FAIL(err, CUD_EUSAGE, "step '%s': its parameters are longer than %d characters", t->name, CUD_STEP_TEXT - 1);
    s->kind = s->kernel->kind;
    s->in_place = s->kernel->in_place || s->kind == CUD_MAP;
    s->cols_out = s->facts.cols;
    if (s->kernel->shape && s->kernel->shape(&s->facts, &s->cols_out, &why) != CUD_OK)
        TRY(FAIL(err, (enum cud_status)why.status, "step '%s': %s", t->name, why.text));
done:
    return status;
}

static enum cud_status resolve_kernel(const char *text, const struct cud_loader *loader, struct cud_step *s, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_params t = {0};
    struct cud_err why = {0};
    if (cud_params_parse(text, &t, &why) != CUD_OK)
        TRY(FAIL(err, (enum cud_status)why.status, "step '%s': %s", text, why.text));
    TRY(resolve(&t, loader, s, err));
done:
    cud_params_free(&t);
    return status;
}

static enum cud_status resolve_expr(const char *text, uint64_t rows, struct cud_step *s, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_expr_array array = {s->facts.type, rows, s->facts.cols};
    char shown[CUD_TEXT_SHOWN];
    struct cud_expr *e = NULL;
    s->kernel = cud_registry_kernel("cpu", "expr");
    TRY(cud_expr_parse(text, &e, err));
    TRY(cud_expr_compile(e, &array, &s->code, err));
    append(s->text, "expr:");
    if (cud_expr_text(e, s->text + strlen(s->text), CUD_STEP_TEXT - strlen(s->text)) >= CUD_STEP_TEXT - strlen("expr:"))
        TRY(FAIL(err, CUD_EUSAGE, "an expression whose numbers have more than %d characters: make it two", CUD_STEP_TEXT));
    s->kind = s->code.flat ? CUD_MAP : CUD_ROWS;
    s->in_place = s->code.in_place;
    s->cols_out = s->code.cols;
    s->facts.param[0] = s->code.by_row;
    s->facts.param[1] = s->code.facts;
done:
    cud_err_at(err, "step '%s'", cud_text_shown(text, shown));
    cud_expr_free(e);
    return status;
}

/* ---- the program */

static enum cud_status add_step(const struct cud_job_step *wanted, const struct cud_loader *loader, uint64_t cols,
                                struct cud_program *p, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_step *const s = &p->step[p->steps++];
    s->facts = (struct cud_step_facts){.type = p->compute, .cols = cols};
    if (wanted->kind == 'e')
        status = resolve_expr(wanted->text, cud_shape_rows(&p->in.shape), s, err);
    else
        status = resolve_kernel(wanted->text, loader, s, err);
    if (status == CUD_OK && strcmp(s->kernel->name, "copy") == 0)
        p->steps--;                        /* values pass untouched, whatever their type: no step does that best */
    return status;
}

/* The output's type where none was asked for. */
static enum cud_type type_of_steps(const struct cud_program *p)
{
    const struct cud_step *const last = p->steps ? &p->step[p->steps - 1] : NULL;
    if (last && last->kernel->whole && last->kernel->whole(&last->facts))
        return CUD_I64;
    return last && !cud_type_is_float(p->in.type) ? p->compute : p->in.type;
}

/* The output's shape: rows as they came in; a row keeps its shape while it keeps its length. */
static void shape_out(struct cud_program *p, uint64_t cols)
{
    p->out.shape = p->in.shape;
    if (cols == cud_shape_cols(&p->in.shape))
        return;
    const uint64_t rows = cud_shape_rows(&p->in.shape);
    p->out.shape = (struct cud_shape){.ndim = cols == 1 ? 1 : 2, .dim = {rows, cols == 1 ? 0 : cols}};
}

static void measure(const struct cud_job *job, struct cud_program *p, uint64_t cols, uint64_t widest)
{
    p->rows = cud_shape_rows(&p->in.shape);
    p->cols_in = cud_shape_cols(&p->in.shape);
    p->cols_out = cols;
    p->cols_widest = widest;
    p->flat = true;
    bool batches = false;
    for (size_t i = 0; i < p->steps; i++) {
        p->flat &= p->step[i].kind == CUD_MAP;
        batches |= p->step[i].kind == CUD_BATCHES;
    }
    p->vendor = batches;
    if (batches)
        p->batch = job->batch ? job->batch : BATCH_DEFAULT;
    if (p->flat) {
        p->rows *= p->cols_in;
        p->cols_in = p->cols_out = p->cols_widest = 1;
    }
    if (p->cols_out == 0)                  /* rows of no elements: nothing to do or to write */
        p->rows = 0;
}

static enum cud_status check_size(const struct cud_program *p, struct cud_err *err)
{
    char text[CUD_SHAPE_TEXT];
    uint64_t bytes;
    if (!cud_shape_bytes(&p->out.shape, 8, &bytes))
        return FAIL(err, CUD_EINPUT, "the output, %s, would have 2^63 bytes or more", cud_shape_text(&p->out.shape, text));
    return CUD_OK;
}

enum cud_status cud_program_make(const struct cud_job *job, const struct cud_array *in, const struct cud_loader *loader,
                                 struct cud_program *program, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_program p = {.in = *in, .compute = cud_type_compute(in->type)};
    uint64_t cols = cud_shape_cols(&in->shape), widest = cols;
    p.step = calloc(job->steps + 1, sizeof *p.step);
    if (!p.step)
        TRY(FAIL(err, CUD_EFAILED, "no memory for %zu steps", job->steps));
    for (size_t i = 0; i < job->steps; i++) {
        const size_t before = p.steps;
        TRY(add_step(&job->step[i], loader, cols, &p, err));
        if (p.steps > before)
            cols = p.step[before].cols_out;
        widest = cols > widest ? cols : widest;
    }
    p.out.type = job->has_out_type ? job->out_type : type_of_steps(&p);
    shape_out(&p, cols);
    measure(job, &p, cols, widest);
    TRY(check_size(&p, err));
    *program = p;
done:
    if (status != CUD_OK)
        cud_program_free(&p);
    return status;
}

void cud_program_free(struct cud_program *program)
{
    for (size_t i = 0; i < program->steps; i++) {
        for (size_t k = 0; k < CUD_ARRAYS_MAX; k++) {
            free(program->step[i].array[k]);
            free(program->step[i].array_path[k]);
        }
        cud_expr_code_free(&program->step[i].code);
    }
    free(program->step);
    free(program->image);
    *program = (struct cud_program){0};
}
