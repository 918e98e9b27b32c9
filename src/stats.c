#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "number.h"
#include "stats.h"
#include "tree.h"

enum cud_stats_kind cud_stats_kind(enum cud_type type)
{
    return type == CUD_I64 ? CUD_SIGNED : type == CUD_U64 ? CUD_UNSIGNED : CUD_REAL;
}

/* ---- forests */

void cud_forest_start(struct cud_forest *f, uint64_t leaf)
{
    f->from = f->to = leaf;
    f->n = 0;
}

/* node[n] has come to the right end; while it is the right half of a node whose left half is its neighbour, they become one. */
static void settle(struct cud_forest *f, enum cud_stats_kind kind)
{
    f->to += (uint64_t)1 << f->node[f->n].level;
    for (f->n++; f->n > 1; f->n--) {
        struct cud_node *const b = &f->node[f->n - 1], *const a = b - 1;
        const bool right = ((f->to >> b->level) - 1) & 1;         /* b's place is odd */
        if (a->level != b->level || !right)
            break;
        cud_node_merge(a, b, kind);
    }
}

void cud_forest_add(struct cud_forest *f, enum cud_stats_kind kind, const struct cud_leaf *leaf, const struct cud_lost *lost,
                    const void *bytes, size_t n)
{
    assert(f->n < CUD_FOREST_MAX);
    struct cud_node *const node = &f->node[f->n];
    cud_node_leaf(node, kind, leaf);
    node->lost = *lost;
    cud_node_hash(node, bytes, n);
    settle(f, kind);
}

int cud_forest_join(struct cud_forest *f, enum cud_stats_kind kind, const struct cud_forest *next)
{
    if (f->to != next->from)
        return -1;
    for (uint64_t i = 0; i < next->n; i++) {
        assert(f->n < CUD_FOREST_MAX);
        f->node[f->n] = next->node[i];
        settle(f, kind);
    }
    return 0;
}

struct cud_node cud_forest_fold(const struct cud_forest *f, enum cud_stats_kind kind)
{
    struct cud_node right, left;
    cud_node_none(&right);
    assert(f->from == 0);
    for (uint64_t i = f->n; i-- > 0;) {
        left = f->node[i];
        if (i + 1 < f->n)
            cud_node_merge(&left, &right, kind);
        right = left;
    }
    right.level = 0;
    return right;
}

/* ---- groves */

struct cud_grove {
    enum cud_stats_kind kind;
    size_t n, room;
    struct cud_forest **forest;            /* in order, no two adjacent; each is allocated for its own n nodes only */
};

struct cud_grove *cud_grove_make(enum cud_stats_kind kind)
{
    struct cud_grove *const g = calloc(1, sizeof *g);
    if (g)
        g->kind = kind;
    return g;
}

void cud_grove_free(struct cud_grove *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n; i++)
        free(g->forest[i]);
    free(g->forest);
    free(g);
}

size_t cud_grove_count(const struct cud_grove *g)
{
    return g->n;
}

const struct cud_forest *cud_grove_at(const struct cud_grove *g, size_t i)
{
    assert(i < g->n);
    return g->forest[i];
}

uint64_t cud_grove_first_nan(const struct cud_grove *g, uint64_t *to_zero)
{
    uint64_t first = CUD_NONE;
    *to_zero = 0;
    for (size_t i = 0; i < g->n; i++)
        for (uint64_t k = 0; k < g->forest[i]->n; k++) {
            first = cud_min64(first, g->forest[i]->node[k].first_nan);
            *to_zero += g->forest[i]->node[k].lost.nan_to_zero;
        }
    return first;
}

/* The first forest that starts at leaf or behind it. */
static size_t place_of(const struct cud_grove *g, uint64_t leaf)
{
    size_t low = 0, high = g->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (g->forest[middle]->from < leaf)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Joins next to forest i. */
static enum cud_status extend(struct cud_grove *g, size_t i, const struct cud_forest *next, struct cud_err *err)
{
    const size_t most = g->forest[i]->n + next->n;
    const size_t bytes = CUD_FOREST_BYTES(most < CUD_FOREST_MAX ? most : CUD_FOREST_MAX);
    struct cud_forest *const f = realloc(g->forest[i], bytes);
    if (!f)
        return FAIL(err, CUD_EFAILED, "no memory for %zu bytes of statistics", bytes);
    g->forest[i] = f;
    const int bad = cud_forest_join(f, g->kind, next);
    assert(!bad);
    (void)bad;
    return CUD_OK;
}

static enum cud_status insert(struct cud_grove *g, size_t i, const struct cud_forest *f, struct cud_err *err)
{
    if (g->n == g->room) {
        const size_t room = 2 * g->room + 8;
        struct cud_forest **const grown = realloc(g->forest, room * sizeof *grown);
        if (!grown)
            return FAIL(err, CUD_EFAILED, "no memory for statistics of %zu ranges", room);
        g->forest = grown;
        g->room = room;
    }
    struct cud_forest *const own = malloc(CUD_FOREST_BYTES(f->n));
    if (!own)
        return FAIL(err, CUD_EFAILED, "no memory for %zu bytes of statistics", CUD_FOREST_BYTES(f->n));
    memcpy(own, f, CUD_FOREST_BYTES(f->n));
    memmove(g->forest + i + 1, g->forest + i, (g->n - i) * sizeof *g->forest);
    g->forest[i] = own;
    g->n++;
    return CUD_OK;
}

enum cud_status cud_grove_add(struct cud_grove *g, const struct cud_forest *f, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    if (f->from == f->to)
        return CUD_OK;
    const size_t i = place_of(g, f->from);
    if ((i > 0 && g->forest[i - 1]->to > f->from) || (i < g->n && g->forest[i]->from < f->to))
        return FAIL(err, CUD_EFAILED, "statistics of parts %" PRIu64 " to %" PRIu64 " came twice: an error in cudist, please "
                    "report it", f->from, f->to - 1);
    const bool left = i > 0 && g->forest[i - 1]->to == f->from, right = i < g->n && g->forest[i]->from == f->to;
    const size_t at = left ? i - 1 : i;    /* where f will be */
    TRY(left ? extend(g, at, f, err) : insert(g, at, f, err));
    if (right) {
        TRY(extend(g, at, g->forest[at + 1], err));
        free(g->forest[at + 1]);
        g->n--;
        memmove(g->forest + at + 1, g->forest + at + 2, (g->n - at - 1) * sizeof *g->forest);
    }
done:
    return status;
}

/* ---- the end */

/* The root of mean^2 + variance, whose squares may leave the range of double when it does not. */
static double rms_of(double mean, double variance)
{
    const double size = fmax(fabs(mean), sqrt(variance));
    const double scale = size > 0x1p500 ? 0x1p-600 : size < 0x1p-500 ? 0x1p600 : 1, m = mean * scale;
    return sqrt(m * m + variance * scale * scale) / scale;
}

/* What sums over all values are when some are not finite: IEEE arithmetic on the definitions. */
static void apply_specials(const struct cud_node *all, uint64_t nan, struct cud_summary *s)
{
    if (!nan && !all->pinf && !all->ninf)
        return;
    const double add = nan || (all->pinf && all->ninf) ? NAN : all->pinf ? INFINITY : -INFINITY;
    s->sum.f += add;
    s->sum_lo.f = 0;
    s->mean = s->sum.f;
    s->variance = s->variance_sample = s->std = NAN;
    s->rms = nan ? NAN : INFINITY;
}

void cud_stats_finish(const struct cud_node *all, enum cud_stats_kind kind, enum cud_nan policy, struct cud_summary *s)
{
    const uint64_t nan = policy == CUD_NAN_OMIT ? 0 : all->nan, n = all->finite + nan + all->pinf + all->ninf;
    *s = (struct cud_summary){
        .kind = kind, .count = n - nan + all->nan, .nan = all->nan, .pinf = all->pinf, .ninf = all->ninf, .first_nan = all->first_nan,
        .first_pinf = all->first_pinf, .first_ninf = all->first_ninf, .argmin = all->argmin, .argmax = all->argmax,
        .min = all->min, .max = all->max, .sum = all->sum, .sum_lo = all->sum_lo, .mean = NAN, .variance = NAN,
        .variance_sample = NAN, .std = NAN, .rms = NAN, .has_mean = n > 0, .has_sample = n > 1, .lost = all->lost,
        .digest = {all->hash[0], all->hash[1]}};
    if (all->finite) {
        s->mean = cud_node_mean(all, kind);
        s->variance = all->m2 / (double)all->finite;
        s->variance_sample = all->finite > 1 ? all->m2 / (double)(all->finite - 1) : NAN;
        s->std = sqrt(s->variance);
        s->rms = rms_of(s->mean, s->variance);
    }
    if (kind == CUD_REAL)
        apply_specials(all, nan, s);
}
