#!/usr/bin/env python3
"""What goes wrong on clusters, made to go wrong on a real Slurm: the right result, or cudist's one line in time.

CUDIST names the program; tests/cudist-fault beside it is the same with slow writes, tests/cudist-emu, where nvcc was, the same on
emulated GPUs.  CUDIST_TEST_SET=long also loses a host for good, and waits for Slurm to see it."""
import json, os, re, signal, sys, time
import cluster, lab, whole
from lab import EMULATED, FAULT, SHARED, SLURM, enter, link, program, read, remove, skip, wait_until
from whole import SET, done, ok
from cluster import Job, slurm, start

ONE, MPIRUN = os.path.join(SLURM, "cudist.sbatch"), os.path.join(SLURM, "cudist-mpirun.sbatch")
COPY = ["in.npy", "-k", "copy", "-o", "o.npy", "--write", "direct", "--threads", "1", "-w", "256K", "--progress", "1"]
SLOW = {"CUDIST_TEST_FAIL": "pwrite:9+:SLOW@*"}                     # 1.5 s a window of the workers, but for the first ones
WORKING = r" rows \("                      # of a line of progress


def cudist(*words, **env):
    return whole.run(["cudist", *words], env=dict(lab.ENV, **env), cwd=SHARED)


def batch(command, *where, **env):
    """A script of one command."""
    return Job(*where, "--wrap", command, **env)


def working(*where, script=ONE, more=()):
    """A job that is at its rows, on n1 (the script too) and n2."""
    remove("o.npy", "o.npy.json", "o.npy.part", "o.npy.lock")
    job = Job("--nodes=2", "--nodelist=n1,n2", *where, script, *COPY, *more, **SLOW)
    job.ran = job.wait_for_text(WORKING)
    return job


def right():
    return os.path.exists(f"{SHARED}/o.npy.json") and read("o.npy") == read("in.npy")


def no_output():
    return not os.path.exists(f"{SHARED}/o.npy") and not os.path.exists(f"{SHARED}/o.npy.json")


# ---- how ranks meet

def wrong_mpi():
    for kind in ("none", "pmi2"):
        job = batch(f"srun --mpi={kind} cudist in.npy -k copy -o o.npy", "--ntasks=2").end()
        line = r"cudist: (MPI did not start|the launcher started 2 programs).*use srun --mpi=pmix \(.*\), or mpirun .*"
        good = job.code in ("1:0", "2:0") and len(job.lines) == 1 and re.fullmatch(line, job.lines[0])
        ok(good and no_output(), f"srun --mpi={kind}: one line, and nothing written", job)


# ---- GPUs

def devices(job, name):
    """The numbers of the ranks' devices, of a run that is right; else None."""
    job.end()
    if job.code != "0:0" or read(name) != read("right.npy"):
        return None
    with open(f"{SHARED}/{name}.json") as f:
        run = json.load(f)["run"]
    return run["hosts"], [device["name"] for device in run["devices"]]


def gpus():
    names = ["srun, GPUs by the task", "srun, GPUs by the node", "mpirun, GPUs by the node", "mpirun, GPUs by the task: refused"]
    why = "built without nvcc" if not os.path.exists(EMULATED) else ""
    emulated = {"CUDAEMU_DEVICES": str(cluster.GPUS), "CUDIST_LIBS": "own", "CUDAEMU_WARM": "1"}
    program(EMULATED if not why else FAULT)
    if not why and "no PTX in the program" in cudist("-d", "cuda", "random:shape=10", "-o", "none", **emulated).stderr:
        why = "GENCODE has no PTX"
    if why:
        for name in names:
            skip(name, why)
        return
    words = "small.npy -k softmax -d cuda --comm mpi"                # the stand-in for NCCL does not leave its host
    cudist("-q", "-d", "cpu", "small.npy", "-k", "softmax", "-o", "right.npy")
    two = ["--nodes=2", "--ntasks-per-node=2"]
    jobs = [batch(f"srun --mpi=pmix cudist {words} -o g0.npy", *two, "--gpus-per-task=1", **emulated),
            batch(f"srun --mpi=pmix cudist {words} -o g1.npy", *two, "--gpus-per-node=2", **emulated),
            batch(f"mpirun cudist {words} -o g2.npy", *two, "--gpus-per-node=2", **emulated),
            batch(f"mpirun cudist {words} -o g3.npy", *two, "--gpus-per-task=1", **emulated)]
    for k, (name, job) in enumerate(zip(names[:3], jobs)):
        found = devices(job, f"g{k}.npy")
        ok(found and len(found[0]) == 2 and len(found[1]) == 4 and "cpu" not in found[1], name, f"{found}\n{job}")
    jobs[3].end()
    ok(jobs[3].code == "4:0" and re.match(r"cudist: there is no GPU of its own for 1 of 4 ranks: ", jobs[3].lines[-1]), names[3], jobs[3])


# ---- signals and faults while it works

def some_hear():
    """scancel tells the steps: mpirun's step is on n2 alone."""
    job = working(script=MPIRUN)
    slurm("scancel", "--signal=USR1", job.number)
    job.end()
    good = job.ran and job.code == "75:0" and job.lines == ["cudist: stopped by USR1 before the end"]
    ok(good and no_output(), "USR1 that reaches only some ranks stops all", job)


def killed_rank():
    job = working()
    if job.ran:
        os.kill(rank_on("n2"), signal.SIGKILL)
    job.end()
    ok(job.ran and job.state == "FAILED" and no_output(), "a rank is killed: the job fails, and nothing has the output's name", job)


def rank_on(host):
    """A process of cudist's there."""
    name = os.readlink(f"/proc/{lab.hosts[host].pid}/ns/uts")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe") == FAULT and os.readlink(f"/proc/{pid}/ns/uts") == name:
                return int(pid)
        except OSError:
            pass
    raise RuntimeError(f"no rank on {host}")


def killed_daemon():
    job = working()
    cluster.daemons["n2"].kill()
    cluster.daemons["n2"].wait()
    cluster.start_node("n2")
    job.end()
    ok(job.ran and job.code == "0:0" and right(), "slurmd is killed and started again: the job goes on", job)


def short_cut():
    job = working()
    link("n2", "down")
    time.sleep(3)
    link("n2", "up")
    job.end()
    ok(job.ran and job.code == "0:0" and right(), "a link is cut for 3 s: the job goes on", job)


def cut(name, script):
    """For good.  What srun and mpirun do then takes Slurm longer than cudist's line (docs/clusters.md)."""
    job = working("--no-requeue", script=script, more=["--timeout", "3"])
    link("n2", "down")
    line = r"cudist: rank [4-7] \(host n2, cpu\) and 3 others were not heard from for 3 s; it was at rows \d+ to \d+; .*"
    said = job.wait_for_text(line, 6 + lab.LATE)
    link("n2", "up")
    job.end()
    ok(job.ran and said and len(job.lines) == 1 and job.code != "0:0" and no_output(), f"a link is cut: the line in time, by {name}",
       job)


def requeued():
    """n2 is lost for longer than SlurmdTimeout, and Slurm sees it before cudist: the job runs again on n1 and n3."""
    remove("o.npy", "o.npy.json", "o.npy.part", "o.npy.lock")
    job = Job("--nodes=2", "--requeue", ONE, *COPY, "--timeout", "90", **SLOW)
    job.wait_for_text(WORKING)
    link("n2", "down")
    again = wait_until(lambda: "Restarts=1" in job.info() and "JobState=RUNNING" in job.info(), 120)
    link("n2", "up")
    job.end(120)
    ok(again and job.code == "0:0" and right(), "a host is lost, and the job is requeued: done", f"{again}\n{job}")
    wait_until(lambda: cluster.idle() == 3, 120)
    ok(right(), "the host comes back: the output is as it was", job)


def main():
    enter(slurm=True)
    lab.add_hosts(3)
    start(10 if SET == "long" else 30)
    cudist("-q", "random:shape=400000x16,dist=normal,seed=3", "-k", "copy", "-o", "in.npy")
    cudist("-q", "random:shape=4000x16,dist=normal,seed=3", "-k", "copy", "-o", "small.npy")
    wrong_mpi()
    gpus()
    program(FAULT)
    for fault in (some_hear, killed_daemon, short_cut):
        fault()
    cut("srun", ONE)
    if SET != "short":
        killed_rank()
    if SET == "long":
        cut("mpirun", MPIRUN)
        requeued()
    return done()


sys.exit(main())
