#!/usr/bin/env python3
"""The statistics of the whole program against exact rational arithmetic and the definitions, one test a data set; the digest
too where there is a libxxhash to load.

CUDIST names the program (default: ./cudist).  With -v a line says how far off each figure was: mean and sum in ulps of those
of |x|, the others relative."""
import array, concurrent.futures, ctypes, json, math, random, sys, tempfile
from fractions import Fraction

sys.dont_write_bytecode = True
import whole
from whole import CUDIST, SET, done, ok

N = {"short": 5003, "long": 300007}.get(SET, 20011)
VERBOSE = "-v" in sys.argv
R = random.Random(1)
g = R.gauss
inf, nan = math.inf, math.nan
CODE = {"f32": "f", "f64": "d", "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q"}
DESCR = {"f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8", "u64": "u8"}


def sets():
    """Name, type, columns, values, and what is beyond the limits: "var" (the squares leave double), "sum" too, or nothing."""
    yield "uniform", "f64", 1, [R.random() for _ in range(N)], ""
    yield "1e8 + noise 1", "f64", 1, [1e8 + g(0, 1) for _ in range(N)], ""
    yield "1e8 + noise 1e-3", "f64", 1, [1e8 + g(0, 1e-3) for _ in range(N)], ""
    yield "1e8 + noise 1e-6", "f64", 1, [1e8 + g(0, 1e-6) for _ in range(N)], ""
    yield "1e15 + 0..1", "f64", 1, [1e15 + R.randrange(9) / 8 for _ in range(N)], ""
    yield "1e8 + noise 100", "f32", 1, [1e8 + g(0, 100) for _ in range(N)], ""
    yield "normal * 1e30", "f32", 1, [g(0, 1e30) for _ in range(N)], ""
    yield "normal * 1e30, rows of 7", "f32", 7, [g(0, 1e30) for _ in range(N // 7 * 7)], ""
    yield "normal * 1e148", "f64", 1, [g(0, 1e148) for _ in range(N)], ""
    yield "normal * 1e200", "f64", 1, [g(0, 1e200) for _ in range(N)], "var"
    yield "+-1.7e308", "f64", 1, [1.7e308 if i % 3 else -1.7e308 for i in range(N)], "sum"
    yield "normal * 1e-140", "f64", 1, [g(0, 1e-140) for _ in range(N)], ""
    yield "normal * 1e-200", "f64", 1, [g(0, 1e-200) for _ in range(N)], "var"
    yield "denormal", "f32", 1, [g(0, 1e-41) for _ in range(N)], ""
    yield "denormal", "f64", 1, [g(0, 1e-310) for _ in range(N)], "var"
    yield "alternating, 1..2", "f64", 1, [(-1) ** i * (1 + R.random()) for i in range(N)], ""
    yield "alternating 1e16, 1, -1e16", "f64", 1, [(1e16, 1.0, -1e16)[i % 3] for i in range(N)], ""
    yield "10^(-30..30), signs", "f64", 1, [R.choice((-1, 1)) * 10 ** R.uniform(-30, 30) for _ in range(N)], ""
    yield "whole numbers 0..999", "f64", 3, [float(R.randrange(1000)) for _ in range(N // 3 * 3)], ""
    yield "sorted 0..1", "f64", 1, [i / N for i in range(N)], ""
    yield "outlier at leaf starts", "f64", 1, [1e6 if i % 4096 == 0 else g(0, 1) for i in range(N)], ""
    yield "first 64 zero, 1e8 + 1", "f64", 1, [0.0 if i % 4096 < 64 else 1e8 + g(0, 1) for i in range(N)], ""
    for t in "f32", "f64":                 # the leaf's first elements, where its pivot comes from, are unlike the rest
        few = lambda i, big, rest: big if i % 4096 < 33 else 0.0 if i % 4096 < 64 else rest
        yield "33 of 1e8, then 3.7e-6", t, 1, [few(i, 1e8, 3.7e-6) for i in range(N)], ""
        yield "33 of 1e8, then 3.7e-6, one 2.6e9", t, 1, [2.6e9 if i % 4096 == 999 else few(i, 1e8, 3.7e-6) for i in range(N)], ""
        yield "33 of 1e8, then 1e-3 of both signs", t, 1, [few(i, 1e8, R.choice((-1, 1)) * 1e-3) for i in range(N)], ""
        yield "33 of -1e20, then noise", t, 1, [few(i, -1e20, g(0, 1)) for i in range(N)], ""
        yield "20 of 1e30, then 0.1", t, 1, [1e30 if i % 4096 < 20 else 0.1 for i in range(N)], ""
        yield "64 of 2.9, then 1 + noise 1e-6", t, 1, [2.9 if i % 4096 < 64 else 1 + g(0, 1e-6) for i in range(N)], ""
        yield "64 of 0, then 0.1", t, 1, [0.0 if i % 4096 < 64 else 0.1 for i in range(N)], ""
        yield "64 of any size, then 1", t, 1, [10.0 ** (i // 4096 % 9 * 5 - 10) if i % 4096 < 64 else 1.0 for i in range(N)], ""
        yield "+-1e6, then +-1", t, 1, [(-1) ** i * (1.1e6 if i % 4096 < 64 else 1.1) for i in range(N)], ""
        yield "heavy tails, signs", t, 1, [R.choice((-1, 1)) / (R.random() + 1e-6) for i in range(N)], ""
    yield "33 of 2e9, then 3", "i32", 1, [2 * 10 ** 9 if i % 4096 < 33 else 3 for i in range(N)], ""
    yield "33 of 2^60, then -3", "i64", 1, [1 << 60 if i % 4096 < 33 else -3 for i in range(N)], ""
    yield "first leaf 0, 1e8 + 1", "f64", 1, [0.0 if i < 4096 else 1e8 + g(0, 1) for i in range(N)], ""
    yield "drift 1e6 + i + 1e-3", "f64", 1, [1e6 + i + g(0, 1e-3) for i in range(N)], ""
    yield "constant 0.1", "f64", 1, [0.1] * N, ""
    yield "constant 0.1", "f32", 1, [0.1] * N, ""
    yield "1e8 + 1, 10% NaN", "f64", 5, [nan if R.random() < .1 else 1e8 + g(0, 1) for _ in range(N // 5 * 5)], ""
    yield "normal, inf and NaN", "f32", 1, [R.choice((nan, inf, -inf)) if R.random() < .01 else g(0, 1) for _ in range(N)], ""
    yield "normal, inf", "f32", 1, [inf if i % 5000 == 4999 else g(0, 1) for i in range(N)], ""
    yield "normal, -inf", "f64", 2, [-inf if i == 7777 else g(0, 1) for i in range(N // 2 * 2)], ""
    yield "one", "f64", 1, [0.1], ""
    yield "one", "f32", 1, [-1e-45], ""
    yield "one 1e-200", "f64", 1, [1e-200], ""
    yield "one 1e300", "f64", 1, [-1e300], ""
    yield "two", "f64", 1, [1e8, 1e8 + 1e-7], ""
    yield "63", "f64", 63, [1e8 + g(0, 1) for _ in range(63)], ""
    yield "none", "f32", 1, [], ""
    yield "all NaN", "f64", 1, [nan] * 5000, ""
    yield "zeros and -0", "f32", 1, [R.choice((0.0, -0.0)) for _ in range(5000)], ""
    yield "full range", "i8", 1, [R.randrange(-128, 128) for _ in range(N)], ""
    yield "full range", "u8", 3, [R.randrange(256) for _ in range(N // 3 * 3)], ""
    yield "full range", "i16", 1, [R.randrange(-1 << 15, 1 << 15) for _ in range(N)], ""
    yield "full range", "u16", 1, [R.randrange(1 << 16) for _ in range(N)], ""
    yield "full range", "i32", 1, [R.randrange(-1 << 31, 1 << 31) for _ in range(N)], ""
    yield "near 2^32", "u32", 1, [(1 << 32) - 1 - R.randrange(3) for _ in range(N)], ""
    yield "full range", "i64", 7, [R.randrange(-1 << 63, 1 << 63) for _ in range(N // 7 * 7)], ""
    yield "near -2^63", "i64", 1, [R.randrange(1000) - (1 << 63) for _ in range(N)], ""
    yield "2^53 + 0..9", "i64", 1, [(1 << 53) + R.randrange(10) for _ in range(N)], ""
    yield "extremes", "i64", 1, [((1 << 63) - 1, -1 << 63)[i % 2] for i in range(N)], ""
    yield "full range", "u64", 1, [R.randrange(1 << 64) for _ in range(N)], ""
    yield "near 2^64", "u64", 1, [(1 << 64) - 1 - R.randrange(3) for _ in range(N)], ""


def run(number, type, cols, x, folder):
    """The result of cudist on the values; every other set is a .npy."""
    rows, data = len(x) // cols, array.array(CODE[type], x).tobytes()
    if type in DESCR and number % 2 == 0:
        path, tail = f"{folder}/{number}.npy", []
        data = whole.npy("<" + DESCR[type], (rows, cols) if cols > 1 else (rows,), data)
    else:
        path, tail = f"{folder}/{number}.bin", ["--dtype", type, "--shape", f"{rows}x{cols}" if cols > 1 else f"{rows}"]
    with open(path, "wb") as f:
        f.write(data)
    ended = whole.run([CUDIST, "-q", "-k", "copy", "-o", "none", "--result", "-", path] + tail, late=100)
    if ended.rc:
        raise RuntimeError(str(ended))
    return json.loads(ended.stdout)


def exact(x):
    """Sum, mean, mean |x|, variance, sample variance, mean square, as fractions."""
    if not x:
        return Fraction(0), None, None, None, None, None
    low = min((math.frexp(v)[1] for v in x if v), default=0) - 60 if isinstance(x[0], float) else 0
    unit = Fraction(2) ** low
    k = [int(Fraction(v) / unit) for v in x] if low else x
    s, q, a, n = sum(k), sum(v * v for v in k) * unit * unit, sum(map(abs, k)) * unit, len(k)
    s *= unit
    m2 = q - Fraction(s * s, n)
    return s, Fraction(s, n), Fraction(a, n), m2 / n, m2 / (n - 1) if n > 1 else None, Fraction(q, n)


def relative(got, want):
    if want == 0 or not math.isfinite(got):
        return 0.0 if got == want else inf
    return float(abs(Fraction(got) - want) / abs(want))


def root(f):
    """The square root to about 2^-100."""
    if f == 0:
        return f
    shift = 220 - (f.numerator.bit_length() - f.denominator.bit_length())
    shift += shift % 2
    return Fraction(math.isqrt(int(f * Fraction(2) ** shift))) / Fraction(2) ** (shift // 2)


def places(x, cols):
    """What the definition says of counts, extremes and where they are."""
    first = lambda test: next((i for i, v in enumerate(x) if test(v)), None)
    there = lambda i: None if i is None else [i // cols, i % cols]
    real = [v for v in x if v == v]
    low, high = (min(real), max(real)) if real else (None, None)
    bad = first(lambda v: v != v)
    return {"count": len(x), "nan": sum(v != v for v in x), "pos_inf": x.count(inf), "neg_inf": x.count(-inf),
            "first_nan_row": None if bad is None else bad // cols, "min": low, "argmin": there(first(lambda v: v == low)),
            "max": high, "argmax": there(first(lambda v: v == high)), "histogram": None, "quantiles": None, "columns": None}


def plain(v):
    return v if not isinstance(v, str) else int(v) if v.lstrip("-").isdigit() else float(v)


class Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


try:
    XXH3 = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    XXH3.restype, XXH3.argtypes = Hash, [ctypes.c_char_p, ctypes.c_size_t]
except (OSError, AttributeError):
    XXH3 = None


def canonical(data):
    h = XXH3(data, len(data))
    return h.high.to_bytes(8, "big") + h.low.to_bytes(8, "big")


def digest(data, size):
    """Leaves of 4096 elements of so many bytes; pairs, and pairs of pairs, one left over goes up as it is."""
    level = [canonical(data[i:i + 4096 * size]) for i in range(0, len(data), 4096 * size)] or [canonical(b"")]
    while len(level) > 1:
        level = [canonical(level[i] + level[i + 1]) if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
    return "xxh3-128:" + level[0].hex()


def same(a, b):
    return type(a) is type(b) and a == b and (not isinstance(a, float) or math.copysign(1, a) == math.copysign(1, b))


def complaints(s, x, cols, limits):
    """What is wrong with the statistics; and the errors."""
    wrong = [f"{k}: {s.get(k)!r}, not {v!r}" for k, v in places(x, cols).items() if not same(s.get(k), v)]
    special, whole = any(not math.isfinite(v) for v in x), bool(x) and isinstance(x[0], int)
    finite = [v for v in x if math.isfinite(v)]
    total, mean, size, var, sample, square = exact(finite)
    if special or not x:
        total = sum(v for v in x if not math.isfinite(v)) if x else 0.0
        want = {"sum": total, "mean": total, "variance": nan, "std": nan, "variance_sample": nan,
                "rms": nan if any(v != v for v in x) else inf}
        want.update(dict.fromkeys(("mean", "variance", "std", "rms") * (len(x) < 1) + ("variance_sample",) * (len(x) < 2)))
        wrong += [f"{k}: {s[k]}, not {v}" for k, v in want.items() if not (s[k] == v or (s[k] != s[k] and v != v))]
        return wrong, ""
    if limits == "sum":                    # the sum of the finite values is no double, nor are parts of it
        return wrong + [f"{k}: {s[k]}" for k in ("sum", "mean") if math.isfinite(s[k])], ""
    errors = {"mean": float(abs(Fraction(s["mean"]) - mean) / Fraction(math.ulp(float(size)))),
              "sum": float(abs(Fraction(s["sum"]) - total) / (Fraction(math.ulp(float(size))) * len(x))),
              "variance": relative(s["variance"], var), "std": relative(s["std"], root(var)),
              "variance_sample": relative(s["variance_sample"], sample) if len(x) > 1 else 0.0,
              "rms": relative(s["rms"], root(square))}
    most = {"mean": 2, "sum": 0 if whole else 2, "variance": 1e-13, "std": 1e-13, "rms": 1e-13, "variance_sample": 1e-13}
    if limits == "var":
        for k in ("variance", "std", "variance_sample", "rms"):
            del most[k]
    if len(x) == 1 and s["variance_sample"] is not None:
        wrong.append("variance_sample of one value is not null")
    wrong += [f"{k}: {s[k]!r} is off by {errors[k]:.2g}" for k in most if not errors[k] <= most[k]]
    return wrong, "  ".join(f"{k} {errors[k]:.2g}" for k in most)


def check(number, name, type, cols, x, limits, folder):
    stored = array.array(CODE[type], x)
    x = stored.tolist()
    try:
        result = run(number, type, cols, x, folder)["result"]
        s = {k: plain(v) for k, v in result["statistics"].items()}
        wrong, errors = complaints(s, x, cols, limits)
        if XXH3 and result["output"]["digest"] != digest(stored.tobytes(), stored.itemsize):
            wrong.append(f"digest {result['output']['digest']}, not {digest(stored.tobytes(), stored.itemsize)}")
    except (OSError, RuntimeError, ValueError, KeyError) as e:
        wrong, errors = [f"{e.__class__.__name__}: {e}"], ""
    ok(not wrong, f"{type} {name}" + (f": {errors}" if VERBOSE and errors else ""), "\n".join(wrong))


with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(3) as pool:   # MPI's start is waiting
    list(pool.map(lambda job: check(job[0], *job[1], folder), enumerate(sets())))
sys.exit(done())
