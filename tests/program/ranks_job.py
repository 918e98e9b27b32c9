"""What rank.t and ranks.t share: a job of ranks that signals are sent to, and what must come of it."""
import concurrent.futures, os, re, shutil, signal, subprocess, sys, threading, time
from whole import ENV, MPIRUN, SET

SHORT = SET == "short"
LATE = 12       # seconds that a loaded machine may take longer
NAMES = {s: s.name[3:] for s in signal.Signals}


class Job:
    """One run to its end: rc, text (both streams), seconds since the signal, and the ranks that are left over.
    send: signals, to: ranks or "all" (the launcher), `after` seconds after a line that starts with ready, or after the file
    of that (absolute) name is there."""

    def __init__(self, ranks, command, send=(), to=(), after=1.5, go_on=None, env=None, ready="go", folder=None):
        command = (MPIRUN + ["-np", str(ranks)] if ranks else []) + command
        self.pid, self.text = {}, ""
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder,
                                        env={**ENV, **(env or {})}, start_new_session=True)
        guard = threading.Timer(60, self.kill)
        guard.start()
        if ready.startswith("/"):
            self.wait_for_file(ready, ranks)
        elif ready:
            self.read_until(ready)
            self.pid = self.pid or find_ranks(self.process.pid)
        time.sleep(after if send else 0)
        began = time.monotonic()
        for s in send:
            self.signal(s, to)
            time.sleep(0.2)
        if go_on:
            time.sleep(go_on)
            self.signal(signal.SIGCONT, to)
        self.text += self.process.stdout.read()
        self.rc = self.process.wait()
        self.seconds = time.monotonic() - began
        guard.cancel()
        self.left = self.find_left()

    def read_until(self, ready):
        for line in iter(self.process.stdout.readline, ""):
            self.text += line
            if line.startswith("pid "):
                self.pid[int(line.split()[1])] = int(line.split()[2])
            if line.startswith(ready):
                return

    def wait_for_file(self, path, ranks):
        while self.process.poll() is None and not os.path.exists(path):
            if len(self.pid) < ranks:
                self.pid = find_ranks(self.process.pid)
            time.sleep(0.001)

    def signal(self, s, to):
        for who in to:
            try:
                os.kill(self.process.pid if who == "all" else self.pid[who], s)
            except (ProcessLookupError, KeyError):
                pass

    def kill(self):
        self.text += "\nTHE TEST'S OWN TIME LIMIT\n"
        for pid in [self.process.pid, *self.pid.values()]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def find_left(self):
        """Ranks that live on.  mpirun may end a moment before them."""
        for _ in range(30):
            left = [r for r, pid in self.pid.items() if alive(pid)]
            if not left:
                break
            time.sleep(0.1)
        return left


def stat(pid):
    """The state and the parent of a process; "Z", 0 where there is none."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
            return fields[0], int(fields[1])
    except OSError:
        return "Z", 0


def alive(pid):
    return stat(pid)[0] != "Z"


def find_ranks(launcher):
    """mpirun's children by rank."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if stat(pid)[1] != launcher:
            continue
        try:
            with open(f"/proc/{pid}/environ") as f:
                rank = re.search(r"(?:^|\0)(?:OMPI_COMM_WORLD|PMI)_RANK=(\d+)", f.read())
        except OSError:
            continue
        if rank:
            found[int(rank[1])] = int(pid)
    return found


def wrong(job, rc=None, within=None, lines=None, ends=None, also=None):
    """What is not as expected, or nothing.  lines: one pattern for each line of cudist's; where there is none,
    "stopped at once" may come from the launcher's TERM, and progress is no such line.  rc None: not 0.  ends: how many say what
    of rank.t's ends."""
    if job.rc == 0 if rc is None else job.rc != rc:
        return f"exit code {job.rc}"
    if within and job.seconds > within + LATE:
        return f"took {job.seconds:.1f} s"
    if job.left:
        return f"ranks {job.left} live on"
    got = [line for line in job.text.splitlines() if line.startswith("cudist: ") and not re.search(r" rows \(\d+ %\)", line)]
    if lines is not None:
        rest = got if lines else [g for g in got if "stopped at once by TERM" not in g]
        if len(rest) != len(lines) or not all(re.fullmatch("cudist: " + p, g) for p, g in zip(lines, rest)):
            return f"lines {rest}, not {lines}"
    if ends:
        count, pattern = ends
        found = re.findall(rf"^end \d+ {pattern}$", job.text, re.M)
        if len(found) != count:
            return f"{len(found)} ranks ended so, not {count}: {pattern}"
    return also(job) if also else ""


def who(rank):
    return rf"rank {rank} \(host [^ ,()]+, cpu\)"


TESTS = []


def test(name, run, **expected):
    TESTS.append((name, run, expected))


def run_all(at_once):
    """All tests whose names hold the first argument, if there is one."""
    if not shutil.which(MPIRUN[0]):
        print(f"1..0 # SKIP no {MPIRUN[0]}")
        return 0
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [t for t in TESTS if only in t[0]][::3 if SHORT else 1]
    bad = 0
    print(f"1..{len(chosen)}")
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        jobs = [(name, expected, pool.submit(run)) for name, run, expected in chosen]
        for n, (name, expected, job) in enumerate(jobs, 1):
            job = job.result()
            why = wrong(job, **expected)
            bad += bool(why)
            print(f"{'not ' if why else ''}ok {n} - {name}", flush=True)
            if why:
                print("# " + why + "\n# " + job.text.replace("\n", "\n# "), flush=True)
    return bad > 0
