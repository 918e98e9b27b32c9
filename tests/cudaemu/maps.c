/* Element-wise kernels as nvcc made them, on the emulator: from any element of an array to any other, in place too, of any length.
 * The bytes are the CPU's, and nothing beside them is touched.  (The emulator knows where an allocation ends, and which accesses
 * are not aligned.) */
#include <stdlib.h>
#include <string.h>
#include "registry.h"
#include "tap.h"

enum { MOST = 1100, EDGE = 20 };           /* elements; of them in front of and behind the output */

static const struct cud_device *gpu;
static struct cud_dev *dev;
static struct cud_stream *stream;
static struct cud_err err;
static unsigned char in[MOST * 8], want[MOST * 8], got[MOST * 8];
static char *d_in, *d_out;

struct map {                               /* elements */
    const char *kernel;
    enum cud_type type, type2;
    bool in_place, swap;
    size_t from, to, n, cols;              /* cols 0: no rows matter */
};

static enum cud_status on_gpu(const struct map *m, struct cud_call *c)
{
    enum cud_status status = CUD_OK;
    const size_t each = cud_type_bytes(m->type), each2 = cud_type_bytes(m->type2), bytes = (m->to + m->n + EDGE) * each2;
    TRY(gpu->put(stream, d_in, in, sizeof in, &err));
    TRY(gpu->put(stream, d_out, want, sizeof want, &err));
    c->in[0] = m->in_place ? d_out + m->to * each2 : d_in + m->from * each;
    c->out[0] = d_out + m->to * each2;
    TRY(gpu->launch(stream, cud_registry_kernel("cuda", m->kernel), c, &err));
    TRY(gpu->get(stream, got, d_out, bytes, &err));
    TRY(gpu->wait(stream, &err));
done:
    return status;
}

static bool is_right(const struct map *m)
{
    const size_t each = cud_type_bytes(m->type), each2 = cud_type_bytes(m->type2), bytes = (m->to + m->n + EDGE) * each2;
    const size_t rows = m->cols ? m->n / m->cols : m->n, cols = m->cols ? m->cols : 1;
    struct cud_call c = {.dim = {rows, cols, cols}, .type = m->type, .type2 = m->type2, .param = {3, 0.25}};
    if (strcmp(m->kernel, "convert") == 0) {
        c.dim[2] = m->n;                   /* one unit */
        c.param[0] = m->swap;
    }
    memcpy(want, m->in_place ? in + 8 : in, sizeof want - 8);
    if (on_gpu(m, &c) != CUD_OK)
        return false;
    c.in[0] = m->in_place ? want + m->to * each2 : in + m->from * each;
    c.out[0] = want + m->to * each2;
    return cud_registry_kernel("cpu", m->kernel)->launch(&c) == 0 && memcmp(got, want, bytes) == 0;
}

static const size_t lengths[] = {0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 40, 67, 1000};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static void report(const struct map *m, const char *what, int runs, int wrong)
{
    ok(wrong == 0, "%s, %s to %s, %s: %d runs, %d wrong%s%s", m->kernel, cud_type_name(m->type), cud_type_name(m->type2), what, runs, wrong,
       err.status ? "; " : "", err.text);
}

static void steps(const char *kernel, enum cud_type type, size_t cols)
{
    struct map m = {.kernel = kernel, .type = type, .type2 = type, .cols = cols};
    for (int place = 0; place < 2; place++) {
        int runs = 0, wrong = 0;
        m.in_place = place == 1;
        for (m.from = 0; m.from < (m.in_place ? 1 : 5); m.from++)
            for (m.to = 0; m.to < 5; m.to++)
                for (int l = 0; l < LENGTHS; l++, runs++) {
                    m.n = cols ? lengths[l] / cols * cols : lengths[l];
                    wrong += !is_right(&m);
                }
        report(&m, m.in_place ? "in place" : "from anywhere to anywhere", runs, wrong);
    }
}

static void conversions(enum cud_type type)
{
    static const size_t shifts[][2] = {{0, 0}, {1, 0}, {0, 1}, {3, 5}, {16, 16}};
    struct map m = {.kernel = "convert", .type = type};
    int runs = 0, wrong = 0;
    for (m.type2 = 0; m.type2 < CUD_TYPES; m.type2++)
        for (size_t s = 0; s < sizeof shifts / sizeof *shifts; s++)
            for (size_t l = 0; l < 2; l++, runs++) {
                m.from = shifts[s][0];
                m.to = shifts[s][1];
                m.n = l ? 67 : 16;
                m.swap = s == 4;
                wrong += !is_right(&m);
            }
    m.type2 = CUD_F64;
    report(&m, "and all others", runs, wrong);
}

int main(void)
{
    static const char *const rows[] = {"l2norm", "log_softmax", "softmax"};      /* with MAP_OF */
    const struct cud_kernel *k;
    void *p = NULL, *q = NULL;
    gpu = cud_registry_device("cuda");
    if (!gpu || gpu->open(0, &dev, &err) != CUD_OK || gpu->stream(dev, 0, &stream, &err) != CUD_OK ||
        gpu->alloc(dev, CUD_ON_DEVICE, sizeof in, &p, &err) != CUD_OK || gpu->alloc(dev, CUD_ON_DEVICE, sizeof got, &q, &err) != CUD_OK) {
        printf("Bail out! no emulated GPU: %s\n", err.text);
        return 1;
    }
    d_in = p;
    d_out = q;
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (unsigned char)(i * 2654435761u >> 24 ^ i * 40503u >> 11);
    for (size_t i = 0; (k = cud_registry_kernel_at(i)); i++)
        if (k->kind == CUD_MAP) {
            steps(k->name, CUD_F32, 0);
            steps(k->name, CUD_F64, 0);
        }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        steps(rows[i], CUD_F32, 5);
        steps(rows[i], CUD_F64, 33);
    }
    for (int t = 0; t < CUD_TYPES; t++)
        conversions((enum cud_type)t);
    return done_testing();
}
