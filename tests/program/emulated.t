#!/usr/bin/env python3
"""The CUDA build on the CUDA emulator (tests/cudaemu): output and `result` have the bytes of the CPU, for any ranks and devices,
with threads reversed and work delayed; and what goes wrong on a GPU ends the run in time, in good order.

CUDIST names the program; tests/cudist-emu beside it is the same, linked with the emulator.  CUDIST_TEST_SET=short does less, =long
the full product.  With CUDIST_TEST_GPUS=N (make check-gpu) the runs are CUDIST's own, on N real GPUs, and nothing is made to fail."""
import concurrent.futures, itertools, os, random, re, struct, subprocess, sys

sys.dont_write_bytecode = True
import whole
from emu import EMULATED, ENV, GPUS, TOP, Run
from expr_oracle import Array, Machine, Maker, Writer
from whole import BESIDE, CUDIST, SET, done, ok

JOBS = os.path.join(os.path.abspath(os.environ.get("srcdir", ".")), "jobs")
LATE = 20                                  # seconds for a run that fails
R = random.Random(3)


def npy(name, kind, shape, data=None):
    """Random bits or numbers of the type; or these bytes."""
    if data is None:
        data = random_data(kind, shape)
    path = os.path.join(TOP, name)
    with open(path, "wb") as f:
        f.write(whole.npy("<" + kind, shape, data))
    return path


def random_data(kind, shape):
    n = 1
    for d in shape:
        n *= d
    size, code = int(kind[1]), {"f4": "f", "f8": "d"}.get(kind)
    data = bytearray(struct.pack(f"<{n}{code}", *(R.gauss(0, 3) for _ in range(n))) if code else R.randbytes(n * size))
    for _ in range(5 if code and n else 0):                       # NaN, infinities, denormals among them
        i = R.randrange(n)
        wild = struct.pack("<" + code, R.choice([float("nan"), float("-inf"), 1e-310]))
        data[i * size:(i + 1) * size] = R.choice([R.randbytes(size), wild])
    return data


def listed():
    """Every kernel of --list-kernels but those that need a file (a case of their own, below), with every choice of every
    parameter: on rows that a GPU gives to one thread, to a warp and to a block; numbers that must be given are 3."""
    shapes = [npy("narrow.npy", "f4", (3001, 7)), npy("middle.npy", "f8", (501, 40)), npy("wide.npy", "f4", (9, 5000))]
    given = {"clip": ["clip:min=-1,max=2"], "standardize": ["standardize", "standardize:mean=1,std=7"]}
    for name, params in kernels():
        needed = ["%s=%s" % (p, takes.split(",")[0] if "," in takes else 3) for p, takes, must in params if must]
        if any(takes == "FILE" for _, takes, must in params if must):
            continue
        steps = [":".join([name] + [",".join(needed)] * bool(needed))]
        for p, takes, must in params:
            others = [word for word in needed if not word.startswith(p + "=")]
            steps += ["%s:%s" % (name, ",".join(others + [f"{p}={choice}"])) for choice in takes.split(",")[1:]]
        for n, step in enumerate(given.get(name, steps)):
            for i, path in enumerate(shapes):
                if SET != "short" or (n + len(name)) % 3 == i:
                    yield f"{step} of {os.path.basename(path)}", ["-k", step, path]


def kernels():
    """Name, [(parameter, what it takes, must it be given)] of each."""
    text = subprocess.run([CUDIST, "--list-kernels"], capture_output=True, text=True, env=dict(whole.ENV, COLUMNS="200")).stdout
    found = []
    for line in re.sub(r"\n {5,}(?=\S)", " ", text).splitlines():
        entry = re.match(r"    (\w+)=\s+(.*?): (.*)", line)
        if entry:
            found[-1][1].append((entry[1], entry[2].replace(" ", ""), "(must be given)" in entry[3]))
        elif line and not line.startswith(" "):
            found.append((line.split()[0], []))
    return found


def random_expressions(arrays):
    """Of expr_oracle.py: for each element, and many results of a row."""
    writer, found = Writer(R), 0
    while found < {"short": 2, "usual": 6, "long": 100}[SET]:
        kind, by_row = "f4" if found % 2 else "f8", found % 4 < 2
        path, rows, cols = arrays[kind]
        array = Array(Machine(kind == "f4"), rows, cols, 0, rows, [])
        maker = Maker(R, array, by_row)
        texts = [writer.text(maker.any(4)) for _ in range(25 if by_row else 1)]
        texts = fitting([t for t in texts if len(t) < 150], kind, rows, cols)
        if texts:
            found += 1
            yield f"{len(texts)} random expressions, {kind}: {texts[0]}", ["-e", ", ".join(texts), path]


def fitting(texts, kind, rows, cols):
    """Some are refused: what is divided by a constant 0, or too small for f32."""
    lines = [f"data {'f32' if kind == 'f4' else 'f64'} 1 {cols} 0 {rows}" + " 0" * cols] + ["expr " + t for t in texts]
    got = subprocess.run([os.path.join(BESIDE, "expr-eval")], input="\n".join(lines) + "\n", capture_output=True, text=True).stdout
    return [t for t, line in zip(texts, got.splitlines()) if line.startswith("=")]


def cases():
    """Name, words: of several units each, so that several ranks have work.  Every job is here too."""
    a, d, h = npy("a.npy", "f4", (3001, 7)), npy("d.npy", "f8", (501, 13)), npy("h.npy", "f2", (5003,))
    i, w, b = npy("i.npy", "i2", (4001,)), npy("w.npy", "f4", (7, 11)), npy("b.npy", "f4", (11,))
    yield "scale", ["-k", "scale", a]
    yield "scale, f64", ["-k", "scale:factor=-0.3", d]
    yield "affine to i8", ["-k", "affine:scale=40,shift=1", "--out-dtype", "i8", a]
    yield "affine, i16 to bf16", ["-k", "affine:shift=0.5", "--out-dtype", "bf16", i]
    yield "copy, i16", ["-k", "copy", i]
    yield "exp and tanh, f16", ["-k", "exp", "-k", "tanh", h]
    yield "log to f16", ["-k", "log", "--out-dtype", "f16", a]
    means, stds = npy("means.npy", "f4", (7,)), npy("stds.npy", "f8", (1, 7))
    yield "standardize by columns", ["-k", f"standardize:mean={means},std={stds}", a]
    yield "relu, softmax and sum", ["-k", "relu", "-k", "softmax", "-k", "sum", npy("rows.npy", "f4", (30011, 7))]
    yield "softmax of long rows", ["-k", "softmax", npy("long.npy", "f4", (25, 5000))]
    yield "softmax, f64", ["-k", "softmax", npy("e.npy", "f8", (5003, 40))]
    yield "sum of long rows", ["-k", "sum", npy("f.npy", "f8", (29, 4500))]
    yield "dense", ["-k", f"dense:weights={w},bias={b},activation=relu", "-b", "100", a]
    yield "dense, tanh", ["-k", f"dense:weights={w},activation=tanh", "-b", "333", a]
    yield "expressions", ["-e", "x > 0 ? x : 0.01*exp(x) - i % 7", "-e", "x - row_mean",
                          "-e", "x[0]*x[1], row_std, row, x[(int)x[2]]", a]
    yield "expression, f64", ["-e", "sin(x) * row_max - pow(abs(x), 1.5) / ncols", d]
    yield "expression and batches", ["-e", "x - row_min", "-k", f"dense:weights={w}", "-e", "row_sum + x[10]", "-b", "100", a]
    yield from random_expressions({"f4": (a, 3001, 7), "f8": (d, 501, 13)})
    yield "no rows", ["-k", "scale", npy("none.npy", "f4", (0, 16))]
    for kind, code in ("f4", "f"), ("f8", "d"), ("i8", "q"):        # leaves whose first pivot suits them badly
        first, rest = (10 ** 17, -3) if code == "q" else (1e8, 3.7e-6)
        data = struct.pack(f"<9001{code}", *(first if i % 4096 < 33 else rest for i in range(9001)))
        yield f"copy, {kind}, large ones first", ["-k", "copy", npy(f"first-{kind}.npy", kind, (9001,), data)]
    yield "one huge row", ["-k", "scale", "-k", "relu", npy("huge.npy", "f4", (1, 20011))]
    shapes = {"mlp": "60x784", "softmax": "20000x10"}              # else too much for an emulator
    for name in sorted(os.listdir(JOBS)):
        if name.endswith(".job"):
            name = name[:-4]
            extra = ["-b", "20"] if name == "mlp" else []
            data = f"random:shape={shapes.get(name, '1500x16')},seed=1"
            yield f"job {name}", ["--job", os.path.join(JOBS, name + ".job"), data] + extra


def odd():
    """Name, words: rows, pieces and copies that begin at addresses which are no multiple of 16, nor of an element in the file: batches
    of three rows of 3, 5 or 7 elements of 1, 2, 4 and 8 bytes, behind a head of 1 to 13 bytes."""
    for n, (dtype, size) in enumerate((("i8", 1), ("u8", 1), ("i16", 2), ("f16", 2), ("bf16", 2), ("f32", 4), ("f64", 8), ("i64", 8))):
        for m, cols in enumerate((3, 5, 7)):
            if SET != "long" and (n + m) % 3:
                continue
            path, rows, offset = os.path.join(TOP, f"{dtype}-{cols}.raw"), 601, (n + 4 * m) % 13 + 1
            with open(path, "wb") as f:
                f.write(R.randbytes(offset + rows * cols * size))
            dense = "dense:weights=" + npy(f"odd{cols}-{size}.npy", "f8" if size == 8 else "f4", (cols, cols))
            raw = ["--dtype", dtype, "--shape", f"{rows}x{cols}", "--offset", str(offset), path]
            where = f"{dtype}, rows of {cols}, offset {offset}"
            yield f"{where}: copy", ["-k", "copy"] + raw
            yield f"{where}: dense and relu", ["-k", dense, "-k", "relu", "-b", "3"] + raw
            yield f"{where}: to i8", ["-k", "softmax", "-k", dense, "-k", "affine:scale=20", "-b", "3", "--out-dtype", "i8"] + raw
            yield f"{where}: to bf16", ["-k", "scale", "-k", dense, "-b", "1", "--out-dtype", "bf16"] + raw


PLACES = [(1, 1), (2, 2), (3, 3), (4, 4), (2, 1), (3, 2), (4, 1)]                # ranks, and GPUs for them
WAYS = [("1", "direct"), ("32K", "root"), ("", "direct"), ("1", "root")]         # windows of one unit, of some, of all
DELAYS = [{}, {"CUDAEMU_DELAY_US": "300", "CUDAEMU_SEED": "1"}, {"CUDAEMU_DELAY_US": "2000", "CUDAEMU_SEED": "2"}]
ORDERS = [{**delay, **reverse} for delay in DELAYS for reverse in ({}, {"CUDAEMU_REVERSE": "1"})]


def runs(n):
    """So many runs, of values at random, none twice; or the full product (None)."""
    if n is None:
        return list(itertools.product(PLACES, WAYS, ORDERS))
    return list(zip(*(R.sample(values, n) for values in (PLACES, WAYS, ORDERS))))


def same(name, words, todo):
    out = [] if any(word.endswith("statistics.job") for word in words) else None
    want = Run(words, out=out is None)
    if want.rc != 0:
        return ok(False, f"{name}: on the CPU", want)
    wrong = []
    for (ranks, devices), (window, write), order in todo:
        more = (["-w", window] if window else []) + (["--write", write] if out is None else [])
        run = Run(words + more, ranks, devices, out=out is None, **order)
        if run.rc or run.got != want.got:
            what = run if run.rc else "other output" if run.got[0] != want.got[0] else f"want {want.got[1]}\ngot  {run.got[1]}"
            wrong.append(f"{ranks} ranks, {devices} devices, window {window or 'default'}, {write}, {order}: {what}")
    ok(not wrong, f"{name}: {len(todo)} runs give the CPU's bytes", "\n".join(wrong))


# What fails, and what the line must say of it: the GPU in each case, rows and step where there are some.
ROWS, LATER = r"rows \d+ to \d+: GPU \d: ", r"step [12] \((relu|dense:[^)]*)\) or what was queued before it: .*"
FAILS = {"cudaMalloc:1": r"GPU \d: no memory for a buffer", "cudaMalloc:4:memory": r"GPU \d: .*--window",
         "cudaHostAlloc:2": r"GPU \d: no pinned memory", "cudaStreamCreateWithFlags:1:memory": r"GPU \d: making a stream",
         "cudaEventCreateWithFlags:1": r"GPU \d: making an event", "cudaEventCreateWithFlags:7:memory": r"GPU \d: making an event",
         "cudaMemcpyAsync:1:ecc": r"step 2 \(dense:weights=.*\): GPU \d: copying to it: .*ECC",
         "cudaMemcpyAsync:9:lost": ROWS, "cudaLaunchKernel:1:cudaErrorInvalidValue": ROWS + r"step 1 \(relu\): kernel relu cannot",
         "cudaLaunchKernel:2:cudaErrorInvalidValue": ROWS + r"step 2 \(dense:weights=.*\): kernel dense cannot",
         "cudaLaunchKernel:7:launch": ROWS, "cudaEventSynchronize:1:launch": r"GPU \d: waiting for it",
         "cudaEventSynchronize:3:launch": r"step 2 \(dense:.*GPU \d: waiting for it", "cudaEventSynchronize:6:lost": ROWS + LATER,
         "kernel:1:ecc": ROWS + LATER + "ECC",
         "cudaFuncGetAttributes:1:cudaErrorNoKernelImageForDevice": r"GPU \d: step 1 \(relu\): kernel relu cannot be loaded.*GENCODE",
         "kernel:6:cudaErrorIllegalAddress": ROWS + LATER + "IllegalAddress.*CUDA_LAUNCH_BLOCKING", "copy:1:lost": r"step 2 \(.*GPU \d",
         "copy:8:ecc": ROWS + ".*ECC"}


def fails(fault, who, ranks, write):
    words = ["-k", "relu", "-k", "dense:weights=" + os.path.join(TOP, "w.npy"), "-b", "100", "-w", "1", os.path.join(TOP, "a.npy")]
    run = Run(words + ["--write", write], ranks, ranks, LATE,
              CUDAEMU_FAIL=f"{fault}@{who}" if who != "*" else fault)
    name = f"{fault} on {'every rank' if who == '*' else f'rank {who}'} of {ranks}, {write}"
    first = (run.lines or [""])[0]
    # The lane that sends the rows may meet it first, and then before the rank has any, or behind its last.
    says = FAILS[fault].replace(ROWS, r"(rows \d+ to \d+|done \d+ of its \d+ rows): GPU \d: ") if write == "root" else FAILS[fault]
    named = (who in (0, "*") or f"rank {who}: " in first) and re.search(says, first)
    named = named and (who == "*" or f"GPU {who}: " in first)
    ok(run.rc == 1 and not run.late and len(run.lines) == 1 and not run.left and named, f"{name}: one line, nothing left", run)


def failing():
    """Each on the first, the last and every rank, both ways; or a part of that."""
    turns = [(0, 1), (0, 3), (2, 3), ("*", 3), (1, 2), ("*", 2)]
    for (n, fault), (m, turn), way in itertools.product(enumerate(FAILS), enumerate(turns), (0, 1)):
        if SET == "long" or ((n + m) % (6 if SET == "short" else 3) == 0 and way == (n + m // 2) % 2):
            yield fault, *turn, ("direct", "root")[way]


def refused():
    """What cannot work is told before anything is written."""
    words = ["-k", "scale", "-w", "16M", "random:shape=4000000x4"]
    for name, code, line, ranks, devices, env in (
            ("no GPU", 4, "no rank sees a GPU", 1, 0, {}), ("no GPU for 3 ranks", 4, "no rank sees a GPU", 3, 0, {}),
            ("no visible GPU", 4, "no rank sees a GPU", 1, 2, {"CUDA_VISIBLE_DEVICES": ""})):
        run = Run(words, ranks, devices, LATE, share=False, **env)
        good = run.rc == code and not run.late and len(run.lines) == 1 and re.search(line, run.lines[0]) and not run.left
        ok(good, f"{name}: exit code {run.rc}", run)
    run = Run(words, 3, 2, LATE, share=False)
    table = [line for line in run.lines if line.startswith("cudist:  ")]
    ok(run.rc == 4 and len(table) == 4 and len(run.lines) == 5 and "--share-gpus" in run.lines[-1] and not run.left,
       "two GPUs for three ranks: a table and a line", run)


def memory():
    """It is planned before anything is allocated: an allocation would fail here with another line."""
    data = "random:shape=4000000x4"
    wide = ["-k", "dense:weights=" + npy("wide.npy", "f4", (4, 90000)), "-b", "3", data]
    for name, words, mib, line, ranks in (
            ("a window", ["-k", "scale", "-w", "16M", data], 1, "windows of 4194304 rows.* a smaller --window", 1),
            ("arrays", wide, 1, r"\(1.4 MiB for arrays .* use a GPU with more memory", 1),
            ("a batch", wide, 34, "a smaller --batch", 1),
            ("ranks that share", ["-k", "scale", "-w", "3M", data], 5,
             " 2.5 MiB are free for each of the 2 .*--window or fewer ranks", 2)):
        run = Run(words, ranks, 1, LATE, CUDAEMU_MEM_MB=str(mib), CUDAEMU_FAIL="cudaMalloc:1,cudaHostAlloc:1,cudaMallocHost:1")
        line = r"GPU 0 of host \S+: a rank needs [0-9.]+ MiB .*" + line
        good = run.rc == 3 and len(run.lines) == 1 and re.search(line, run.lines[0])
        ok(good and not run.late and not run.left, f"too little memory for {name}: needed, free, and the cure", run)
    run = Run(["-k", "scale", "--dry-run", data], 2, 1, LATE, CUDAEMU_MEM_MB="24")
    found = re.search(r"window .*: ([0-9.]+) MiB in,(?:.*\n)*.* on the host, ([0-9.]+) MiB on the GPU", run.stdout.decode())
    ok(found and 1 <= float(found[1]) < 32 and float(found[2]) <= 6, "without --window it is as small as the memory wants",
       run.stdout)


def interpreted():
    """Without NVRTC an expression is interpreted, and with it is not; the same bytes."""
    words = ["-e", "x > 0 ? x : 0.01*exp(x) - i % 7", "-e", "(x - row_mean) / row_std", "-e", "x[0]*sin(x[1]), row, x[(int)x[2]]",
             os.path.join(TOP, "a.npy")]
    want = Run(words)
    for ranks, env in (1, {"CUDIST_NVRTC": "no"}), (3, {"CUDIST_NVRTC": "no", "CUDAEMU_REVERSE": "1"}):
        run = Run(words, ranks, 2, **env)
        ok(want.rc == 0 and run.got == want.got, f"expressions interpreted by {ranks}: the CPU's bytes", run)
    if GPUS:
        return None
    probe = whole.run([EMULATED, "-d", "cuda", "-e", "x", "random:shape=4", "-o", "none"], env=dict(ENV, CUDAEMU_DEVICES="1"))
    if any("libnvrtc" in note for note in probe.notes):
        return ok(True, "expressions compiled # SKIP no NVRTC")
    run = Run(words, 2, 2, CUDAEMU_FAIL="cudaLibraryLoadData:1+:memory@1")
    return ok(run.rc == 1 and len(run.lines) == 1 and re.search("rank 1: GPU 1: loading what was compiled", run.lines[0]) and not run.left,
              "what was compiled is loaded, or that fails", run)


def complete(todo):
    names = [name for name, _ in kernels()]
    words = " ".join(" ".join(w) for _, w in todo)
    missing = [name for name in names if not re.search(rf"-k {name}\b", words)]
    ok(names and not missing, "every kernel is among the cases", missing)


def main():
    if not os.path.exists(EMULATED):
        print("1..0 # SKIP built without nvcc")
        return 0
    todo, more = list(cases()), list(listed())
    probe = Run(["-k", "scale", "random:shape=10"], devices=1)
    if "no PTX in the program" in probe.stderr:
        print("1..0 # SKIP GENCODE has no PTX")
        return 0
    complete(todo + more)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(same, *case, runs({"short": 1, "long": None}.get(SET, 3))) for case in todo]
        jobs += [pool.submit(same, *case, runs(3 if SET == "long" else 1)) for case in [*more, *odd()]]
        jobs.append(pool.submit(interpreted))
        if not GPUS:
            jobs += [pool.submit(fails, *f) for f in failing()] + [pool.submit(refused), pool.submit(memory)]
        for job in jobs:
            try:
                job.result()
            except Exception as e:
                ok(False, f"{type(e).__name__}: {e}")
    return done()


sys.exit(main())
