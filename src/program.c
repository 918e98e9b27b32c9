#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "number.h"
#include "program.h"
#include "registry.h"
#include "text.h"
#include "trace.h"

#define PIECE_ELEMS 16384                  /* on a shared device steps follow one another over so many elements of the widest
                                            * row at a time (or one unit), so that they find them in the core's own cache */

#define LABEL 256

struct cud_loaded {
    const struct cud_program *program;
    const struct cud_device *device;
    struct cud_dev *dev;
    const struct cud_kernel *convert, *stats, **kernel;   /* kernel[i]: of step i */
    char (*label)[LABEL];                  /* label[i]: what messages call step i */
    void *(*array)[CUD_ARRAYS_MAX];        /* array[i]: device copies of step i's */
    void **code;                           /* code[i]: of step i's program */
    struct cud_image *image;               /* the steps' expressions, compiled; or NULL */
    const void **function;                 /* function[i]: step i's in it, or NULL */
    const struct cud_kernel *rowfacts;
    const struct cud_gemm *gemm;
};

struct cud_scratch {
    const struct cud_loaded *loaded;
    uint64_t unit_rows, piece_rows;
    void *value[2];                        /* the values between steps */
    void *wide;                            /* the output as the statistics want it */
    void *work;
    struct cud_leaf *leaf;                 /* NULL on a shared device: results go straight to the piece's */
    struct cud_lost *lost;
};

uint64_t cud_program_leaves(const struct cud_program *p, uint64_t unit_rows, uint64_t rows)
{
    const uint64_t unit = unit_rows * p->cols_out, rest = rows % unit_rows * p->cols_out;
    return rows / unit_rows * ((unit + CUD_LEAF - 1) / CUD_LEAF) + (rest + CUD_LEAF - 1) / CUD_LEAF;
}

/* ---- loading */

/* A device copy. */
static enum cud_status load(const struct cud_loaded *l, const void *host, size_t bytes, void **device, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_stream *stream = NULL;
    void *p = NULL;
    TRY(l->device->alloc(l->dev, CUD_ON_DEVICE, bytes, &p, err));
    TRY(l->device->stream(l->dev, 0, &stream, err));
    TRY(l->device->put(stream, p, host, bytes, err));
    TRY(l->device->wait(stream, err));
    *device = p;
    p = NULL;
done:
    l->device->stream_free(stream);
    l->device->free(l->dev, CUD_ON_DEVICE, p);
    return status;
}

static enum cud_status load_array(const struct cud_loaded *l, const struct cud_step *s, size_t i, void **device, struct cud_err *err)
{
    uint64_t bytes = 0;
    if (!s->array[i])
        return CUD_OK;
    if (!cud_shape_bytes(&s->facts.array[i], cud_type_bytes(s->facts.type), &bytes))
        return FAIL(err, CUD_EINPUT, "step '%s': an array has more than 2^63 bytes", s->text);
    return load(l, s->array[i], bytes, device, err);
}

static enum cud_status find_kernel(const struct cud_loaded *l, const char *name, const struct cud_kernel **kernel, struct cud_err *err)
{
    *kernel = cud_registry_kernel(l->device->name, name);
    return *kernel ? CUD_OK : FAIL(err, CUD_EFAILED, "kernel '%s' was not built for %s", name, l->device->name);
}

uint64_t cud_program_bytes(const struct cud_program *p)
{
    uint64_t all = 0, bytes = 0;
    for (size_t i = 0; i < p->steps; i++) {
        all += p->step[i].code.program_bytes;
        for (size_t k = 0; k < p->step[i].arrays; k++)
            if (p->step[i].array[k] && cud_shape_bytes(&p->step[i].facts.array[k], cud_type_bytes(p->step[i].facts.type), &bytes))
                all += bytes;
    }
    return all;
}

/* Of step i's kernel in the image. */
static const char *function_name(size_t i, char name[32])
{
    snprintf(name, 32, "cud_step_%zu", i + 1);
    return name;
}

static enum cud_status load_step(struct cud_loaded *l, size_t i, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_step *const s = &l->program->step[i];
    char shown[CUD_TEXT_SHOWN], name[32];
    snprintf(l->label[i], sizeof l->label[i], "step %zu (%s)", i + 1, cud_text_shown(s->text, shown));
    TRY(find_kernel(l, s->kernel->name, &l->kernel[i], err));
    for (size_t k = 0; k < s->arrays; k++)
        TRY(load_array(l, s, k, &l->array[i][k], err));
    if (s->code.program)
        TRY(load(l, s->code.program, s->code.program_bytes, &l->code[i], err));
    if (s->code.program && l->image)
        l->function[i] = l->device->find(l->image, function_name(i, name));
done:
    cud_err_at(err, "%s", l->label[i]);
    return status;
}

enum cud_status cud_program_load(const struct cud_program *program, const struct cud_device *device, struct cud_dev *dev,
                                 struct cud_loaded **loaded, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    struct cud_loaded *l = calloc(1, sizeof *l);
    if (!l || !(l->kernel = calloc(program->steps + 1, sizeof *l->kernel)) ||
        !(l->label = calloc(program->steps + 1, sizeof *l->label)) || !(l->array = calloc(program->steps + 1, sizeof *l->array)) ||
        !(l->code = calloc(program->steps + 1, sizeof *l->code)) || !(l->function = calloc(program->steps + 1, sizeof *l->function)))
        TRY(FAIL(err, CUD_EFAILED, "no memory to load %zu steps", program->steps));
    l->program = program;
    l->device = device;
    l->dev = dev;
    TRY(find_kernel(l, "convert", &l->convert, err));
    TRY(find_kernel(l, "stats", &l->stats, err));
    TRY(find_kernel(l, "rowfacts", &l->rowfacts, err));
    if (program->image)
        TRY(device->load(dev, program->image, &l->image, err));
    for (size_t i = 0; i < program->steps; i++)
        TRY(load_step(l, i, err));
    char why[200];
    const char *const libs = getenv("CUDIST_LIBS");
    l->gemm = program->vendor && !(libs && strcmp(libs, "own") == 0) ? device->gemm(dev, why) : NULL;
    *loaded = l;
    l = NULL;
done:
    cud_loaded_free(l);
    return status;
}

void cud_loaded_free(struct cud_loaded *l)
{
    if (!l)
        return;
    for (size_t i = 0; l->code && l->program && i < l->program->steps; i++) {
        for (size_t k = 0; k < CUD_ARRAYS_MAX; k++)
            l->device->free(l->dev, CUD_ON_DEVICE, l->array[i][k]);
        l->device->free(l->dev, CUD_ON_DEVICE, l->code[i]);
    }
    if (l->image)
        l->device->unload(l->image);
    free(l->function);
    free(l->code);
    free(l->array);
    free(l->label);
    free(l->kernel);
    free(l);
}

enum cud_status cud_program_compile(const struct cud_program *p, const struct cud_device *device, const char *kind, void **image,
                                    size_t *bytes, char why[200], struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    char *source = NULL, name[32];
    size_t n = 0;
    FILE *const to = open_memstream(&source, &n);
    *image = NULL;
    *bytes = 0;
    if (!to)
        return FAIL(err, CUD_EFAILED, "no memory for the source of expressions");
    fprintf(to, "%s%s", cud_expr_system(), cud_expr_operators());
    for (size_t i = 0; i < p->steps; i++)
        if (p->step[i].code.cuda)
            fprintf(to, "#define NAME %s\n%s#undef NAME\n", function_name(i, name), p->step[i].code.cuda);
    if (fclose(to) != 0)
        status = FAIL(err, CUD_EFAILED, "no memory for the source of expressions");
    else
        status = device->compile(source, kind, image, bytes, why, err);
    free(source);
    return status;
}

size_t cud_program_marks(const struct cud_program *p) { return p->steps + 3; }

const char *cud_loaded_vendor(const struct cud_loaded *l) { return l->gemm ? l->gemm->name : NULL; }

/* ---- scratch */

/* Which type the statistics see for a stored type: themselves, or what holds every value exactly. */
static enum cud_type stats_type(enum cud_type t)
{
    return t == CUD_I64 || t == CUD_U64 ? t : cud_type_compute(t);
}

static bool converts_in(const struct cud_program *p) { return p->steps && (p->in.type != p->compute || p->in.swapped); }
static bool converts_out(const struct cud_program *p) { return p->steps ? p->out.type != p->compute : p->out.type != p->in.type || p->in.swapped; }

/* One step that neither needs its values converted takes them from `in` to `out`; all else goes by way of the buffers. */
static bool needs_values(const struct cud_program *p) { return p->steps && (p->steps > 1 || converts_in(p) || converts_out(p)); }

bool cud_program_passes(const struct cud_program *p) { return p->steps == 0 && !converts_out(p); }

bool cud_program_in_place(const struct cud_program *p)
{
    return p->cols_in * cud_type_bytes(p->in.type) == p->cols_out * cud_type_bytes(p->out.type) &&
           (p->steps != 1 || needs_values(p) || p->step[0].in_place);
}

struct sizes { uint64_t rows, value, wide, work, leaf, lost; };   /* rows: of a piece; bytes */

static struct sizes sizes_of(const struct cud_program *p, bool shared, uint64_t unit_rows, uint64_t rows)
{
    struct sizes s = {.rows = rows};
    if (shared) {
        const uint64_t units = PIECE_ELEMS / cud_max64(1, p->cols_widest * unit_rows);
        s.rows = cud_min64(rows, cud_max64(1, p->batch ? 1 : units) * unit_rows);
    }
    const enum cud_type wide = stats_type(p->out.type);
    s.value = needs_values(p) ? s.rows * p->cols_widest * cud_type_bytes(p->compute) : 0;
    s.wide = wide != p->out.type ? s.rows * p->cols_out * cud_type_bytes(wide) : 0;
    for (size_t i = 0; i < p->steps; i++) {
        const struct cud_step *const step = &p->step[i];
        const bool batches = step->kernel->kind == CUD_BATCHES;
        if (step->kernel->work_bytes)
            s.work = cud_max64(s.work, step->kernel->work_bytes(&step->facts, batches ? cud_min64(p->batch, rows) : s.rows));
    }
    if (p->vendor && !shared)
        s.work = cud_max64(s.work, CUD_GEMM_WORK);
    const uint64_t leaves = shared ? 0 : cud_program_leaves(p, unit_rows, rows);
    s.leaf = leaves * sizeof(struct cud_leaf);
    s.lost = leaves * sizeof(struct cud_lost);
    return s;
}

uint64_t cud_scratch_bytes(const struct cud_program *program, bool shared, uint64_t unit_rows, uint64_t rows)
{
    const struct sizes s = sizes_of(program, shared, unit_rows, rows);
    return 2 * s.value + s.wide + s.work + s.leaf + s.lost;
}

static enum cud_status room(const struct cud_loaded *l, uint64_t bytes, void **p, struct cud_err *err)
{
    return bytes ? l->device->alloc(l->dev, CUD_ON_DEVICE, bytes, p, err) : CUD_OK;
}

enum cud_status cud_scratch_make(const struct cud_loaded *loaded, uint64_t unit_rows, uint64_t rows, struct cud_scratch **scratch,
                                 struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct sizes n = sizes_of(loaded->program, loaded->device->shared, unit_rows, rows);
    struct cud_scratch *s = calloc(1, sizeof *s);
    if (!s)
        return FAIL(err, CUD_EFAILED, "no memory for a worker");
    s->loaded = loaded;
    s->unit_rows = unit_rows;
    s->piece_rows = n.rows;
    void *leaf = NULL, *lost = NULL;
    TRY(room(loaded, n.value, &s->value[0], err));
    TRY(room(loaded, n.value, &s->value[1], err));
    TRY(room(loaded, n.wide, &s->wide, err));
    TRY(room(loaded, n.work, &s->work, err));
    TRY(room(loaded, n.leaf, &leaf, err));
    s->leaf = leaf;
    TRY(room(loaded, n.lost, &lost, err));
    s->lost = lost;
    *scratch = s;
    s = NULL;
done:
    cud_scratch_free(s);
    return status;
}

uint64_t cud_scratch_rows(const struct cud_scratch *s) { return s->piece_rows; }

void cud_scratch_free(struct cud_scratch *s)
{
    if (!s)
        return;
    void *const all[] = {s->value[0], s->value[1], s->wide, s->work, s->leaf, s->lost};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        s->loaded->device->free(s->loaded->dev, CUD_ON_DEVICE, all[i]);
    free(s);
}

/* ---- running: one piece that fits the scratch */

struct run {                               /* what every stage of a piece needs */
    const struct cud_loaded *l;
    struct cud_scratch *s;
    struct cud_stream *stream;
    struct cud_piece piece;
    bool warm;                             /* see cud_call */
};

static enum cud_status convert(const struct run *r, enum cud_type from, bool swapped, const void *in, enum cud_type to, void *out,
                               uint64_t cols, struct cud_lost *lost, struct cud_err *err)
{
    const struct cud_call c = {.in = {in}, .out = {out, lost}, .dim = {r->piece.rows * cols, 0, r->s->unit_rows * cols},
                               .param = {swapped}, .type = from, .type2 = to, .warm = r->warm};
    return r->l->device->launch(r->stream, r->l->convert, &c, err);
}

/* What an expression wants to know of its rows goes to work. */
static enum cud_status launch_rowfacts(const struct run *r, const struct cud_step *step, const struct cud_call *of, struct cud_err *err)
{
    const struct cud_call c = {.in = {of->in[0]}, .out = {r->s->work}, .dim = {of->dim[0], of->dim[1]}, .param = {step->code.facts},
                               .type = of->type, .warm = r->warm, .step = of->step};
    return r->l->device->launch(r->stream, r->l->rowfacts, &c, err);
}

/* Step i, on rows of the piece from row `at`. */
static enum cud_status launch_step(const struct run *r, size_t i, uint64_t at, uint64_t rows, const char *src, char *dst,
                                   struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_step *const step = &r->l->program->step[i];
    const bool flat = r->l->program->flat;
    const uint64_t cols = flat ? 1 : step->facts.cols, cols_out = flat ? 1 : step->cols_out;
    const size_t elem = cud_type_bytes(step->facts.type);
    struct cud_call c = {.in = {src + at * cols * elem}, .out = {dst + at * cols_out * elem}, .dim = {rows, cols, cols_out, r->piece.row0 + at},
                         .type = step->facts.type, .warm = r->warm, .step = r->l->label[i], .code = r->l->code[i],
                         .function = r->l->function[i], .gemm = r->l->gemm, .work = r->s->work};
    for (size_t k = 0; k < CUD_ARRAYS_MAX; k++)
        c.in[1 + k] = r->l->array[i][k];
    memcpy(c.param, step->facts.param, sizeof c.param);
    if (step->code.facts)
        TRY(launch_rowfacts(r, step, &c, err));
    TRY(r->l->device->launch(r->stream, r->l->kernel[i], &c, err));
done:
    return status;
}

/* A step that sees batches gets one batch a call. */
static enum cud_status step(const struct run *r, size_t i, const void *src, void *dst, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const uint64_t batch = r->l->program->step[i].kind == CUD_BATCHES ? r->s->unit_rows : r->piece.rows;
    for (uint64_t at = 0; at < r->piece.rows; at += batch)
        TRY(launch_step(r, i, at, cud_min64(batch, r->piece.rows - at), src, dst, err));
done:
    return status;
}

/* Where step i leaves its values: the last one in `out` if they are stored as they are; in place where it may; else in the
 * value buffer that its source is not. */
static void *place_for(const struct run *r, size_t i, const void *src)
{
    const struct cud_program *const p = r->l->program;
    const bool in_place = p->step[i].in_place;
    void *const here = r->s->value[src == r->s->value[1]], *const other = r->s->value[src == r->s->value[0]];
    if (i + 1 == p->steps && !converts_out(p) && (src != r->piece.out || in_place))
        return r->piece.out;
    return in_place && src == here ? here : other;
}

/* Behind what was queued last. */
static enum cud_status mark(const struct run *r, int part, struct cud_err *err)
{
    return r->warm ? CUD_OK : r->l->device->mark(r->stream, part, err);
}

static enum cud_status run_steps(const struct run *r, struct cud_lost *lost, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_program *const p = r->l->program;
    const void *at = r->piece.in;
    if (converts_in(p)) {
        TRY(convert(r, p->in.type, p->in.swapped, at, p->compute, r->s->value[0], p->cols_in, NULL, err));
        TRY(mark(r, CUD_PART_CONVERT, err));
        at = r->s->value[0];
    }
    for (size_t i = 0; i < p->steps; i++) {
        void *const to = place_for(r, i, at);
        TRY(step(r, i, at, to, err));
        TRY(mark(r, CUD_PART_STEP + (int)i, err));
        at = to;
    }
    if (at != r->piece.out || p->steps == 0) {
        TRY(convert(r, p->steps ? p->compute : p->in.type, !p->steps && p->in.swapped, at, p->out.type, r->piece.out, p->cols_out,
                    lost, err));
        TRY(mark(r, CUD_PART_CONVERT, err));
    }
done:
    return status;
}

static enum cud_status run_stats(const struct run *r, struct cud_leaf *leaf, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_program *const p = r->l->program;
    const enum cud_type wide = stats_type(p->out.type);
    const void *x = r->piece.out;
    if (wide != p->out.type) {
        TRY(convert(r, p->out.type, false, x, wide, r->s->wide, p->cols_out, NULL, err));
        x = r->s->wide;
    }
    const struct cud_call c = {.in = {x}, .out = {leaf}, .type = wide, .warm = r->warm,
        .dim = {r->piece.rows * p->cols_out, r->piece.row0 * p->cols_out, r->s->unit_rows * p->cols_out}};
    TRY(r->l->device->launch(r->stream, r->l->stats, &c, err));
    TRY(mark(r, CUD_PART_STATS, err));
done:
    return status;
}

enum cud_status cud_program_run(const struct cud_loaded *loaded, struct cud_scratch *scratch, struct cud_stream *stream,
                                const struct cud_piece *piece, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct run r = {.l = loaded, .s = scratch, .stream = stream, .piece = *piece};
    const struct cud_program *const p = loaded->program;
    const bool shared = loaded->device->shared, counts = converts_out(p);
    const uint64_t leaves = cud_program_leaves(p, scratch->unit_rows, piece->rows);
    struct cud_leaf *const leaf = shared ? piece->leaf : scratch->leaf;
    struct cud_lost *const lost = shared ? piece->lost : scratch->lost;
    if (!cud_program_passes(p))
        TRY(run_steps(&r, counts ? lost : NULL, err));
    TRY(run_stats(&r, leaf, err));
    if (!counts)
        memset(piece->lost, 0, leaves * sizeof *lost);
    else if (!shared)
        TRY(loaded->device->get(stream, piece->lost, lost, leaves * sizeof *lost, err));
    if (!shared)
        TRY(loaded->device->get(stream, piece->leaf, leaf, leaves * sizeof *leaf, err));
done:
    return status;
}

/* A batch, since a vendor's library chooses and loads its kernels by shape; the last one may be shorter. */
static enum cud_status warm(const struct cud_loaded *l, struct cud_scratch *s, struct cud_stream *stream, uint64_t rows, void *in,
                            void *out, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct run r = {.l = l, .s = s, .stream = stream, .piece = {.rows = rows, .in = in, .out = out}, .warm = true};
    if (!cud_program_passes(l->program))
        TRY(run_steps(&r, s->lost, err));
    TRY(run_stats(&r, s->leaf, err));
    TRY(l->device->wait(stream, err));
done:
    return status;
}

enum cud_status cud_program_warm(const struct cud_loaded *l, struct cud_scratch *s, struct cud_stream *stream, void *in, void *out,
                                 struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const uint64_t last = l->program->rows % s->unit_rows;
    if (l->device->shared)
        return CUD_OK;
    TRY(warm(l, s, stream, cud_min64(s->unit_rows, s->piece_rows), in, out, err));
    if (last && l->gemm)
        TRY(warm(l, s, stream, last, in, out, err));
done:
    return status;
}
