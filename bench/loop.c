/* loop MODE PROCESSES IN OUT: the least a program must do, for comparison; prints the seconds it took.
 *   copy   reads a window of 1 MiB, writes it
 *   sums   the same; between, x = 2 * x of f32 and naive sums: sum, sum of squares, min, max
 *   read   reads and sums, writes nothing (OUT is not used)
 * IN is taken as f32 whatever it holds; OUT must not exist.  The processes have equal shares.  No MPI, no sync. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WINDOW ((size_t)1 << 20)
#define LANES 16                           /* sums side by side, so that the compiler may use SIMD registers */

struct sums { float sum[LANES], squares[LANES], min[LANES], max[LANES]; };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void add(struct sums *s, float *x, size_t n, float factor)
{
    for (size_t i = 0; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++) {
            const float y = factor * x[i + l];
            x[i + l] = y;
            s->sum[l] += y;
            s->squares[l] += y * y;
            s->min[l] = y < s->min[l] ? y : s->min[l];
            s->max[l] = y > s->max[l] ? y : s->max[l];
        }
}

/* One process's share, in whole windows. */
static int share(const char *mode, int in, int out, size_t from, size_t to)
{
    static struct sums s;
    float *const x = aligned_alloc(4096, WINDOW);
    const int sums = strcmp(mode, "copy") != 0, writes = strcmp(mode, "read") != 0;
    for (size_t at = from; x && at < to; at += WINDOW) {
        const size_t bytes = to - at < WINDOW ? to - at : WINDOW;
        if (pread(in, x, bytes, (off_t)at) != (ssize_t)bytes)
            return 1;
        if (sums)
            add(&s, x, bytes / sizeof *x, writes ? 2 : 1);
        if (writes && pwrite(out, x, bytes, (off_t)at) != (ssize_t)bytes)
            return 1;
    }
    volatile float keep = s.sum[0] + s.squares[1] + s.min[2] + s.max[3];
    (void)keep;
    return !x;
}

int main(int argc, char **argv)
{
    struct stat st;
    const size_t n = argc == 5 ? strtoul(argv[2], NULL, 10) : 0;
    const int in = n ? open(argv[3], O_RDONLY) : -1;
    if (in < 0 || fstat(in, &st)) {
        fprintf(stderr, "usage: loop copy|sums|read PROCESSES IN OUT\n");
        return 2;
    }
    const double t = now();
    const int out = strcmp(argv[1], "read") ? open(argv[4], O_WRONLY | O_CREAT | O_EXCL, 0644) : -1;
    const size_t bytes = (size_t)st.st_size, windows = (bytes + WINDOW - 1) / WINDOW;
    for (size_t p = 0; p < n; p++)
        if (fork() == 0) {
            const size_t end = windows * (p + 1) / n * WINDOW;
            _exit(share(argv[1], in, out, windows * p / n * WINDOW, end < bytes ? end : bytes));
        }
    int bad = 0, status;
    while (wait(&status) > 0)
        bad |= status;
    printf("%.6f\n", now() - t);
    return bad != 0;
}
