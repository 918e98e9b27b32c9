/* Products by cuBLASLt (here its stand-in, which refuses what the library would, and adds in the order of our own kernel): the
 * shapes, layouts and alignments that src/device/cublaslt.c asks for are right, and a failure has its name. */
#include <stdlib.h>
#include <string.h>
#include "registry.h"
#include "tap.h"

struct shape { size_t m, k, n; bool out_in, tf32; enum cud_type type; int shift; };   /* shift: a and c begin so many rows later */

static const struct cud_device *gpu;
static struct cud_dev *dev;
static struct cud_stream *stream;
static struct cud_err err;

/* A small number that needs more than the 10 bits TF32 keeps. */
static double value(size_t i) { return (double)(long)(i * 2654435761u % 8191) / 1024 - 4; }

static void fill(void *p, enum cud_type type, size_t n, size_t from)
{
    for (size_t i = 0; i < n; i++)
        if (type == CUD_F64)
            ((double *)p)[i] = value(from + i);
        else
            ((float *)p)[i] = (float)value(from + i);
}

static void *on_gpu(const void *host, size_t bytes)
{
    void *p = NULL;
    if (gpu->alloc(dev, CUD_ON_DEVICE, bytes + 1, &p, &err) != CUD_OK ||
        (host && (gpu->put(stream, p, host, bytes, &err) != CUD_OK || gpu->wait(stream, &err) != CUD_OK)))
        return NULL;
    return p;
}

/* The dense kernel, with the library or by itself; *status: of the launch. */
static void *dense(const struct shape *s, const struct cud_gemm *gemm, enum cud_status *status)
{
    const size_t each = cud_type_bytes(s->type), rows = s->m + (size_t)s->shift;
    char *const host = calloc((rows * s->k + s->k * s->n) + 1, each), *const got = malloc(s->m * s->n * each + 1);
    char *const b = host + rows * s->k * each;
    fill(host, s->type, rows * s->k, 1);
    fill(b, s->type, s->k * s->n, 77);
    char *const da = on_gpu(host, rows * s->k * each), *const db = on_gpu(b, s->k * s->n * each), *const dc = on_gpu(NULL, rows * s->n * each);
    void *const work = on_gpu(NULL, CUD_GEMM_WORK > s->k * s->n * each ? CUD_GEMM_WORK : s->k * s->n * each);
    const size_t skip = (size_t)s->shift * each;
    const struct cud_call c = {.in = {da + skip * s->k, db}, .out = {dc + skip * s->n}, .dim = {s->m, s->k, s->n}, .type = s->type,
                               .param = {1, 0, 0, s->out_in, s->tf32}, .gemm = gemm, .work = work};
    *status = gpu->launch(stream, cud_registry_kernel("cuda", "dense"), &c, &err);
    if (*status == CUD_OK)
        *status = gpu->get(stream, got, dc + skip * s->n, s->m * s->n * each, &err);
    if (gpu->wait(stream, &err) != CUD_OK)
        *status = CUD_EFAILED;
    void *const all[] = {da, db, dc, work};
    for (int i = 0; i < 4; i++)
        gpu->free(dev, CUD_ON_DEVICE, all[i]);
    free(host);
    return got;
}

static void same_as_own(const struct cud_gemm *gemm)
{
    static const struct shape shapes[] = {
        {1, 1, 1, false, false, CUD_F32, 0}, {5, 3, 2, false, false, CUD_F32, 0}, {5, 3, 2, true, false, CUD_F32, 1},
        {64, 64, 64, false, false, CUD_F32, 3}, {33, 100, 10, true, false, CUD_F32, 7}, {7, 784, 12, false, false, CUD_F32, 1},
        {100, 7, 11, false, false, CUD_F64, 1}, {100, 7, 11, true, false, CUD_F64, 0}, {3, 0, 5, false, false, CUD_F32, 0},
        {0, 4, 5, true, false, CUD_F32, 0}, {4, 5, 0, true, false, CUD_F64, 0}, {40, 16, 9, true, true, CUD_F64, 0},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape *const s = &shapes[i];
        enum cud_status with, without;
        void *const got = dense(s, gemm, &with), *const want = dense(s, NULL, &without);
        ok(with == CUD_OK && without == CUD_OK && !memcmp(got, want, s->m * s->n * cud_type_bytes(s->type)),
           "%zu x %zu x %zu, %s, %s, from row %d: as our own product%s%s", s->m, s->k, s->n, s->out_in ? "out-in" : "in-out",
           cud_type_name(s->type), s->shift, err.status ? ": " : "", err.text);
        free(got);
        free(want);
    }
}

/* More shapes than are kept. */
static void many_shapes(const struct cud_gemm *gemm)
{
    int wrong = 0;
    for (int round = 0; round < 2; round++)
        for (size_t m = 1; m < 80; m++) {
            const struct shape s = {m, 3, 2, false, false, CUD_F32, 0};
            enum cud_status with, without;
            void *const got = dense(&s, gemm, &with), *const want = dense(&s, NULL, &without);
            wrong += with != CUD_OK || memcmp(got, want, s.m * s.n * sizeof(float)) != 0;
            free(got);
            free(want);
        }
    ok(wrong == 0, "more shapes than are kept: %d wrong", wrong);
}

static void tf32_when_asked(const struct cud_gemm *gemm)
{
    const struct shape s = {20, 30, 10, false, true, CUD_F32, 0};
    enum cud_status with, without;
    float *const got = dense(&s, gemm, &with), *const want = dense(&s, NULL, &without);
    double worst = 0;
    for (size_t i = 0; i < s.m * s.n; i++) {
        const double off = (double)got[i] - (double)want[i];
        worst = off > worst ? off : -off > worst ? -off : worst;
    }
    ok(with == CUD_OK && worst > 0 && worst < 30 * 4 * 4 * 2 / 1024.0, "tf32 only when asked for, and then off by %g", worst);
    free(got);
    free(want);
}

/* CUBLASLT_EMU_FAIL says when. */
static void failure(const struct cud_gemm *gemm)
{
    const struct shape s = {1, 1, 1, false, false, CUD_F32, 0};
    enum cud_status status = CUD_OK;
    for (int i = 0; i < 400 && status == CUD_OK; i++)
        free(dense(&s, gemm, &status));
    ok(status == CUD_EFAILED && strstr(err.text, "dense: cuBLASLt") && strstr(err.text, "CUBLAS_STATUS_INTERNAL_ERROR"),
       "a product that fails: %s", err.text);
}

int main(void)
{
    char why[200] = "";
    setenv("CUBLASLT_EMU_FAIL", "400", 0);
    gpu = cud_registry_device("cuda");
    if (!gpu || gpu->open(0, &dev, &err) != CUD_OK || gpu->stream(dev, 0, &stream, &err) != CUD_OK) {
        printf("Bail out! no emulated GPU: %s\n", err.text);
        return 1;
    }
    const struct cud_gemm *const gemm = gpu->gemm(dev, why);
    if (!gemm) {
        printf("1..0 # SKIP %s\n", why);
        return 0;
    }
    ok(!strncmp(gemm->name, "cuBLASLt ", 9), "its name is %s", gemm->name);
    same_as_own(gemm);
    tf32_when_asked(gemm);
    many_shapes(gemm);
    failure(gemm);
    return done_testing();
}
