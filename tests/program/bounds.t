#!/usr/bin/env python3
"""What must stay bounded: memory with the size of the input and with the number of ranks; many ranks on few cores."""
import os, subprocess, sys, tempfile

sys.dont_write_bytecode = True
from whole import CUDIST, ENV, MPIRUN, SET, done, ok

MIB = 1 << 20


def peak(*line):
    """Exit code and the most resident MiB of any one process of the run, in a process of its own so that runs do not mix."""
    code = "import resource, subprocess as s, sys; r = s.run(sys.argv[1:], stdout=s.DEVNULL, stdin=s.DEVNULL); " \
        "print(r.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    out = subprocess.run([sys.executable, "-c", code, "timeout", "300", *line], env=ENV, capture_output=True, text=True)
    status, kib = out.stdout.split()
    if int(status):
        print("# " + out.stderr[-500:].replace("\n", "\n# "))
    return int(status), int(kib) / 1024


def sparse(name, mib):
    with open(name, "wb") as f:
        f.truncate(mib * MIB)
    return name


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    base = peak(CUDIST, "random:shape=1", "-k", "copy", "-o", "none", "-q")[1]
    small, large = sparse("small.bin", 16), sparse("large.bin", {"long": 16384, "short": 256}.get(SET, 1024))
    for args in (["-k", "scale"], ["-k", "softmax", "--shape", "SHAPE"]):
        for ranks in ([], MPIRUN + ["-np", "2"]):
            seen = []
            for name in (small, large):
                shape = f"{os.path.getsize(name) // 4 // 1024}x1024"
                line = [a.replace("SHAPE", shape) for a in args]
                code, mib = peak(*ranks, CUDIST, name, *line, "-o", "none", "-q", "--threads", "2")
                seen.append(mib if code == 0 else 1e9)
            ok(seen[1] < seen[0] + 8 and seen[1] < base + 100,
               f"{' '.join(args)}, {2 if ranks else 1} ranks: {seen[0]:.0f} MiB for {small}, {seen[1]:.0f} MiB for {large}, "
               f"{base:.0f} MiB for one element")
    code, mib = peak(CUDIST, large, "-k", "scale", "-o", "none", "-q", "-w", "16K", "--threads", "2")
    ok(code == 0 and mib < base + 40, f"windows of 16 KiB: {mib:.0f} MiB for {large}")
    code, mib = peak(CUDIST, sparse("mid.bin", 256), "-k", "scale", "-o", "out.bin", "-q")
    ok(code == 0 and mib < base + 100 and os.path.getsize("out.bin") == 256 * MIB, f"with an output of 256 MiB: {mib:.0f} MiB")
    with open("odd.bin", "wb") as f:                        # windows end inside the pages' folios, which are up to 2 MiB
        f.write(bytes(128))
        for _ in range(64):
            f.write(bytes(4 * MIB))
    code, mib = peak(*MPIRUN, "-np", "2", CUDIST, "odd.bin", *"--offset 128 -k scale -o two.npy -q --threads 1".split())
    ok(code == 0 and mib < base + 30, f"two ranks, windows at any place of the pages: {mib:.0f} MiB")
    code, few = peak(*MPIRUN, "-np", "2", CUDIST, "mid.bin", *"-k scale -o out2.bin -q --write root -w 1M".split())
    code2, many = peak(*MPIRUN, "-np", "8", CUDIST, "mid.bin", *"-k scale -o out8.bin -q --write root -w 1M".split())
    ok(code == code2 == 0 and many < few + 16, f"write root: rank 0 takes {few:.0f} MiB with 2 ranks, {many:.0f} MiB with 8")
    code, mib = peak(*MPIRUN, "-np", "64", CUDIST, sparse("one.bin", 1), *"-k scale -o out64.bin -q --threads 1".split())
    ok(code == 0 and open("out64.bin", "rb").read() == bytes(MIB), "64 ranks do a file of 1 MiB")
    os.chdir("/")
sys.exit(done())
