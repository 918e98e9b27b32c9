#!/usr/bin/env python3
"""--nan: omit makes the moments those of all else, worked out here in rational arithmetic; fail ends with 5 and the same line for any
ranks, threads, windows, write modes and device, names the first row, and leaves nothing.

CUDIST names the program.  CUDIST_TEST_SET=long runs the full product."""
import concurrent.futures, itertools, json, math, os, random, struct, sys, tempfile
from fractions import Fraction

sys.dont_write_bytecode = True
import whole
from whole import BESIDE, CUDIST, ENV, MPIRUN, SET, done, ok, run

R = random.Random(11)
EMULATED = os.path.join(BESIDE, "cudist-emu")
CODES = {"f4": "f", "f8": "d", "f2": "e"}
nan, inf = math.nan, math.inf


def write(path, descr, shape, values):
    data = struct.pack(f"<{len(values)}{CODES[descr]}", *values)
    with open(path, "wb") as f:
        f.write(whole.npy("<" + descr, shape, data))
    return [float(v) for v in struct.unpack(f"<{len(values)}{CODES[descr]}", data)]


def statistics(folder, name, *words, command=(CUDIST,)):
    got = run([*command, name, "-k", "copy", "-o", "none", "--result", "-", "-q", *words], cwd=folder, env=ENV)
    return json.loads(got.stdout)["result"]["statistics"] if got.rc == 0 else got


def check_omit(folder, name, descr, shape, values):
    values = write(os.path.join(folder, "x.npy"), descr, shape, values)
    kept = [v for v in values if v == v]
    with_nan, without = statistics(folder, "x.npy"), statistics(folder, "x.npy", "--nan", "omit")
    if not isinstance(without, dict):
        return ok(False, name, without)
    keys = ("sum", "mean", "variance", "variance_sample", "std", "rms")
    n, want = len(kept), dict.fromkeys(keys)
    finite = [Fraction(v) for v in kept if abs(v) < inf]
    if len(finite) < n:
        total = sum(v for v in kept if abs(v) == inf)
        want = dict.fromkeys(keys, nan) | {"sum": total, "mean": total, "rms": inf}
        want["variance_sample"] = nan if n > 1 else None
    elif n:
        total = sum(finite)
        spread = sum((v - total / n) ** 2 for v in finite)
        want = {"sum": float(total), "mean": float(total / n), "variance": float(spread / n), "std": math.sqrt(spread / n),
                "variance_sample": float(spread / (n - 1)) if n > 1 else None, "rms": math.sqrt(sum(v * v for v in finite) / n)}
    else:
        want["sum"] = 0.0
    size = max([abs(float(v)) for v in finite], default=0)
    def same(got, w):
        got = float(got) if isinstance(got, str) else got
        return got is w or (None not in (got, w) and (got == w or (got != got and w != w) or abs(got - w) <= 1e-14 * max(abs(w), size)))
    good = all(same(without[k], want[k]) for k in keys)
    rest = [k for k in with_nan if k not in keys]
    good = good and all(without[k] == with_nan[k] for k in rest) and without["count"] == len(values)
    ok(good, f"omit, {name}", f"got  {without}\nwant {want}\nwith {with_nan}")
    many = statistics(folder, "x.npy", "--nan", "omit", "-w", "1", command=[*MPIRUN, "-np", "3", CUDIST])
    ok(many == without, f"omit, {name}: 3 ranks", many)
    if len(kept) < len(values):
        told = run([CUDIST, "x.npy", "-k", "copy", "-o", "none", "--nan", "omit"], cwd=folder, env=ENV)
        ok(told.notes and told.notes[0].endswith(" the like are without them"), f"omit, {name}: a warning", told)
    if descr != "f2" and len(kept) < len(values) and kept:
        ok(with_nan["mean"] == "nan", f"propagate, {name}", with_nan)


def test_omit(folder):
    some = lambda n, share, f: [nan if R.random() < share else f() for _ in range(n)]
    normal = lambda: R.gauss(3, 2)
    check_omit(folder, "no NaN", "f8", (50, 4), some(200, 0, normal))
    check_omit(folder, "some, f4", "f4", (3001, 7), some(21007, 0.1, normal))
    check_omit(folder, "some, f8 about 1e8", "f8", (20011,), some(20011, 0.3, lambda: 1e8 + R.random()))
    check_omit(folder, "some, f2", "f2", (999, 3), some(2997, 0.5, normal))
    check_omit(folder, "whole leaves of them", "f4", (30000,), [nan] * 9000 + some(9000, 0, normal) + [nan] * 12000)
    check_omit(folder, "and inf", "f4", (1001,), some(500, 0.1, normal) + [inf] + some(500, 0.1, normal))
    check_omit(folder, "and both infinities", "f8", (4,), [inf, nan, -inf, 1.0])
    check_omit(folder, "one left", "f4", (5, 1), [nan, nan, 7.5, nan, nan])
    check_omit(folder, "none left", "f4", (3, 2), [nan] * 6)
    check_omit(folder, "no rows", "f8", (0, 3), [])


def fails(folder, ranks, window, way, threads, device):
    """rc, the lines, and what was left."""
    place = tempfile.mkdtemp(dir=folder)
    line = [EMULATED if device == "cuda" else CUDIST, "../bad.npy", "-k", "scale", "--nan", "fail", "--threads", str(threads), "-d", device]
    line += {"none": ["-o", "none"], "stdout": ["-o", "-"]}.get(way) or ["-o", "o.npy", "--write", way]
    line += ["-w", window] if window else []
    env = dict(ENV, CUDAEMU_DEVICES="2")
    if device == "cuda":
        line += ["--share-gpus"] if ranks > 2 else []
        del env["CUDA_VISIBLE_DEVICES"]
    with open(os.devnull, "wb") as null:
        got = run(([*MPIRUN, "-np", str(ranks)] if ranks > 1 else []) + line, cwd=place, env=env, stdout=null)
    return got, os.listdir(place)


def test_fail(folder):
    rows, cols = 40009, 3
    values = [R.gauss(0, 1) for _ in range(rows * cols)]
    cases = [("the first", [(0, 0), (9, 1), (40008, 2)]), ("in the middle", [(17003, 2), (17004, 0), (39000, 1)]), ("the last", [(40008, 2)])]
    full = list(itertools.product([1, 2, 3, 5], ["40K", "1M", ""], ["direct", "root", "none", "stdout"], [1, 3], ["cpu"]))
    some = full if SET == "long" else R.sample(full, 8 if SET == "usual" else 3)
    if os.path.exists(EMULATED):
        some += [(1, "40K", "direct", 2, "cuda"), (3, "40K", "root", 1, "cuda")]
    for name, places in cases:
        bad = list(values)
        for row, col in places:
            bad[row * cols + col] = nan
        write(os.path.join(folder, "bad.npy"), "f4", (rows, cols), bad)
        row, col = places[0]
        want = f"cudist: row {row}, column {col}: a NaN in the output, and --nan is fail: it is not kept (--nan propagate or omit would)"
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for shape, (got, left) in zip(some, pool.map(lambda shape: fails(folder, *shape), some)):
                ok(got.rc == 5 and got.lines == [want] and not left, f"fail, {name}: {shape}", f"{got}\n{left}")
    write(os.path.join(folder, "bad.npy"), "f4", (5,), [1, 2, nan, 4, nan])
    got, left = fails(folder, 1, "", "direct", 1, "cpu")
    ok(got.rc == 5 and got.lines[0].startswith("cudist: row 2: a NaN") and not left, "fail, one dimension", got)
    got = run([CUDIST, "bad.npy", "-k", "copy", "--nan", "fail", "--out-dtype", "i8", "-o", "o.npy"], cwd=folder, env=ENV)
    ok(got.rc == 5 and "2 NaN would be 0" in got.lines[0] and not os.path.exists(os.path.join(folder, "o.npy")), "fail, made 0", got)
    write(os.path.join(folder, "good.npy"), "f4", (5,), [1, 2, inf, 4, 5])
    plain, strict = statistics(folder, "good.npy"), statistics(folder, "good.npy", "--nan", "fail")
    ok(isinstance(strict, dict) and plain == strict, "fail, without NaN: as ever", strict)
    with open(os.path.join(folder, "o.npy"), "wb") as f:
        f.write(b"old")
    got = run([CUDIST, "bad.npy", "-k", "copy", "--nan", "fail", "-o", "o.npy", "-f"], cwd=folder, env=ENV)
    with open(os.path.join(folder, "o.npy"), "rb") as f:
        ok(got.rc == 5 and f.read() == b"old", "fail with --force: the old output stays", got)


with tempfile.TemporaryDirectory() as top:
    test_omit(top)
    test_fail(top)
sys.exit(done())
