"""A run on the CUDA emulator (tests/cudaemu) or on the CPU, and what comes of it: what tests of the CUDA path share."""
import atexit, json, os, shutil, tempfile

import whole
from whole import BESIDE, CUDIST, MPIRUN

GPUS = int(os.environ.get("CUDIST_TEST_GPUS", "0"))                 # real ones, by make check-gpu
EMULATED = CUDIST if GPUS else os.path.join(BESIDE, "cudist-emu")
ENV = dict(whole.ENV, CUDIST_LIBS="own", CUDAEMU_WARM="1")
del ENV["CUDA_VISIBLE_DEVICES"]
TOP = tempfile.mkdtemp(prefix="cudist-emu-")
atexit.register(shutil.rmtree, TOP, ignore_errors=True)


class Run(whole.Run):
    def __init__(self, words, ranks=1, devices=None, late=120, out=True, share=True, program=EMULATED, **env):
        """On the CPU unless there are devices."""
        self.folder = tempfile.mkdtemp(dir=TOP)
        program = [CUDIST, "-d", "cpu"] if devices is None else [program, "-d", "cuda"]
        if devices is not None and GPUS:
            devices = min(devices, GPUS)
            env["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(devices)))
        if devices is not None:
            env["CUDAEMU_DEVICES"] = str(devices)
            program += ["--share-gpus"] if share and ranks > devices else []
        launch = MPIRUN + ["-np", str(ranks)] if ranks > 1 else []
        words = launch + program + words + (["-o", "o.npy"] if out else []) + ["--result", "o.json", "-q", "--threads", "1"]
        self.extra = env
        super().__init__(words, late, dict(ENV, **env), cwd=self.folder)
        self.start().end()
        self.left = sorted(os.listdir(self.folder))
        self.got = self.read() if self.rc == 0 and "--dry-run" not in words else None
        shutil.rmtree(self.folder)

    def read(self):
        data = b""
        if "o.npy" in self.left:
            with open(os.path.join(self.folder, "o.npy"), "rb") as f:
                data = f.read()
        with open(os.path.join(self.folder, "o.json")) as f:
            return data, json.dumps(json.load(f)["result"])

    def __str__(self):
        return f"{self.extra} {super().__str__()}\nleft {self.left}"
