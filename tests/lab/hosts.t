#!/usr/bin/env python3
"""Several hosts without Slurm, by mpirun: what they write and read, what they must share and what not, and hosts that are lost.

CUDIST names the program; tests/cudist-fault beside it is the same with slow writes.  CUDIST_TEST_SET=long also waits for a lost
host's lock to grow old."""
import json, os, re, subprocess, sys, time
import lab, whole
from lab import ENV, FAULT, OWN, SHARED, enter, link, mpirun, on, program, read, remove, wait_until
from whole import SET, Run, done, ok

STEP = ["-k", "softmax"]
TWO = "n1:2,n2:2"
SLOW = {"CUDIST_TEST_FAIL": "pwrite:9+:SLOW@*"}                     # 1.5 s a window of the workers, but for the first ones
# Open MPI's daemons then see a lost host after some 10 s, else after 8 minutes (docs/clusters.md).
ALIVE = ["--mca", "oob_tcp_keepalive_time", "5", "--mca", "oob_tcp_keepalive_intvl", "2", "--mca", "oob_tcp_keepalive_probes", "3"]


def cudist(*words, where="", folder=SHARED, most=60, **env):
    """Over hosts, or without MPI's launcher on the host head."""
    exported = [word for name in env for word in ("-x", name)]
    launch = mpirun(where, *exported, "--wdir", folder) if where else []
    return whole.run([*launch, "cudist", *words], env=dict(ENV, **env), cwd=folder, late=most)


def outcome(path):
    with open(os.path.join(SHARED, path + ".json")) as f:
        result = json.load(f)
    return read(path), result["result"], result["run"]


def clean(host=None):
    """No outputs in the shared folder; nothing in the host's own."""
    for name in os.listdir(SHARED):
        if name.startswith("o.npy"):
            remove(name)
    if host:
        subprocess.run(on(host, ["sh", "-c", f"rm -rf {OWN}/data; mkdir {OWN}/data"]), check=True)


def put(host, path, target):
    """A copy of a file in that host's own folder; not the same time of change."""
    subprocess.run(on(host, ["cp", path, target]), check=True)


def listed(host):
    return sorted(subprocess.run(on(host, ["ls", f"{OWN}/data"]), capture_output=True, text=True, check=True).stdout.split())


# ---- what all is well

def writes():
    cases = [(TWO, ["--write", "root"], "root"), (TWO, ["--write", "direct"], "direct"), (TWO, [], "root"),
             ("n1:1,n2:2,n3:1", ["--write", "direct", "-w", "64K"], "direct"), ("n3:1,n1:3", ["-w", "64K"], "root")]
    for where, words, write in cases:
        clean()
        run = cudist("in.npy", *STEP, "-o", "o.npy", *words, where=where)
        good = run.rc == 0 and outcome("o.npy")[:2] == RIGHT[:2]
        good = good and (outcome("o.npy")[2]["write"], len(outcome("o.npy")[2]["hosts"])) == (write, where.count("n"))
        ok(good, f"{where} {' '.join(words) or 'auto'}", run)


# ---- what hosts must share

def inputs():
    """In a folder that each host has to itself."""
    path = f"{OWN}/data/in.npy"
    for host in ("n1", "n2"):
        clean(host)
        put(host, f"{SHARED}/in.npy", path)
    run = cudist(path, *STEP, "-o", "o.npy", where=TWO)
    ok(run.rc == 0 and outcome("o.npy")[:2] == RIGHT[:2], "each host has a copy of the input", run)
    stale = [("content", f"conv=notrunc bs=1 seek={os.path.getsize(SHARED + '/in.npy') - 3}"), ("length", "oflag=append conv=notrunc")]
    for what, how in stale:
        clean("n2")
        put("n2", f"{SHARED}/in.npy", path)
        subprocess.run(on("n2", ["sh", "-c", f"printf 12 | dd {how} of={path} 2>/dev/null"]), check=True)
        run = cudist(path, *STEP, "-o", "o.npy", where=TWO)
        ok(run.rc == 3 and refused(run, r"in\.npy(: is too long.*\(on host n2\)| on host n2 is not the file that rank 0 reads).*"),
           f"a stale copy of the input on n2: another {what}", run)
    clean("n2")
    run = cudist(path, *STEP, "-o", "o.npy", where=TWO)
    ok(run.rc == 3 and refused(run, r"in\.npy: No such file or directory \(on host n2\)"), "an input that only rank 0's host has", run)


def refused(run, pattern):
    """One line, whichever rank says it, and nothing is left."""
    left = [name for name in os.listdir(SHARED) if name.startswith("o.npy")]
    return len(run.lines) == 1 and re.search(pattern, run.lines[0]) and not left


def folders():
    """An output in a folder that each host has to itself."""
    path = f"{OWN}/data/o.npy"
    for write in ("root", "direct"):
        clean("n1")
        clean("n2")
        put("n2", f"{SHARED}/in.npy", path + ".part")               # somebody's, who has nothing to do with this
        run = cudist("in.npy", *STEP, "-o", path, "--write", write, where=TWO)
        if write == "root":
            whole_file = subprocess.run(on("n1", ["cat", path]), capture_output=True).stdout
            ok(run.rc == 0 and whole_file == RIGHT[0] and listed("n2") == ["o.npy.part"],
               "an output folder of rank 0's host alone, written by rank 0", f"{run}\n{listed('n2')}")
        else:
            ok(run.rc == 1 and refused(run, r"o\.npy\.part: host n2 does not see the file that rank 0 made; .*--write root") and
               (listed("n1"), listed("n2")) == ([], ["o.npy.part"]), "... by each rank: refused", f"{run}\n{listed('n1')}")


def locks():
    """A run on n1, meanwhile one on n2."""
    clean()
    first = slow("n1:1")
    second = cudist("in.npy", *STEP, "-o", "o.npy", where="n2:1")
    ok(second.rc == 6 and len(second.lines) == 1 and re.search(r"another run is writing this output: pid \d+ on host n1", second.lines[0]),
       "one output, wanted from two hosts: the second is refused", second)
    rc = first.process.wait(90)
    ok(rc == 0 and read("o.npy") == read("in.npy"), "... and the first is right", read("log").decode())


# ---- hosts that are lost

def slow(where, *more):
    """A run that is at its rows; what it says is in the file log."""
    clean()
    words = ["cudist", "in.npy", "-k", "copy", "-o", "o.npy", "--threads", "1", "-w", "256K", "--write", "direct", *more]
    with open(f"{SHARED}/log", "w") as log:
        run = Run(mpirun(where, *ALIVE, "-x", "CUDIST_TEST_FAIL", *words), env=dict(ENV, **SLOW), cwd=SHARED, late=90, stderr=log)
        run.start()
    run.ran = wait_until(lambda: os.path.exists(f"{SHARED}/o.npy.part"), 30)
    time.sleep(1)
    return run


def log_lines(pattern):
    return re.findall("^cudist: " + pattern + "$", read("log").decode(), re.M)


def short_cut():
    run = slow(TWO)
    link("n2", "down")
    time.sleep(3)
    link("n2", "up")
    rc = run.process.wait(90)
    ok(run.ran and rc == 0 and read("o.npy") == read("in.npy"), "a link is cut for 3 s: the run goes on", f"{rc}\n{read('log')}")


def cut_found(by, words, line, code):
    """By Open MPI's daemons, which end all; or by cudist, whose line comes in time, while mpirun waits for n2 until it is told to
    end (docs/clusters.md)."""
    run = slow(TWO, *words)
    link("n2", "down")
    began = time.monotonic()
    said = wait_until(lambda: log_lines(line), 15 + lab.LATE)
    took = time.monotonic() - began
    if by == "cudist":
        run.process.terminate()
    rc = run.process.wait(30)
    link("n2", "up")
    ok(run.ran and said and (rc == code if code else rc != 0) and not os.path.exists(f"{SHARED}/o.npy"),
       f"a link is cut: {by} says so ({took:.0f} s)", f"{rc}\n{read('log').decode()}")


def cut():
    short_cut()
    cut_found("cudist", ["--timeout", "3"],
              r"rank [23] \(host n2, cpu\) and 1 other were not heard from for 3 s; it was at rows \d+ to \d+; .*", None)
    cut_found("Open MPI", [], "stopped at once by TERM.*", 205)


def lost():
    """All of n1's processes are killed; the same again, from n3."""
    run = slow("n1:2")
    inside = os.readlink(f"/proc/{lab.hosts['n1'].pid}/ns/uts")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/ns/uts") == inside and int(pid) != lab.hosts["n1"].pid:
                os.kill(int(pid), 9)
        except OSError:
            pass
    rc = run.process.wait(90)
    ok(run.ran and rc != 0 and not os.path.exists(f"{SHARED}/o.npy"), "all processes of a host are killed: the run ends", read("log").decode())
    again = cudist("in.npy", "-k", "copy", "-o", "o.npy", where="n3:2")
    ok(again.rc == 6 and "if that one is dead, try again in 30 seconds" in again.stderr, "the same from another host, at once: wait", again)
    if SET == "long":
        time.sleep(31)
        again = cudist("in.npy", "-k", "copy", "-o", "o.npy", where="n3:2")
        ok(again.rc == 0 and read("o.npy") == read("in.npy"), "... 30 s later: done", again)


def main():
    global RIGHT
    enter()
    lab.add_hosts(3)
    cudist("-q", "random:shape=200000x16,dist=normal,seed=3", "-k", "copy", "-o", "in.npy")
    cudist("-q", "in.npy", *STEP, "-o", "right.npy")
    RIGHT = outcome("right.npy")
    for group in (writes, inputs, folders):
        group()
    program(FAULT)
    locks()
    lost()
    if SET != "short":
        cut()
    return done()


sys.exit(main())
