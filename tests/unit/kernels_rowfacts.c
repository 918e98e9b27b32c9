/* kernels/rowfacts.cu: the facts about a row, in every build, against plain loops in ROW_SUM's order (kernels/kernel.h). */
#include "cudist/expr.h"
#include "kernels_help.h"

enum { LANES = 32, PIECE = 4096, PIECES = 8 };

static double tree(double *a, int n)
{
    for (int half = n / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            a[l] += a[l + half];
    return a[0];
}

/* Of (x - away) or its square. */
static double term(double x, double away, bool square) { return square ? (x - away) * (x - away) : x; }

static double piece(const double *x, size_t n, double away, bool square)
{
    double a[LANES] = {0};
    for (size_t i = 0; i < n; i++)
        a[i % LANES] += term(x[i], away, square);
    return tree(a, LANES);
}

static double row_sum(const double *x, size_t n, double away, bool square)
{
    double a[PIECES] = {0};
    for (size_t i = 0; i < n && n < LANES; i++)
        a[0] += term(x[i], away, square);
    if (n < LANES)
        return a[0];
    if (n <= PIECE)
        return piece(x, n, away, square);
    for (size_t i = 0; i < n; i += PIECE)
        a[i / PIECE % PIECES] += piece(x + i, n - i < PIECE ? n - i : PIECE, away, square);
    return tree(a, PIECES);
}

/* -0 is below 0. */
static bool below(double a, double b) { return a < b || (a == b && signbit(a) && !signbit(b)); }

static void facts_of(const double *x, size_t n, double fact[CUD_FACTS])
{
    const double sum = row_sum(x, n, 0, false), mean = sum / (double)n, var = row_sum(x, n, mean, true) / (double)n;
    double least = n ? x[0] : NAN, most = least;
    for (size_t i = 0; i < n; i++) {
        least = isnan(x[i]) || isnan(least) ? NAN : below(x[i], least) ? x[i] : least;
        most = isnan(x[i]) || isnan(most) ? NAN : below(most, x[i]) ? x[i] : most;
    }
    const double all[CUD_FACTS] = {sum, mean, least, most, var, sqrt(var)};
    memcpy(fact, all, sizeof all);
}

static bool same(double got, double want)
{
    return isnan(want) ? bits_of(got) == QUIET_F64 : bits_of(got) == bits_of(want);
}
static bool same_f(float got, float want)
{
    return isnan(want) ? bits_of_f(got) == QUIET_F32 : bits_of_f(got) == bits_of_f(want);
}

/* All facts of a set, f64 and f32 (of values that are floats). */
static bool check_build(const struct cud_kernel *k, const double *x, const float *x32, size_t rows, size_t cols, unsigned set)
{
    double *const y = room(CUD_FACTS * rows * sizeof *y);
    float *const y32 = room(CUD_FACTS * rows * sizeof *y32);
    const struct cud_call call = {.in = {x}, .out = {y}, .dim = {rows, cols}, .param = {set}, .type = CUD_F64};
    const struct cud_call call32 = {.in = {x32}, .out = {y32}, .dim = {rows, cols}, .param = {set}, .type = CUD_F32};
    bool good = k->launch(&call) == 0 && k->launch(&call32) == 0;
    for (size_t r = 0; r < rows; r++) {
        double want[CUD_FACTS];
        size_t place = 0;
        facts_of(x + r * cols, cols, want);
        for (int f = 0; f < CUD_FACTS; f++)
            if (set & 1u << f) {
                good = good && same(y[place * rows + r], want[f]) && same_f(y32[place * rows + r], (float)want[f]);
                place++;
            }
    }
    free(y);
    free(y32);
    return good;
}

static void check(size_t cols, size_t rows)
{
    double *const x = room(rows * cols * sizeof *x);
    float *const x32 = room(rows * cols * sizeof *x32);
    uint64_t state = cols;
    bool good = true;
    for (size_t i = 0; i < rows * cols; i++)
        x[i] = (float)ldexp(random_unit(&state) - 0.3, (int)(random_bits(&state) % 20));
    for (size_t r = 1; r < rows && cols; r++) {    /* the first row is of usual numbers */
        const double wild[] = {-0.0, 0.0, INFINITY, -INFINITY, NAN, 0x1p-149};
        for (int k = 0; k < 3; k++)
            x[r * cols + random_bits(&state) % cols] = wild[random_bits(&state) % (r % 2 ? 2 : 6)];
    }
    for (size_t i = 0; i < rows * cols; i++)
        x32[i] = (float)x[i];
    for (int i = 0; i < ISAS; i++)
        for (unsigned set = 1; kernel_of(i, "rowfacts") && set < 1u << CUD_FACTS; set = set < 4 ? set + 1 : 2 * set + 1)
            good = good && check_build(kernel_of(i, "rowfacts"), x, x32, rows, cols, set);
    ok(good, "%zu rows of %zu", rows, cols);
    free(x);
    free(x32);
}

/* Zeros of both signs, in either order. */
static void check_zeros(void)
{
    const double x[] = {0.0, -0.0, -0.0, 0.0};
    const float x32[] = {0.0f, -0.0f, -0.0f, 0.0f};
    bool good = true;
    for (int i = 0; i < ISAS; i++)
        good = good && (!kernel_of(i, "rowfacts") || check_build(kernel_of(i, "rowfacts"), x, x32, 2, 2, 1u << CUD_ROW_MIN | 1u << CUD_ROW_MAX));
    ok(good, "-0 is the least of zeros, 0 the greatest");
}

int main(void)
{
    static const size_t cols[] = {0, 1, 2, 3, 16, 31, 32, 33, 64, 65, 784, 4095, 4096, 4097, 8193, 32769, 70001};
    say_missing();
    for (size_t i = 0; i < sizeof cols / sizeof *cols; i++)
        check(cols[i], cols[i] > 1000 ? 4 : 20);
    check_zeros();
    return done_testing();
}
