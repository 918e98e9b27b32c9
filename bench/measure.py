"""Timing: programs run one after another in interleaved rounds, each from the same state."""
import glob
import json
import mmap
import os
import statistics
import subprocess
import sys
import time

ENV = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1",
           OMPI_MCA_btl_vader_single_copy_mechanism="none")
if os.geteuid() == 0:
    ENV.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
for name in [k for k in ENV if k.startswith("CUDIST")]:
    del ENV[name]

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT = 900            # seconds a run
PIECE = 1 << 20


def say(text):
    print(text, file=sys.stderr, flush=True)


def mpirun(ranks, *command):
    """Not bound: a rank may have several threads, and all programs shall have the same freedom."""
    return [os.environ.get("MPIRUN", "mpirun"), "-np", str(ranks), "--bind-to", "none", *map(str, command)]


def run(command, env=None):
    """Runs to the end; what it printed, and the seconds from start to exit.  A failure ends the benchmark."""
    began = time.perf_counter()
    done = subprocess.run([str(c) for c in command], env={**ENV, **(env or {})}, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT)
    seconds = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"bench/run: exit code {done.returncode} of: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout, seconds


class Case:
    """One program of a table.  output and result are removed before each run.  own: what its own clock says, by name: from a
    result file where there is one, else the number it prints.  sync: its output is synced after it, and timed with it."""

    def __init__(self, name, command, output=None, result=None, env=None, sync=False):
        self.name, self.command, self.output, self.result, self.env = name, command, output, result, env
        self.sync, self.samples = sync, {}

    def clean(self):
        beside = [self.output + end for end in ("", ".part", ".lock", ".journal", ".json")] if self.output else []
        for path in filter(None, beside + [self.result]):
            if os.path.exists(path):
                os.unlink(path)

    def once(self):
        printed, whole = run(self.command, self.env)
        times = {"whole": whole}
        if self.result:
            with open(self.result) as f:
                times.update(json.load(f)["run"]["times"])
            times["stream+commit"] = times["stream"] + times["commit"]
        elif printed.strip():
            times["own"] = float(printed.split()[-1])
        if self.sync:
            times["whole+sync"] = whole + sync(self.output)
        return times

    def median(self, key):
        return statistics.median(self.samples[key])

    def add(self, times):
        for key, value in times.items():
            self.samples.setdefault(key, []).append(value)


def sync(path):
    began = time.perf_counter()
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
    return time.perf_counter() - began


def touch(path):
    """Reads the file, so that all of it is in the page cache."""
    buffer = bytearray(PIECE)
    with open(path, "rb", buffering=0) as f:
        while f.readinto(buffer):
            pass


def warm(size):
    """Takes memory, in pages as large as they come, and gives it back: what programs take next was in use a moment ago.  A
    virtual machine may have handed memory that was free for a while to its host; its next use costs ten times the writing."""
    with open("/proc/meminfo") as f:
        free = next(int(line.split()[1]) * 1024 for line in f if line.startswith("MemAvailable"))
    m = mmap.mmap(-1, max(PIECE, min(size, free // 2) // PIECE * PIECE), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        m.madvise(mmap.MADV_HUGEPAGE)
    except OSError:
        pass                                                # a kernel without them
    m[::4096] = bytes(len(m) // 4096)
    m.close()


def interleave(cases, repeats, prepare=lambda: None):
    """Every round runs every case once; each starts without an output, with nothing that waits to be written."""
    for number in range(repeats):
        say(f"  round {number + 1} of {repeats}")
        for at in range(len(cases)):
            case = cases[(at + number) % len(cases)]        # a round begins with another one each time
            case.clean()
            os.sync()
            prepare()
            case.add(case.once())
            case.clean()


def same(path, other):
    with open(path, "rb") as a, open(other, "rb") as b:
        while True:
            x, y = a.read(PIECE), b.read(PIECE)
            if x != y or not x:
                return x == y


def peaks(ranks, program, folder):
    """The greatest resident memory of each rank, in bytes."""
    prefix = os.path.join(folder, "peak-of-rank-")
    run(mpirun(ranks, os.path.join(folder, "peak"), prefix, *program))
    sizes = []
    for path in glob.glob(glob.escape(prefix) + "*"):
        with open(path) as f:
            sizes.append(int(f.read()))
        os.unlink(path)
    return sizes


# ---- tables

def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def ratio_row(what, value, base, limit=None):
    """What against base: ratio of medians, ratio of the least, the goal, and whether the medians reach it."""
    medians = statistics.median(value) / statistics.median(base)
    return [what, f"{medians:.2f}", f"{min(value) / min(base):.2f}", *goal_cells(medians, limit)]


def goal_cells(value, goal):
    return ["", ""] if goal is None else [f"{goal:g}", "pass" if value <= goal else "miss"]


def size_text(n):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if n >= unit and n % unit == 0:
            return f"{n // unit} {name}"
    return f"{n / (1 << 20):.1f} MiB" if n >= 1 << 20 else f"{n} bytes"
