#!/usr/bin/env python3
"""Ranks under faults and signals: tests/unit/rank.t (tests/unit/rank.c says what it can do) under mpirun, and alone.

RANK_TEST names the program (default: ./tests/unit/rank.t), MPIRUN the launcher.  CUDIST_TEST_SET=short does less."""
import os, signal as S, sys

sys.dont_write_bytecode = True
import ranks_job
from ranks_job import NAMES, SHORT, run_all, test, who

RANK = os.environ.get("RANK_TEST", "./tests/unit/rank.t")


def Job(ranks, words, *args, **more):
    return ranks_job.Job(ranks, [RANK] + words, *args, ready="go" if "work" in words else "", **more)


def at(rank):
    return rf"it was at rows {rank}\d* to {rank}\d*" if rank else r"it was at rows \d{1,3} to \d{1,4}"


def silent(rank, s=2):
    return rf"{who(rank)} was not heard from for {s} s; {at(rank)}; the job ends \(--timeout {s}\)"


WORK = ["work", "timeout=2", "seconds=30"]


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
    test("all are suspended for longer than the timeout", lambda: Job(3, WORK + ["seconds=4"], [S.SIGSTOP], [2, 0, 1], go_on=4),
         rc=0, lines=[], ends=(3, "0 0 "))
    test("rank 0 is away for less than the timeout",
         lambda: Job(3, WORK + ["timeout=4", "seconds=3"], [S.SIGSTOP], [0], go_on=2.5), rc=0, lines=[], ends=(3, "0 0 "))
    test("timeout 0 waits", lambda: Job(3, WORK + ["timeout=0", "seconds=4"], [S.SIGSTOP], [1], go_on=4), rc=0, lines=[],
         ends=(3, "0 0 "))
    test("more ranks than CPUs", lambda: Job(8, WORK + ["timeout=5", "seconds=2"]), rc=0, lines=[], ends=(8, "0 0 "))


def signals():
    for s, to in ((S.SIGUSR1, [0]), (S.SIGUSR2, [2]), (S.SIGXCPU, [1]), (S.SIGUSR1, ["all"])):
        test(f"{NAMES[s]} to {to[0]}: all stop", lambda s=s, to=to: Job(3, WORK, [s], to), rc=75, within=4, lines=[],
             ends=(3, rf"75 \d stopped by {NAMES[s]} before the end"))
    for s in (S.SIGTERM, S.SIGINT):
        test(f"{NAMES[s]} to mpirun: it ends at once", lambda s=s: Job(3, WORK, [s], ["all"]), within=3, lines=[],
             ends=(0, ".*"))               # mpirun kills soon: on a loaded machine before the line is out
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


for group in (meet, faults, no_faults, signals, alone):
    group()
sys.exit(run_all(4))             # they mostly sleep
