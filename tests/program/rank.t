#!/usr/bin/env python3
"""Ranks under faults and signals: tests/unit/rank.t (tests/unit/rank.c says what it can do) under mpirun, and alone.

RANK_TEST names the program (default: ./tests/unit/rank.t), MPIRUN the launcher.  CUDIST_TEST_SET=short does less."""
import concurrent.futures, os, re, shutil, signal, subprocess, sys, threading, time

RANK = os.environ.get("RANK_TEST", "./tests/unit/rank.t")
MPIRUN = os.environ.get("MPIRUN", "mpirun").split()
SHORT = os.environ.get("CUDIST_TEST_SET") == "short"
LATE = 12       # seconds that a loaded machine may take longer
ENV = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
for name in list(ENV):
    if name.startswith(("SLURM_", "PMI_", "PMIX_")):
        del ENV[name]
NAMES = {s: s.name[3:] for s in signal.Signals}


class Job:
    """What came of one run: rc, text (both streams), seconds since the signal, and the ranks that are still there."""

    def __init__(self, ranks, words, send=(), to=(), after=0.8, go_on=None, env=None):
        command = (MPIRUN + ["-np", str(ranks)] if ranks else []) + [RANK] + words
        self.pid, self.text = {}, ""
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env={**ENV, **(env or {})}, start_new_session=True)
        guard = threading.Timer(60, self.kill)
        guard.start()
        self.read_pids(words)
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

    def read_pids(self, words):
        while "work" in words:
            line = self.process.stdout.readline()
            self.text += line
            if line.startswith("pid "):
                self.pid[int(line.split()[1])] = int(line.split()[2])
            if line in ("go\n", ""):
                return

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


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ours(job):
    return [line for line in job.text.splitlines() if line.startswith("cudist: ")]


def wrong(job, rc=None, within=None, lines=None, ends=None):
    """What is not as expected, or nothing.  lines: one pattern each; "stopped at once" may follow, from the launcher's TERM."""
    if rc is not None and job.rc != rc:
        return f"exit code {job.rc}, not {rc}"
    if rc is None and job.rc == 0:
        return "exit code 0"
    if within and job.seconds > within + LATE:
        return f"took {job.seconds:.1f} s"
    if job.left:
        return f"ranks {job.left} live on"
    got = ours(job)
    if lines is not None:
        rest = got if any("at once" in p for p in lines) else [g for g in got if "stopped at once by TERM" not in g]
        if len(rest) != len(lines) or not all(re.fullmatch("cudist: " + p, g) for p, g in zip(lines, rest)):
            return f"lines {rest}, not {lines}"
    if ends:
        count, pattern = ends
        found = re.findall(rf"^end \d+ {pattern}$", job.text, re.M)
        if len(found) != count:
            return f"{len(found)} ranks ended so, not {count}: {pattern}"
    return ""


def who(rank):
    return rf"rank {rank} \(host [^ ,()]+, cpu\)"


def at(rank):
    return rf"it was at rows {rank}\d* to {rank}\d*" if rank else r"it was at rows \d{1,3} to \d{1,4}"


def silent(rank, s=2):
    return rf"{who(rank)} was not heard from for {s} s; {at(rank)}; the job ends \(--timeout {s}\)"


S = signal
WORK = ["work", "timeout=2", "seconds=30"]
TESTS = []


def test(name, run, **expected):
    TESTS.append((name, run, expected))


def faults():
    for r in (0, 1, 2):
        test(f"rank {r} of 3 is stopped", lambda r=r: Job(3, WORK, [S.SIGSTOP], [r]), within=6, lines=[silent(r)])
    for r in (0, 2):
        test(f"rank {r} of 3 is killed", lambda r=r: Job(3, WORK, [S.SIGKILL], [r]), rc=137, within=4, lines=[])
    test("two ranks of 4 are stopped", lambda: Job(4, WORK, [S.SIGSTOP], [1, 3]), within=6,
         lines=[rf"{who('[13]')} and 1 other were not heard from for 2 s; it was at rows \d+ to \d+; the job ends .*"])
    for r in (0, 2):
        test(f"rank {r} is stopped while it waits for rank 1",
             lambda r=r: Job(3, WORK + ["seconds=2", "last=1"], [S.SIGSTOP], [r], 4), within=6,
             lines=[rf"{who(r)} was not heard from for 2 s; it was waiting for the others; the job ends .*"])
    test("rank 1 is stopped while the others wait for it", lambda: Job(3, WORK + ["seconds=2", "last=1"], [S.SIGSTOP], [1], 4),
         within=6, lines=[silent(1)])
    test("the main thread of rank 1 is stuck", lambda: Job(3, WORK + ["block=1"]), within=6, lines=[silent(1)])
    test("the main thread of rank 0 is stuck", lambda: Job(3, WORK + ["block=0"]), within=6, lines=[silent(0)])
    test("the only rank's main thread is stuck", lambda: Job(0, WORK + ["block=0"]), rc=1, within=9,
         lines=[rf"{who(0)} is stuck in a call that did not return for 7 s; {at(0)}; the job ends \(--timeout 2\)"])
    for r in (0, 1):
        test(f"the rows of rank {r} do not move", lambda r=r: Job(2, WORK + [f"stall={r}"]), within=8,
             lines=[rf"{who(r)} made no progress for 2 s; {at(r)}; the job ends \(--timeout 2\)"])
    for r in (0, 2):
        test(f"rank {r} waits while the others have come to agree", lambda r=r: Job(3, WORK + ["seconds=0.5", f"wait={r}"]),
             within=9, lines=[rf"{who(r)} kept the others waiting for 2 s; it had done 500 of its 1000 rows; the job ends .*"])
    for r in (0, 2):
        test(f"rank {r} fails, the others stop", lambda r=r: Job(3, WORK + ["seconds=4", f"fail={r}"]), rc=3, within=6,
             lines=[], ends=(3, f"3 {r} row 500 is bad"))


def no_faults():
    test("one rank has no rows and waits longer than the timeout", lambda: Job(3, WORK + ["seconds=5", "early=1"]), rc=0,
         lines=[], ends=(3, "0 0 "))
    test("all are suspended for longer than the timeout", lambda: Job(3, WORK + ["seconds=2"], [S.SIGSTOP], [2, 0, 1], go_on=4),
         rc=0, lines=[], ends=(3, "0 0 "))
    test("rank 0 is away for less than the timeout",
         lambda: Job(3, WORK + ["timeout=4", "seconds=3"], [S.SIGSTOP], [0], go_on=2.5), rc=0, lines=[], ends=(3, "0 0 "))
    test("timeout 0 waits", lambda: Job(3, WORK + ["timeout=0", "seconds=2"], [S.SIGSTOP], [1], go_on=4), rc=0, lines=[],
         ends=(3, "0 0 "))
    test("more ranks than CPUs", lambda: Job(8, WORK + ["timeout=5", "seconds=2"]), rc=0, lines=[], ends=(8, "0 0 "))


def signals():
    for s, to in ((S.SIGUSR1, [0]), (S.SIGUSR2, [2]), (S.SIGXCPU, [1]), (S.SIGUSR1, ["all"])):
        test(f"{NAMES[s]} to {to[0]}: all stop", lambda s=s, to=to: Job(3, WORK, [s], to), rc=75, within=4, lines=[],
             ends=(3, rf"75 \d stopped by {NAMES[s]} before the end"))
    for s in (S.SIGTERM, S.SIGINT):
        test(f"{NAMES[s]} to mpirun: it ends at once", lambda s=s: Job(3, WORK, [s], ["all"]), within=3,
             lines=["stopped at once by TERM"], ends=(0, ".*"))
    test("TERM to one rank: it ends at once", lambda: Job(3, WORK, [S.SIGTERM], [2]), rc=75, within=4,
         lines=["stopped at once by TERM"])
    for s in (S.SIGTERM, S.SIGINT):
        test(f"by hand, {NAMES[s]}: in good order", lambda s=s: Job(0, WORK, [s], ["all"]), rc=75, within=3, lines=[],
             ends=(1, f"75 0 stopped by {NAMES[s]} before the end"))
    test("by hand, INT twice while the main thread is stuck: now",
         lambda: Job(0, ["work", "timeout=0", "block=0", "seconds=30"], [S.SIGINT, S.SIGINT], ["all"]), rc=75, within=3,
         lines=["stopped at once by INT"])
    test("under srun, TERM: in good order", lambda: Job(0, WORK, [S.SIGTERM], ["all"], env={"SLURM_STEP_ID": "0"}), rc=75,
         within=3, lines=[], ends=(1, "75 0 stopped by TERM before the end"))


def alone():
    step = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"}
    test("srun without PMI, the first task", lambda: Job(0, ["meet"], env={**step, "SLURM_PROCID": "0"}), rc=2,
         lines=[r"the launcher started 2 programs, .*srun --mpi=pmix.*mpirun.*"])
    test("srun without PMI, another task", lambda: Job(0, ["meet"], env={**step, "SLURM_PROCID": "1"}), rc=2, lines=[])
    test("another MPI's mpirun", lambda: Job(0, ["meet"], env={"PMI_SIZE": "3", "PMI_RANK": "0"}), rc=2,
         lines=[r"the launcher started 3 programs, .*"])
    test("a job of 4 tasks, a step of 1",
         lambda: Job(0, ["meet"], env={"SLURM_NTASKS": "4", "SLURM_STEP_NUM_TASKS": "1", "SLURM_STEP_ID": "0"}), rc=0, lines=[])


def meet():
    for n in (1, 2, 5) if SHORT else (1, 2, 3, 5, 8):
        test(f"{n} ranks meet", lambda n=n: Job(n, ["meet"]), rc=0, lines=[])


def main():
    if not shutil.which(MPIRUN[0]):
        print(f"1..0 # SKIP no {MPIRUN[0]}")
        return 0
    for group in (meet, faults, no_faults, signals, alone):
        group()
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [t for t in TESTS if only in t[0]][::3 if SHORT else 1]
    bad = 0
    print(f"1..{len(chosen)}")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:       # they mostly sleep
        jobs = [(name, expected, pool.submit(run)) for name, run, expected in chosen]
        for n, (name, expected, job) in enumerate(jobs, 1):
            job = job.result()
            why = wrong(job, **expected)
            bad += bool(why)
            print(f"{'not ' if why else ''}ok {n} - {name}", flush=True)
            if why:
                print("# " + why + "\n# " + job.text.replace("\n", "\n# "), flush=True)
    return bad > 0


sys.exit(main())
