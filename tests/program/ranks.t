#!/usr/bin/env python3
"""The whole program on several ranks, of which one is stopped, killed or asked to stop: it ends in time, says which, leaves
nothing under OUT's own name, and the same command again does the work.  CUDIST names the program (default: ./cudist)."""
import json, os, signal as S, sys, tempfile

sys.dont_write_bytecode = True
from ranks_job import NAMES, SHORT, Job, run_all, test, who

CUDIST = [os.path.abspath(os.environ.get("CUDIST", "./cudist")), "-d", "cpu", "-k", "scale", "--threads", "1"]
THERE = tempfile.TemporaryDirectory(prefix="cudist-ranks.")
ENDLESS = ["random:shape=2000000000000", "--progress", "0.1", "--timeout", "2"]
READY = "cudist: "               # the first line of progress
WHERE = r"it (was at rows \d+ to \d+|had done \d+ of its \d+ rows|was waiting for the others)"


def silent(rank):
    return rf"{who(rank)} was not heard from for 2 s; {WHERE}; the job ends \(--timeout 2\)"


def files():
    return sorted(os.listdir(THERE.name))


def run(ranks, words, *args, **more):
    return Job(ranks, CUDIST + words, *args, folder=THERE.name, **more)


def nothing_written():
    """The rows go nowhere: what is said, and how soon it ends."""
    words = ENDLESS + ["-o", "none", "--result", "none"]
    for r in (0, 1, 2):
        test(f"rank {r} of 3 is stopped", lambda r=r: run(3, words, [S.SIGSTOP], [r], ready=READY), rc=1, within=6,
             lines=[silent(r)])
    test("rank 2 of 3 is stopped: its rows, not their elements",
         lambda: run(3, ["random:shape=200000000000x10"] + words[1:], [S.SIGSTOP], [2], ready=READY), rc=1, within=6,
         lines=[rf"{who(2)} was not heard from for 2 s; "
                r"it (was at rows 1\d{11} to 1\d{11}|had done \d+ of its 6\d{10} rows|was waiting for the others); the job .*"])
    for r in (0, 2):
        test(f"rank {r} of 3 is killed", lambda r=r: run(3, words, [S.SIGKILL], [r], ready=READY), rc=137, within=4, lines=[])
    for s, to in ((S.SIGUSR1, 0), (S.SIGUSR2, 2), (S.SIGXCPU, 1)):
        test(f"{NAMES[s]} to rank {to}", lambda s=s, to=to: run(3, words, [s], [to], ready=READY), rc=75, within=4,
             lines=[rf"stopped by {NAMES[s]} .*"])
    test("TERM to mpirun", lambda: run(3, words, [S.SIGTERM], ["all"], ready=READY), within=3, lines=[])
    for s in (S.SIGINT, S.SIGTERM):
        test(f"{NAMES[s]}, by hand", lambda s=s: run(0, words, [s], ["all"], ready=READY), rc=75, within=2,
             lines=[rf"stopped by {NAMES[s]} .*"])


def outputs():
    """Rows go to a file: an endless run cannot be, so the signal comes as soon as OUT.part is there."""
    size = "20000000"
    wanted = run(1, ["random:shape=" + size, "-o", "wanted.npy", "-q"], ready="")
    if wanted.rc != 0:
        print("Bail out! " + wanted.text.replace("\n", " "))
        sys.exit(1)
    digest = read_digest("wanted")

    def twice(name, way, s, to):
        words = ["random:shape=" + size, "-o", name + ".npy", "--write", way, "-q", "--timeout", "2"]
        job = run(3, words, [s], [to], ready=os.path.join(THERE.name, name + ".npy.part"), after=0)
        job.early = [f for f in files() if f in (name + ".npy", name + ".npy.json")]
        job.again = run(2, words, ready="") if job.rc else job
        job.digest = read_digest(name)
        return job

    def check(job):
        if job.rc != 0 and job.early:
            return f"{job.early} were there after the fault"
        if job.again.rc != 0:
            return f"the same command again: {job.again.rc}, {job.again.text}"
        return "" if job.digest == digest else f"digest {job.digest}, not {digest}"

    for way in ("direct", "root"):
        for s, rc in ((S.SIGSTOP, 1), (S.SIGKILL, 137), (S.SIGUSR1, 75), (S.SIGTERM, None)):
            for to in (1,) if SHORT else (0, 1, 2):
                name = f"{way}-{NAMES[s]}-{to}"
                lines = [silent(to)] if s == S.SIGSTOP else None
                test(f"{NAMES[s]} to rank {to}, --write {way}, and again",
                     lambda name=name, way=way, s=s, to=to: twice(name, way, s, to), rc=rc, within=6, lines=lines, also=check)


def read_digest(name):
    try:
        with open(os.path.join(THERE.name, name + ".npy.json")) as f:
            return json.load(f)["result"]["output"]["digest"]
    except (OSError, ValueError, KeyError) as why:
        return str(why)


nothing_written()
outputs()
code = run_all(2)
THERE.cleanup()
sys.exit(code)
