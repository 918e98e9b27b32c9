#!/usr/bin/env python3
"""cudist --doctor: a table that fits what is there, the right exit code, and nothing changed or left.  CUDIST names the program;
tests/cudist-fault and, where nvcc is, tests/cudist-emu are beside it.  Arguments: the groups to run."""
import os, re, resource, shutil, signal, subprocess, sys, tempfile, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import whole
from whole import BESIDE, CUDIST, ENV, MPIRUN, ok

FAULT, EMULATED = (os.path.join(BESIDE, name) for name in ("cudist-fault", "cudist-emu"))
MIB = 1 << 20
CPU = min(os.sched_getaffinity(0))
ALWAYS = ["launch", "program", "CPUs", "memory", "kernels", "dense", "open files"]
FOLDER = ["output folder", "free space", "file size", "write speed"]


class Doctor:
    """One --doctor: rows[name] is (state, all of the row's text)."""

    def __init__(self, words=(), ranks=0, program=CUDIST, folder=None, late=60, before=(), limits=(), cpus=None, **env):
        self.folder = folder or TOP
        launch = MPIRUN + ["-np", str(ranks)] if ranks else []

        def prepare():
            for what, most in limits:
                resource.setrlimit(what, (most, most))
            if cpus:
                os.sched_setaffinity(0, cpus)
        env = {name: value for name, value in {**ENV, **env}.items() if value is not None}
        self.before = listing(self.folder)
        self.run = whole.run([*before, *launch, program, "--doctor", *words], late=late, env=env, cwd=self.folder,
                             preexec_fn=prepare)
        self.after = listing(self.folder)
        self.rc, self.text = self.run.rc, self.run.stdout.decode()
        self.rows, name = {}, None
        for line in self.text.splitlines():
            found = re.match(r"(.{17})(ok|warning|problem) +(.*)", line)
            if found and found[1].strip():
                name = found[1].strip()
                self.rows[name] = found[2], found[3]
            elif name and line.startswith(" "):        # a line of its own, or the end of one that was too long
                glue = "\n" if found or line.strip().startswith("cure: ") else " "
                self.rows[name] = self.rows[name][0], self.rows[name][1] + glue + line.strip()

    def state(self, name):
        return self.rows.get(name, ("no row", ""))[0]

    def says(self, name, pattern):
        return bool(re.search(pattern, self.rows.get(name, ("", ""))[1]))

    def clean(self):
        """In time, nothing changed, nothing left, no error beside the table; the states make the code and the last line."""
        states = [state for state, _ in self.rows.values()]
        bad, so_so = states.count("problem"), states.count("warning")
        last = f"{bad} problem{'' if bad == 1 else 's'}, {so_so} warning{'' if so_so == 1 else 's'}" if bad + so_so else "all is well"
        return (not self.run.late and self.before == self.after and not self.run.lines and (self.rc != 0) == (bad > 0)
                and self.text.splitlines()[-1:] == [last] and all(("cure: " in text) == (state != "ok") for state, text in self.rows.values()))

    def __str__(self):
        return f"{self.run}\n{self.text}\nbefore {self.before}\nafter {self.after}"


def listing(folder):
    return sorted((e.name, e.stat().st_size, e.stat().st_mtime_ns) for e in os.scandir(folder))


def check(name, doctor, rc=0, **rows):
    """rows: the state, or state and a pattern of the text; None: no such row.  _ is a blank."""
    wrong = [] if doctor.rc == rc and doctor.clean() else ["code, last line, or what was left"]
    for row, want in rows.items():
        row = row.replace("_", " ")
        state, pattern = want if isinstance(want, tuple) else (want or "no row", "")
        if doctor.state(row) != state or (pattern and not doctor.says(row, pattern)):
            wrong.append(f"{row}: not {want}")
    ok(not wrong, name, f"{'; '.join(wrong)}\n{doctor}")


# ---- what is there

def alone():
    d = Doctor()
    check("one rank, no GPU", d, launch=("ok", "^1 rank, on host .*by hand"), job=None, clocks=None)
    ok([row for row in d.rows if not row.startswith("GPU")] == ALWAYS + FOLDER, "its rows", d)
    ok("256 MiB" in d.run.stderr and "a name" in d.run.stderr, "the measure is told before", d)
    check("-d cpu", Doctor(["-d", "cpu"]), GPU_driver=None, GPUs=None)
    d = Doctor(["-q"])
    ok(d.rc == 0 and d.text.startswith(" ") is False and "check" not in d.text and " ok " not in d.text and not d.run.stderr,
       "-q shows what is not ok", d)
    if len(os.sched_getaffinity(0)) > 1:
        check("bound to one CPU", Doctor(cpus={CPU}), CPUs=("warning", r"use 1 of its \d+ CPUs\n.*--bind-to none"))
    check("more threads than CPUs", Doctor(["--threads", "3"], cpus={CPU}), CPUs=("warning", "3 threads .* share 1 CPU"))
    check("many threads on many CPUs", Doctor(["--threads", "4096"]), CPUs=("warning", "4096 threads .*\ncure: .*--threads"))


def several():
    for ranks in (1, 2, 3):
        launch = f"^{'1 rank, on' if ranks == 1 else f'{ranks} ranks on 1'} host .* by mpirun"
        check(f"{ranks} ranks", Doctor(ranks=ranks), launch=("ok", launch), memory=("ok", f"for {ranks} rank"),
              write_speed=("ok", f"by {ranks} rank"))
    check("two ranks on one CPU", Doctor(ranks=2, cpus={CPU}), CPUs=("warning", "2 threads .* share 1 CPU"))


def launchers():
    step = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"}
    d = Doctor(SLURM_PROCID="0", **step)
    check("srun without PMI", d, rc=1, launch=("problem", "(?s)started 2 programs.*cure: use srun --mpi=pmix.*mpirun"))
    ok(list(d.rows) == ["launch"], "nothing else is looked at", d)
    d = Doctor(SLURM_PROCID="1", **step)
    ok(d.rc != 0 and not d.text, "another task of it is silent", d)
    check("another MPI's mpirun", Doctor(PMI_SIZE="3", PMI_RANK="0"), rc=1, launch=("problem", "started 3 programs"))
    check("by hand in a Slurm job", Doctor(SLURM_NTASKS="8"), launch=("warning", "a Slurm job of 8 tasks\n.*srun --mpi=pmix"))


def limits():
    check("few open files", Doctor(limits=[(resource.RLIMIT_NOFILE, 50)]), open_files=("warning", "at most 50 .*\n.*ulimit -n 66"))
    check("addresses are limited", Doctor(limits=[(resource.RLIMIT_AS, 1 << 46)]), memory=("warning", r"(?s)ulimit -v\).*unlimited"))
    small = [(resource.RLIMIT_FSIZE, 16 * MIB)]
    check("files are limited", Doctor(limits=small), file_size=("warning", r"at most 16.0 MiB .*\n.*ulimit -f"))
    check("files are limited, the output is small", Doctor(["random:shape=1000"], limits=small), file_size=("ok", "16.0"))
    for ranks in (0, 2):
        check(f"files are limited, the output is large, {ranks} ranks", Doctor(["random:shape=10000000"], ranks, limits=small), rc=1,
              file_size=("problem", "at most 16.0 MiB .*takes 38.1 MiB"))
    d = Doctor(limits=[(resource.RLIMIT_FSIZE, MIB)])
    ok(d.rc != 0 and len(d.run.lines) == 1 and "ulimit -f" in d.run.lines[0], "files are too small for MPI itself: one line", d)


# ---- the output's folder

def folders():
    check("no such folder", Doctor(["-o", "nowhere/x.npy"]), rc=1, output_folder=("problem", "nowhere: No such file or directory\ncure: make it"),
          write_speed=None, free_space=None)
    check("the folder is a file", Doctor(["-o", os.path.abspath(__file__) + "/x.npy"]), rc=1, output_folder=("problem", "is no folder"))
    other = tempfile.mkdtemp(dir=TOP)
    check("another folder", Doctor(["-o", other + "/x.npy"], 2), output_folder=("ok", re.escape(other)))
    for none in ("none", "-"):
        d = Doctor(["-o", none, "random:shape=1000"])
        check(f"-o {none}", d, job="ok", **{row.replace(" ", "_"): None for row in FOLDER})
    if os.geteuid() != 0:
        os.chmod(other, 0o500)
        check("a folder that cannot be written", Doctor(folder=other), rc=1, output_folder=("problem", "cannot be written"))
        os.chmod(other, 0o700)
    os.rmdir(other)


def mounted():
    """A file system of our own, where that is allowed."""
    can = ["unshare", "-m", "sh", "-c"]
    if os.geteuid() != 0 or subprocess.run([*can, f"mount -t tmpfs none {TOP}"], capture_output=True).returncode != 0:
        return ok(True, "a small, a full and a read-only file system # SKIP cannot mount")

    def on(options, then="true"):
        return [*can, f'mount -t tmpfs -o {options} none "$PWD" && cd "$PWD" && {then} && "$@"; c=$?; ls -A >&2; exit $c', "sh"]
    d = Doctor(["random:shape=3000000"], before=on("size=8m"))
    check("a small file system", d, rc=1, free_space=("problem", "^8.0 MiB, and the output takes 11.4 MiB"), output_folder=("ok", "tmpfs"))
    check("not much room", Doctor(before=on("size=8m")), free_space=("warning", "^8.0 MiB"), write_speed=None)
    check("some room: a quarter is written at most", Doctor(ranks=2, before=on("size=40m")), write_speed=("ok", r"\(8 MiB in"))
    d = Doctor(before=on("size=4m", "{ dd if=/dev/zero of=full bs=1M status=none 2> /dev/null || true; }"))
    check("a full file system", d, free_space=("warning", "^0.0 MiB"), write_speed=None)
    ok(d.run.stderr.splitlines()[-1] == "full", "nothing is left there", d)
    d = Doctor(before=on("size=40m", 'mount -o remount,ro "$PWD"'))
    check("a read-only file system", d, rc=1, output_folder=("problem", "Read-only file system"), write_speed=None)
    check("no more files", Doctor(before=on("size=80m,nr_inodes=4")), rc=1, free_space=("problem", "room for . files more"))


# ---- the job

def jobs():
    check("a job", Doctor(["random:shape=1000x10", "-k", "softmax"], 2), job=("ok", "1000 rows in, .* 1 windows at most"))
    for name, words, pattern in (
            ("no such input", ["none.npy"], "none.npy: No such file"),
            ("no such kernel", ["random:shape=10", "-k", "sofmax"], "(?s)sofmax.*softmax"),
            ("an output that is there", ["random:shape=10", "-o", "there.npy"], "(?s)there.npy exists.*cure: use -f"),
            ("an output that is an input", ["there.npy", "-o", "there.npy", "-f"], "read by this run")):
        check(name, Doctor(words, 2), rc=1, job=("problem", pattern))
    check("-f", Doctor(["random:shape=10", "-o", "there.npy", "-f"]), job="ok")
    d = Doctor(["--windw", "3"], 2)
    ok(d.rc == 2 and not d.text and len(d.run.lines) == 1, "wrong usage stays that", d)
    if os.path.exists("/dev/full"):
        with open("/dev/full", "w") as full:
            run = subprocess.run([CUDIST, "--doctor"], stdout=full, stderr=subprocess.PIPE, env=ENV, cwd=TOP)
        ok(run.returncode == 1 and b"stdout" in run.stderr, "a table that cannot be written", run)


def faults():
    check("a write fails", Doctor(ranks=3, program=FAULT, CUDIST_TEST_FAIL="write:2:EIO@1"), rc=1,
          write_speed=("problem", r"^rank 1 \(.*\): writing to .*: Input/output error"))
    check("no room for a rank's file", Doctor(ranks=2, program=FAULT, CUDIST_TEST_FAIL="open:1:ENOSPC@*"), rc=1,
          write_speed=("problem", "^writing to .*: No space left"))
    d = Doctor(["--timeout", "2"], 3, program=FAULT, late=30, CUDIST_TEST_FAIL="open:1:STOP@1")
    ok(d.rc != 0 and not d.run.late and len(d.run.lines) == 1 and re.match(r"cudist: rank 1 \(host .*\) was not heard from for 2 s", d.run.lines[0])
       and d.before == d.after, "a rank is stopped: it ends in time, and nothing is left", d)
    d = Doctor(ranks=2, program=FAULT, CUDIST_TEST_FAIL="calloc:4:ENOMEM@1")
    ok(d.rc == 1 and not d.run.late and len(d.run.lines) == 1 and "no memory" in d.run.lines[0], "no memory: one line", d)


def stopped():
    """It stops when it is asked to: here it stands still at a known place when that comes."""
    run = whole.Run([FAULT, "--doctor"], env={**ENV, "CUDIST_TEST_FAIL": "open:1:STOP@*"}, cwd=TOP).start()
    for _ in range(600):
        with open(f"/proc/{run.process.pid}/stat") as f:
            if f.read().rpartition(")")[2].split()[0] in "TZ":
                break
        time.sleep(0.1)
    run.process.send_signal(signal.SIGUSR1)
    run.process.send_signal(signal.SIGCONT)
    run.end()
    ok(run.rc == 75 and len(run.lines) == 1 and "USR1" in run.lines[0], "USR1: it stops", run)


# ---- GPUs

def no_gpus():
    d = Doctor(["-d", "cuda", "random:shape=1000"], 2)
    check("GPUs are asked for, and there are none", d, rc=4, kernels=None, job=None, CPUs="ok", write_speed="ok")
    ok(d.says("GPU driver", "-d cpu") or d.says("GPUs", "-d cpu"), "the cure", d)


def emulated(words=(), ranks=0, devices=1, device="cuda", cpus=None, **env):
    env = {"CUDAEMU_DEVICES": str(devices), "CUDA_VISIBLE_DEVICES": None, **env}
    return Doctor(["-d", device, *words], ranks, program=EMULATED, cpus=cpus, **env)


def gpus():
    if not os.path.exists(EMULATED):
        return ok(True, "emulated GPUs # SKIP built without nvcc")
    d = emulated(["random:shape=1000x10"])
    if "no PTX in the program" in d.text:
        return ok(True, "emulated GPUs # SKIP GENCODE has no PTX")
    check("a GPU", d, GPU_driver=("ok", "^1.2.3, for CUDA up to"), GPUs=("ok", "^takes 0: .*GPU-.*0000:01:00.0; it sees 1$"),
          GPU_memory=("ok", "2.0 of 2.0 GiB"), GPU_errors=("ok", "^none; ECC is on$"), kernels=("ok", "cudaemu"), job="ok", NCCL=None)
    check("--device auto takes it", emulated(device="auto"), GPUs=("ok", "takes 0"), kernels=("ok", "cudaemu"))
    check("two ranks, two GPUs", emulated(ranks=2, devices=2), GPUs=("ok", r"^rank 0 \(.*: takes 0: (?s:.*)\nok +rank 1 \(.*: takes 1: "),
          NCCL="ok", **{"CUDA-aware_MPI": ("ok", "MPI.*GPU")})
    check("--comm cuda-mpi", emulated(["--comm", "cuda-mpi"], 2, 2), rc=1, **{"CUDA-aware_MPI": ("problem", "asked for: .*GPU")})
    check("an MPI that does", emulated(["--comm", "cuda-mpi"], 2, 2, LD_PRELOAD=os.path.join(BESIDE, "ncclemu", "libcuda_mpi.so")),
          **{"CUDA-aware_MPI": ("ok", "takes memory of GPUs")})
    check("--comm nccl", emulated(["--comm", "nccl"], 2, 2), NCCL=("ok", "^NCCL [0-9.]+$"))
    check("a GPU for two", emulated(["--share-gpus"], 2), GPUs=("ok", "^takes 0"))
    for device in ("cuda", "auto"):
        check(f"two GPUs for three ranks, -d {device}", emulated(["random:shape=9"], 3, 2, device), rc=4, kernels=None, job=None,
              GPUs=("problem", r"^rank 2 \(.*: none of its own: it sees 0 GPU-.*, 1 GPU-(?s:.*)cure: fewer ranks, --share-gpus"))
    check("no GPU", emulated(ranks=2, devices=0), rc=4, GPUs=("problem", "^no rank sees one\n"), kernels=None)
    check("no GPU, --device auto", emulated(ranks=2, devices=0, device="auto"), GPUs=("ok", "no rank sees one"), kernels="ok")
    check("GPUs that are hidden", emulated(devices=2, device="auto", CUDA_VISIBLE_DEVICES=""), kernels="ok",
          GPUs=("warning", "the host has 2, and no rank sees one: the CPUs work\n.*CUDA_VISIBLE_DEVICES"))
    check("GPUs that are hidden, -d cuda", emulated(devices=2, CUDA_VISIBLE_DEVICES=""), rc=4, GPUs=("problem", "the host has 2"))


def sick_gpus():
    if not os.path.exists(EMULATED):
        return
    for words, rc, want in (("absent", 0, ("ok", "^not looked at: libnvidia-ml")), ("ecc=3", 0, ("warning", "^3 errors (?s:.*)another GPU")),
                            ("pending", 0, ("warning", "next reset")), ("failed", 1, ("problem", "cannot be replaced")),
                            ("mig", 0, ("ok", "MIG"))):
        check(f"NVML: {words}", emulated(CUDAEMU_NVML=words), rc=rc, GPU_errors=want)
    check("a kernel fails", emulated(ranks=2, devices=2, CUDAEMU_FAIL="kernel:1:ecc@1"), rc=1, kernels=("problem", r"^rank 1 \(.*ECC"))
    check("the driver fails", emulated(ranks=2, devices=2, CUDAEMU_FAIL="cudaGetDeviceProperties:1+@1"), rc=1, GPUs=("problem", r"^rank 1 \("))
    check("too little memory", emulated(["random:shape=100000x100", "-w", "64M"], CUDAEMU_MEM_MB="16"), rc=1, job=("problem", "--window"))


NODE = """<object type="{}" os_index="{}" cpuset="{:#x}" complete_cpuset="{:#x}" allowed_cpuset="{:#x}" nodeset="{:#x}"
 complete_nodeset="{:#x}" allowed_nodeset="{:#x}" gp_index="{}\""""


def machine(path):
    """For hwloc: node 0 has the even CPUs and the first emulated GPU, node 1 the odd ones and the second."""
    cpus = range(os.cpu_count())
    sets = [sum(1 << c for c in cpus if c % 2 == n) for n in (0, 1)]
    index = iter(range(1, 10000))

    def node(kind, number, cpu, nodes):
        return NODE.format(kind, number, cpu, cpu, cpu, nodes, nodes, nodes, next(index)).replace("\n", "")
    with open(path, "w") as f:
        f.write('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">\n')
        f.write(node("Machine", 0, sets[0] | sets[1], 3) + ">\n")
        for n in (0, 1):
            f.write(node("Package", n, sets[n], 1 << n) + ">\n" + node("NUMANode", n, sets[n], 1 << n) + ' local_memory="1000000"/>\n')
            f.writelines(node("PU", c, 1 << c, 1 << n) + "/>\n" for c in cpus if c % 2 == n)
            f.write(f'<object type="PCIDev" gp_index="{next(index)}" pci_busid="0000:{n + 1:02x}:00.0" '
                    'pci_type="0302 [10de:2330] [10de:16c1] a1" pci_link_speed="0.000000"/>\n</object>\n')
        f.write("</object>\n</topology>\n")


def threads_of(pid):
    """The CPUs that each thread of a process may use."""
    return [os.sched_getaffinity(int(t)) for t in os.listdir(f"/proc/{pid}/task")]


def near():
    """Threads keep near the GPU: as --doctor says, and in a run."""
    mine = os.sched_getaffinity(0)
    odd = {c for c in mine if c % 2}
    if not os.path.exists(EMULATED) or not odd or odd == mine:
        return ok(True, "near a GPU # SKIP no emulator, or CPUs of one node alone")
    plan = os.path.join(TOP, "machine.xml")
    machine(plan)
    hwloc = {"HWLOC_XMLFILE": plan, "HWLOC_THISSYSTEM": "1"}
    d = emulated(ranks=2, devices=2, **hwloc)
    if d.says("near CPUs", "without hwloc"):
        return ok(True, "near a GPU # SKIP built without hwloc")
    both = len(odd) == len(mine) - len(odd)
    check("two nodes", d, near_CPUs=("ok", f"keep to the {len(odd)} that are near" if both else f"rank 1.* {len(odd)} that"))
    check("none of the rank's CPUs is near", emulated(cpus=odd, **hwloc), near_CPUs=("warning", "none .* 0000:01:00.0\n"))
    env = {**ENV, **hwloc, "CUDAEMU_DEVICES": "2"}
    del env["CUDA_VISIBLE_DEVICES"]
    run = whole.Run([EMULATED, "-d", "cuda", "random:shape=4000000000", "-o", "none", "--result", "none"],
                    env={**env, "CUDA_VISIBLE_DEVICES": "1"}, cwd=TOP).start()
    seen = None
    for _ in range(200):
        seen = threads_of(run.process.pid)
        if sum(cpus == odd for cpus in seen) >= 5:
            break
        time.sleep(0.1)
    run.process.kill()
    run.end()
    ok(sum(cpus == odd for cpus in seen) >= 5 and all(cpus <= mine for cpus in seen), "a run: the main thread and its workers are near", seen)


def main():
    global TOP
    shm = os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > 2000 * MIB      # else the disk's speed is waited for
    TOP = tempfile.mkdtemp(prefix="cudist-doctor-", dir="/dev/shm" if shm else None)
    with open(os.path.join(TOP, "there.npy"), "wb") as f:
        f.write(whole.npy("<f4", (4,), bytes(16)))
    try:
        for group in (alone, several, launchers, limits, folders, mounted, jobs, faults, stopped, no_gpus, gpus, sick_gpus, near):
            if group.__name__ in (sys.argv[1:] or [group.__name__]):
                group()
    finally:
        shutil.rmtree(TOP)
    return whole.done()


sys.exit(main())
