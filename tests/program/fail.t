#!/usr/bin/env python3
"""The whole program when something goes wrong: it ends in time, with one right line and the right code, and nothing is lost.

CUDIST names the program; tests/cudist-fault beside it is the same with tests/fault.c, which makes the nth call of a function fail.
CUDIST_TEST_SET=short does less, =long tries every call."""
import concurrent.futures, os, re, shutil, signal, stat, struct, subprocess, sys, tempfile, time

sys.dont_write_bytecode = True
import whole
from whole import BESIDE, CUDIST, ENV, MPIRUN, SET, done, ok

FAULT = os.path.join(BESIDE, "cudist-fault")
LATE = 60                                  # seconds: longer than any run takes on a loaded machine
ROWS, OLDER = 100000, b"an older output"
SLOW = ["-k", "copy", "-w", "64K", "--threads", "1", "random:shape=400000000,dist=normal"]     # tens of seconds


class Run(whole.Run):
    """One run in a folder of its own, or in another's; `at` is where its output goes."""

    def __init__(self, words, ranks=0, fault=None, older=False, folder=None, out="o.npy", start=True, **kw):
        self.folder = folder or tempfile.mkdtemp(dir=TOP)
        self.out = os.path.join(self.folder, out or "o.npy")
        if older:
            with open(self.out, "wb") as f:
                f.write(OLDER)
        launch = MPIRUN + ["-np", str(ranks)] if ranks else []
        env = dict(ENV, CUDIST_TEST_FAIL=fault) if fault else ENV
        words = kw.pop("before", []) + launch + [FAULT if fault else CUDIST] + words + (["-o", self.out] if out else [])
        super().__init__(words, LATE, env, cwd=self.folder, **kw)
        if start:
            self.start()
            self.end()

    def start(self):
        self.began = time.monotonic()
        return super().start()

    def left(self):
        return sorted(name for name in os.listdir(self.folder) if name.startswith("o.npy"))

    def holds(self, want):
        try:
            with open(self.out, "rb") as f:
                return f.read() == want
        except OSError:
            return want is None

    def wait_part(self, more=0.3):
        """Until rows are being written."""
        while not os.path.exists(self.out + ".part") and self.process.poll() is None and time.monotonic() < self.began + LATE:
            time.sleep(0.02)
        time.sleep(more)
        return self

    def pids(self):
        """Of its ranks, by rank."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    environ = f.read().split(b"\0")
                if os.readlink(f"/proc/{pid}/cwd") == self.folder and os.readlink(f"/proc/{pid}/exe") in (CUDIST, FAULT):
                    rank = [e for e in environ if e.startswith((b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK="))]
                    found[int(rank[0].split(b"=")[1]) if rank else 0] = int(pid)
            except OSError:
                pass
        return found

    def __str__(self):
        return f"{super().__str__()}\nleft {self.left()}"


def failed(run, name, code=1, line="", older=False, codes=None):
    """It failed as it should."""
    left = [n for n in run.left() if not (older and n == "o.npy")]
    good = (run.rc in (codes or (code,)) and not run.late and len(run.lines) == 1 and re.search(line, run.lines[0]) and not left
            and (not older or run.holds(OLDER)))
    ok(good, name, run)
    shutil.rmtree(run.folder, ignore_errors=True)
    return good


def npy_file(path, rows):
    with open(path, "wb") as f:
        f.write(whole.npy("<f4", (rows, 16), struct.pack("<1600f", *range(1600)) * (rows // 100)))


# ---- outputs that must not be written

def refused():
    def refuse(name, words, code, line, out="o.npy", **kw):
        run = Run(["-k", "copy", IN] + words, out=out, **kw)
        failed(run, name, code, line, older=kw.get("older", False))

    refuse("an existing output", [], 6, "o.npy exists; use -f", older=True)
    run = Run(["-k", "copy", IN], 3, older=True)
    failed(run, "an existing output, 3 ranks", 6, "o.npy exists; use -f", older=True)
    folder = tempfile.mkdtemp(dir=TOP)
    open(os.path.join(folder, "r.json"), "w").close()
    refuse("an existing result", ["--result", os.path.join(folder, "r.json")], 6, "r.json exists; use -f", folder=folder)
    for name, words in (("o.npy.part", []), ("o.npy.json.tmp", []), ("r.tmp", ["--result", "r"])):
        folder = tempfile.mkdtemp(dir=TOP)
        with open(os.path.join(folder, name), "w") as f:
            f.write("my own")
        run = Run(["-f", "-k", "copy", IN] + words, folder=folder)
        with open(os.path.join(folder, name)) as f:
            kept = f.read() == "my own" and os.listdir(folder) == [name]
        ok(run.rc == 6 and len(run.lines) == 1 and f"{name} exists, and no lock" in run.lines[0] and kept, f"a user's own {name}", run)
        shutil.rmtree(folder)
    refuse("a folder that is not there", [], 2, "folder .*/no: No such", out="no/o.npy")
    refuse("a folder as output", [], 2, "is a folder", out=".")
    refuse("output and result the same", ["--result", "o.npy"], 2, "same file|two things")
    refuse("/dev/null", ["-f", "-o", "/dev/null"], 2, "/dev/null: is not a regular file", out=None)
    ok(stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null is still a device")
    for kind, link in (("itself", None), ("a hard link to it", os.link), ("a symbolic link to it", os.symlink)):
        folder = tempfile.mkdtemp(dir=TOP)
        copy = os.path.join(folder, "in.npy")
        shutil.copy(IN, copy)
        if link:
            link(copy, os.path.join(folder, "o.npy"))
        run = Run(["-f", "-k", "copy", copy], out="o.npy" if link else "in.npy", folder=folder)
        with open(copy, "rb") as f, open(IN, "rb") as g:
            same = f.read() == g.read()
        ok(run.rc == 2 and len(run.lines) == 1 and same, f"the input as output: {kind}", run)
        shutil.rmtree(folder)
    run = Run(["-k", "copy", IN], before=["prlimit", "--fsize=6000000"])
    failed(run, "an output longer than the limit of a file", 1, "File too large")
    no_write()


def no_write():
    folder = tempfile.mkdtemp(dir=TOP)
    os.chmod(folder, 0o555)
    before = []
    if os.geteuid() == 0:
        os.chmod(TOP, 0o755)
        before = ["setpriv", "--reuid=65534", "--clear-groups"]
        if subprocess.run(before + [CUDIST, "-V"], capture_output=True).returncode:
            return ok(True, "a folder that may not be written # SKIP cannot become another user")
    run = Run(["-k", "copy", IN], before=before, folder=folder)
    failed(run, "a folder that may not be written", 2, f"folder {folder}: Permission denied")


# ---- a disk that is full

def full_disk():
    for ranks, way in ((1, "direct"), (3, "direct"), (3, "root")) if SET != "short" else ((2, "direct"),):
        folder = tempfile.mkdtemp(dir=TOP)
        script = 'mount -t tmpfs -o size=2m full "$0" || exit 99; cd "$0"; "$@"; code=$?; ls -A >&2; exit $code'
        before = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", script, folder]
        run = Run(["-k", "copy", IN, "--write", way], ranks, folder=folder, before=before)
        if run.rc == 99 or "unshare" in run.stderr:
            ok(True, f"a full disk # SKIP cannot mount: {run.stderr.splitlines()[:1]}")
        else:
            good = run.rc == 1 and len(run.lines) == 1 and "No space left" in run.lines[0] and "o.npy" not in run.stderr.split()
            ok(good and "o.npy.part" not in run.stderr.split(), f"a full disk, {ranks} ranks, {way}", run)
        shutil.rmtree(folder)
    for ranks in (0, 2):
        with open("/dev/full", "wb") as full:
            run = Run(["-k", "copy", IN, "-o", "-"], ranks, out=None, start=False)
            if ranks:                      # mpirun stands between: it is the reader that goes
                run.words = ["sh", "-c", '"$@" | head -c 1000 >&2; exit 0', "sh"] + run.words
            else:
                run.kw["stdout"] = full
            run.start().end()
        line = "stdout: No space left" if not ranks else ""
        ok(not run.late and (ranks or (run.rc == 1 and len(run.lines) == 1 and line in run.lines[0])),
           f"stdout is full, {ranks} ranks", run)


# ---- two runs, one output

def in_use():
    first = Run(SLOW, 2, start=False).start().wait_part()
    second = Run(["-k", "copy", IN, "-f"], folder=first.folder)
    pid = str(first.pids().get(0))
    ok(second.rc == 6 and len(second.lines) == 1 and pid in second.lines[0], f"an output in use: pid {pid}", second)
    other = Run(["-k", "copy", IN, "-f", "-o", "none", "--result", first.out + ".json"], folder=first.folder, out=None)
    ok(other.rc == 6 and len(other.lines) == 1 and pid in other.lines[0], "its result too", other)
    for p in first.pids().values():
        os.kill(p, signal.SIGKILL)
    first.end()
    ok(first.left() == ["o.npy.lock", "o.npy.part"], "a killed run leaves its .part and .lock", first)
    third = Run(["-k", "copy", IN], folder=first.folder)
    ok(third.rc == 0 and third.left() == ["o.npy", "o.npy.json"] and third.holds(RIGHT) and len(third.notes) == 1
       and "discarded" in third.notes[0], "the next run discards them with a note, and is right", third)
    shutil.rmtree(first.folder)


def lock_lost():
    run = Run(SLOW, 2, start=False).start().wait_part()
    os.unlink(run.out + ".lock")
    failed(run.end(), "the lock is removed", 1, "lock is gone")
    run = Run(SLOW, 2, start=False).start().wait_part()
    os.unlink(run.out + ".part")
    failed(run.end(), "OUT.part is removed", 1, "o.npy.part: is gone, while")


# ---- the nth call

CALLS = {"pread": ("EIO", 3), "pwrite": ("ENOSPC", 2), "open": ("EACCES", 1), "close": ("EIO", 1), "fsync": ("EIO", 1),
         "ftruncate": ("EIO", 1), "rename": ("EIO", 1), "unlink": ("EIO", 1), "malloc": ("ENOMEM", 1), "calloc": ("ENOMEM", 1),
         "realloc": ("ENOMEM", 4), "aligned_alloc": ("ENOMEM", 1)}


def nth_call(name, what, step):
    """One process: each nth call fails in turn, until there are no more; then nothing failed."""
    tried, n, wrong = 0, 1, []
    run = None
    step = {"long": 1, "short": step * 7}.get(SET, step)
    while n < 500:
        run = Run(["-f", "-q", "-k", "copy", "-w", "256K", "--threads", "2", IN], fault=f"{name}:{n}:{what}@0", older=True)
        again = Run(["-q", "-k", "copy", "-w", "256K", "--threads", "2", IN], fault=f"{name}:{n}+:{what}@0")
        tried += 1
        for r, older in ((run, True), (again, False)):
            r.past = r.rc == 0
            placed = r.rc == 1 and len(r.lines) == 1 and re.search("is complete, but|is in place, but", r.lines[0])
            whole = r.holds(RIGHT) and (placed or "o.npy.json" in r.left())
            left = [n for n in r.left() if not (name == "unlink" and n in ("o.npy.part", "o.npy.lock"))]
            clean = r.holds(OLDER) and left == ["o.npy"] if older else left == []
            if r.late or r.rc not in (0, 1, 3) or not (whole if r.rc == 0 or placed else clean and len(r.lines) == 1):
                wrong.append(str(r) + f"\n{name}:{n}:{what}")
            shutil.rmtree(r.folder)
        if again.past:
            break
        n += step
    ok(not wrong and again.past, f"{name}: {what} at each of {tried} calls", "\n".join(wrong) or f"still failing at {n}")


def harmless():
    """What a caller must put up with."""
    for fault in ("pread:2+:SHORT@*", "pwrite:3+:SHORT@*", "pread:2:EINTR@*", "pwrite:2:EINTR@*", "mmap:1+:ENOMEM@*"):
        run = Run(["-k", "copy", "-w", "256K", IN], 2, fault)
        ok(run.rc == 0 and not run.lines and run.holds(RIGHT), f"{fault}: nothing happens", run)
        shutil.rmtree(run.folder)
    with open(IN, "rb") as f:
        right = f.read()
    run = Run(["-k", "copy", "-w", "256K", IN, "-o", "-"], 0, "write:1+:SHORT@*", out=None)
    ok(run.rc == 0 and run.stdout == right, "short writes to stdout", run)


def gone():
    """Rows that pass untouched are written from the input's own bytes: where those are gone the output is not to blame."""
    run = Run(["-k", "copy", "-w", "256K", IN], 2, "pwrite:9:EFAULT@1")
    failed(run, "mapped bytes are gone when they are written", 1, "rank 1: .*cannot be read any more: an input's disk failed")


def slow_disk():
    """The last sync may take longer than the ranks wait for each other: as long as it goes on, it is no reason to give up."""
    run = Run(["-q", "-k", "copy", "--timeout", "1", "random:shape=22000000"], 2, "sync_file_range:1+:SLOW@*")
    ok(run.rc == 0 and not run.lines and run.left() == ["o.npy", "o.npy.json"], "a slow disk is waited for", run)
    shutil.rmtree(run.folder)
    for ranks, who, line in ((0, 0, "stuck in a call that did not return for 6 s"), (2, 1, "not heard from for 1 s")):
        run = Run(["-q", "-f", "-k", "copy", "--timeout", "1", IN], ranks, f"fsync:1:HANG@{who}", older=True)
        ok(run.rc == 1 and len(run.lines) == 1 and run.holds(OLDER) and f"{line}; it was completing the output" in run.lines[0],
           f"a disk that hangs in the end, on rank {who}", run)
        shutil.rmtree(run.folder)
    for ranks, who in ((0, 0), (2, 1)):
        run = Run(["-q", "-f", "-k", "copy", "--write", "direct", IN], ranks, f"sync_file_range:1+:EIO@{who}", older=True)
        failed(run, f"a disk that fails in the end, on rank {who}", 1, "cannot be synced", older=True)


def meddled_with():
    """Somebody cuts the unfinished output: what the run has written is gone, and it must not say that all is well."""
    for ranks, size in ((0, 10), (2, 1000000), (2, 2000000000)):
        run = Run(SLOW + ["-f"], ranks, start=False, older=True).start().wait_part()
        os.truncate(run.out + ".part", size)
        run.end()
        failed(run, f"the unfinished output is cut to {size} bytes, {ranks or 1} ranks", 1, "o.npy.part: was made (shorter|longer) by",
               older=True)
    run = Run(SLOW, start=False, before=["nohup"]).start().wait_part()
    run.process.send_signal(signal.SIGHUP)
    time.sleep(1)
    ok(run.process.poll() is None, "what nohup started goes on after a HUP", run.process.poll())
    run.process.send_signal(signal.SIGTERM)
    run.end()
    shutil.rmtree(run.folder)


def on_ranks():
    """With ranks: on the first, the last and every one."""
    faults = [("pread", "2", "EIO", "cannot be read|Input/output error"), ("pwrite", "5", "ENOSPC", "No space left"),
              ("fsync", "1", "EIO", "cannot be synced"), ("open", "2", "EACCES", "Permission denied"), ("calloc", "12", "ENOMEM", "memory"),
              ("malloc", "8", "ENOMEM", "memory"), ("rename", "1", "EIO", "cannot be renamed")]
    cases = [(f, ranks, who, way) for f in faults for ranks, who in ((2, 0), (3, 2), (3, "*")) for way in ("direct", "root")]
    if SET != "long":                      # every fault on the first and the last rank, the ways by turns
        cases = [c for i, c in enumerate(cases) if (i + i // 2) % 2 == 0][::1 if SET == "usual" else 5]
    for (name, nth, what, line), ranks, who, way in cases:
        run = Run(["-f", "-k", "copy", "-w", "128K", "--write", way, IN], ranks, f"{name}:{nth}:{what}@{who}", older=True)
        title = f"{name}:{nth}:{what} on rank {who} of {ranks}, {way}"
        if run.rc == 0:                    # that rank made no such call, or could do without
            ok(run.holds(RIGHT) and not run.lines, f"{title}: does no harm", run)
            shutil.rmtree(run.folder)
            continue
        if failed(run, title, line=line, older=True, codes=(1, 3)) and who not in (0, "*") and f"rank {who}" not in run.lines[0]:
            ok(False, f"{title}: the line names the rank", run)


def told_at_once():
    """Rank 0, which writes for all, fails: the others do not go on with what would take them very long."""
    run = Run(["-k", "sum", "random:shape=4000000x100000,dist=normal", "-o", "-"], 3, "write:3:EIO@0", out=None)
    ok(run.rc == 1 and not run.late and len(run.lines) == 1, "stdout: rank 0 of 3 cannot write: the others stop", run)


def to_stdout():
    """In order through rank 0: a rank that fails does not leave the others waiting."""
    for who in (0, 1, 2) if SET != "short" else (1,):
        run = Run(["-k", "copy", "-w", "128K", IN, "-o", "-"], 3, f"pread:9:EIO@{who}", out=None)
        ok(run.rc == 1 and not run.late and len(run.lines) == 1 and RIGHT.startswith(run.stdout),
           f"stdout: rank {who} of 3 cannot read", run)


# ---- ranks that die or hang, and signals

def strike(how, who, ranks, way, words=()):
    """A signal to a rank, or to what was started ("all"), while rows are being written."""
    run = Run(SLOW + ["-f", "--write", way] + list(words), ranks, start=False, older=True).start().wait_part()
    pids = run.pids()
    os.kill(run.process.pid if who == "all" else pids.get(who, run.process.pid), how)
    run.end()
    alive = run.pids()
    for pid in alive.values():
        os.kill(pid, signal.SIGKILL)
    name = f"{how.name} to {'rank ' if who != 'all' else ''}{who} of {ranks or 1}, {way}"
    ok(len(pids) == max(1, ranks) and not alive, f"{name}: no process is left", f"{pids} {alive}\n{run}")
    return run, name


def dies():
    for ranks, who, way in ((2, 0, "root"), (3, 2, "direct"), (3, 1, "root"))[::1 if SET != "short" else 3]:
        run, name = strike(signal.SIGKILL, who, ranks, way)
        named = f"rank {who} with PID" in run.stderr or f"rank {who} " in " ".join(run.lines)
        ok(run.rc not in (0, 75) and not run.late and len(run.lines) <= 1 and named and run.holds(OLDER), f"{name}: it is named", run)
        again = Run(["-f", "-k", "copy", IN], folder=run.folder)
        ok(again.rc == 0 and again.holds(RIGHT) and again.left() == ["o.npy", "o.npy.json"], "... and the next run is right", again)
        shutil.rmtree(run.folder)


def hangs():
    for ranks, who, way in ((2, 0, "direct"), (3, 2, "direct"), (3, 1, "root"))[::1 if SET != "short" else 3]:
        run, name = strike(signal.SIGSTOP, who, ranks, way, ["--timeout", "3"])
        seconds = time.monotonic() - run.began
        good = run.rc not in (0, 75) and not run.late and len(run.lines) == 1 and f"rank {who} " in run.lines[0]
        ok(good and run.holds(OLDER) and seconds < 25, f"{name}, --timeout 3: it is named ({seconds:.0f} s)", run)
        shutil.rmtree(run.folder)


def asked():
    """By signal: in good order where there is time, at once where there is not."""
    for how, who, ranks in ((signal.SIGTERM, "all", 0), (signal.SIGINT, "all", 0), (signal.SIGHUP, "all", 0), (signal.SIGUSR1, "all", 0),
                            (signal.SIGUSR1, "all", 3), (signal.SIGUSR1, 2, 3), (signal.SIGUSR1, 0, 2)):
        for way in ("direct", "root") if ranks else ("direct",):
            run, name = strike(how, who, ranks, way)
            failed(run, f"{name}: it stops in good order", 75, "stopped", older=True)
    for how, who in ((signal.SIGTERM, "all"), (signal.SIGINT, "all"), (signal.SIGTERM, 1), (signal.SIGINT, 0)):
        run, name = strike(how, who, 2, "direct")
        # mpirun itself kills soon after it was asked: on a loaded machine before the line is out.
        told = [line for line in run.lines if re.search("by (INT|TERM); .*o.npy.part is left, and the next run discards it$", line)]
        good = run.rc != 0 and not run.late and run.holds(OLDER) and told == run.lines and len(told) in ((0, 1) if who == "all" else (1,))
        ok(good, f"{name}: at once", run)
        shutil.rmtree(run.folder)


def main():
    global TOP, IN, RIGHT
    TOP = tempfile.mkdtemp(prefix="cudist-fail-")
    IN = os.path.join(TOP, "in.npy")
    npy_file(IN, ROWS)
    jobs = [refused, full_disk, in_use, lock_lost, harmless, gone, slow_disk, meddled_with, on_ranks, told_at_once, to_stdout, dies, hangs, asked]
    jobs += [lambda n=n, c=c: nth_call(n, *c) for n, c in CALLS.items()]
    try:
        run = Run(["-q", "-k", "copy", IN])
        ok(run.rc == 0 and run.left() == ["o.npy", "o.npy.json"] and not run.lines, "without a fault all is well", run)
        with open(run.out, "rb") as f:
            RIGHT = f.read()
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for job in [pool.submit(j) for j in jobs]:
                try:
                    job.result()
                except Exception as e:
                    ok(False, f"{type(e).__name__}: {e}")
    finally:
        shutil.rmtree(TOP, ignore_errors=True)
    return done()


sys.exit(main())
