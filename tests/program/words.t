#!/usr/bin/env python3
"""What the program says: each error in one line that tells what, where and what to do, with the right exit code; nothing that a
terminal would obey; notes, and silence where -q asks for it.  CUDIST names the program."""
import os, re, sys, tempfile

sys.dont_write_bytecode = True
from whole import CUDIST, ENV, MPIRUN, done, npy, ok, run

SRC = os.path.join(os.path.abspath(os.environ.get("srcdir", ".")), "src")


def cudist(*words, **env):
    return run([CUDIST, *words], env=dict(ENV, **env))


# ---- notes and warnings

def notes():
    """Each is said, and -q keeps it back.  A new one needs a case here."""
    cases = {"note: no step was given": ["x.npy", "-o", "none"],
             "warning: 1 NaN in the output, the first in row 2": ["nan.npy", "-k", "copy", "-o", "none"],
             "warning: i8 does not hold all of the output's values: 2 out of range, 1 NaN made 0":
                 ["nan.npy", "-k", "copy", "-o", "none", "--out-dtype", "i8"],
             "note: .*left.npy.part was left": ["x.npy", "-k", "copy", "-o", "left.npy", "-f"]}
    for says, words in cases.items():
        for quiet in ([], ["-q"]):
            with open("left.npy.part", "w"):
                pass
            got = cudist(*words, *quiet)
            told = [n for n in got.notes if re.match("cudist: " + says, n)]
            good = got.rc == 0 and (got.stderr == "" and got.stdout == b"" if quiet else len(told) == 1 and got.notes == told)
            ok(good, f"{' '.join(words + quiet)}: {'nothing is said' if quiet else says}", got)
    text = "".join(open(os.path.join(SRC, name)).read() for name in os.listdir(SRC) if name.endswith(".c"))
    told = re.findall(r"cud_note\(\"", text)
    hidden = re.search(r'cud_say\([^"]*"(note|warning)', text)
    ok(len(told) == len(cases) and not hidden, f"{len(told)} notes in the source", told)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        cudist("random:shape=10x4", "-q", "-k", "copy", "-o", "x.npy")
        with open("nan.npy", "wb") as f:
            f.write(npy("<f4", (3, 2), b"\0\0\xc8\x42\0\0\x80\x7f" + b"\0\0\xc8\xc3" + bytes(4) + b"\0\0\xc0\x7f" + bytes(4)))
        notes()
        os.chdir("/")
    return done()


sys.exit(main())
