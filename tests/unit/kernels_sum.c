/* kernels/sum.cu: its result has the bits of ROW_SUM's order, as kernels/kernel.h tells it. */
#include "kernels_help.h"

enum { LANES = 32, PIECE = 4096, PIECES = 8 };

static double tree(double *a, int n)
{
    for (int half = n / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            a[l] += a[l + half];
    return a[0];
}

static double piece(const double *x, size_t n)
{
    double a[LANES] = {0};
    for (size_t i = 0; i < n; i++)
        a[i % LANES] += x[i];
    return tree(a, LANES);
}

static double row_sum(const double *x, size_t n)
{
    double a[PIECES] = {0};
    for (size_t i = 0; i < n && n < LANES; i++)
        a[0] += x[i];
    if (n < LANES)
        return a[0];
    if (n <= PIECE)
        return piece(x, n);
    for (size_t i = 0; i < n; i += PIECE)
        a[i / PIECE % PIECES] += piece(x + i, n - i < PIECE ? n - i : PIECE);
    return tree(a, PIECES);
}

static void check(size_t cols, size_t rows)
{
    double *const x = room(rows * cols * sizeof *x), *const y = room(rows * sizeof *y);
    uint64_t state = cols;
    bool good = true;
    for (size_t i = 0; i < rows * cols; i++)
        x[i] = ldexp(random_unit(&state) - 0.3, (int)(random_bits(&state) % 40));
    for (int i = 0; i < ISAS; i++) {
        const struct cud_kernel *const k = kernel_of(i, "sum");
        const struct cud_call call = {.in = {x}, .out = {y}, .dim = {rows, cols, 1}, .type = CUD_F64};
        if (!k)
            continue;
        good = good && k->launch(&call) == 0;
        for (size_t r = 0; r < rows; r++)
            good = good && bits_of(y[r]) == bits_of(row_sum(x + r * cols, cols));
    }
    ok(good, "rows of %zu", cols);
    free(x);
    free(y);
}

int main(void)
{
    static const size_t cols[] = {0, 1, 2, 3, 16, 31, 32, 33, 63, 64, 65, 100, 784, 4095, 4096, 4097, 8192, 8193, 32768,
                                  32769, 70001};
    say_missing();
    for (size_t i = 0; i < sizeof cols / sizeof *cols; i++)
        check(cols[i], cols[i] > 4096 ? 2 : 37);
    return done_testing();
}
