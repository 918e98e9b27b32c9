"""What the tests of the whole program share: its name and its environment, TAP, a run, .npy files."""
import os, signal, struct, subprocess, sys, threading

CUDIST = os.path.abspath(os.environ.get("CUDIST", "./cudist"))
BESIDE = os.path.join(os.path.dirname(CUDIST), "tests")            # cudist-fault, cudist-emu
MPIRUN = os.environ.get("MPIRUN", "mpirun").split()
SET = os.environ.get("CUDIST_TEST_SET", "usual")
LEFT_OUT = ("CUDIST", "CUDA", "SLURM_", "PMI_", "PMIX_", "OMPI_COMM")       # nothing from outside, and no GPU
ENV = {k: v for k, v in os.environ.items() if not k.startswith(LEFT_OUT)}
ENV.update(CUDA_VISIBLE_DEVICES="", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
           OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_hwloc_base_binding_policy="none")
lock = threading.Lock()
count = bad = 0


def ok(good, name, detail=""):
    """One test; the detail is shown where it is not good."""
    global count, bad
    with lock:
        count += 1
        bad += not good
        print(f"{'' if good else 'not '}ok {count} - {name}")
        if not good:
            print("".join(f"#   {line}\n" for line in str(detail).splitlines()[:40]), end="")
        sys.stdout.flush()
    return good


def done():
    """The plan, behind all tests; what to exit with."""
    print(f"1..{count}")
    return bad != 0


class Run:
    """A run of some words, in a process group of its own.  After end(): rc, stdout, stderr (raw: as bytes), late (it was
    killed), and cudist's own lines: notes and warnings in `notes`, all others in `lines`."""

    def __init__(self, words, late=60, env=ENV, **kw):
        self.words, self.most = words, late
        self.kw = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True,
                   "env": env, **kw}

    def start(self):
        self.process = subprocess.Popen(self.words, **self.kw)
        return self

    def end(self):
        try:
            self.stdout, err = self.process.communicate(timeout=self.most)
            self.late = False
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.stdout, err = self.process.communicate()
            self.late = True
        self.rc, self.raw, self.stderr = self.process.returncode, err, err.decode(errors="replace")
        lines = [line for line in self.stderr.splitlines() if line.startswith("cudist: ")]
        self.notes = [line for line in lines if line.startswith(("cudist: note:", "cudist: warning:"))]
        self.lines = [line for line in lines if line not in self.notes]
        return self

    def __str__(self):
        return f"{' '.join(self.words)}\nrc {self.rc}{', killed: it took too long' if self.late else ''}\n{self.stderr}"


def run(words, **kw):
    return Run(words, **kw).start().end()


def npy(descr, shape, data):
    """The bytes of a .npy file, as numpy.save makes them."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data
