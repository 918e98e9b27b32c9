#!/usr/bin/env python3
"""--trace: the file is JSON that Perfetto takes, spans nest and lie in the run, every rank, thread and row is there; and the output
is what it is without.  On the CPU, and on the CUDA emulator where that was built.

CUDIST names the program; CUDIST_TEST_SET=short does less."""
import collections, json, os, re, shutil, sys, tempfile

sys.dont_write_bytecode = True
import whole
from whole import BESIDE, CUDIST, MPIRUN, SET, done, ok

EMULATED, FAULTY = os.path.join(BESIDE, "cudist-emu"), os.path.join(BESIDE, "cudist-fault")
TOP = tempfile.mkdtemp(prefix="cudist-trace-")


class Run(whole.Run):
    def __init__(self, words, ranks=1, program=CUDIST, device="cpu", **env):
        self.folder = tempfile.mkdtemp(dir=TOP)
        env = dict(whole.ENV, CUDIST_LIBS="own", **env)
        if program == EMULATED:
            env["CUDAEMU_DEVICES"] = str(ranks)
            del env["CUDA_VISIBLE_DEVICES"]
        launch = MPIRUN + ["-np", str(ranks)] if ranks > 1 else []
        super().__init__(launch + [program, "-d", device, "-q"] + words, 120, env, cwd=self.folder)
        self.start().end()
        self.left = sorted(os.listdir(self.folder))

    def load(self, name):
        with open(os.path.join(self.folder, name)) as f:
            return json.load(f)

    def same_as(self, other):
        with open(os.path.join(self.folder, "o.npy"), "rb") as a, open(os.path.join(other.folder, "o.npy"), "rb") as b:
            return a.read() == b.read() and self.load("o.npy.json")["result"] == other.load("o.npy.json")["result"]


def ns(us):
    return round(us * 1000)


def bad_nesting(spans):
    """The first span that sticks out of the one around it, or starts before the one in front of it ends."""
    open_spans = []
    for s in sorted(spans, key=lambda s: (s[0], -s[1])):
        while open_spans and open_spans[-1][1] <= s[0]:
            open_spans.pop()
        if open_spans and s[1] > open_spans[-1][1]:
            return open_spans[-1], s
        open_spans.append(s)
    return None


def check(name, trace, ranks, workers, gpu, rows, steps, writes=True):
    """workers: of rank 0 at least one, of each at most so many."""
    events = trace["traceEvents"]
    kinds = collections.Counter(e["ph"] for e in events)
    ok(set(kinds) == {"M", "X"}, f"{name}: names and spans, nothing is left out", kinds)
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    ok({e["pid"] for e in events} == set(range(ranks)) and
       sorted(e["args"]["name"].split(",")[0] for e in events if e["name"] == "process_name") == [f"rank {r}" for r in range(ranks)],
       f"{name}: a process for each rank", named)
    lanes = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            lanes[e["pid"], e["tid"]].append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), e["name"], e.get("args", {})))
    lane = lambda tid: "main" if tid == 0 else f"worker {tid // 2}'s stream" if tid % 2 == 0 else f"worker {(tid + 1) // 2}"
    ok(set(lanes) <= set(named) and all(v == lane(k[1]) for k, v in named.items()) and
       all(0 <= tid <= 2 * workers and (gpu or tid % 2 or not tid) for _, tid in named), f"{name}: main, workers, streams", named)
    wrong = [x for x in map(bad_nesting, lanes.values()) if x]
    ok(not wrong, f"{name}: spans nest", wrong[:3])
    main = {r: {s[2]: s for s in lanes[r, 0]} for r in range(ranks)}
    first = min(s[0] for v in lanes.values() for s in v)
    ok(first >= 0 and all(m["start"][1] <= m["stream"][0] + 1000 and m["stream"][1] <= m["commit"][0] + 1000 and (ranks == 1 or "wait" in m)
                          for m in main.values()) and all("buffers" in m for m in main.values()) and min(m["start"][0] for m in main.values()) == first,
       f"{name}: start, stream, commit", main)
    out = [(k, s) for k, v in lanes.items() if k[1] for s in v if s[0] < main[k[0]]["stream"][0] or s[1] > main[k[0]]["stream"][1]]
    ok(not out, f"{name}: workers work while rows stream", out[:3])
    inner(name, lanes, gpu, rows, steps, writes)


def inner(name, lanes, gpu, rows, steps, writes):
    """Windows cover the rows; each is read, computed and written once; the steps are there."""
    seen, wrong = bytearray(rows), []
    for (pid, tid), spans in lanes.items():
        for start, end, what, args in spans:
            if what != "window":
                continue
            seen[args["row0"]:args["row0"] + args["rows"]] = b"\1" * args["rows"]
            within = [s[2] for s in spans if start <= s[0] and s[1] <= end]
            device = [s for s in lanes[pid, tid + 1] if s[3] == args] if gpu else [s for s in spans if start <= s[0] and s[1] <= end]
            names = [s[2] for s in device]
            wrong += [within] if sorted(set(within) & {"read", "compute", "write"}) != ["compute", "read"] + ["write"] * writes else []
            wrong += [within] if within.count("read") != 1 or within.count("compute") != 1 or "hash" not in within else []
            wrong += [names] if not set(steps + ["stats"]) <= set(names) or (gpu and (names.count("put"), names.count("get")) != (1, 1)) else []
            wrong += ["outside", device] if any(s[0] < start or s[1] > end for s in device) else []
    ok(len(seen) == rows and all(seen), f"{name}: windows cover all rows", seen.count(0))
    ok(not wrong, f"{name}: read, computed and written, and the steps", wrong[:3])


def traced(name, words, rows, steps, ranks=1, workers=1, **more):
    words = words + ["--threads", str(workers), "-o", "o.npy"]
    plain, run = Run(words, ranks, **more), Run(words + ["--trace", "t.json"], ranks, **more)
    ok(run.rc == 0 and plain.rc == 0 and run.left == ["o.npy", "o.npy.json", "t.json"] and run.same_as(plain),
       f"{name}: the output is the same", run.stderr + plain.stderr)
    if run.rc == 0:
        check(name, run.load("t.json"), ranks, workers + (ranks > 1), more.get("program") == EMULATED or "CUDIST_STRICT" in more, rows, steps)
        run.parts = run.load("o.npy.json")["run"]["bottleneck"]
    return run


def cases():
    data, soft = "random:shape=30011x7", ["-k", "relu", "-k", "softmax"]
    names = ["steps", "step 1 (relu)", "step 2 (softmax)"]
    traced("one rank", [data, "-w", "64K"] + soft, 30011, names)
    traced("three ranks of two threads, root", [data, "-w", "64K", "--write", "root"] + soft, 30011, names, 3, 2)
    traced("elements", ["random:shape=5000x13,dtype=f16", "-w", "16K", "-k", "exp"], 5000, ["steps", "convert", "step 1 (exp)"], 2)
    traced("strict", [data, "-w", "64K"] + soft, 30011, names, CUDIST_STRICT="1")
    if not os.path.exists(EMULATED):
        return print("# built without nvcc: no GPU is traced")
    gpu = {"program": EMULATED, "device": "cuda"}
    traced("a GPU", ["random:shape=3001x7", "-w", "1"] + soft, 3001, names, 1, 2, **gpu)
    traced("two GPUs, root, delays", ["random:shape=30011x7", "-w", "1", "--write", "root"] + soft, 30011, names, 2, 2,
           CUDAEMU_DELAY_US="2000", **gpu)
    slow = ["random:shape=4x70000,dtype=f16", "-w", "1", "-k", "tanh", "-k", "exp", "-o", "o.npy"]
    run = Run(slow, **gpu)
    ok(run.rc == 0 and run.load("o.npy.json")["run"]["bottleneck"] == "kernel", "the emulator's bottleneck is the kernels", run.stderr)


def too_many():
    run = Run(["random:shape=60000000,dist=index", "-w", "1", "-k", "copy", "-o", "none", "--threads", "1", "--trace", "t.json"])
    events = run.load("t.json")["traceEvents"] if run.rc == 0 else []
    gaps = [e for e in events if e["ph"] == "i"]
    windows = [e["args"]["row0"] for e in events if e["name"] == "window"]
    ok(len(gaps) == 1 and re.fullmatch(r"\d+ spans left out", gaps[0]["name"]) and len(events) < 70000 and
       min(windows) == 0 and max(windows) >= 60000000 - 4096, "of too many spans the first and the last are kept", (gaps, run.stderr))


def refused():
    for name, rc, words in (("exists", 6, ["--trace", os.path.join(TOP, "there")]), ("is the output", 2, ["--trace", "./o.npy"]),
                            ("is the output's result", 2, ["--trace", "o.npy.json"]), ("is in no folder", 2, ["--trace", "no/t.json"])):
        run = Run(["random:shape=10", "-o", "o.npy"] + words)
        ok(run.rc == rc and not run.left and len(run.lines) == 1, f"a trace that {name}: {rc}", run.stderr)
    run = Run(["random:shape=10", "-o", "o.npy", "-f", "--trace", os.path.join(TOP, "there")])
    ok(run.rc == 0, "but -f replaces one", run.stderr)
    for n in 1, 2, 3:                      # output and result are renamed first, by another call where the file system has it
        run = Run(["-v", "random:shape=10", "-k", "copy", "-o", "o.npy", "--trace", "t.json"], program=FAULTY,
                  CUDIST_TEST_FAIL=f"rename:{n}:EIO@0")
        if run.rc == 0:
            break
    ok(run.rc == 0 and run.left == ["o.npy", "o.npy.json"] and re.search("cudist: warning: .*t.json: the trace .*complete\n", run.stderr),
       "one that cannot be written is a warning", run.stderr + str(run.left))


try:
    open(os.path.join(TOP, "there"), "w").close()
    cases()
    refused()
    if SET != "short":
        too_many()
finally:
    shutil.rmtree(TOP, ignore_errors=True)
sys.exit(done())
