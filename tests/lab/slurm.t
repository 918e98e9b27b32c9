#!/usr/bin/env python3
"""The files of slurm/, submitted to a real Slurm as a user does it: output and result have the bytes of a run without Slurm, the
job's exit code is the one of the man page's table, and cudist's line is the one it says without Slurm.

CUDIST names the program; tests/cudist-fault beside it is the same with calls that are slow or fail.  CUDIST_TEST_SET=long also
waits for Slurm's own signal before a time limit."""
import json, os, sys
import lab, whole
from lab import FAULT, SHARED, SLURM, enter, program, read, remove
from whole import SET, done, ok
from cluster import Job, slurm, start

ONE, MPIRUN, ARRAY = (os.path.join(SLURM, name) for name in ("cudist.sbatch", "cudist-mpirun.sbatch", "cudist-array.sbatch"))
STEP = ["-k", "softmax"]
SLOW = {"CUDIST_TEST_FAIL": "pwrite:9+:SLOW@*"}                     # 1.5 s a window of the workers, but for the first ones


def long(output, window):
    return ["in.npy", "-k", "copy", "-o", output, "--write", "direct", "--threads", "1", "-w", window, "--progress", "1"]


def cudist(*words, **env):
    """Without Slurm and MPI's launcher."""
    return whole.run(["cudist", *words], env=dict(lab.ENV, **env), cwd=SHARED)


def outcome(name):
    with open(os.path.join(SHARED, name + ".json")) as f:
        whole_result = json.load(f)
    return read(name), whole_result["result"], whole_result["run"]


def scripts():
    cudist("-q", "in.npy", *STEP, "-o", "right.npy")
    right, result, _ = outcome("right.npy")
    cases = [("one host", ONE, [], 1, "direct"), ("two hosts", ONE, ["--nodes=2"], 2, "root"),
             ("two hosts, each rank writes", ONE, ["--nodes=2"], 2, "direct"),
             ("mpirun, one host", MPIRUN, [], 1, "direct"), ("mpirun, two hosts", MPIRUN, ["--nodes=2"], 2, "root"),
             ("mpirun, two hosts, each rank writes", MPIRUN, ["--nodes=2"], 2, "direct")]
    jobs = [Job(*where, script, "in.npy", *STEP, "-o", f"o{k}.npy", *["--write", write] * (nodes > 1))
            for k, (_, script, where, nodes, write) in enumerate(cases)]
    for k, ((name, _, _, nodes, write), job) in enumerate(zip(cases, jobs)):
        job.end()
        good = (job.state, job.code, job.lines) == ("COMPLETED", "0:0", [])
        if good:
            bytes_, same, run = outcome(f"o{k}.npy")
            facts = run["ranks"], len(run["hosts"]), run["write"], run["slurm_job"]
            good = bytes_ == right and same == result and facts == (4 * nodes, nodes, write, job.number)
            good = good and result["output"]["digest"] in job.text
        ok(good, f"a batch job: {name}", job)


def array():
    """Three inputs, of which one is not there."""
    os.makedirs(f"{SHARED}/in")
    for k, path in enumerate(("in/a 1.npy", "in/c.npy")):
        cudist("-q", f"random:shape=5000x3,seed={k}", "-k", "copy", "-o", path)
    with open(f"{SHARED}/list", "w") as f:
        f.write(f"in/a 1.npy\nin/b.npy\n{SHARED}/in/c.npy\n")
    job = Job("--array=1-3", ARRAY, "list", *STEP).end()
    ok({task: code for task, (code, _) in job.tasks.items()} == {1: "0:0", 2: "3:0", 3: "0:0"} and
       f"cudist: {SHARED}/in/b.npy: No such file or directory" in job.tasks[2][1], "an array: each task's exit code", job)
    for name, path in (("a 1.out.npy", "in/a 1.npy"), ("c.out.npy", "in/c.npy")):
        cudist("-q", path, *STEP, "-o", "right-" + name)
        ok(os.path.exists(f"{SHARED}/{name}") and outcome(name)[:2] == outcome("right-" + name)[:2], f"an array: {path}", job)


def codes():
    """The man page's table.  What cudist says is the same line as without Slurm."""
    full = {"CUDIST_TEST_FAIL": "pwrite:3+:ENOSPC@*"}
    table = [(1, ["in.npy", "-o", "full.npy"], full), (2, ["--nonsense", "in.npy"], {}), (3, ["nowhere.npy"], {}),
             (4, ["-d", "cuda", "in.npy", "-o", "gpu.npy"], {}), (6, ["in.npy", "-o", "right.npy"], {})]
    jobs = [(name, code, words, env, Job(script, "-q", *words, **env)) for code, words, env in table
            for name, script in (("srun", ONE), ("mpirun", MPIRUN)) if SET != "short" or name == "srun"]
    for name, code, words, env, job in jobs:
        job.end()
        alone = cudist("-q", *words, **env)
        said = [line.split(": ", 2)[-1] if line.startswith("cudist: rank ") else line[8:] for line in job.lines]
        same = code == 1 or said == [line[8:] for line in alone.lines]           # a full disk: which byte does not matter
        good = (job.state, job.code, alone.rc, len(said)) == ("FAILED", f"{code}:0", code, 1) and same
        ok(good, f"exit code {code}, by {name}", f"{job}\nalone:\n{alone}")


def stopped():
    """What comes to the script before a time limit is sent by hand; the long set waits for it."""
    cases = [("cudist.sbatch", ONE, []), ("cudist-mpirun.sbatch", MPIRUN, ["--batch"])]
    if SET == "short":
        del cases[1]
    for name, script, to in cases:
        for nodes in (1, 2):
            job = Job(f"--nodes={nodes}", script, *long("u.npy", "256K"), **SLOW)
            ran = job.wait_for_text(r" rows \(")
            slurm("scancel", "--signal=USR1", *to, job.number)
            job.end()
            here = sorted(f for f in os.listdir(SHARED) if f.startswith("u.npy") and f != "u.npy.part")
            good = ran and (job.state, job.code, here) == ("FAILED", "75:0", [])
            ok(good and job.lines == ["cudist: stopped by USR1 before the end"],
               f"USR1 to {name} on {nodes} hosts: 75, in good order", f"{here}\n{job}")
        job = Job(script, "in.npy", "-k", "copy", "-o", "u.npy").end()
        ok(job.code == "0:0" and read("u.npy") == read("in.npy"), f"the same again by {name}: done", job)
        remove("u.npy", "u.npy.json")


def time_limit():
    """Of one minute: the signal is due at once, but Slurm looks every half minute or so."""
    jobs = [(name, Job("--time=1", script, *long(f"{name}.npy", "32K"), **SLOW))
            for name, script in (("cudist.sbatch", ONE), ("cudist-mpirun.sbatch", MPIRUN))]
    for name, job in jobs:
        job.end(150)
        ok(job.code == "75:0" and job.lines == ["cudist: stopped by USR1 before the end"], f"a time limit: {name}", job)


def main():
    enter(slurm=True)
    lab.add_hosts(3)
    start()
    cudist("-q", "random:shape=200000x16,dist=normal,seed=3", "-k", "copy", "-o", "in.npy")
    scripts()
    array()
    program(FAULT)
    codes()
    stopped()
    if SET == "long":
        time_limit()
    return done()


sys.exit(main())
