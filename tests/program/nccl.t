#!/usr/bin/env python3
"""Rows that go to rank 0 from GPU to GPU: --comm on emulated devices (tests/cudaemu) with a stand-in for NCCL (tests/ncclemu).

The bytes are those of one rank on the CPU; what cannot be is refused; and what fails, hangs or dies inside NCCL ends the run in time,
with one line that names a rank, and nothing left.  CUDIST names the program; CUDIST_TEST_SET=short does less, =long more."""
import concurrent.futures, itertools, json, os, random, re, shutil, signal, sys, tempfile, time

sys.dont_write_bytecode = True
import whole
from whole import BESIDE, CUDIST, MPIRUN, SET, done, ok

EMULATED = os.path.join(BESIDE, "cudist-emu")
STANDINS = os.path.join(BESIDE, "ncclemu")
LATE = 90                                  # seconds: longer than any run takes on a loaded machine
ENV = dict(whole.ENV, CUDIST_LIBS="own")
del ENV["CUDA_VISIBLE_DEVICES"]


class Run(whole.Run):
    """On as many devices as ranks, unless told otherwise; on the CPU where there are none.  before: words in front of the program."""

    def __init__(self, words, ranks=3, devices=None, before=(), start=True, out="o.npy", **env):
        self.folder = tempfile.mkdtemp(dir=TOP)
        self.extra = dict(env, CUDAEMU_DEVICES=str(ranks if devices is None else devices))
        program = [CUDIST, "-d", "cpu"] if devices == 0 else [EMULATED, "-d", "cuda"]
        launch = MPIRUN + ["-np", str(ranks)] if ranks > 1 else []
        words = launch + list(before) + program + words + ["-o", out, "--result", "o.json", "-q", "--threads", "2"]
        super().__init__(words, LATE, dict(ENV, **self.extra), cwd=self.folder)
        if start:
            self.start().end()

    def end(self):
        super().end()
        self.lines = [line for line in self.lines if "stopped at once by TERM" not in line]
        self.left = sorted(os.listdir(self.folder))
        if self.rc == 0 and "o.json" in self.left:
            with open(os.path.join(self.folder, "o.json")) as f:
                told = json.load(f)
            self.result, self.comm = told["result"], told["run"]["comm"]
        if self.rc == 0 and "o.npy" in self.left:
            with open(os.path.join(self.folder, "o.npy"), "rb") as f:
                self.stdout = f.read()
        shutil.rmtree(self.folder)
        return self

    def pids(self):
        """Of its ranks, by rank."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    rank = re.search(rb"(?:^|\0)OMPI_COMM_WORLD_RANK=(\d+)", f.read())
                if rank and os.readlink(f"/proc/{pid}/cwd") == self.folder and os.readlink(f"/proc/{pid}/exe") == EMULATED:
                    found[int(rank[1])] = int(pid)
            except OSError:
                pass
        return found

    def __str__(self):
        return f"{self.extra} {super().__str__()}\nleft {self.left}"


# ---- the same bytes

CASES = {"relu and softmax": ["-k", "relu", "-k", "softmax", "random:shape=20011x10,dist=normal,seed=1"],
         "copy, pieces of 4 MiB": ["-k", "copy", "random:shape=3000017,seed=2"],
         "rows of a byte, few": ["-k", "affine:scale=50", "--out-dtype", "i8", "random:shape=5001,seed=3"],
         "no rows": ["-k", "scale", "random:shape=0x16"]}
ORDERS = [{}, {"CUDAEMU_DELAY_US": "500", "CUDAEMU_SEED": "1"}, {"CUDAEMU_DELAY_US": "5000", "CUDAEMU_SEED": "2"},
          {"CUDAEMU_DELAY_US": "2000", "CUDAEMU_SEED": "3", "CUDAEMU_REVERSE": "1"}]


def same(name, words):
    want = Run(words, 1, 0)
    wrong, runs = [], list(itertools.product((1, 2, 3, 4), ("1", "64K", ""), ("o.npy", "-"), ORDERS, ("nccl", "auto")))
    if "MiB" in name:                      # a window of 1 is thousands of windows
        runs = [r for r in runs if r[1] != "1"]
    if SET != "long":
        runs = random.Random(name).sample(runs, 2 if SET == "short" else 6)
    for ranks, window, out, order, comm in runs:
        more = ["--comm", comm, "--write", "root"] + (["-w", window] if window else [])
        run = Run(words + more, ranks, out=out, **order)
        if run.rc or run.stdout != want.stdout or run.result != want.result or run.comm != ("nccl" if ranks > 1 else "mpi"):
            wrong.append(f"{ranks} ranks, window {window or 'default'}, to {out}: {run if run.rc else (len(run.stdout), run.comm)}")
    ok(want.rc == 0 and not wrong, f"{name}: {len(runs)} runs by NCCL give the CPU's bytes", "\n".join(wrong) or want)


def by_cuda_mpi():
    """An MPI that takes memory of GPUs, by a library in front of the one that is here."""
    words = CASES["relu and softmax"] + ["-w", "64K", "--write", "root"]
    want = Run(words, 1, 0)
    for order in ORDERS[:1] + ORDERS[2:3]:
        run = Run(words + ["--comm", "cuda-mpi"], 3, before=["env", "LD_PRELOAD=" + os.path.join(STANDINS, "libcuda_mpi.so")], **order)
        ok(run.rc == 0 and run.stdout == want.stdout and run.result == want.result and run.comm == "cuda-mpi", f"cuda-mpi, {order}", run)


# ---- what cannot be

def refused():
    words = CASES["no rows"]
    for name, line, run in (
            ("3 ranks on 2 GPUs, nccl", "ranks 0 and 2 share one", Run(words + ["--comm", "nccl", "--share-gpus"], 3, 2)),
            ("more ranks than GPUs, nccl", "--share-gpus", Run(words + ["--comm", "nccl"], 3, 2)),
            ("nccl on the CPUs", "on the CPUs", Run(words + ["--comm", "nccl"], 2, 0)),
            ("cuda-mpi on the CPUs", "on the CPUs", Run(words + ["--comm", "cuda-mpi"], 2, 0)),
            ("nccl, too old", "libnccl.so.2 is NCCL 2.13.0", Run(words + ["--comm", "nccl"], 2, NCCLEMU_VERSION="21300")),
            ("nccl, too old on rank 1", "rank 1: .*libnccl.so.2 is NCCL 2.8.4",
             Run(words + ["--comm", "nccl"], 2, before=["sh", "-c", '[ $OMPI_COMM_WORLD_RANK = 0 ] || export NCCLEMU_VERSION=2804; "$@"', "sh"])),
            ("cuda-mpi, and MPI cannot", "MPIX_Query_cuda_support", Run(words + ["--comm", "cuda-mpi"], 2))):
        ok(run.rc == 4 and not run.late and re.search(line, run.lines[-1]) and not run.left, f"{name}: {line}", run)
    words = CASES["rows of a byte, few"] + ["--write", "root"]
    want = Run(words, 1, 0)
    for name, run in (("2 GPUs for 3 ranks", Run(words + ["--share-gpus"], 3, 2)), ("no NCCL", Run(words, 2, NCCLEMU_VERSION="21300")),
                      ("a NCCL that does not tell", Run(words, 2, NCCLEMU_FAIL="ncclGetVersion:1@1"))):
        ok(run.rc == 0 and not run.lines and run.comm == "mpi" and run.stdout == want.stdout, f"auto, {name}: by MPI", run)
    run = Run(words + ["--comm", "nccl", "--write", "direct"], 2)
    ok(run.rc == 0 and run.comm == "mpi" and run.stdout == want.stdout, "each rank writes its own rows: nothing goes by NCCL", run)
    run = Run(words + ["--dry-run"], 2, NCCLEMU_VERSION="21300")
    ok("comm     mpi; nccl cannot be used: libnccl.so.2 is NCCL 2.13.0" in run.stdout.decode(), "--dry-run says why", run.stdout)


# ---- what goes wrong

WORK = ["-k", "scale", "-w", "64K", "--write", "root", "--comm", "nccl", "random:shape=50000x16,seed=1"]
# What it is, on which rank of 3 (*: on each), and what the line says.
FAILS = [("ncclGetUniqueId:1", 0, "NCCLEMU_FAIL: ncclGetUniqueId"), ("ncclCommInitRankConfig:1", 2, "NCCLEMU_FAIL"),
         ("init:1", 0, "unhandled system error"), ("init:1:internal", 2, "internal error"), ("init:1", "*", "unhandled system error"),
         ("connect:1", 0, "system"), ("connect:1", 2, "system"), ("ncclSend:1", 1, "system"), ("ncclSend:3:cuda", 2, "cuda error"),
         ("ncclSend:2", "*", "system"), ("ncclRecv:1", 0, "system"), ("ncclRecv:4:argument", 0, "invalid argument"),
         ("send:1", 1, "system"), ("send:3:cuda", 2, "cuda error"), ("send:2", "*", "system"), ("recv:2", 0, "system"),
         ("recv:3:internal", 0, "internal error"), ("ncclCommGetAsyncError:30", 1, "system"), ("ncclCommGetAsyncError:90", 0, "system"),
         ("send:2:remote", 2, "remote process exited|did not come through"), ("recv:2:remote", 0, "remote process|did not come")]
STALLS = [("init:1", 0, "in vain for 3 s"), ("init:1", 2, "in vain for 3 s"), ("connect:1", 0, "did not come through NCCL"),
          ("connect:1", 2, "rows of rank 2 .* did not come through NCCL"), ("send:2", 1, "rows of rank 1 .* did not come through NCCL"),
          ("send:1", "*", "did not come through NCCL"), ("recv:3", 0, "did not come through NCCL")]
# Calls that never return: others end the job, or the watchdog, and then what is there stays, as after any kill.
STUCK = [("ncclSend:2", 2, "rank 2 .* was not heard from"), ("ncclRecv:2", 0, "rank 0 .* was not heard from"),
         ("ncclCommInitRankConfig:1", 1, "rank 1 .* was not heard from")]


def at(who):
    return "" if who == "*" else f"@{who}"


def wrong(run, who, line):
    """One line, that of the rank that failed: with host, device and rows."""
    named = r"rank \d \(host \S+, cuda:\d [^)]*\)" if who in (0, "*") else rf"rank {who} \(host \S+, cuda:{who} [^)]*\)"
    told = len(run.lines) == 1 and re.search(line, run.lines[0]) and re.search(named, run.lines[0])
    return not (run.rc == 1 and not run.late and told)


def fails(what, who, line):
    run = Run(WORK + ["-t", "20"], 3, NCCLEMU_FAIL=what + at(who))
    ok(not wrong(run, who, line) and not run.left, f"{what} fails on rank {who}", run)


def stalls(what, who, line):
    run = Run(WORK + ["-t", "3"], 3, NCCLEMU_STALL=what + at(who))
    # Where the start hangs, or rank 0's own end, it cannot be known whose fault it is.
    ok(not wrong(run, 0 if what.startswith("init") else who, line) and not run.left, f"{what} hangs on rank {who}", run)


def stuck(what, who, line):
    run = Run(WORK + ["-t", "3"], 3, NCCLEMU_STALL=what + at(who))
    ok(not wrong(run, who, line) and "o.npy" not in run.left, f"{what} does not return on rank {who}", run)


def abort_hangs(who):
    """After an error on rank 1: the watchdog does not wait for the abort."""
    run = Run(WORK + ["-t", "4"], 3, NCCLEMU_FAIL="send:2@1", NCCLEMU_STALL=f"ncclCommAbort:1@{who}")
    ok(not wrong(run, who, f"rank {who} .* is stuck in ncclCommAbort") and "o.npy" not in run.left, f"the abort hangs on rank {who}", run)


def end_hangs():
    """The output is complete: what hangs now is given up."""
    for what in ("finalize:1@0", "finalize:1@1"):
        run = Run(WORK + ["-t", "4"], 2, NCCLEMU_STALL=what)
        ok(run.rc == 0 and not run.late and run.left == ["o.json", "o.npy"], f"{what} hangs: the output is complete", run)


def other_faults():
    """Not NCCL's own: the line is that of the cause."""
    for name, who, line in (("kernel:9:ecc", 1, "ECC"), ("copy:20:lost", 2, "unknown error|lost"), ("cudaStreamQuery:5:launch", 0, "launch failure"),
                            ("cudaMalloc:1", 0, "memory"), ("cudaMemcpyAsync:9:ecc", 0, "ECC")):
        run = Run(WORK + ["-t", "20"], 3, CUDAEMU_FAIL=f"{name}@{who}")
        good = run.rc == 1 and not run.late and len(run.lines) == 1 and re.search(line, run.lines[0]) and not run.left
        ok(good and (who == 0 or f"rank {who}" in run.lines[0]), f"{name} on rank {who}", run)


def struck(how, who):
    """A signal to a rank in the middle."""
    words = [word.replace("50000x", "5000000x") for word in WORK]
    run = Run(words + ["-t", "3"], 3, start=False, CUDAEMU_DELAY_US="20000").start()
    until = time.monotonic() + LATE
    while len(run.pids()) < 3 or not os.path.exists(os.path.join(run.folder, "o.npy.part")):
        if time.monotonic() > until or run.process.poll() is not None:
            break
        time.sleep(0.05)
    time.sleep(1)
    pids = run.pids()
    if who in pids:
        os.kill(pids[who], how)
    run.end()
    for pid in run.pids().values():
        os.kill(pid, signal.SIGKILL)
    named = f"rank {who} with PID" in run.stderr if how == signal.SIGKILL else len(run.lines) == 1 and f"rank {who} (" in run.lines[0]
    ok(len(pids) == 3 and run.rc != 0 and not run.late and named and "o.npy" not in run.left, f"{how.name} to rank {who}", run)


def todo():
    step = {"long": 1, "short": 7}.get(SET, 2)
    for name, words in CASES.items():
        yield same, (name, words)
    yield by_cuda_mpi, ()
    yield refused, ()
    for f in FAILS[::step]:
        yield fails, f
    for s in STALLS[::step]:
        yield stalls, s
    for s in STUCK[::step]:
        yield stuck, s
    for who in (0, 1)[::step]:
        yield abort_hangs, (who,)
    yield end_hangs, ()
    yield other_faults, ()
    for how, who in ((signal.SIGKILL, 2), (signal.SIGSTOP, 1), (signal.SIGKILL, 0), (signal.SIGSTOP, 0))[::step]:
        yield struck, (how, who)


def main():
    global TOP
    if not os.path.exists(EMULATED) or not os.path.exists(os.path.join(STANDINS, "libnccl.so.2")):
        print("1..0 # SKIP built without nvcc, or without nccl.h")
        return 0
    TOP = tempfile.mkdtemp(prefix="cudist-nccl-")
    try:
        probe = Run(["-k", "scale", "random:shape=10"], 1)
        if "no PTX in the program" in probe.stderr:
            print("1..0 # SKIP GENCODE has no PTX")
            return 0
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for job in [pool.submit(f, *arguments) for f, arguments in todo()]:
                try:
                    job.result()
                except Exception as e:
                    ok(False, f"{type(e).__name__}: {e}")
    finally:
        shutil.rmtree(TOP, ignore_errors=True)
    return done()


sys.exit(main())
