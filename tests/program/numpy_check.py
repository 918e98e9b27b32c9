"""Kernels, conversions and statistics of the whole program against NumPy, on random and special values.  Run by numpy.t."""
import json, math, os, sys, tempfile

sys.dont_write_bytecode = True
import numpy as np
import whole
from whole import CUDIST, ENV, done, ok

RNG = np.random.default_rng(5)
TYPES = {"bool": "?", "i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8",
         "f16": "f2", "f32": "f4", "f64": "f8"}


def run(x, *args, **env):
    """The output as NumPy reads it, and the result."""
    np.save("in.npy", x)
    ended = whole.run([CUDIST, "in.npy", "-q", "-f", "-o", "out.npy", *args], env=dict(ENV, **env))
    if ended.rc:
        return None, ended.stderr
    with open("out.npy.json") as f:
        return np.load("out.npy"), json.load(f)["result"]


def values(kind, shape):
    if kind == "bool":
        return RNG.integers(0, 2, shape).astype("?")
    dtype = np.dtype(TYPES[kind])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return RNG.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    x = RNG.normal(0, 3, shape).astype(dtype)
    flat = x.reshape(-1)
    info = np.finfo(dtype)
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, info.max, info.min, info.tiny, info.smallest_subnormal, 1, -1], dtype)
    flat[RNG.choice(flat.size, special.size, replace=False)] = special
    return x


def compute(kind):
    return np.float64 if kind in ("f64", "i32", "u32", "i64", "u64") else np.float32


def ulps(got, want):
    """The largest distance in units in the last place of got's type; NaN equals NaN."""
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(all="ignore"):
        off = np.abs(got.astype("f8") - want.astype("f8")) / np.spacing(np.abs(want).astype(got.dtype)).astype("f8")
    off = np.where(same, 0, np.where(np.isfinite(off), off, np.inf))
    return off.max(initial=0)


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def erfc(x):
    return np.vectorize(math.erfc)(x)


def same(got, want, t, limit):
    """Of the type and shape, and at most so many ulp off."""
    want = np.asarray(want).astype(t)
    return got is not None and got.dtype == want.dtype and got.shape == want.shape and ulps(got, want) <= limit


def each_element():
    """Functions of doubles; how many ulp."""
    logistic = lambda x: np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x)))
    table = [("abs", np.abs, 0), ("neg", np.negative, 0), ("square", np.square, 0), ("sqrt", np.sqrt, 0),
             ("reciprocal", np.reciprocal, 0), ("sign", np.sign, 0), ("round", np.round, 0), ("clip:min=-1,max=2.5", lambda x: np.clip(x, -1, 2.5), 0),
             ("clip:max=0", lambda x: np.minimum(x, 0), 0), ("sigmoid", logistic, 4),
             ("leaky_relu", lambda x: np.where(x > 0, x, x * 0.01), 1),
             ("elu:alpha=2", lambda x: np.where(x > 0, x, 2 * np.expm1(x)), 4), ("silu", lambda x: x * logistic(x), 5),
             ("softplus", lambda x: np.where(x > 20, x, np.log1p(np.exp(x))), 4),
             ("gelu", lambda x: x * erfc(-x / np.sqrt(2)) / 2, 50), ("cast:dtype=f16", lambda x: x.astype("f2"), 0),
             ("gelu:approximate=tanh", lambda x: x * logistic(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)), 50)]
    with np.errstate(all="ignore"):
        for t in ("f4", "f8", "f2"):
            x = values({"f2": "f16", "f4": "f32", "f8": "f64"}[t], (501, 21))
            # An infinity times 0 and sums that cancel: gelu's and silu's own tests have them.
            tame = np.where(np.abs(x.astype("f8")) < 4, x, t == "f2").astype(t)
            for text, want, limit in table:
                y = tame if text[:4] in ("gelu", "silu") else x
                got, result = run(y, "-k", text)
                expect = want(y.astype("f8")).astype("f4" if t == "f2" else t)
                off = result if got is None else f"{ulps(got, expect.astype(t))} ulp"
                ok(same(got, expect, t, limit), f"{text} of {t}", off)


def each_row():
    for t in ("f4", "f8"):
        x = RNG.normal(0, 3, (503, 40)).astype(t)
        x[5, 3], x[6, 1:4], x[7], x[8, 7] = np.nan, np.inf, 1, x[8, 11]
        np.save("mean.npy", x[9]), np.save("std.npy", np.abs(x[10]) + 1)
        with np.errstate(all="ignore"):
            d = x.astype("f8")
            e = d - d.max(1, keepdims=True)
            table = [("mean", d.mean(1), t, 4 if t == "f4" else 4000),   # of doubles, what NumPy rounds is seen where sums cancel
                     ("max", x.max(1), t, 0), ("argmax", x.argmax(1), "i8", 0),
                     ("log_softmax", e - np.log(np.exp(e).sum(1, keepdims=True)), t, 60),
                     ("l2norm", d / np.maximum(np.sqrt((d * d).sum(1, keepdims=True)), 1e-12), t, 4),
                     ("standardize:mean=mean.npy,std=std.npy", (x - x[9]) / (np.abs(x[10]) + 1), t, 0),
                     ("standardize:mean=0.5,std=4", (x - x.dtype.type(0.5)) / x.dtype.type(4), t, 0)]
        for text, want, to, limit in table:
            got, result = run(x, "-k", text)
            off = result if got is None else f"{got.dtype} {got.shape}: {got} want {want}"
            ok(same(got, want, to, limit), f"{text} of {t}", off)
        good = np.delete(x, 5, 0)          # NumPy has NaN last, topk first
        order = np.argsort(-good, 1, kind="stable")
        for text, want, to in (("topk:k=4", np.take_along_axis(good, order[:, :4], 1), t),
                               ("topk:k=4,give=indices", order[:, :4], "i8"),
                               ("topk:k=3,largest=no", np.sort(good, 1)[:, :3], t)):
            got, result = run(good, "-k", text)
            ok(same(got, want, to, 0), f"{text} of {t}", result if got is None else f"{got} want {want}")
        labels = RNG.integers(0, 10, 3001).astype(t)
        got, result = run(labels, "-k", "onehot:classes=10")
        ok(same(got, np.eye(10)[labels.astype(int)], t, 0), f"onehot of {t}", result if got is None else got)
    for kind in ("bool", "i8", "u8", "i16", "u16", "i32", "u32"):
        x = values(kind, (101, 9))
        w = x.astype(compute(kind))
        for text, want, to in (("abs", np.abs(w), w.dtype), ("max", w.max(1), w.dtype), ("argmax", x.argmax(1), "i8"),
                               ("topk:k=9", -np.sort(-w, 1), w.dtype)):
            got, result = run(x, "-k", text)
            ok(same(got, want, to, 0), f"{text} of {kind}", result if got is None else f"{got} want {want}")


def no_elements():
    for text, want in (("mean", np.full(5, np.nan, "f4")), ("onehot:classes=3", np.zeros((5, 0), "f4"))):
        got, result = run(np.zeros((5, 0), "f4"), "-k", text)
        ok(same(got, want, "f4", 0), f"{text} of rows of no elements", result if got is None else got)
    for text in ("max", "argmax", "topk:k=1"):
        got, result = run(np.zeros((5, 0), "f4"), "-k", text)
        ok(got is None and ("no elements" in result or "0 elements" in result), f"{text} of rows of no elements is refused", result)
        got, result = run(np.zeros((0, 5), "f4"), "-k", text)
        ok(got is not None and len(got) == 0, f"{text} of no rows", result)


def kernels():
    w, b = RNG.normal(size=(21, 9)), RNG.normal(size=9)
    np.save("w.npy", w), np.save("b.npy", b), np.save("wt.npy", w.T.copy())
    table = [("scale:factor=0.3", lambda x, t: x * t(0.3), 0), ("affine:scale=3,shift=-7", lambda x, t: t(3) * x + t(-7), 0),
             ("relu", lambda x, t: np.where(np.isnan(x), x, np.where(x > 0, x, t(0))), 0),
             ("exp", lambda x, t: np.exp(x.astype("f8")), 2),
             ("log", lambda x, t: np.log(x.astype("f8")), 2), ("tanh", lambda x, t: np.tanh(x.astype("f8")), 2)]
    with np.errstate(all="ignore"):
        for kind in TYPES:
            x = values(kind, (501, 21))
            for text, want, limit in table:
                got, result = run(x, "-k", text)
                if got is None:
                    ok(False, f"{text} of {kind}", result)
                    continue
                t = compute(kind)
                expect = want(x.astype(t), t).astype(t)
                expect = expect.astype("f2") if kind == "f16" else expect
                off = ulps(got, expect)
                ok(got.shape == x.shape and got.dtype == expect.dtype and off <= limit, f"{text} of {kind}: {off:.2f} ulp",
                   f"{got.dtype}{got.shape}, want {expect.dtype}{x.shape}")
    x = RNG.normal(0, 3, (1003, 21))
    for t, close in (("f4", 2e-6), ("f8", 1e-14)):
        y = x.astype(t)
        product = y.astype("f8") @ w.astype(t).astype("f8")
        rows = [("sum", y.sum(1, dtype="f8")), ("softmax", softmax(y.astype("f8"))),
                ("dense:weights=w.npy,bias=b.npy,activation=tanh", np.tanh(product + b.astype(t))),
                ("dense:weights=wt.npy,layout=out-in,activation=relu", np.maximum(product, 0))]
        for text, want in rows:
            for libs in ("own", "vendor"):
                got, result = run(y, "-k", text, "-b", "64", CUDIST_LIBS=libs)
                good = got is not None and got.shape == want.shape and got.dtype == y.dtype
                good = good and np.allclose(got, want, close, close * 20)
                ok(good, f"{text} of {t}, {libs}", result if got is None else f"{got.shape} {np.abs(got - want).max()}")


def expressions():
    """--expr: text, the same in NumPy of x in the type of arithmetic, and how many ulp may lie between."""
    def of_rows(f):
        return lambda x, t: x - f(x.astype("f8")).astype(t)[:, None]
    table = [("2*x + 1", lambda x, t: t(2) * x + t(1), 0), ("x > 0 ? x : 0.01*x", lambda x, t: np.where(x > 0, x, t(0.01) * x), 0),
             ("x*x - 3/x", lambda x, t: x * x - t(3) / x, 0), ("min(max(x, -1), 1)", lambda x, t: np.clip(x, t(-1), t(1)), 0),
             ("isnan(x) || x < 1 && !(x < 0)", lambda x, t: np.isnan(x) | ((x < 1) & ~(x < 0)), 0),
             ("floor(x) + ceil(x) * rint(x)", lambda x, t: np.floor(x) + np.ceil(x) * np.rint(x), 0),
             ("sqrt(abs(x)) + copysign(1, x) * trunc(x)",
              lambda x, t: np.sqrt(np.abs(x)) + np.where(np.isnan(x), t(1), np.copysign(t(1), x)) * np.trunc(x), 0),
             ("fmod(x, 0.75)", lambda x, t: np.fmod(x, t(0.75)), 0), ("exp(x)", lambda x, t: np.exp(x.astype("f8")), 2),
             ("i % 5 + 10*row - col", lambda x, t: np.arange(x.size).reshape(x.shape) % 5 + 10 * np.arange(len(x))[:, None] -
              np.arange(x.shape[1]), 0),
             ("x - x[ncols - 1]", lambda x, t: x - x[:, -1:], 0), ("x - row_min", of_rows(lambda x: x.min(1)), 0),
             ("x - row_max", of_rows(lambda x: x.max(1)), 0),
             ("x[0]*x[1], row, x[20]", lambda x, t: np.stack([x[:, 0] * x[:, 1], np.arange(len(x)), x[:, 20]], 1), 0)]
    with np.errstate(all="ignore"):
        for kind in TYPES:
            x = values(kind, (501, 21))
            for text, want, limit in table:
                got, result = run(x, "-e", text)
                t = compute(kind)
                expect = np.asarray(want(x.astype(t), t)).astype(t)
                expect = expect.astype("f2") if kind == "f16" else expect
                off = ulps(got, expect) if got is not None and got.shape == expect.shape else np.inf
                ok(off <= limit and got.dtype == expect.dtype, f"{text} of {kind}: {off:.2f} ulp", result if got is None else got)
    x = RNG.normal(5, 3, (301, 1000))
    for text, want in (("(x - row_mean) / row_std", (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)),
                       ("row_sum, row_var", np.stack([x.sum(1), x.var(1)], 1))):
        got, result = run(x, "-e", text)
        ok(got is not None and np.allclose(got, want, 1e-12, 1e-12), text, result)


def converted(x, to):
    """What --out-dtype means: half to even, saturated, NaN is 0; and what it counts."""
    if to == "bool":
        return np.where(np.isnan(x), False, x != 0), None
    info = np.iinfo(TYPES[to])
    r = np.rint(x)
    low, high = r < float(info.min), r > float(info.max)
    if to in ("i64", "u64", "i32", "u32"):
        high = r >= float(info.max) + (to in ("i32", "u32"))
    nan = np.isnan(x)
    with np.errstate(all="ignore"):
        y = np.where(nan | low | high, 0, r).astype(TYPES[to])
    y = np.where(low, info.min, np.where(high, info.max, y)).astype(TYPES[to])
    exact_top = (r == float(info.max) + 1) if to == "i64" else np.zeros(x.shape, bool)
    return y, {"nan_to_zero": int(nan.sum()), "saturated": int((low | high | exact_top).sum()),
               "rounded": int(((r != x) & ~nan & ~low & ~high).sum())}


def conversions():
    for source in ("f32", "f64"):
        for to in TYPES:
            with np.errstate(all="ignore"):
                x = (values(source, 20011) * 10 ** RNG.uniform(-1, 5, 20011)).astype(TYPES[source])
                got, result = run(x, "-k", "copy", "--out-dtype", to)
                if TYPES[to][0] == "f":
                    want = x.astype(TYPES[to])
                    became = int((np.isfinite(x) & np.isinf(want)).sum())
                    lost = {"rounded": 0, "saturated": became, "nan_to_zero": 0}
                else:
                    want, lost = converted(x.astype("f8"), to)
            good = got is not None and got.dtype == want.dtype and np.array_equal(got, want, equal_nan=got.dtype.kind == "f")
            good = good and (lost is None or result["converted"] == lost)
            ok(good, f"{source} to {to}", result if got is None else f"{result['converted']}, want {lost}; differ at "
               f"{np.nonzero(got != want)[0][:3]}")
    for source in ("i64", "u64", "i32", "u8"):
        for to in TYPES:
            x = values(source, 5003)
            got, result = run(x, "-k", "copy", "--out-dtype", to)
            if TYPES[to][0] == "f":
                with np.errstate(all="ignore"):
                    want = x.astype(TYPES[to])
            elif to == "bool":
                want = x != 0
            else:
                info = np.iinfo(TYPES[to])
                want = np.array([min(max(int(v), info.min), info.max) for v in x], TYPES[to])
            ok(got is not None and got.dtype == want.dtype and np.array_equal(got, want), f"{source} to {to}",
               result if got is None else f"differ at {np.nonzero(got != want)[0][:3]}: {got[got != want][:3]} "
               f"want {want[got != want][:3]}")
    x = values("f32", 5000)
    bits, result = run(x, "-k", "copy", "--out-dtype", "bf16")
    ok(bits is not None and bits.dtype == np.dtype("V2"), "bf16 is written as |V2", result)
    # Round to nearest, ties to even, on the bits; NaN is 7fc0.
    u = x.view("u4").astype("u8")
    want = np.where(np.isnan(x), 0x7fc0, (u + 0x7fff + (u >> 16 & 1)) >> 16).astype("u2")
    ok(bits is not None and np.array_equal(bits.view("u2"), want), "f32 to bf16")
    np.save("bf.npy", bits)
    back = whole.run([CUDIST, "bf.npy", *"--dtype bf16 -k copy --out-dtype f32 -o back.npy -f -q".split()])
    ok(back.rc == 0 and np.array_equal(np.load("back.npy").view("u4"), want.astype("u4") << 16), "bf16 to f32", back)


def statistics():
    for kind in TYPES:
        for shape in ((30011,), (1003, 17)):
            x = values(kind, shape)
            if x.dtype.kind == "f":
                x = np.nan_to_num(x, nan=1, posinf=2, neginf=-2)
                if kind == "f64":
                    x = np.clip(x, -1e100, 1e100)
            got, result = run(x, "-k", "copy")
            if got is None:
                ok(False, f"statistics of {kind} {shape}", result)
                continue
            s, y = result["statistics"], x.astype("f8").reshape(x.shape[0], -1)
            col = y.shape[1]
            first = lambda i: [int(i) // col, int(i) % col]
            want = {"count": x.size, "nan": 0, "pos_inf": 0, "neg_inf": 0, "argmin": first(x.argmin()),
                    "argmax": first(x.argmax())}
            exact = {k: s[k] for k in want}
            number = lambda v: float(v) if not isinstance(v, str) else float(int(v)) if v.lstrip("-").isdigit() else float(v)
            close = all(np.isclose(number(s[k]), w, 1e-12, 1e-12 * np.abs(y).max()) for k, w in
                        (("mean", y.mean()), ("std", y.std()), ("rms", np.sqrt((y * y).mean())), ("min", y.min()),
                         ("max", y.max()), ("sum", y.sum())))
            close = close and all(np.isclose(number(s[k]), v, 1e-10) for k, v in
                                  (("variance", y.var()), ("variance_sample", y.var(ddof=1))))
            whole = x.dtype.kind not in "iub" or int(s["sum"]) == sum(int(v) for v in x.reshape(-1))
            good = exact == want and close and whole and np.array_equal(got, x)
            ok(good, f"statistics of {kind} {shape}", f"{s}, want {want}")
    x = RNG.normal(size=(100, 3))
    x[41, 2], x[40, 1], x[7, 0] = np.nan, np.inf, -np.inf
    s = run(x, "-k", "copy")[1]["statistics"]
    ok(s["nan"] == 1 and s["pos_inf"] == 1 and s["neg_inf"] == 1 and s["first_nan_row"] == 41 and s["mean"] == "nan" and
       s["max"] == "inf" and s["argmax"] == [40, 1] and s["min"] == "-inf", "NaN and infinities are counted and propagate", s)
    for shape in ((0,), (0, 5), (5, 0), ()):
        got, result = run(np.ones(shape), "-k", "scale")
        s = result["statistics"] if got is not None else result
        ok(got is not None and got.shape == shape and s["count"] == got.size, f"shape {shape}", s)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    kernels()
    each_element()
    each_row()
    no_elements()
    expressions()
    conversions()
    statistics()
    os.chdir("/")
sys.exit(done())
