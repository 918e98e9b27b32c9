#!/usr/bin/env python3
"""Bugs planted in our own host code and kernels, one at a time, are caught on the CUDA emulator: other bytes come out, or the run
fails.  Sources that are changed in nothing are not caught, neither as they are nor with so few blocks that each has several tiles.

Not planted is what changes nothing: a barrier with another one between it and what it is for (in front of ROW_MOST in softmax,
behind a leaf in stats).  Not caught, and not planted, would be a race between blocks: the emulator runs them one by one.

CUDIST names the program, whose folder was built.  CUDIST_TEST_SET=long plants all of them, else every second one, short fewer."""
import concurrent.futures, os, shlex, shutil, struct, subprocess, sys

sys.dont_write_bytecode = True
import whole
from emu import EMULATED, TOP, Run
from whole import CUDIST, SET, done, ok

BUILD = os.path.dirname(CUDIST)
SOURCE = os.path.abspath(os.environ.get("srcdir", "."))
PTX = ["-gencode", "arch=compute_75,code=compute_75"]
ORDERS = [{"CUDAEMU_REVERSE": "1"}, {"CUDAEMU_DELAY_US": "3000", "CUDAEMU_SEED": "1"}, {},
          {"CUDAEMU_DELAY_US": "3000", "CUDAEMU_SEED": "2", "CUDAEMU_REVERSE": "1"}]
WORKER, CUDA, SHIM = "src/pipe_worker.c", "src/device/cuda.c", "kernels/on_cuda.h"

# Words, and ranks with a GPU each.  Windows are whole arrays but where it says otherwise, so that what is behind is nobody's.
CASES = {
    "scale": ("-k scale random:shape=3001x7,seed=1", 1),
    "windows": ("-k scale -w 1 random:shape=3001x7,seed=1", 1),
    "two GPUs": ("-k scale -w 1 random:shape=3001x7,seed=1", 2),
    "statistics": ("-k copy random:shape=3001x7,seed=1", 1),
    "bad pivots": ("-k copy pivots.npy", 1),
    "softmax": ("-k softmax random:shape=301x40,seed=1", 1),
    "short rows": ("-k softmax random:shape=4001x5,seed=1", 1),
    "long rows": ("-k softmax random:shape=9x5000,seed=1", 1),
    "sum": ("-k sum random:shape=17x4500,dtype=f64,seed=1", 1),
    "dense": ("-k dense:weights=w.npy -b 50 random:shape=120x40,seed=1", 1),
    "odd addresses": ("-k softmax random:shape=101x45,seed=1", 1),
    "to i8": ("-k affine:scale=99 --out-dtype i8 random:shape=3001x7,seed=1", 1),
}

# What it is, the file, what stands there (once), what the bug makes of it, the kernel to compile (where it is not the file itself
# or is a header's), a case that shows it, and whether it takes blocks of several tiles.
BUGS = [
    ("the wait for the event", CUDA, 'TRY(check_queue(s, cudaEventSynchronize(s->done), "waiting for it", err));', "", None, "windows"),
    ("a worker's wait", WORKER, "TRY(w->measure.device->wait(w->stream, err));", "", None, "windows"),
    ("a worker's GPU", WORKER, "= p->f->binding->device->enter(p->f->binding->dev, &w->err);", "= CUD_OK;", None, "two GPUs"),
    ("memory of another GPU", CUDA, ": cudaMalloc(&new, bytes + !bytes);",
     ": (cudaSetDevice(0), cudaMalloc(&new, bytes + !bytes), cudaSetDevice(dev->number));", None, "two GPUs"),
    ("the copy in", WORKER, "TRY(d->put(w->stream, (char *)w->dev_in + in, (char *)w->host + in, "
     "in_bytes(f->program, piece->rows), err));", "", None, "scale"),
    ("a copy that is too long", WORKER, "in_bytes(f->program, piece->rows), err));", "in_bytes(f->program, piece->rows) + 8, err));",
     None, "scale"),
    ("a buffer that is used again too early", WORKER, "TRY(queue_piece(w, &piece, at, err));",
     "TRY(queue_piece(w, &piece, at, err)); *(char *)w->host ^= 1;", None, "windows"),
    ("the GPU's memory on the host", WORKER, "w->bytes = shared ? w->out : w->host;", "w->bytes = w->out;", None, "scale"),
    ("kernels are loaded beforehand", "src/pipe.c", "status = cud_program_warm(", "status = 1 ? status : cud_program_warm(", None, "scale"),
    ("the bound of 16-byte words", SHIM, "? 0 : n / many;", "? 0 : n / many + 1;", "scale", "scale"),
    ("16-byte words at any address", SHIM, "((uintptr_t)x | (uintptr_t)y) % sizeof(uint4) ? 0 : n / many", "n / many", "softmax",
     "odd addresses"),
    ("the bound of single elements", SHIM, "for (size_t i = whole * many + first; i < n;", "for (size_t i = whole * many + first; i <= n;",
     "scale", "scale"),
    ("the bound of rows", SHIM, "r < (n); r += gridDim.x * r##_step)", "r <= (n); r += gridDim.x * r##_step)", "softmax", "short rows"),
    ("the bound of a leaf", "kernels/leaf.h", "return left < CUD_LEAF ? (int)left : CUD_LEAF;", "return CUD_LEAF;", "stats", "statistics"),
    ("the bound of a tile of dense", "kernels/dense.cu", "rows = least(height<T>, m - row0)", "rows = height<T>", "dense", "dense"),
    ("the barrier behind a phase", SHIM, "l##_once = 0, __syncthreads())", "l##_once = 0)", "stats", "statistics"),
    ("the barrier of a row's block", SHIM, "if (team == LANES)\n        __syncthreads();", "if (team == LANES)\n        ;", "softmax", "long rows"),
    ("the barrier of a row's warp", SHIM, "else if (team > 1)\n        __syncwarp();", "", "softmax", "softmax"),
    ("the barrier in a row's sum", SHIM, "for (int half = ROW_PIECES / 2; half > 0; half /= 2) {\n        __syncthreads();",
     "for (int half = ROW_PIECES / 2; half > 0; half /= 2) {", "sum", "sum"),
    ("the barrier in front of a row's sum", SHIM, "double s = 0;\n    cud_join(team);", "double s = 0;", "softmax", "long rows"),
    ("the barrier in front of a second sum", "kernels/stats.cu", "JOIN();\n        if (is_poor(out + t))", "if (is_poor(out + t))", "stats",
     "bad pivots", True),
    ("the barrier between searches", SHIM, "__syncthreads();                        /* the last call's at has been read */", "",
     "stats", "statistics", True),
    ("the barrier behind the loads of dense", "kernels/dense.cu", "JOIN();\n            PACKS(l)", "PACKS(l)", "dense", "dense"),
    ("the barrier in a count", SHIM, "if (v)\n        atomicAdd(&sum, v);\n    __syncthreads();", "if (v)\n        atomicAdd(&sum, v);",
     "convert", "to i8"),
]


class Variant:
    """The program with sources that were changed: a tree of its own, the objects that depend on it, a link."""

    def __init__(self, number):
        self.tree = os.path.join(TOP, f"tree{number}")
        for name in "src", "include", "kernels":
            shutil.copytree(os.path.join(SOURCE, name), os.path.join(self.tree, name))
        self.program = os.path.join(self.tree, "cudist")
        self.objects = []

    def change(self, path, old, new):
        path = os.path.join(self.tree, path)
        with open(path) as f:
            text = f.read()
        if text.count(old) != 1:
            raise ValueError(f"{path} has {text.count(old)} times: {old}")
        with open(path, "w") as f:
            f.write(text.replace(old, new))

    def run(self, words):
        done = subprocess.run(words, cwd=BUILD, capture_output=True, text=True)
        if done.returncode:
            raise ValueError(f"{shlex.join(words)}\n{done.stderr}")

    def compile(self, source, more=()):
        where = [f"-I{self.tree}/{name}" for name in ("include", "kernels", "src")]
        kernel = source.endswith(".cu")
        way = NVCC[:1] + where + NVCC[1:] + PTX if kernel else CC[:1] + where + CC[1:] + ["-w"]
        self.objects.append(os.path.join(self.tree, source.replace("/", "-") + ".o"))
        self.run(way + list(more) + ["-c", os.path.join(self.tree, source), "-o", self.objects[-1]])

    def link(self):
        self.run(LINK + ["-o", self.program, MAIN] + self.objects + LIBS)


def caught(variant, case):
    """What showed it; None."""
    words, ranks = CASES[case]
    for order in ORDERS:
        run = Run(words.split(), ranks, ranks, 30, program=variant.program, **order)
        if run.rc or run.got != WANT[case]:
            return f"exit code {run.rc}" if run.rc else "other bytes"
    return None


def control(number, more):
    variant = Variant(number)
    for source in CUDA, WORKER, "src/pipe.c":
        variant.compile(source)
    for kernel in "scale", "softmax", "sum", "dense", "stats", "affine", "copy":
        variant.compile(f"kernels/{kernel}.cu", more)
    variant.link()
    wrong = [f"{case}: {how}" for case in CASES for how in [caught(variant, case)] if how]
    ok(not wrong, f"what is right is not caught{', with few blocks' if more else ''}", "\n".join(wrong))


def plant(number, name, path, old, new, kernel, case, few=False):
    variant = Variant(number)
    variant.change(path, old, new)
    variant.compile(f"kernels/{kernel}.cu" if kernel else path, ["-DCUD_GRID_MAX=2"] if few else [])
    variant.link()
    how = caught(variant, case)
    ok(how, f"{name}: {how}", "it was not caught")
    shutil.rmtree(variant.tree)


def main():
    if not os.path.exists(EMULATED):
        print("1..0 # SKIP built without nvcc")
        return 0
    todo = [(control, 0, []), (control, 1, ["-DCUD_GRID_MAX=2"])]
    todo += [(plant, 2 + i, *bug) for i, bug in enumerate(BUGS) if i % {"long": 1, "short": 8}.get(SET, 2) == 0]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for job in [pool.submit(*t) for t in todo]:
            try:
                job.result()
            except Exception as e:
                ok(False, f"{type(e).__name__}: {e}")
    return done()


if os.path.exists(EMULATED):
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    how = subprocess.run(["make", "-s", "--no-print-directory", "how-emulated"], cwd=BUILD, env=env, capture_output=True, text=True,
                         check=True).stdout.splitlines()
    CC, NVCC, LINK = map(shlex.split, how[:3])
    MAIN, LIBS = how[3], shlex.split(how[4])
    FILES = {"w.npy": ((40, 70), bytes((i * 37 + 11) % 59 + 1 if i % 4 < 3 else 0x3d for i in range(40 * 70 * 4))),
             "pivots.npy": ((20001,), struct.pack("<20001f", *(1e8 if i % 4096 < 33 else 3.7e-6 for i in range(20001))))}
    for name, (shape, data) in FILES.items():
        with open(os.path.join(TOP, name), "wb") as f:
            f.write(whole.npy("<f4", shape, data))
        CASES = {case: (words.replace(name, f.name), ranks) for case, (words, ranks) in CASES.items()}
    WANT = {case: Run(words.split()).got for case, (words, _) in CASES.items()}
sys.exit(main())
