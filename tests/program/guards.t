#!/usr/bin/env python3
"""What must not pass unnoticed: an input that changes under a run, a closed or full stdout, an output that would replace what is read,
a dry run that says yes to what a run refuses, a rank that never starts MPI.  CUDIST names the program."""
import os, sys, tempfile, time

sys.dont_write_bytecode = True
from whole import CUDIST, ENV, MPIRUN, Run, done, ok, run


def sh(text, **env):
    return run(["sh", "-c", text], env=dict(ENV, C=CUDIST, **env))


def refused(text, code, says, **env):
    got = sh(text, **env)
    ok(got.rc == code and len(got.lines) == 1 and says in got.lines[0], text.replace("\n", " "), f"want {code}, {says}\n{got}")


STEPS = "-k tanh -k exp -k log -k tanh -k exp -k tanh".split()


def changed(how, text, ranks=0, words=STEPS, says="big.npy"):
    """The input changes while a slow run reads it: an error that names it, and the rank; nothing is left."""
    sh("test -e made.npy || $C -q random:shape=24000000,dist=integer,dtype=f32 -k copy -o made.npy; cp made.npy big.npy")
    launch = [*MPIRUN, "-np", str(ranks)] if ranks else []
    slow = Run([*launch, CUDIST, "-q", "big.npy", *words, *"-w 64K --threads 1 -o o.npy".split()]).start()
    while slow.process.poll() is None and not os.path.exists("o.npy.part"):
        time.sleep(0.001)
    how()
    slow.end()
    left = [name for name in os.listdir() if name.startswith("o.npy")]
    good = slow.rc == 1 and len(slow.lines) == 1 and says in slow.lines[0] and (ranks < 2 or "cudist: rank " in slow.lines[0])
    ok(good and not left, f"{text}{f', {ranks} ranks' if ranks else ''} {' '.join(words[:2])}", f"left {left}\n{slow}")
    for name in left:
        os.unlink(name)


def cut(bytes):
    os.truncate("big.npy", bytes)


def memory():
    """What does not fit is said with what would help, and nothing that would not."""
    row = "-k softmax random:shape=8x10000000000000"
    for args, cure in ((f"{row} --threads 1", "a row must fit: it takes a host with more memory, or shorter rows"),
                       (f"{row} --threads 2", "less is needed with fewer --threads"),
                       ("-k copy -w 4T random:shape=1000000000000000 --threads 1", "less is needed with a smaller --window"),
                       ("-k copy -w 4T random:shape=1000000000000000 --threads 2", "less is needed with a smaller --window or fewer --threads"),
                       ("-k dense:weights=w.npy -b 90000000000000 random:shape=90000000000000x4 --threads 2", "less is needed with a smaller --batch"),
                       ("-k dense:weights=w.npy -b 90000000000000 random:shape=900000000000000x4 --threads 2",
                        "less is needed with a smaller --batch or fewer --threads")):
        got = sh(f"$C -q -o none {args}")
        ok(got.rc == 3 and len(got.lines) == 1 and got.lines[0].endswith("; " + cure), f"{args}: {cure}", got)
    got = sh(f"mpirun -np 2 $C -q -o none {row} --threads 1")
    ok(got.rc == 3 and got.lines[0].endswith("; less is needed with fewer ranks a host"), "fewer ranks a host", got)


def formats():
    """An output is written as its suffix says; without one, or with the input's own, as the input; else not at all."""
    sh("$C -q x.npy -k copy -o raw.dat.bin; mv raw.dat.bin raw.dat; cp x.npy npy.dat; $C -q raw.dat --dtype f32 -k copy -o raw.npy")
    for args in ("x.npy -o y.npz", "x.npy -o y.txt --dry-run", "x.npy -o y.NPYX", "raw.dat --dtype f32 -o y.h5", "random:shape=4 -o y.json"):
        refused(f"$C -q -k copy {args}", 2, "those that can: .npy .bin .raw")
    npy = b"\x93NUMPY"
    for args, name, is_npy in (("x.npy -o plain", "plain", True), ("raw.dat --dtype f32 -o plain", "plain", False), ("x.npy -o .npy", ".npy", True),
                               ("random:shape=4 -o plain", "plain", True), ("x.npy -o Y.NPY", "Y.NPY", True), ("x.npy -o Y.Bin", "Y.Bin", False),
                               ("raw.dat --dtype f32 -o y.dat", "y.dat", False), ("npy.dat -o y.DAT", "y.DAT", True),
                               ("raw.dat --dtype f32 -o y.npy", "y.npy", True), ("x.npy -o a.b/plain", "a.b/plain", True)):
        os.makedirs("a.b", exist_ok=True)
        got = sh(f"$C -q -f -k copy {args}")
        ok(got.rc == 0 and (open(name, "rb").read(6) == npy) == is_npy, f"{args}: {'.npy' if is_npy else 'raw'}", got)
    got = sh("cp x.npy BIG.NPY && $C -q -k copy BIG.NPY")
    ok(got.rc == 0 and os.path.exists("BIG.out.NPY"), "the default output of BIG.NPY is BIG.out.NPY", got)


def pipes():
    """What is read must not hang on a pipe: a job file waits for its writer, an array is refused."""
    sh("mkfifo f; echo 'nonsense = 1' > bad.job")
    refused("$C -q x.npy --job f -o none -t 0.5", 2, "job file /")
    refused("CUDIST_TIMEOUT=0.5 $C -q x.npy --job f -o none", 2, "job file /")
    refused("mpirun -np 2 $C -q x.npy --job f -o none -t 0.5 2>&1 | grep ^cudist: >&2; exit 2", 2, "for 0.5 s (--timeout)")
    for text in ("echo kernel = copy | $C -q x.npy --job /dev/stdin -o none", "(sleep 1; echo kernel = copy) > f & $C -q x.npy --job f -o none",
                 "(printf 'kernel = '; sleep 1; echo copy) > f & $C -q x.npy --job f -o none -t 20", ": > f & $C -q x.npy --job f -o none -t 20"):
        got = sh(text)
        ok(got.rc == 0, text, got)
    refused("cat bad.job | $C -q x.npy --job /dev/stdin -o none", 2, "/dev/stdin:1")
    refused("$C -q x.npy --job . -o none", 2, "Is a directory")
    refused("$C -q x.npy --job /dev/zero -o none", 2, "is no job file")
    refused("$C -q x.npy -k dense:weights=f -o none", 3, "is a pipe; give a regular file")
    refused("$C -q f --dtype f32 -o none", 3, "is a pipe; give a regular file")
    refused("$C --info f", 3, "is a pipe; give a regular file")


def names():
    """A file that is in the way, and the option that helps; what is wanted for two things."""
    sh("ln -s x.npy link.npy; ln -s x.npy l.npy.part; mkfifo fifo")
    for args, says in (("-o link.npy", "link.npy: is a symbolic link; give the name of the file itself"),
                       ("-o l.npy", "l.npy.part: is a symbolic link; remove it, or use -o for another name"),
                       ("-o none --trace fifo", "fifo: is not a regular file; give the name of a file"),
                       ("-o none --trace x.npy -f", "x.npy: is read by this run, and would be overwritten; use --trace for another name"),
                       ("-o none --trace -", "--trace -: give the name of a file"), ("-o none --trace none", "--trace none: give the"),
                       ("-o l2.npy --result l2.npy.part", "l2.npy.part: would be the result and the unfinished output; use --result")):
        refused(f"$C -q x.npy -k copy {args}", 2, says)


def modes():
    """What replaces a private file is as private, while it is written too."""
    for mode in (0o600, 0o640, 0o444):
        sh(f"rm -f md.npy*; umask 022; $C -q x.npy -k copy -o md.npy; chmod {mode:o} md.npy md.npy.json")
        got = sh("umask 022; $C -q -f x.npy -k copy -o md.npy")
        seen = [os.stat(name).st_mode & 0o777 for name in ("md.npy", "md.npy.json")]
        ok(got.rc == 0 and seen == [mode, mode], f"files of mode {mode:o} are replaced by such", f"{seen}\n{got}")
    sh("umask 022; $C -q -f x.npy -k copy -o md2.npy")
    ok(os.stat("md2.npy").st_mode & 0o777 == 0o644, "a new file is as the umask says")
    sh("chmod 600 md.npy")
    slow = Run([CUDIST, "-q", "-f", *"-k tanh -k exp -k tanh -w 64K --threads 1 random:shape=100000000 -o md.npy".split()]).start()
    while slow.process.poll() is None and not os.path.exists("md.npy.part"):
        time.sleep(0.001)
    mode = os.stat("md.npy.part").st_mode & 0o777
    slow.process.terminate()
    slow.end()
    ok(mode == 0o600, "so is the unfinished one", f"{mode:o}\n{slow}")


def numpys_names():
    """Types and shapes as NumPy writes them."""
    sh("$C -q random:shape=20x3 -k copy --out-dtype i16 -o t.bin")
    got = sh("$C -q t.bin --dtype int16 --shape '(20, 3)' -k copy --out-dtype float64 -o t.npy && $C --info t.npy")
    ok(got.rc == 0 and b"f64" in got.stdout and b"(20, 3)" in got.stdout, "--dtype int16 --shape '(20, 3)' --out-dtype float64", got)


def overwrite():
    with open("big.npy", "r+b") as f:
        f.seek(80000000)
        f.write(b"x" * 100)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    size = 128 + 4 * 24000000
    short = "big.npy: was cut short, to "
    changed(lambda: cut(size - 400), "an input loses some of its last page", says=short)
    changed(lambda: cut(size // 2), "an input loses half of itself", says=short)
    changed(lambda: cut(size // 2), "an input loses half of itself", 2, says=short)
    changed(lambda: cut(size // 6 * 5), "an input loses its end", 3, says=short)
    changed(lambda: cut(8192), "an input loses nearly all", 3, says=short)
    changed(lambda: cut(8192), "an input loses nearly all", 0, ["-k", "copy"], short)
    changed(lambda: cut(8192), "an input loses nearly all", 2, ["-k", "copy"], short)
    changed(lambda: cut(size // 2), "an input loses half of itself", 2, STEPS + ["--write", "root"], short)
    changed(lambda: cut(size // 2), "an input loses half of itself", 3, ["--write", "root", "-k", "copy"], short)
    changed(lambda: os.truncate("big.npy", size + 4096), "an input grows")
    changed(overwrite, "an input is written to")
    sh("$C -q random:shape=10x4 -k copy -o x.npy; $C -q random:shape=4x4 -k copy -o w.npy; echo 'kernel = scale' > j.job")
    refused("$C -q x.npy -k copy -o - >&-", 2, "stdout is closed")
    refused("$C -q x.npy -k copy -o none --result - >&-", 2, "stdout is closed")
    closed = sh("$C -q x.npy -k copy -o closed.npy >&- 2>&-")
    ok(closed.rc == 0 and os.path.exists("closed.npy"), "closed descriptors that are not needed do no harm", closed)
    refused("$C x.npy -k copy -o none > /dev/full", 1, "stdout")
    refused("$C x.npy -k copy -o none >&-", 1, "writing to stdout failed")
    refused("$C x.npy -k copy --dry-run > /dev/full", 1, "stdout")
    refused("$C -q x.npy -k dense:weights=w.npy -o w.npy -f", 2, "w.npy")
    refused("$C -q x.npy -k dense:weights=w.npy -o none --result w.npy -f", 2, "w.npy")
    refused("$C -q x.npy --job j.job -o none --result j.job -f", 2, "j.job")
    for args, code, says in (("-o w.npy", 6, "exists"), ("-o nodir/x.npy", 2, "nodir"), ("-o x.npy -f", 2, "read by this run"), ("-o . -f", 2, "folder"),
                             ("-o /dev/null -f", 2, "regular"), ("-o n.npy --result w.npy", 6, "exists")):
        refused(f"$C x.npy -k copy --dry-run {args}", code, says)
    refused("$C x.npy -k copy --dry-run random:shape=100000000000x4 -o n.npy", 1, "n.npy: takes 1.5 TiB, and ")
    got = sh("mpirun -np 3 $C -k copy --dry-run random:shape=1x4 -o n.npy")
    ok(got.rc == 0 and b"memory   " in got.stdout and b"memory   0 bytes" not in got.stdout, "a plan's memory is that of a rank with rows", got)
    formats()
    pipes()
    names()
    modes()
    numpys_names()
    memory()
    ok(not os.path.exists("n.npy.lock") and not os.path.exists("n.npy.part"), "a dry run leaves nothing")
    refused("$C -q x.npy -k copy -o none", 2, "CUDIST_LIBS", CUDIST_LIBS="foo")
    refused("$C -q x.npy -k copy -o none", 2, "CUDIST_ISA", CUDIST_ISA="foo")
    refused("mpirun -np 2 sh -c 'test ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 0 || exec sleep 50; exec $C -q x.npy -k copy -o none -t 3'", 1, "MPI did not start")
    os.chdir("/")
sys.exit(done())
