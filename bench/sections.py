"""The parts of the table.  Each measures, then prints its own tables."""
import array
import math
import os
import random
import shutil
import struct
import subprocess

from measure import (HERE, Case, goal_cells, interleave, mpirun, peaks, ratio_row, run, same, say, size_text, spread,
                     sync, table, touch, warm)

MIB, GIB = 1 << 20, 1 << 30
COLS = 1024
RATIO_HEAD = ["what", "ratio of medians", "of the least", "goal, at most", "reached"]


class Bench:
    """What all parts share.  folder: fresh, and removed at the end."""

    def __init__(self, cudist, folder, size, repeats, quick):
        self.cudist, self.folder, self.size, self.repeats, self.quick = cudist, folder, size, repeats, quick
        self.input = self.path("in.npy")
        self.loop, self.mpi_empty = self.path("loop"), self.path("mpi_empty")

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, ranks, threads, *args, name=None, output="none", env=None, device="cpu"):
        """A run of cudist under mpirun as a case."""
        result = self.path("result.json")
        command = mpirun(ranks, self.cudist, "-q", "-d", device, "--threads", threads, "--result", result, "-o", output, *args)
        return Case(name or f"cudist, {ranks} x {threads}", command, output if output != "none" else None, result, env)


# ---- what is needed

def compile_programs(b):
    cc, mpicc = os.environ.get("CC", "cc"), os.environ.get("MPICC", "mpicc")
    for compiler, source in ((cc, "loop"), (cc, "peak"), (mpicc, "mpi_empty")):
        run([*compiler.split(), "-O3", "-o", b.path(source), os.path.join(HERE, source + ".c")])


def npy_head(shape):
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(map(str, shape))
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def make_array(path, rows, cols, low=0.0, high=1.0):
    """f32, uniform: 4 MiB of numbers again and again, turned a little each time."""
    r, left = random.Random(rows * cols), 4 * rows * cols
    block = array.array("f", (r.uniform(low, high) for _ in range(min(MIB, rows * cols)))).tobytes()
    with open(path, "wb") as f:
        f.write(npy_head((rows, cols)))
        while left:
            left -= f.write(block[:left])
            turn = 4 * r.randrange(len(block) // 4)
            block = block[turn:] + block[:turn]
    sync(path)


def make_sparse(path, size):
    """Zeros that take no disk."""
    with open(path, "wb") as f:
        f.write(npy_head((size // (4 * COLS), COLS)))
        f.truncate(f.tell() + size)


def python_with(*modules):
    for python in ("python3", "/usr/bin/python3"):
        try:
            if not subprocess.run([python, "-c", "import " + ", ".join(modules)], capture_output=True, check=False).returncode:
                return python
        except OSError:
            pass
    return None


def isas():
    """The instruction sets kernels are built for that this CPU has; the last is the one cudist takes by itself."""
    with open("/proc/cpuinfo") as f:
        flags = next((line.split() for line in f if line.startswith("flags")), [])
    needs = {"x86-64": {"sse2"}, "x86-64-v3": {"avx2", "bmi1", "bmi2", "fma"},
             "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}}
    return [isa for isa, need in needs.items() if need <= set(flags)]


PEERS = (   # name, file, modules, ranks under mpirun or 0, Debian's packages, pip's
    ("NumPy, chunks", "numpy_chunks.py", ["numpy"], 0, "python3-numpy", "numpy"),
    ("mpi4py + NumPy, 2 x 1", "mpi4py_numpy.py", ["numpy", "mpi4py"], 2, "python3-numpy python3-mpi4py", "numpy mpi4py"),
    ("numba, fused, all cores", "numba_fused.py", ["numpy", "numba"], 0, "python3-numba", "numba"),
    ("dask.array, all cores", "dask_array.py", ["numpy", "dask.array"], 0, "python3-dask python3-numpy", "'dask[array]'"))


def peer_cases(b, output):
    cases, missing = [], []
    for name, file, modules, ranks, debian, pip in PEERS:
        python = python_with(*modules)
        if not python:
            missing.append((name, f"not installed (apt-get install {debian}, or pip install {pip})"))
            continue
        command = [python, os.path.join(HERE, "peers", file), b.input, output]
        cases.append(Case(name, mpirun(ranks, *command) if ranks else command, output))
    return cases, missing


# ---- files through

def check_outputs(b, cases):
    """Once, not timed: whoever doubles the array writes cudist's very bytes."""
    want = b.path("want.npy")
    run(b.program(1, 1, b.input, "-k", "scale", output=want).command)
    for case in cases:
        say(f"  output: {case.name}")
        case.clean()
        case.once()
        if not same(case.output, want):
            raise SystemExit(f"bench/run: the output of '{case.name}' is not what cudist writes")
        case.clean()
    os.unlink(want)


def stream(b):
    out = b.path("out.npy")
    scale = lambda ranks, threads, **kw: b.program(ranks, threads, b.input, "-k", "scale", output=out, **kw)
    cp = Case("cp", ["cp", b.input, out], out, sync=True)
    copies = [Case(f"C loop, copy, {n}", [b.loop, "copy", n, b.input, out], out) for n in (1, 2)]
    sums = [Case(f"C loop, naive sums, {n}", [b.loop, "sums", n, b.input, out], out) for n in (1, 2)]
    one, ranks, threads = scale(1, 1), scale(2, 1), scale(1, 2)
    builds = [scale(1, 1, name=f"cudist, 1 x 1, {isa}", env={"CUDIST_ISA": isa}) for isa in isas()[:-1]]
    peers, missing = peer_cases(b, out)
    check_outputs(b, [one, ranks, threads, *builds, *peers])
    cases = [cp, *copies, *sums, one, ranks, threads, *builds, *peers]
    interleave(cases, b.repeats, lambda: (touch(b.input), warm(b.size * 3 // 2)))
    print(f"## {size_text(b.size)} of f32, doubled, with statistics, to a file (seconds: median, least to most)\n")
    table(["program, processes x threads", "whole process", "its own clock: stream", "commit", "with commit or sync"],
          [[c.name, spread(c.samples["whole"]), spread(own(c)) if own(c) else "", *commit_cells(c)] for c in cases] +
          [[name, why, "", "", ""] for name, why in missing])
    whole, synced = cp.samples["whole"], cp.samples["whole+sync"]
    rows = []
    for c, streams, commits in ((one, 1.2, 1.1), (ranks, 0.85, 0.95), (threads, 0.85, 0.95)):
        rows.append(ratio_row(f"{c.name}: stream / cp", c.samples["stream"], whole, streams))
        rows.append(ratio_row(f"{c.name}: stream + commit / cp and sync", c.samples["stream+commit"], synced, commits))
    rows += [ratio_row(f"{c.name}: stream / cp", c.samples["stream"], whole, 1.2 if "-v" in c.name else None) for c in builds]
    for n in (0, 1):
        rows.append(ratio_row(f"{copies[n].name}: / cp", own(copies[n]), whole))
        rows.append(ratio_row(f"{sums[n].name}: / cp", own(sums[n]), whole))
    for c in peers:
        rows.append(ratio_row(f"cudist, 2 x 1: stream / {c.name}", ranks.samples["stream"], own(c)))
        rows.append(ratio_row(f"cudist, 2 x 1 / {c.name}, whole processes", ranks.samples["whole"], c.samples["whole"]))
    table(RATIO_HEAD, rows)


def own(case):
    return case.samples.get("stream") or case.samples.get("own")


def commit_cells(case):
    both = case.samples.get("stream+commit") or case.samples.get("whole+sync")
    return [spread(case.samples["commit"]) if "commit" in case.samples else "", spread(both) if both else ""]


# ---- statistics only

def stats(b):
    cases = [b.program(ranks, threads, b.input, "-k", "copy") for ranks, threads in ((1, 1), (1, 2), (2, 1))]
    cases.append(Case("C loop, read and naive sums, 1", [b.loop, "read", 1, b.input, "-"]))
    cases[:0] = [b.program(1, 1, b.input, "-k", "copy", name=f"cudist, 1 x 1, {isa}", env={"CUDIST_ISA": isa})
                 for isa in isas()[:-1]]
    python = python_with("numpy")
    numpy = Case("NumPy: mean, var, min, max, mapped", [python or "", os.path.join(HERE, "peers", "numpy_stats.py"), b.input])
    interleave(cases + [numpy] * bool(python), b.repeats, lambda: (touch(b.input), warm(b.size * 3 // 2)))
    print(f"## Statistics only, {size_text(b.size)} of f32 (seconds: median, least to most)\n")
    table(["program", "whole process", "its own clock"],
          [[c.name, spread(c.samples["whole"]), spread(own(c))] for c in cases + [numpy] * bool(python)] +
          [[numpy.name, "not installed (apt-get install python3-numpy, or pip install numpy)", ""]] * (not python))
    rows = []
    for c in cases[:-1]:
        fast = "1 x 1" in c.name and not c.name.endswith("x86-64")
        rows.append(ratio_row(f"{c.name}: seconds a GiB", [t * GIB / b.size for t in own(c)], [1], 0.17 if fast else None))
        if python:
            rows.append(ratio_row(f"{c.name} / NumPy", own(c), own(numpy), 0.2 if fast else None))
            rows.append(ratio_row(f"{c.name} / NumPy, whole processes", c.samples["whole"], numpy.samples["whole"]))
    table(RATIO_HEAD, rows)


# ---- start-up and many ranks

def start(b):
    make_array(b.path("row.npy"), 1, 16)
    cases = []
    for ranks in (1, 2):
        cases.append(Case(f"empty MPI program, {ranks}", mpirun(ranks, b.mpi_empty)))
        cases.append(b.program(ranks, 1, b.path("row.npy"), "-k", "scale", output=b.path("row.out.npy")))
        cases.append(b.program(ranks, 1, b.path("row.npy"), "-k", "scale", name=f"cudist, {ranks} x 1, no output"))
    interleave(cases, 3 * b.repeats)
    print("## Start-up: one row (seconds: median, least to most)\n")
    table(["program", "whole process", "start by run.times"],
          [[c.name, spread(c.samples["whole"]), spread(c.samples["start"]) if "start" in c.samples else ""] for c in cases])
    rows = []
    for at in (0, 3):
        for c in cases[at + 1:at + 3]:
            more = c.median("whole") - cases[at].median("whole")
            least = min(c.samples["whole"]) - min(cases[at].samples["whole"])
            goal = 0.030 if at == 0 else None
            rows.append([f"{c.name}: above the empty program", f"{more:.3f}", f"{least:.3f}", *goal_cells(more, goal)])
    table(["what", "seconds, medians", "the least", "goal, at most", "reached"], rows)


def many(b):
    make_array(b.path("small.npy"), 256, COLS)
    ranks = 64
    cases = [Case(f"empty MPI program, {ranks}", mpirun(ranks, b.mpi_empty)),
             b.program(ranks, 1, b.path("small.npy"), "-k", "scale", output=b.path("small.out.npy"))]
    interleave(cases, 1 if b.quick else 3)
    print(f"## {ranks} ranks on {os.cpu_count()} CPUs, 1 MiB (seconds: median, least to most)\n")
    table(["program", "whole process", "start, stream, commit by run.times", "goal, at most", "reached"],
          [[cases[0].name, spread(cases[0].samples["whole"]), "", "", ""],
           [cases[1].name, spread(cases[1].samples["whole"]),
            ", ".join(f"{cases[1].median(key):.3f}" for key in ("start", "stream", "commit")),
            *goal_cells(cases[1].median("whole"), 10)]])


# ---- memory and growth

def memory(b):
    """The large array is one of zeros that takes no disk."""
    sparse, rows, out = b.path("sparse.npy"), [], b.path("peak.out.npy")
    large = GIB if b.quick else 16 * GIB
    make_sparse(sparse, large)
    empty = {n: max(peaks(n, [b.mpi_empty], b.folder)) for n in (1, 2)}
    runs = [(b.input, b.size, *shape, out) for shape in ((1, 1), (1, 2), (2, 1))]
    runs += [(b.input, b.size, 1, 1, "none"), (sparse, large, 1, 1, "none")]
    for path, size, ranks, threads, output in runs:
        say(f"  memory: {size_text(size)}, {ranks} x {threads}")
        case = b.program(ranks, threads, path, "-k", "scale", output=output)
        case.clean()
        most = max(peaks(ranks, case.command[case.command.index(b.cudist):], b.folder)) - empty[ranks]
        case.clean()
        rows.append([f"{size_text(size)}, {ranks} x {threads}" + (", no output" if output == "none" else ""),
                     f"{most / MIB:.1f}", *goal_cells(most / MIB, 100)])
    os.unlink(sparse)
    print(f"## Resident memory: the greatest of a rank, MiB above an empty MPI program's ({empty[1] / MIB:.1f} MiB)\n")
    table(["array, ranks x threads", "MiB", "goal, at most", "reached"], rows)


def growth(b):
    """The larger arrays are the same file several times: all of it stays in the page cache."""
    cases, sizes = [], []
    for part in (1024, 64, 8):
        path = b.path(f"part{part}.npy")
        make_array(path, max(1, b.size // part // (4 * COLS)), COLS)
        cases.append(b.program(1, 1, path, "-k", "scale"))
        sizes.append(max(1, b.size // part // (4 * COLS)) * 4 * COLS)
    for times in (1, 4, 16):
        cases.append(b.program(1, 1, *[b.input] * times, "-k", "scale"))
        sizes.append(times * b.size)
    interleave(cases, b.repeats, lambda: touch(b.input))
    each = [c.median("stream") * GIB / size for c, size in zip(cases, sizes)]
    base = each[sizes.index(b.size)]
    print("## Growth: scale with statistics, 1 x 1, no output\n")
    table(["array", "stream, seconds", "seconds a GiB", f"against {size_text(b.size)}", "goal, at most", "reached"],
          [[size_text(size), spread(c.samples["stream"]), f"{e:.3f}", f"{e / base:.2f}",
            *goal_cells(e / base, 1.25 if size > b.size else None)] for c, size, e in zip(cases, sizes, each)])


# ---- three dense layers

def dense(b):
    widths, batch, python = (784, 512, 512, 10), 1024, python_with("numpy")
    if "dense" not in run([b.cudist, "--list-kernels"])[0]:
        return print("## Three dense layers: not built\n")
    rows, steps, files = batch * (4 if b.quick else 16), [], []
    make_array(b.path("x.npy"), rows, widths[0])
    for k, (m, n) in enumerate(zip(widths, widths[1:])):
        w, bias = b.path(f"w{k}.npy"), b.path(f"b{k}.npy")
        limit = math.sqrt(6 / (m + n))
        make_array(w, m, n, -limit, limit)
        make_vector(bias, n)
        files += [w, bias]
        steps += ["-k", f"dense:weights={w},bias={bias},activation={'relu' if k < 2 else 'none'}"]
    args = [b.path("x.npy"), *steps, "-b", batch]
    vendor = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    cases = [b.program(1, 1, *args, name=f"cudist, 1 x 1, CUDIST_LIBS={libs}", env={**vendor, "CUDIST_LIBS": libs})
             for libs in ("vendor", "own")]
    mlp = os.path.join(HERE, "peers", "numpy_mlp.py")
    numpy = Case("NumPy's matmul in memory, 1 thread", [python or "", mlp, b.path("x.npy"), batch, *files], env=vendor)
    interleave(cases + [numpy] * bool(python), b.repeats)
    print(f"## Dense {'-'.join(map(str, widths))}, f32, batches of {batch} (milliseconds a batch: median, least to most)\n")
    each = lambda c: [t * 1000 * batch / rows for t in own(c)]
    table(["program", "milliseconds"], [[c.name, spread(each(c))] for c in cases + [numpy] * bool(python)] +
          [[numpy.name, "not installed (apt-get install python3-numpy, or pip install numpy)"]] * (not python))
    if python:
        table(RATIO_HEAD, [ratio_row(f"{c.name} / NumPy", own(c), own(numpy), 1 if c is cases[0] else None) for c in cases])


# What cudist calls it, and numexpr.
EXPRESSIONS = (("2*x + 1", "2*x + 1"), ("x > 0.5 ? x : 0.01*x", "where(x > 50*c, x, c*x)"), ("sqrt(x*x + 1)", "sqrt(x*x + 1)"),
               ("((3*x - 2)*x + 5)*x - 1", "((3*x - 2)*x + 5)*x - 1"), ("exp(x)", "exp(x)"), ("sin(x) + cos(x)", "sin(x) + cos(x)"),
               ("log1p(x) / (1 + x)", "log1p(x) / (1 + x)"))


def expr(b):
    """One thread each.  cudist reads the file and makes statistics beside; numexpr has all in memory and writes the result there."""
    python = python_with("numexpr", "numpy")
    peer = os.path.join(HERE, "peers", "numexpr_expr.py")
    copy = b.program(1, 1, b.input, "-k", "copy", name="cudist, copy")
    pairs = [(b.program(1, 1, b.input, "-e", ours, name=f"cudist, {ours}"),
              Case(f"numexpr, {theirs}", [python or "", peer, b.input, theirs], env={"NUMEXPR_NUM_THREADS": "1"})) for ours, theirs in EXPRESSIONS]
    interleave([copy] + [c for pair in pairs for c in pair[:2 if python else 1]], b.repeats, lambda: touch(b.input))
    print(f"## Expressions, {size_text(b.size)} of f32, one thread (seconds: median, least to most)\n")
    head = ["expression", "cudist, with reading and statistics", "by copy", "numexpr, in memory", "cudist / numexpr", "goal, at most", "reached"]
    rows = []
    for (ours, theirs), (text, _) in zip(pairs, EXPRESSIONS):
        row = [text, spread(own(ours)), f"{ours.median('stream') / copy.median('stream'):.2f}"]
        if python:
            _, ratio, _, goal, reached = ratio_row("", own(ours), own(theirs), 1)
            row += [spread(own(theirs)), ratio, goal, reached]
        rows.append(row if python else row + ["not installed (apt-get install python3-numexpr, or pip install numexpr)", "", "", ""])
    table(head, rows)


def make_vector(path, n):
    with open(path, "wb") as f:
        f.write(npy_head((n,)) + array.array("f", (k / n for k in range(n))).tobytes())


# ---- GPUs

def gpu_limits(b):
    """What the first GPU can move, bytes a second by name; or why that is not known."""
    nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    program, mib = b.path("gpu"), 16 if b.quick else 256
    try:
        run([*nvcc.split(), "-O3", "-o", program, os.path.join(HERE, "gpu.cu")])
    except FileNotFoundError:
        return None, "no nvcc: say NVCC=PATH"
    done = subprocess.run([program, str(mib)], capture_output=True, text=True, check=False)
    if done.returncode:
        return None, done.stderr.strip()
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    return {name: value if name == "name" else float(value) for name, value in found.items()}, ""


def gpu(b):
    """A rank on one GPU against the slowest of disk, bus and device memory, each as fast as it goes by itself."""
    limits, why = gpu_limits(b)
    print(f"## One GPU: {limits['name'] if limits else 'not measured: ' + why}\n")
    if not limits:
        return
    print("Measured in this run, GB a second: " + ", ".join(
        f"{text} {limits[name] / 1e9:.1f}" for name, text in (("to", "host to GPU"), ("from", "back"), ("both", "each way at once"),
                                                              ("memory", "GPU memory"))) + "\n")
    out, workers = b.path("out.npy"), 4
    on_gpu = lambda name, *args, output="none": b.program(1, workers, *args, name=name, output=output, device="cuda")
    shape = f"random:shape={b.size // (4 * COLS)}x{COLS}"
    # name, bytes to the GPU, back, through its memory, the program that shows what files allow
    copy = Case(f"C loop, copy, {workers}", [b.loop, "copy", workers, b.input, out], out)
    read = Case(f"C loop, read, {workers}", [b.loop, "read", workers, b.input, "-"])
    cases = [(on_gpu("file to file: scale", b.input, "-k", "scale", output=out), 1, 1, 5, copy),
             (on_gpu("file, statistics of scale", b.input, "-k", "scale"), 1, 0, 4, read),
             (on_gpu("file to file: softmax", b.input, "-k", "softmax", output=out), 1, 1, 7, copy),
             (on_gpu("made on the CPU, no file: scale", shape, "-k", "scale"), 1, 0, 4, None)]
    interleave([copy, read, *(c[0] for c in cases)], b.repeats, lambda: (touch(b.input), warm(b.size * 3 // 2)))
    rows = []
    for case, there, back, through, files in cases:
        stream_seconds = case.median("stream")
        both_ways = limits["both"] if there and back else limits["to"]
        each = {"bus": b.size * max(there, back) / both_ways, "GPU memory": b.size * through / limits["memory"]}
        if files:
            each["files"] = files.median("own")
        slowest = max(each, key=each.get)
        share = each[slowest] / stream_seconds
        rows.append([case.name, spread(case.samples["stream"]), *(f"{each[k]:.3f}" if k in each else "" for k in ("files", "bus", "GPU memory")),
                     slowest, f"{100 * share:.0f} %", "90 %", "pass" if share >= 0.9 else "miss"])
    table(["rank 0 on one GPU", "stream, seconds", "files", "bus", "GPU memory", "slowest", "its share", "goal, at least", "reached"], rows)


SECTIONS = {f.__name__: f for f in (stream, stats, start, memory, growth, many, dense, expr, gpu)}
