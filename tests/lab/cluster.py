"""Slurm over the hosts of the lab: munged and slurmctld on the host head, a slurmd on each other one, with GPUs that are none."""
import os, re, subprocess, time
from lab import ENV, LAB, OWN, SHARED, hosts, on, sh, wait_until

CPUS, GPUS = 32, 4                         # a host has, so it is told; as many as the files of slurm/ ask for
ETC, LOG = LAB + "/etc", LAB + "/log"
# Why each line that is not a matter of course is there: tests/lab/README.md.
CONF = f"""ClusterName=lab
SlurmctldHost=head
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={LAB}/munge.sock,cred_expire=5
CredType=cred/munge
StateSaveLocation={LAB}/state
SlurmdSpoolDir={OWN}/spool
TmpFS={OWN}
SlurmctldPidFile={OWN}/slurmctld.pid
SlurmdPidFile={OWN}/slurmd.pid
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1,batch_sched_delay=0
GresTypes=gpu
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
SlurmctldTimeout=30
SlurmdTimeout=SILENT
MessageTimeout=10
UnkillableStepTimeout=20
PropagateResourceLimits=NONE
"""
OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "DEADLINE", "OUT_OF_MEMORY")
daemons = {}                               # host: its slurmd


def daemon(host, words):
    with open(f"{LOG}/{words[0]}.{host}", "a") as log:
        return subprocess.Popen(on(host, words), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=SLURM_ENV,
                                start_new_session=True)


# README.md: else a few of a hundred starts by srun crash.
SLURM_ENV = dict(ENV, SLURM_CONF=ETC + "/slurm.conf", PMIX_MCA_gds="hash")


def configure(silent):
    sh("mkdir -p $0 $1 $2/state $2/munge $2/dev", ETC, LOG, LAB)
    nodes = "".join(f"NodeName={name} CPUs={CPUS} Boards=1 SocketsPerBoard=1 CoresPerSocket={CPUS} ThreadsPerCore=1 RealMemory=4000 "
                    f"Gres=gpu:{GPUS}\n" for name in hosts)
    files = {"slurm.conf": CONF.replace("SILENT", str(silent)) + nodes + "PartitionName=batch Nodes=ALL Default=YES MaxTime=60\n",
             "cgroup.conf": "CgroupPlugin=cgroup/v1\n", "gres.conf": f"Name=gpu File={LAB}/dev/nvidia[0-{GPUS - 1}]\n"}
    for name, text in files.items():
        with open(f"{ETC}/{name}", "w") as f:
            f.write(text)
    for k in range(GPUS):
        sh("mknod -m 666 $0/dev/nvidia$1 c 1 3", LAB, str(k))          # as /dev/null
    with open(f"{LAB}/munge/key", "wb") as f:
        f.write(os.urandom(128))
    sh("chmod 755 $0 $0/munge && chmod 400 $0/munge/key", LAB)


def start(silent=30):
    """silent: seconds after which a host that says nothing counts as lost."""
    configure(silent)
    daemon("head", ["munged", "--foreground", f"--socket={LAB}/munge.sock", f"--key-file={LAB}/munge/key",
                    f"--pid-file={LAB}/munge/pid", f"--log-file={LOG}/munged", f"--seed-file={LAB}/munge/seed"])
    wait_until(lambda: os.path.exists(f"{LAB}/munge.sock"))
    daemon("head", ["slurmctld", "-D", "-i"])
    wait_until(lambda: "is UP" in slurm("scontrol", "ping"))
    for host in hosts:
        start_node(host)
    if not wait_until(lambda: idle() == len(hosts)):
        raise RuntimeError("Slurm's nodes do not come up: " + slurm("sinfo", "-Nl") + tails())


def start_node(host):
    daemons[host] = daemon(host, ["slurmd", "-D"])


def idle():
    return len(slurm("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split())


def tails():
    return "".join(f"\n{name}:\n" + "".join(open(f"{LOG}/{name}").readlines()[-5:]) for name in sorted(os.listdir(LOG)))


def slurm(*words):
    """What a command of Slurm's says; nothing where it says nothing for long, as it may while a host is cut off."""
    try:
        got = subprocess.run(words, env=SLURM_ENV, cwd=SHARED, capture_output=True, text=True, timeout=60)
        return got.stdout + got.stderr
    except subprocess.TimeoutExpired:
        return ""


class Job:
    """A batch job of some words behind sbatch.  After end(): state, code, text (its output), and cudist's lines in it: `notes` and
    `lines`; of an array a job for each task is in `tasks`."""

    def __init__(self, *words, folder=SHARED, **env):
        self.words, self.began = words, time.monotonic()
        got = subprocess.run(["sbatch", "--parsable", "--output=slurm-%j.out", *words], env=dict(SLURM_ENV, **env), cwd=folder,
                             capture_output=True, text=True, timeout=60)
        self.refused, self.folder = got.stderr, folder
        self.number = got.stdout.strip()

    def info(self):
        return slurm("scontrol", "-o", "show", "job", self.number)

    def states(self):
        return re.findall(r"JobState=(\S+)", self.info())

    def over(self):
        states = self.states()
        return bool(states) and all(state in OVER for state in states)

    def wait_for_text(self, pattern, seconds=60):
        """False where the job ends without it."""
        found = lambda: re.search(pattern, self.read(self.number)) is not None
        wait_until(lambda: found() or self.over(), seconds if self.number else 0)
        return found()

    def read(self, number):
        try:
            with open(f"{self.folder}/slurm-{number}.out", errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    def end(self, seconds=90):
        self.late = not self.number or not wait_until(self.over, seconds)
        self.seconds = time.monotonic() - self.began
        self.shown = self.info()
        self.state, self.code = ",".join(self.states()), ",".join(re.findall(r" ExitCode=(\S+)", self.shown))
        self.tasks = {int(task): (code, self.read(number)) for number, task, code in
                      re.findall(r"JobId=(\d+) ArrayJobId=\d+ ArrayTaskId=(\d+) .*? ExitCode=(\S+)", self.shown)}
        self.text = self.read(self.number)
        said = [line for line in self.text.splitlines() if line.startswith("cudist: ")]
        self.notes = [line for line in said if line.startswith(("cudist: note:", "cudist: warning:"))]
        self.lines = [line for line in said if line not in self.notes and not re.search(r" rows \(\d+ %\)", line)]
        if self.late:
            slurm("scancel", self.number)
        return self

    def __str__(self):
        late = ", not over in time" if self.late else ""
        return f"sbatch {' '.join(self.words)}\n{self.refused}{self.state} {self.code}{late}, {self.seconds:.1f} s\n{self.text}"
