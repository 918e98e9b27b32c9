/* kernel.h's words on the CPU: lanes one after the other, a pack of them in SIMD registers.  Ranks and threads of the host
 * are the parallelism; a launch runs on one. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"   /* EXPORT: what is not named is none */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"             /* CUD_FREE allows, it does not demand */
#else
/* Nobody looks at the exception flags.  Else GCC sinks the arithmetic of a choice into a branch and vectorises none of it.
 * No value changes (clang does so by default). */
#pragma GCC optimize("no-trapping-math")
#endif

#ifdef CUD_LANES_BACKWARDS
#define CUD_AT(k, n, w) ((n) - (w) - (k))
#else
#define CUD_AT(k, n, w) (k)
#endif
#define KERNEL static void
#define HELPER static inline __attribute__((always_inline))
#define HELPER_CALLED static               /* a long one: not inline */
#define HELPER_BOTH HELPER                /* called by launch functions too */
#define HELPER_OF inline __attribute__((always_inline))      /* specialisations and members */

/* The iterations do not depend on each other: say so, or an in-place step fails the compiler's overlap test and runs scalar. */
#ifdef __clang__
#define CUD_FREE _Pragma("clang loop vectorize(assume_safety)")
#define UNROLL _Pragma("unroll")
#else
#define CUD_FREE _Pragma("GCC ivdep")
#define UNROLL _Pragma("GCC unroll 8")
#endif
#define EACH(i, n) CUD_FREE for (size_t i##_k = 0, i##_n = (n); i##_k < i##_n; i##_k++) \
    if (const size_t i = CUD_AT(i##_k, i##_n, 1); true)
#define MAP(from, to, n, v, ...)            \
    EACH(v##_i, n) {                        \
        const auto v = (from)[v##_i];       \
        (to)[v##_i] = (__VA_ARGS__);        \
    }
#define MAP_OF(from, to, n, v, ...) MAP(from, to, n, v, __VA_ARGS__)
#define TILES(t, n) for (size_t t##_k = 0, t##_n = (n); t##_k < t##_n; t##_k++) \
    if (const size_t t = CUD_AT(t##_k, t##_n, 1); true)
#define ROWS(r, n, cols) TILES(r, (void(cols), n))
#define EACH_OF(i, n) EACH(i, n)
#define EACH_PAIR(r, m, c, n, pitch) TILES(r, m) EACH(c, n)
#define JOIN() ((void)0)
#define ONCE() if (true)
#define CUD_LOOP(l, n, w) \
    for (int l##_k = 0, l = CUD_AT(0, n, w); (void)l, l##_k < (n); l##_k += (w), l = CUD_AT(l##_k, n, w))
#define PHASE(l) CUD_LOOP(l, LANES, 1)
#define PHASE_TO(l, n) CUD_LOOP(l, n, 1)
#define PACKS(l) CUD_LOOP(l, LANES, PACK)
#define PACKS_TO(l, n) CUD_LOOP(l, n, PACK)
#define SHARED(T, a, n) alignas(64) T a[n]
#define PRIVATE(T, a, n) alignas(64) T a[(n) * LANES]
#define MINE(a, i, l) ((a) + (i) * LANES + (l))
#define TOTAL(v) (v)

#define STRIP 1024
#define STRIPS(at, m, n) for (size_t at##_k = 0, at##_n = (n); at##_k < at##_n; at##_k += STRIP) \
    if (const size_t at = CUD_AT(at##_k, CEIL_DIV(at##_n, STRIP) * STRIP, STRIP), m = at##_n - at < STRIP ? at##_n - at : STRIP; true)
#define STRIP_ARRAY(T, a, n) alignas(64) T a[(n) * STRIP]
#define CHUNK 64
#define EACH_IN_CHUNK(l) EACH(l, CHUNK)

#ifdef __SSE2__
#include <immintrin.h>
#endif

/* A pack<float> is one SIMD register, a pack<double> two, whatever their size here.  No wider: GCC splits vectors wider than
 * the machine's through memory, ten times slower. */
#if defined __AVX512F__
#define CUD_SIMD 64
#elif defined __AVX2__
#define CUD_SIMD 32
#else
#define CUD_SIMD 16
#endif
#define PACK (CUD_SIMD / 4)

typedef float cud_f __attribute__((vector_size(CUD_SIMD)));
typedef float cud_fhalf __attribute__((vector_size(CUD_SIMD / 2)));
typedef double cud_d __attribute__((vector_size(CUD_SIMD)));
typedef int cud_i32 __attribute__((vector_size(CUD_SIMD)));
typedef long long cud_i64 __attribute__((vector_size(CUD_SIMD)));

struct cud_floats {
    cud_f v;
    HELPER_OF cud_floats operator+(cud_floats b) const { return {v + b.v}; }
    HELPER_OF cud_floats operator-(cud_floats b) const { return {v - b.v}; }
    HELPER_OF cud_floats operator*(cud_floats b) const { return {v * b.v}; }
};
struct cud_doubles {
    cud_d lo, hi;
    HELPER_OF cud_doubles operator+(cud_doubles b) const { return {lo + b.lo, hi + b.hi}; }
    HELPER_OF cud_doubles operator-(cud_doubles b) const { return {lo - b.lo, hi - b.hi}; }
    HELPER_OF cud_doubles operator*(cud_doubles b) const { return {lo * b.lo, hi * b.hi}; }
};
template <class T> struct cud_pack;
template <> struct cud_pack<float> { typedef cud_floats type; };
template <> struct cud_pack<double> { typedef cud_doubles type; };
template <class T> using pack = typename cud_pack<T>::type;

template <class V> HELPER V cud_read(const void *p) { V v; memcpy(&v, p, sizeof v); return v; }
HELPER pack<float> LOAD(const float *p) { return {cud_read<cud_f>(p)}; }
HELPER pack<double> LOAD(const double *p) { return {cud_read<cud_d>(p), cud_read<cud_d>(p + PACK / 2)}; }
/* GCC 12 makes five instructions and a trip through memory of __builtin_convertvector to a register's width. */
HELPER cud_d cud_widen(const float *p)
{
#if defined __AVX512F__
    return (cud_d)_mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(p));
#elif defined __AVX2__
    return (cud_d)_mm256_cvtps_pd(_mm_loadu_ps(p));
#elif defined __SSE2__
    return (cud_d)_mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)p)));
#else
    return __builtin_convertvector(cud_read<cud_fhalf>(p), cud_d);
#endif
}
HELPER pack<double> WIDE(const double *p) { return LOAD(p); }
HELPER pack<double> WIDE(const float *p) { return {cud_widen(p), cud_widen(p + PACK / 2)}; }
template <class T, class V> HELPER void STORE(T *p, V v) { memcpy(p, &v, sizeof v); }
template <class T, class V> HELPER void STORE_TO(T *p, V v, size_t n)
{
    if (n >= PACK)
        return STORE(p, v);
    T t[PACK];
    STORE(t, v);
    for (size_t i = 0; i < n; i++)
        p[i] = t[i];
}

/* x - 0: every bit of x in every lane, also of -0. */
HELPER pack<float> ALL(float x) { return {x - (cud_f){}}; }
HELPER pack<double> ALL(double x) { return {x - (cud_d){}, x - (cud_d){}}; }

/* 1 * a + b rounds once, as a + b does.  Zen adds in two of its four units and multiplies in the other two: what mostly adds is
 * a fifth faster when both work.  A compiler that sees the 1 makes an addition of it again. */
HELPER cud_d cud_plus(cud_d a, cud_d b)
{
#ifdef __FMA__
    cud_d one = (cud_d){} + 1;
    __asm__("" : "+x"(one));
#ifdef __AVX512F__
    return (cud_d)_mm512_fmadd_pd((__m512d)a, (__m512d)one, (__m512d)b);
#else
    return (cud_d)_mm256_fmadd_pd((__m256d)a, (__m256d)one, (__m256d)b);
#endif
#else
    return a + b;
#endif
}
HELPER pack<double> PLUS(pack<double> a, pack<double> b) { return {cud_plus(a.lo, b.lo), cud_plus(a.hi, b.hi)}; }

template <class T> HELPER T LESSER(T a, T b) { return a < b ? a : b; }
template <class T> HELPER T GREATER(T a, T b) { return a > b ? a : b; }
HELPER pack<float> LESSER(pack<float> a, pack<float> b) { return {a.v < b.v ? a.v : b.v}; }
HELPER pack<double> LESSER(pack<double> a, pack<double> b) { return {a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi}; }
HELPER pack<float> GREATER(pack<float> a, pack<float> b) { return {a.v > b.v ? a.v : b.v}; }
HELPER pack<double> GREATER(pack<double> a, pack<double> b) { return {a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi}; }
HELPER pack<float> IF_LESS(pack<float> a, pack<float> b, pack<float> x, pack<float> y) { return {a.v < b.v ? x.v : y.v}; }
HELPER pack<double> IF_LESS(pack<double> a, pack<double> b, pack<double> x, pack<double> y)
{
    return {a.lo < b.lo ? x.lo : y.lo, a.hi < b.hi ? x.hi : y.hi};
}
HELPER float MAGNITUDE(float a) { return __builtin_fabsf(a); }
HELPER double MAGNITUDE(double a) { return __builtin_fabs(a); }
HELPER pack<float> MAGNITUDE(pack<float> a) { return {(cud_f)((cud_i32)a.v & INT32_MAX)}; }
HELPER cud_d cud_fabs(cud_d a) { return (cud_d)((cud_i64)a & INT64_MAX); }
HELPER pack<double> MAGNITUDE(pack<double> a) { return {cud_fabs(a.lo), cud_fabs(a.hi)}; }

/* Does one of the 64 bytes at a equal v (or, if nans, differ from itself)?  Compilers make poor code of the plain loop. */
template <bool nans, class T> HELPER int cud_any(const T *a, T v)
{
    int hit = 0;
    for (size_t j = 0; j < 64 / sizeof(T); j++)
        hit |= nans ? a[j] != a[j] : a[j] == v;
    return hit;
}
#ifdef __SSE2__
template <bool nans> HELPER __m128 cud_hit(const float *a, __m128 v)
{
    const __m128 x = _mm_loadu_ps(a);
    return nans ? _mm_cmpunord_ps(x, x) : _mm_cmpeq_ps(x, v);
}
template <bool nans> HELPER __m128d cud_hit(const double *a, __m128d v)
{
    const __m128d x = _mm_loadu_pd(a);
    return nans ? _mm_cmpunord_pd(x, x) : _mm_cmpeq_pd(x, v);
}
template <bool nans> HELPER int cud_any(const float *a, float v)
{
    const __m128 w = _mm_set1_ps(v);
    const __m128 p = _mm_or_ps(cud_hit<nans>(a, w), cud_hit<nans>(a + 4, w));
    const __m128 q = _mm_or_ps(cud_hit<nans>(a + 8, w), cud_hit<nans>(a + 12, w));
    return _mm_movemask_ps(_mm_or_ps(p, q));
}
template <bool nans> HELPER int cud_any(const double *a, double v)
{
    const __m128d w = _mm_set1_pd(v);
    const __m128d p = _mm_or_pd(cud_hit<nans>(a, w), cud_hit<nans>(a + 2, w));
    const __m128d q = _mm_or_pd(cud_hit<nans>(a + 4, w), cud_hit<nans>(a + 6, w));
    return _mm_movemask_pd(_mm_or_pd(p, q));
}
#endif
template <bool nans, class T> HELPER int cud_find(const T *a, T v, int n)
{
    const int step = 64 / sizeof(T);
    int i = 0;
    while (i + step <= n && !cud_any<nans>(a + i, v))
        i += step;
    while (i < n && !(nans ? a[i] != a[i] : a[i] == v))
        i++;
    return i;
}
template <class T> HELPER int FIND(const T *a, T v, int n) { return cud_find<false>(a, v, n); }
template <class T> HELPER int FIND_NAN(const T *a, int n) { return cud_find<true>(a, T(0), n); }

template <class T> HELPER double cud_piece_sum(const T *p, size_t n)
{
    enum { PACKED = ROW_LANES / PACK };
    pack<double> s[PACKED];
    size_t c = 0;
    for (int j = 0; j < PACKED; j++)
        s[j] = ALL(0.0);
    for (; c + ROW_LANES <= n; c += ROW_LANES)
        for (int j = 0; j < PACKED; j++)
            s[j] = s[j] + WIDE(p + c + j * PACK);
    if (c < n) {                          /* what is missing is +0, which changes no sum that started at +0 */
        T rest[ROW_LANES] = {};
        memcpy(rest, p + c, (n - c) * sizeof(T));
        for (int j = 0; j < PACKED; j++)
            s[j] = s[j] + WIDE(rest + j * PACK);
    }
    for (int half = PACKED / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            s[j] = s[j] + s[j + half];
    double a[PACK];
    STORE(a, s[0]);
    for (int half = PACK / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            a[l] += a[l + half];
    return a[0];
}
template <class T> HELPER double ROW_SUM(const T *p, size_t n)
{
    double a[ROW_PIECES] = {};
    if (n < ROW_LANES) {
        for (size_t c = 0; c < n; c++)
            a[0] += p[c];
        return a[0];
    }
    if (n <= ROW_PIECE)
        return cud_piece_sum(p, n);
    for (size_t i = 0; i * ROW_PIECE < n; i++)
        a[i % ROW_PIECES] += cud_piece_sum(p + i * ROW_PIECE, n - i * ROW_PIECE < ROW_PIECE ? n - i * ROW_PIECE : ROW_PIECE);
    for (int half = ROW_PIECES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            a[l] += a[l + half];
    return a[0];
}
template <class T> HELPER T ROW_MOST(const T *p, size_t n)
{
    T most = -(T)HUGE_VAL;
    size_t c = 0;
    if (n >= PACK) {
        pack<T> m = ALL(most), k = m;
        T t[PACK];
        for (; c + 2 * PACK <= n; c += 2 * PACK) {
            m = GREATER(LOAD(p + c), m);
            k = GREATER(LOAD(p + c + PACK), k);
        }
        STORE(t, GREATER(k, m));
        for (int l = 0; l < PACK; l++)
            most = GREATER(t[l], most);
    }
    for (; c < n; c++)
        most = GREATER(p[c], most);
    return most;
}

template <class F> HELPER double cud_piece_sum_by(F f, size_t at, size_t n)
{
    alignas(64) double s[ROW_LANES] = {};
    size_t c = 0;
    for (; c + ROW_LANES <= n; c += ROW_LANES)
        for (int l = 0; l < ROW_LANES; l++)
            s[l] += f(at + c + l);
    for (int l = 0; c + l < n; l++)
        s[l] += f(at + c + l);
    for (int half = ROW_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            s[l] += s[l + half];
    return s[0];
}
template <class F> HELPER double ROW_SUM_BY(F f, size_t n)
{
    double a[ROW_PIECES] = {};
    if (n < ROW_LANES) {                   /* the values first: that vectorises */
        alignas(64) double t[ROW_LANES];
        for (size_t c = 0; c < n; c++)
            t[c] = f(c);
        for (size_t c = 0; c < n; c++)
            a[0] += t[c];
        return a[0];
    }
    if (n <= ROW_PIECE)
        return cud_piece_sum_by(f, 0, n);
    for (size_t i = 0; i * ROW_PIECE < n; i++)
        a[i % ROW_PIECES] += cud_piece_sum_by(f, i * ROW_PIECE, n - i * ROW_PIECE < ROW_PIECE ? n - i * ROW_PIECE : ROW_PIECE);
    for (int half = ROW_PIECES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            a[l] += a[l + half];
    return a[0];
}
template <class K, class F> HELPER K ROW_GREATEST(K least, F f, size_t n)
{
    for (size_t c = 0; c < n; c++)
        least = GREATER(f(c), least);
    return least;
}

#define LAUNCH_EACH(k, n, c, ...) ((void)(c), k(__VA_ARGS__), 0)
#define LAUNCH_MAP(k, n, c, ...) ((void)(c), k(__VA_ARGS__), 0)
#define LAUNCH_COMPILED(n, c, ...) ((void)(n), 0)
#define LAUNCH_TILES(k, n, c, ...) ((void)(c), k(__VA_ARGS__), 0)
#define LAUNCH_ROWS(k, n, cols, c, ...) ((void)(c), k(__VA_ARGS__), 0)
