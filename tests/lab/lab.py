"""A cluster on this machine: hosts n1, n2, ... in namespaces, a network between them, and a Slurm over them for tests that want one.

enter() starts the test anew in namespaces of its own.  Its processes are all in one PID namespace, and end with it, however it
ends; what it makes is in a /run of its own, which nobody else sees and which goes with it.  tests/lab/README.md says the rest."""
import os, shutil, signal, subprocess, sys, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program"))
import whole
from whole import BESIDE, CUDIST, ok

LAB = "/run/lab"                           # what all hosts share
OWN = LAB + "/own"                         # each host has its own
NET = "10.77.0"
FAULT, EMULATED = os.path.join(BESIDE, "cudist-fault"), os.path.join(BESIDE, "cudist-emu")
SLURM = os.path.join(os.path.abspath(os.environ.get("srcdir", ".")), "slurm")
NAMESPACES = ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "--net", "--uts"]
SBIN = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
LATE = 20                                  # seconds that a loaded machine may take longer
hosts = {}                                 # name: the process that holds its namespaces


def skip(name, why):
    ok(True, f"{name} # SKIP {why}")


def missing(slurm):
    """Why there can be no lab here, or nothing."""
    if os.geteuid() != 0:
        return "needs root"
    for program in ["mpirun", "ip", "nsenter", "unshare"] + slurm * ["slurmctld", "slurmd", "munged", "sbatch", "srun", "scontrol"]:
        if not shutil.which(program, path=SBIN):
            return f"{program} is not installed (scripts/packages ci)"
    trial = subprocess.run([*NAMESPACES, "sh", "-ec", "mount -t tmpfs tmpfs /run && ip link add name b type bridge && "
                            "ip link add v1 type veth peer name v2 && mknod /run/null c 1 3"], capture_output=True, text=True)
    return f"no namespaces: {(trial.stderr.splitlines() or ['unshare failed'])[0]}" if trial.returncode else ""


def enter(slurm=False):
    if os.environ.get("LAB_ENTERED") != "yes":
        why = missing(slurm)
        if why:
            print(f"1..0 # SKIP {why}")
            sys.exit(0)
        os.environ.update(LAB_ENTERED="yes", PATH=SBIN)
        os.execvp(NAMESPACES[0], [*NAMESPACES, sys.executable, *sys.argv])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))       # the first process of a PID namespace has no default for it
    sh("mount -t tmpfs tmpfs /run && mkdir -p $0/shared $0/bin $1 && hostname head", LAB, OWN)
    private("head")
    sh("ip link set lo up && ip link add name lab type bridge && ip addr add $0.254/24 dev lab && ip link set lab up", NET)
    program(CUDIST)


def sh(script, *words):
    subprocess.run(["sh", "-ec", script, *words], check=True)


PRIVATE = """printf '127.0.0.1 localhost\n' > "$0/hosts.$1"
for k in 1 2 3 4; do echo "$2.$k n$k" >> "$0/hosts.$1"; done
echo "$2.254 head" >> "$0/hosts.$1"
mount --bind "$0/hosts.$1" /etc/hosts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs "$0/own"
"""


def private(name):
    sh(PRIVATE, LAB, name, NET)


def add_hosts(n):
    """n1 to nN: each has a name, a network card, /dev/shm and OWN to itself."""
    for k in range(1, n + 1):
        name = f"n{k}"
        script = f"{PRIVATE}hostname $1; ip link set lo up; echo ready; exec sleep infinity"
        hosts[name] = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "sh", "-ec", script, LAB, name, NET],
                                       stdout=subprocess.PIPE)
        hosts[name].stdout.readline()
        pid = str(hosts[name].pid)
        with open(f"{LAB}/pid.{name}", "w") as f:
            f.write(pid)
        sh("ip link add v$0 type veth peer name eth0 netns $1 && ip link set v$0 master lab up", str(k), pid)
        subprocess.run(on(name, ["sh", "-ec", f"ip addr add {NET}.{k}/24 dev eth0; ip link set eth0 up"]), check=True)
    with open(f"{LAB}/rsh", "w") as f:     # Open MPI's way to another host: rsh [-OPTION]... HOST COMMAND...
        f.write(f"""#!/bin/sh
while case $1 in -*) true ;; *) false ;; esac; do shift; done
host=$1
shift
exec nsenter --target $(cat {LAB}/pid.$host) --net --uts --mount sh -c "TMPDIR={OWN} $*"
""")
    os.chmod(f"{LAB}/rsh", 0o755)


def on(host, words, folder=None):
    """Words that run words on that host."""
    if host == "head":
        return words
    there = ["nsenter", "--target", str(hosts[host].pid), "--net", "--uts", "--mount"]
    return there + ["sh", "-c", 'cd "$0" && exec "$@"', folder or LAB + "/shared", *words]


def link(host, state):
    """Pulls the host's network cable (down), or puts it back (up)."""
    sh("ip link set v$0 $1", host[1:], state)


def program(path):
    """What `cudist` is from now on."""
    sh("ln -sf $0 $1/bin/cudist", path, LAB)


ENV = dict(whole.ENV, PATH=f"{LAB}/bin:{SBIN}", TMPDIR=OWN, OMPI_MCA_pml="ob1", OMPI_MCA_btl="tcp,vader,self",
           OMPI_MCA_oob_tcp_if_include=f"{NET}.0/24", OMPI_MCA_btl_tcp_if_include=f"{NET}.0/24",
           OMPI_MCA_btl_vader_single_copy_mechanism="none", CUDAEMU_DEVICES="0")
del ENV["CUDA_VISIBLE_DEVICES"]            # Slurm says which
SHARED = LAB + "/shared"


def mpirun(where, *more):
    """Words that start one rank for each slot of where ("n1:2,n2:2"), by mpirun on the host head and without Slurm."""
    count = sum(int(host.partition(":")[2] or 1) for host in where.split(","))
    return ["mpirun", "--mca", "plm", "rsh", "--mca", "plm_rsh_agent", LAB + "/rsh", "--host", where, "-np", str(count), *more]


def read(path):
    with open(os.path.join(SHARED, path), "rb") as f:
        return f.read()


def remove(*paths):
    for path in paths:
        if os.path.exists(os.path.join(SHARED, path)):
            os.remove(os.path.join(SHARED, path))


def wait_until(true, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.05)
    return False
