#!/usr/bin/env python3
"""The same bytes for any ranks, windows, write modes, threads, instruction sets and device: output and `result`.

CUDIST names the program.  Each job runs once plainly (one rank, one thread, the plainest build); every other run of it must
give those bytes.  The usual runs are a covering set: every value of every dimension with every job, and pairs as they fall.
CUDIST_TEST_SET=short is two runs a job, =long the full product."""
import concurrent.futures, itertools, json, os, random, struct, sys, tempfile

sys.dont_write_bytecode = True
import whole
from whole import CUDIST, ENV, MPIRUN, SET, done, ok

R = random.Random(7)
DESCR = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4",
         "i64": "i8", "u64": "u8", "bool": "b1"}


def npy(path, kind, shape, order="<"):
    """Random bits of the type: NaN, infinities and denormals among them; floats mostly of ordinary size."""
    size, n = int(DESCR[kind][1]), 1
    for d in shape:
        n *= d
    if kind in ("f32", "f64"):
        code = {"f32": "f", "f64": "d"}[kind]
        values = [R.gauss(0, 3) for _ in range(min(n, 5000))]
        block = struct.pack(f"{order}{len(values)}{code}", *values)
        data = (block * (n // max(1, len(values)) + 1))[:n * size]
        data = bytearray(data)
        for _ in range(min(n // 1000, 50)):                       # some wild ones
            i = R.randrange(n)
            data[i * size:(i + 1) * size] = R.randbytes(size)
    elif kind == "bool":
        data = bytes(R.randrange(2) for _ in range(n))
    else:
        data = R.randbytes(n * size)
    with open(path, "wb") as f:
        f.write(whole.npy(("|" if size == 1 else order) + DESCR[kind], shape, data))


def jobs(folder):
    """Name, arguments, the input."""
    def array(name, *args, **kw):
        npy(os.path.join(folder, name), *args, **kw)
        return name
    npy(os.path.join(folder, "w.npy"), "f32", (37, 11))
    npy(os.path.join(folder, "b.npy"), "f32", (11,))
    dense = ["-k", "dense:weights=w.npy,bias=b.npy,activation=relu", "-b", "100"]
    yield "scale", ["-k", "scale"], [array("a.npy", "f32", (100003,))]
    yield "scale, big-endian f64", ["-k", "scale:factor=-0.3"], [array("be.npy", "f64", (1009, 7), order=">")]
    yield "copy i64", ["-k", "copy"], [array("i64.npy", "i64", (30011,))]
    yield "copy u64", ["-k", "copy"], [array("u64.npy", "u64", (30011,), order=">")]
    yield "exp tanh, f16", ["-k", "tanh", "-k", "exp"], [array("h.npy", "f16", (70001,))]
    yield "affine to i8", ["-k", "affine:scale=40,shift=1", "--out-dtype", "i8"], [array("c.npy", "f32", (333, 301))]
    yield "i16 to bf16", ["-k", "affine:shift=0.5", "--out-dtype", "bf16"], [array("s.npy", "i16", (60001,))]
    yield "bool to u16", ["-k", "scale:factor=7", "--out-dtype", "u16"], [array("t.npy", "bool", (50021,))]
    yield "log, i32", ["-k", "log"], [array("i32.npy", "i32", (40009,))]
    yield "softmax", ["-k", "softmax"], [array("d.npy", "f32", (1009, 784))]
    yield "sum of rows", ["-k", "sum"], [array("e.npy", "f64", (5003, 31))]
    yield "relu, softmax, sum", ["-k", "relu", "-k", "softmax", "-k", "sum"], ["d.npy"]
    yield "dense", dense, [array("x.npy", "f32", (5003, 37))]
    yield "dense, tanh", dense + ["-k", "tanh"], ["x.npy"]
    yield "fewer rows than ranks", ["-k", "softmax"], [array("few.npy", "f32", (3, 5))]
    yield "no rows", ["-k", "scale"], [array("none.npy", "f32", (0, 16))]
    yield "no rows, sums", ["-k", "sum"], ["none.npy"]
    yield "shape ()", ["-k", "scale"], [array("one.npy", "f64", ())]
    yield "one huge row", ["-k", "scale", "-k", "relu"], [array("huge.npy", "f32", (1, 300007))]
    yield "one huge row, softmax", ["-k", "softmax"], ["huge.npy"]
    yield "rows of one element", ["-k", "softmax"], [array("col.npy", "f32", (20011, 1))]
    yield "three files", ["-k", "scale"], ["a.npy", array("a2.npy", "f32", (17,)), array("a3.npy", "f32", (70003,))]
    yield "random normal", ["-k", "exp"], ["random:shape=30011x5,dist=normal,seed=3"]
    yield "expression", ["-e", "x > 0 ? x : 0.01*exp(x) - i % 7"], ["a.npy"]
    yield "expression of rows", ["-e", "(x - row_mean) / row_std + row - x[3]"], ["d.npy"]
    yield "expressions and a kernel", ["-e", "x*x", "-k", "softmax", "-e", "x[0]*x[1], row_max, row, x[30]", "-e", "-x"], ["e.npy"]
    yield "expressions and batches", ["-e", "x - row_min"] + dense + ["-e", "row_sum + x[10]"], ["x.npy"]
    yield "expression of i16 to u8", ["-e", "sin(x) * 100 + 100", "--out-dtype", "u8"], ["s.npy"]
    yield "expression of i32", ["-e", "fmod(x, 1000) + nrows"], ["i32.npy"]
    yield "one huge row, expression", ["-e", "x + i", "-e", "sqrt(x)"], ["huge.npy"]
    yield "one huge row, facts", ["-e", "x - row_mean"], ["huge.npy"]
    yield "no rows, expression", ["-e", "x[1] + row_max"], ["none.npy"]
    yield "shape (), expression", ["-e", "x*x + col"], ["one.npy"]
    yield "raw with an offset", ["-k", "relu", "--dtype", "u32", "--offset", "5", "--shape", "5000"], ["raw.bin"]


RANKS, WINDOWS, WRITES, THREADS = [1, 2, 3, 5, 8], ["1", "40K", "1M", ""], ["direct", "root", "stdout"], ["1", "3"]
MACHINES = ["", "x86-64", "x86-64-v3", "x86-64-v4", "reversed", "strict 1", "strict 2"]


def command(folder, out, args, inputs, ranks=1, window="", write="direct", threads="1", machine="x86-64"):
    env = dict(ENV)
    if machine.startswith("strict"):
        env["CUDIST_STRICT"] = machine.split()[1]
    elif machine:
        env["CUDIST_ISA"] = machine
    line = [CUDIST, *args, *inputs, "-q", "--threads", threads, "--result", out + ".json"]
    line += ["-w", window] if window else []
    line += ["-o", "-"] if write == "stdout" else ["-o", out, "--write", write]
    if ranks > 1:
        line = [*MPIRUN, "-np", str(ranks), *line]
    with open(os.path.join(folder, out) if write == "stdout" else os.devnull, "wb") as to:
        run = whole.run(line, late=120, env=env, cwd=folder, stdout=to)
    if run.rc:
        return None, run.stderr[-600:]
    with open(os.path.join(folder, out), "rb") as f:
        data = f.read()
    result = json.dumps(json.load(open(os.path.join(folder, out + ".json")))["result"])
    for end in ("", ".json"):
        os.unlink(os.path.join(folder, out + end))
    return (data, result), ""


def covering():
    """Columns of all values, each shuffled and repeated to the longest: every value at least once."""
    if SET == "long":
        return list(itertools.product(RANKS, WINDOWS, WRITES, THREADS, MACHINES))
    n = len(MACHINES)
    columns = []
    for values in (RANKS, WINDOWS, WRITES, THREADS, MACHINES):
        column = (values * n)[:n]
        R.shuffle(column)
        columns.append(column)
    return list(zip(*columns))[:2 if SET == "short" else n]


def test(folder, number, job):
    name, args, inputs = job
    end = ".bin" if "--dtype" in args else ".npy"     # stdout's format is the input's
    want, why = command(folder, f"o{number}{end}", args, inputs)
    if not want:
        return ok(False, f"{name}: the plain run", why)
    bad, runs = [], covering()
    for i, (ranks, window, write, threads, machine) in enumerate(runs):
        got, why = command(folder, f"o{number}-{i}{end}", args, inputs, ranks, window, write, threads, machine)
        if got != want:
            what = why.strip() if not got else "other output" if got[0] != want[0] else \
                f"other result\nwant {want[1]}\ngot  {got[1]}"
            bad.append(f"{ranks} ranks, window {window or 'default'}, {write}, {threads} threads, {machine or 'best'}: {what}")
    ok(not bad, f"{name}: {len(runs)} other runs give the same bytes", "\n".join(bad))


with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "raw.bin"), "wb") as f:
        f.write(R.randbytes(5 + 4 * 5000))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda job: test(folder, *job), list(enumerate(jobs(folder)))))
sys.exit(done())
