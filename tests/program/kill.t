#!/usr/bin/env python3
"""Runs that are killed, or told to stop, at any point: nothing is lost, the same command again is right, and a run that has all its
rows is not stopped any more.

CUDIST names the program; tests/cudist-fault beside it is the same with tests/fault.c, which sends it a signal at the nth call of a
function.  CUDIST_TEST_SET=long tries every call."""
import concurrent.futures, os, shutil, signal, sys, tempfile, time

sys.dont_write_bytecode = True
from ranks_job import find_ranks, stat
from whole import BESIDE, CUDIST, ENV, MPIRUN, SET, Run, done, ok
import whole

FAULT = os.path.join(BESIDE, "cudist-fault")


def run(words, folder, fault=None):
    return whole.run([FAULT if fault else CUDIST, *words], cwd=folder, env=dict(ENV, CUDIST_TEST_FAIL=fault) if fault else ENV)


def files(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = f.read()
    return found


def killed_at(call, n, words, result):
    """Killed before its nth call, in a folder with a file that only looks like one of ours; then the same command again.  None: there
    was no nth call; else what is wrong."""
    folder = tempfile.mkdtemp(dir=TOP)
    with open(os.path.join(folder, "other.part"), "wb") as f:
        f.write(b"a user's own")
    first = run(words, folder, f"{call}:{n}:KILL@0")
    if first.rc == 0:
        return None
    left = files(folder)
    second = run(words, folder)
    now = files(folder)
    shutil.rmtree(folder)
    # Where only the locks were still to be removed the run was through, and the next one says so.
    through = second.rc == 6 and {"o.npy", result} <= set(left)
    locks = {name for name in now if name.endswith(".lock") and through}
    good = set(now) == {"o.npy", result, "other.part"} | locks and now["o.npy"] == RIGHT and now["other.part"] == b"a user's own"
    if first.rc in (-9, 137) and good and (second.rc == 0 or through):
        return ""
    return f"{call}:{n} {first.rc} {sorted(left)}, then {second.rc} {sorted(now)} {second.stderr}\n"


def at_each_call(call, step, result):
    words = ["-q", IN, "--threads", "1", "-k", "copy", "-o", "o.npy", "--result", result]
    step, said = 1 if SET == "long" else step, []
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        while None not in said and len(said) < 100:
            turns = range(len(said), len(said) + 3)
            said += list(pool.map(lambda k: killed_at(call, 1 + k * step, words, result), turns))
    tried = [s for s in said if s is not None]
    ok(None in said and tried and not any(tried), f"killed at each of {len(tried)} calls of {call}, --result {result}", "".join(tried))


def wait_until(true):
    end = time.monotonic() + 30
    while not true() and time.monotonic() < end:
        time.sleep(0.02)


def told_late(call, n, what, to):
    """Rank 0 stands still at its nth call; then what is told to a rank, or to all by way of the launcher, comes too late."""
    folder = tempfile.mkdtemp(dir=TOP)
    job = Run([*MPIRUN, "-np", "2", FAULT, "-q", IN, "-k", "copy", "-o", "o.npy"], cwd=folder,
              env=dict(ENV, CUDIST_TEST_FAIL=f"{call}:{n}:STOP@0")).start()
    ranks = {}

    def stands():
        ranks.update(find_ranks(job.process.pid))
        return 0 in ranks and stat(ranks[0])[0] == "T"

    wait_until(stands)
    os.kill(job.process.pid if to == "all" else ranks[to], what)
    os.kill(ranks[0], signal.SIGCONT)
    job.end()
    now = files(folder)
    shutil.rmtree(folder)
    # mpirun that was told to end says 1 whatever its ranks say.
    good = set(now) == {"o.npy", "o.npy.json"} and now["o.npy"] == RIGHT and not job.lines and (job.rc == 0 or to == "all")
    ok(good, f"{what.name} to {to} when rank 0 comes to call {n} of {call}: the run is through", f"{sorted(now)}\n{job}")


def told_early():
    """While MPI starts, and waits for a rank that does not come."""
    words = [*MPIRUN, "-np", "2", "sh", "-c", 'test ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 0 || exec sleep 50; exec "$@"', "sh", CUDIST, "-q", IN]
    job = Run(words + ["-o", "none"], cwd=TOP).start()

    def here():
        try:
            return os.readlink(f"/proc/{find_ranks(job.process.pid)[0]}/exe") == CUDIST
        except (OSError, KeyError):
            return False

    wait_until(here)
    time.sleep(0.5)
    os.kill(find_ranks(job.process.pid)[0], signal.SIGTERM)
    job.end()
    ok(job.rc == 75 and job.lines == ["cudist: stopped at once by TERM"], "TERM while MPI starts", job)
    os.mkfifo(os.path.join(TOP, "job"))
    for what in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        job = Run([CUDIST, "-q", IN, "-o", "none", "--job", "job"], cwd=TOP).start()
        wait_until(lambda: stat(job.process.pid)[0] == "S" and "/cudist" in os.readlink(f"/proc/{job.process.pid}/exe"))
        time.sleep(0.2)
        job.process.send_signal(what)
        job.end()
        ok(job.rc == 75 and job.lines == [f"cudist: stopped at once by {what.name[3:]}"], f"{what.name} while the job is read", job)


TOP = tempfile.mkdtemp(prefix="cudist-kill-")
IN = os.path.join(TOP, "in.npy")
try:
    run(["-q", "random:shape=3000x4", "-k", "copy", "-o", IN, "--result", "none"], TOP)
    with open(IN, "rb") as f:
        RIGHT = f.read()
    for name, every in (("open", 3), ("close", 5), ("pwrite", 2), ("fsync", 3), ("rename", 1), ("unlink", 1), ("ftruncate", 1)):
        at_each_call(name, every, "o.npy.json")
        if SET == "long" or name in ("rename", "unlink"):
            at_each_call(name, every, "r.json")
    for name, nth, signal_to_send, to in (("rename", 1, signal.SIGTERM, 0), ("rename", 2, signal.SIGTERM, 1), ("fsync", 4, signal.SIGTERM, 0),
                                          ("fsync", 4, signal.SIGINT, 0), ("fsync", 4, signal.SIGTERM, "all")):
        told_late(name, nth, signal_to_send, to)
    told_early()
finally:
    shutil.rmtree(TOP, ignore_errors=True)
sys.exit(done())
