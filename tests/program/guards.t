#!/usr/bin/env python3
"""What must not pass unnoticed: an input that changes under a run, a closed or full stdout, an output that would replace what is read,
a dry run that says yes to what a run refuses, a rank that never starts MPI.  CUDIST names the program."""
import os, subprocess, sys, tempfile, time

CUDIST = os.path.abspath(os.environ.get("CUDIST", "./cudist"))
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("CUDIST", "SLURM_", "PMI_", "PMIX_", "OMPI_COMM"))}
ENV.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
           OMPI_MCA_mpi_yield_when_idle="1")
count = bad = 0


def ok(good, text, detail=""):
    global count, bad
    count += 1
    bad += not good
    print(f"{'' if good else 'not '}ok {count} - {text}" + ("" if good else "\n#   " + str(detail).replace("\n", "\n#   ")), flush=True)


def sh(text, **env):
    """Exit code, stderr's lines of ours, all of stderr."""
    run = subprocess.run(["timeout", "60", "sh", "-c", text], env=dict(ENV, C=CUDIST, **env), stdin=subprocess.DEVNULL, capture_output=True,
                         text=True, errors="replace")
    return run.returncode, [line for line in run.stderr.splitlines() if line.startswith("cudist: ")], run.stderr


def refused(text, code, says, **env):
    got, lines, err = sh(text, **env)
    ok(got == code and len(lines) == 1 and says in lines[0], text.replace("\n", " "), f"code {got}, want {code}\n{err}")


def changed(how, text):
    """The input changes while a slow run reads it: an error, and nothing under the output's name."""
    sh("$C -q random:shape=24000000,dist=integer,dtype=f32 -k copy -o big.npy -f")
    run = subprocess.Popen([CUDIST, "-q", "big.npy", *"-k tanh -k exp -k log -k tanh -k exp -k tanh -w 64K --threads 1".split(), "-o", "o.npy"],
                           env=ENV, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while run.poll() is None and not os.path.exists("o.npy.part"):
        time.sleep(0.01)
    how()
    err = run.communicate(timeout=60)[1]
    lines = [line for line in err.splitlines() if line.startswith("cudist: ")]
    ok(run.returncode == 1 and len(lines) == 1 and "big.npy" in lines[0] and not os.path.exists("o.npy"), text, f"code {run.returncode}\n{err}")
    for name in ("o.npy.part", "o.npy.lock"):
        if os.path.exists(name):
            os.unlink(name)


def overwrite():
    with open("big.npy", "r+b") as f:
        f.seek(80000000)
        f.write(b"x" * 100)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    size = 128 + 4 * 24000000
    changed(lambda: os.truncate("big.npy", size - 400), "an input loses some of its last page")
    changed(lambda: os.truncate("big.npy", size // 2), "an input loses half of itself")
    changed(lambda: os.truncate("big.npy", size + 4096), "an input grows")
    changed(overwrite, "an input is written to")
    sh("$C -q random:shape=10x4 -k copy -o x.npy; $C -q random:shape=4x4 -k copy -o w.npy; echo 'kernel = scale' > j.job")
    refused("$C -q x.npy -k copy -o - >&-", 2, "stdout is closed")
    refused("$C -q x.npy -k copy -o none --result - >&-", 2, "stdout is closed")
    code, lines, err = sh("$C -q x.npy -k copy -o closed.npy >&- 2>&-")
    ok(code == 0 and os.path.exists("closed.npy"), "closed descriptors that are not needed do no harm", err)
    refused("$C x.npy -k copy -o none > /dev/full", 1, "stdout")
    refused("$C x.npy -k copy --dry-run > /dev/full", 1, "stdout")
    refused("$C -q x.npy -k dense:weights=w.npy -o w.npy -f", 2, "w.npy")
    refused("$C -q x.npy -k dense:weights=w.npy -o none --result w.npy -f", 2, "w.npy")
    refused("$C -q x.npy --job j.job -o none --result j.job -f", 2, "j.job")
    for args, code, says in (("-o w.npy", 6, "exists"), ("-o nodir/x.npy", 2, "nodir"), ("-o x.npy -f", 2, "input"), ("-o . -f", 2, "folder"),
                             ("-o /dev/null -f", 2, "regular"), ("-o n.npy --result w.npy", 6, "exists")):
        refused(f"$C x.npy -k copy --dry-run {args}", code, says)
    ok(not os.path.exists("n.npy.lock") and not os.path.exists("n.npy.part"), "a dry run leaves nothing")
    refused("$C -q x.npy -k copy -o none", 2, "CUDIST_LIBS", CUDIST_LIBS="foo")
    refused("$C -q x.npy -k copy -o none", 2, "CUDIST_ISA", CUDIST_ISA="foo")
    refused("mpirun -np 2 sh -c 'test $OMPI_COMM_WORLD_RANK = 0 || exec sleep 50; exec $C -q x.npy -k copy -o none -t 3'", 1, "MPI did not start")
    os.chdir("/")
print(f"1..{count}")
sys.exit(bad != 0)
