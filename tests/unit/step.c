/* Steps: their parameters, the program they make. */
#include <stdlib.h>
#include <string.h>
#include "step.h"
#include "tap.h"

/* Any path is a 3 x 2 array of zeros; "absent" is not there, "one" is 7, "three" has three elements. */
static enum cud_status load(void *self, const char *path, enum cud_type as, struct cud_shape *shape, void **values,
                            struct cud_err *err)
{
    (void)self;
    if (strcmp(path, "absent") == 0)
        return FAIL(err, CUD_EINPUT, "%s: no such file", path);
    *shape = (struct cud_shape){.ndim = 2, .dim = {3, 2}};
    *values = calloc(6, cud_type_bytes(as));
    if (strcmp(path, "three.npy") == 0)
        *shape = (struct cud_shape){.ndim = 1, .dim = {3}};
    if (strcmp(path, "one.npy") == 0) {
        *shape = (struct cud_shape){0};
        if (as == CUD_F64)
            *(double *)*values = 7;
        else
            *(float *)*values = 7;
    }
    return CUD_OK;
}

static enum cud_status make(const char *const *texts, enum cud_type type, struct cud_shape shape, struct cud_program *p,
                            struct cud_err *err)
{
    static const struct cud_loader loader = {.load = load};
    struct cud_job_step steps[8];
    struct cud_job job = {.step = steps};
    for (; texts[job.steps]; job.steps++)
        steps[job.steps] = (struct cud_job_step){'k', (char *)texts[job.steps]};
    const struct cud_array in = {.shape = shape, .type = type};
    return cud_program_make(&job, &in, &loader, p, err);
}

static void test_program(void)
{
    const struct cud_shape shape = {.ndim = 2, .dim = {10, 3}};
    static const struct {
        const char *text[4];
        enum cud_type in, out;
        uint64_t rows, cols_out, batch;
        bool flat;
        const char *canonical;
    } t[] = {
        {{"scale"}, CUD_F32, CUD_F32, 30, 1, 0, true, "scale:factor=2"},
        {{"scale:factor=0.1"}, CUD_F16, CUD_F16, 30, 1, 0, true, "scale:factor=0.1"},
        {{"scale", "relu"}, CUD_U8, CUD_F32, 30, 1, 0, true, "scale:factor=2"},
        {{"scale"}, CUD_I32, CUD_F64, 30, 1, 0, true, "scale:factor=2"},
        {{"copy"}, CUD_I64, CUD_I64, 30, 1, 0, true, NULL},
        {{"softmax"}, CUD_F64, CUD_F64, 10, 3, 0, false, "softmax"},
        {{"sum"}, CUD_F32, CUD_F32, 10, 1, 0, false, "sum"},
        {{"dense:weights=w.npy", "relu"}, CUD_F32, CUD_F32, 10, 2, 1024, false,
         "dense:weights=w.npy,activation=none,layout=in-out,math=f32"},
        {{"argmax"}, CUD_F32, CUD_I64, 10, 1, 0, false, "argmax"},
        {{"topk:k=2"}, CUD_F16, CUD_F16, 10, 2, 0, false, "topk:k=2,largest=yes,give=values"},
        {{"topk:k=3,give=indices"}, CUD_U8, CUD_I64, 10, 3, 0, false, "topk:k=3,largest=yes,give=indices"},
        {{"argmax", "scale"}, CUD_F32, CUD_F32, 10, 1, 0, false, "argmax"},
        {{"onehot:classes=4"}, CUD_I64, CUD_F64, 10, 12, 0, false, "onehot:classes=4"},
        {{"standardize:std=3"}, CUD_F32, CUD_F32, 10, 3, 0, false, "standardize:mean=0,std=3"},
        {{"standardize:mean=three.npy,std=one.npy"}, CUD_F64, CUD_F64, 10, 3, 0, false,
         "standardize:mean=three.npy,std=one.npy"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct cud_program p = {0};
        struct cud_err err = {0};
        const int fine = make(t[i].text, t[i].in, shape, &p, &err) == CUD_OK;
        ok(fine && p.out.type == t[i].out && p.rows == t[i].rows && p.cols_out == t[i].cols_out && p.batch == t[i].batch &&
           p.flat == t[i].flat && (t[i].canonical ? strcmp(p.step[0].text, t[i].canonical) == 0 : p.steps == 0),
           "%s of %s makes %s, %llu rows of %llu: %s", t[i].text[0], cud_type_name(t[i].in), cud_type_name(p.out.type),
           (unsigned long long)p.rows, (unsigned long long)p.cols_out, fine && p.steps ? p.step[0].text : err.text);
        cud_program_free(&p);
    }
}

static void test_refused(void)
{
    const struct cud_shape shape = {.ndim = 2, .dim = {10, 4}};
    static const struct { const char *text; enum cud_status status; const char *says; } t[] = {
        {"sofmax", CUD_EUSAGE, "softmax"}, {"scale:facto=2", CUD_EUSAGE, "factor"}, {"scale:factor=two", CUD_EUSAGE, "two"},
        {"scale:factor=", CUD_EUSAGE, "needs a value for factor="}, {"convert", CUD_EUSAGE, "no kernel"},
        {"scale:factor", CUD_EUSAGE, "what follows the : should read KEY=VALUE"},
        {"scale:", CUD_EUSAGE, "should read KEY=VALUE"},
        {" scale", CUD_EUSAGE, "did you mean 'scale'? (--list"}, {"scale:factor=1,", CUD_EUSAGE, "ends in a comma"},
        {"scale:factor=1,factor=2", CUD_EUSAGE, "factor= is given twice"}, {"scale:factor= 1", CUD_EUSAGE, "not a number"},
        {"scale:factor=1 ", CUD_EUSAGE, "not a number"}, {"scale:factor=0x10", CUD_EUSAGE, "not a number"},
        {"scale:factor=1e400", CUD_EUSAGE, "factor=1e400: too large for f32"},
        {"scale:factor=1e39", CUD_EUSAGE, "factor=1e39: too large for f32"},
        {"affine:shift=1e-50", CUD_EUSAGE, "shift=1e-50: too small for f32"},
        {"dense", CUD_EUSAGE, "needs a value for weights="}, {"dense:weights=", CUD_EUSAGE, "needs a value for weights="},
        {"dense:weights=''", CUD_EUSAGE, "needs a value for weights="},
        {"dense:weights=w.npy,bias=", CUD_EUSAGE, "needs a value for bias="},
        {"dense:weights=absent", CUD_EINPUT, "absent"}, {"dense:weights=w.npy", CUD_EINPUT, "4"},
        {"dense:weights=w.npy,activation=rel", CUD_EUSAGE, "must be none, relu or tanh; did you mean relu?"},
        {"dense:weights=w.npy,activation=", CUD_EUSAGE, "needs a value for activation="},
        {"standardize:mean=many", CUD_EUSAGE, "write it like 2, -0.5, 1e-3, inf or nan; a file's name ends in .npy"},
        {"standardize:mean=three.npy", CUD_EINPUT, "mean must have 4 elements, one for each column, but its shape is"},
        {"standardize:std=", CUD_EUSAGE, "needs a value for std="}, {"clip", CUD_EUSAGE, "needs min= or max="},
        {"clip:min=2,max=1", CUD_EUSAGE, "min=2 is not at most max=1"}, {"topk", CUD_EUSAGE, "needs a value for k="},
        {"topk:k=5", CUD_EINPUT, "4 elements, fewer than k=5"}, {"topk:k=1.5", CUD_EUSAGE, "k=1.5 is no whole number"},
        {"onehot:classes=0", CUD_EUSAGE, "classes=0 is no whole number from 1"},
        {"round:decimals=nan", CUD_EUSAGE, "decimals=nan"},
        {"cast:dtype=f65", CUD_EUSAGE, "must be bool"},
        {"softplus:beta=0", CUD_EUSAGE, "beta=0 is no finite number other than 0"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct cud_program p = {0};
        struct cud_err err = {0};
        const enum cud_status status = make((const char *[]){t[i].text, NULL}, CUD_F32, shape, &p, &err);
        ok(status == t[i].status && strstr(err.text, t[i].says), "%s is refused: %s", t[i].text, err.text);
    }
}

/* A file's one number is a parameter, many are an array; the places of arrays stay in order. */
static void test_numbers(void)
{
    static const char *const texts[] = {"standardize:mean=one.npy,std=three.npy", "standardize:mean=2,std=three.npy"};
    const struct cud_shape shape = {.ndim = 2, .dim = {10, 3}};
    for (int type = 0; type < 2; type++)
        for (int i = 0; i < 2; i++) {
            struct cud_program p = {0};
            struct cud_err err = {0};
            const bool fine = make((const char *[]){texts[i], NULL}, type ? CUD_F64 : CUD_F32, shape, &p, &err) == CUD_OK;
            const struct cud_step *const s = p.step;
            ok(fine && s->facts.param[0] == (i ? 2 : 7) && !s->array[0] && s->array[1] && s->facts.array[0].ndim == 0 &&
               s->facts.array[1].ndim == 1 && !s->array_path[0] == (i == 1) && s->array_path[1] && s->arrays == 2,
               "%s: a number and an array: %s", texts[i], err.text);
            cud_program_free(&p);
        }
}

int main(void)
{
    test_program();
    test_refused();
    test_numbers();
    return done_testing();
}
