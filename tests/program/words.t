#!/usr/bin/env python3
"""What the program says: each error in one line that tells what, where and what to do, with the right exit code; nothing that a
terminal would obey; notes, and silence where -q asks for it.  CUDIST names the program."""
import os, re, struct, sys, tempfile

sys.dont_write_bytecode = True
from whole import BESIDE, CUDIST, ENV, MPIRUN, done, npy, ok, run

SRC = os.path.join(os.path.abspath(os.environ.get("srcdir", ".")), "src")


def cudist(*words, **env):
    return run([CUDIST, *words], env=dict(ENV, **env))


# ---- notes and warnings

NOTES = (                                  # words, the call at which an earlier run is killed, what is said
    ("x.npy -o none", "", "note: no step was given: .*"),
    ("random:shape=9 -k softmax -o none", "", "note: step 'softmax' is done to each row, .* one dimension are single elements"),
    ("nan.npy -k copy -o none", "", "warning: 1 NaN in the output, the first in row 2: .*"),
    ("nan.npy -k copy -o none --out-dtype i8", "", "warning: i8 does not hold all .*: 2 out of range, 1 NaN made 0"),
    ("big.npy -k copy -o none --out-dtype f16", "", "warning: f16 does not hold all .*: 2 finite ones became infinite"),
    ("x.npy -k copy -o left.npy", "fsync:1", "note: .*left.npy.part was left .*"),
    ("x.npy -k copy -o left.npy", "rename:2", "note: .*left.npy is of a run that did not live .*"),
)


def notes():
    """Each is said, and -q keeps it back.  A new one needs a case here (those of --doctor, --trace and GPUs: doctor.t,
    trace.t, emulated.t)."""
    for words, killed, says in NOTES:
        for quiet in ("", " -q"):
            if killed:
                run([os.path.join(BESIDE, "cudist-fault"), *words.split()], env=dict(ENV, CUDIST_TEST_FAIL=killed + ":KILL@0"))
            got = cudist(*(words + quiet).split())
            told = [line for line in got.notes if re.fullmatch("cudist: " + says, line)]
            good = got.rc == 0 and (got.stderr == "" and got.stdout == b"" if quiet else told and not got.lines)
            ok(good, f"{words + quiet}: {'nothing is said' if quiet else says}", got)
            for name in os.listdir("."):
                if name.startswith("left.npy"):
                    os.unlink(name)
    text = "".join(open(os.path.join(SRC, name)).read() for name in os.listdir(SRC) if name.endswith(".c"))
    told, hidden = re.findall(r"cud_note\(\"", text), re.search(r'cud_say\([^"]*"(note|warning)', text)
    ok(len(told) == len(NOTES) + 3 and not hidden, f"{len(told)} notes in the source", told)


def progress():
    got = cudist("random:shape=50000x1000,dist=normal", "-k", "copy", "-o", "none", "--progress", "0.01")
    told = [line for line in got.lines if re.fullmatch(r"cudist: \d+ of 50000 rows \(\d+ %\), .* GiB/s, .* left", line)]
    ok(got.rc == 0 and told == got.lines and told, "progress counts rows", got)
    got = cudist("random:shape=50000x1000,dist=normal", "-k", "copy", "-o", "none", "--progress", "0.01", "-q")
    ok(got.rc == 0 and not got.stderr, "and -q keeps it back", got)


# ---- errors

DENSE, PLACE = "step 'dense': ", "/dev/null: is not a regular file; give the name of a file, - for stdout, or none"
REFUSED = (                                # exit code, words, the line behind "cudist: " (@: the folder)
    (2, "", r"no INPUT: .*--help explains.*"),
    (3, "no.npy", r"@/no.npy: No such file or directory"),
    (2, "x.npy -o a --result a", r"--output and --result are the same file: @/a"),
    (2, "x.npy -o /dev/null", PLACE),
    (2, "x.npy -o none --result /dev/null", PLACE),
    (2, "x.npy -k scale:factor=1e400", r"step 'scale': factor=1e400: too large for f32: .*; write inf if that is meant"),
    (2, "x.npy -k scale:factor=1,factor=2", r"step 'scale:factor=1,factor=2': factor= is given twice"),
    (2, "x.npy -k scale:factor=1,", r"step 'scale:factor=1,': ends in a comma"),
    (2, "x.npy --shape 5x", r"--shape '5x': shape '5x': '' is not a whole number; write it like 1000x16"),
    (3, "random:shape=300,dist=index,dtype=i8", r"random:.*: i8 does not hold all .* from 0 to 299; dtypes that do: i16 .*"),
    (3, "random:shape=9,dist=integer,high=257,dtype=u8", r"random:.*: u8 does not hold all .* from 0 to 256; .*"),
    (2, "x.npy -k dense:weights=", r"step 'dense' needs a value for weights= .*"),
    (3, "x.npy -k dense:weights=w57.npy", DENSE + r".* have 4 elements, but weights of shape \(5, 7\), in x out, take 5"),
    (3, "x.npy -k dense:weights=w54.npy", DENSE + r".* take 5; did you mean layout=out-in\?"),
    (3, "x.npy -k dense:weights=v5.npy", DENSE + r"weights must have two dimensions, in x out, but their shape is \(5,\)"),
    (3, "x.npy -k dense:weights=w54.npy,layout=out-in,bias=w57.npy", DENSE + r"bias must have 5 .* but its shape is \(5, 7\)"),
    (3, "empty", r"@/empty: is in no format that cudist knows by its bytes or its name: it is empty"),
    (2, "text", r"@/text: is in no format .*: save it as .npy, or give --dtype if it is raw input"),
    (3, "x.npy -k dense:weights=empty", r"step 'dense', weights: empty: is in no format .*: it is empty"),
    (3, "odd.bin", r"@/odd.bin: 9 bytes from byte 0 on are no whole number of f32 .*, 1 left over: give its --dtype, .*"),
    (3, "short.npy", r"@/short.npy: is too short: .* 4 are missing"),
    (3, "random:shape=3,dtype=f64 x.npy", r"random:shape=3,dtype=f64 is f64 but @/x.npy is f32: .*"),
    (2, "x.npy --dtype f64", r"@/x.npy: says by itself that it is f32: leave out --dtype f64"),
    (4, "x.npy -d cuda -o none", r".*the CPUs \(-d cpu\)"),
    (6, "x.npy -k copy -o v5.npy", r"@/v5.npy exists; use -f to replace it or -o for another name"),
    (2, "x.npy -k sofmax", r"no kernel is called 'sofmax'; did you mean 'softmax'\? .*"),
    (2, "x.npy -k scale:2", r"step 'scale:2': what follows the : should read KEY=VALUE,KEY=VALUE .*"),
    (2, "x.npy -k scale:facto=2", r"step 'scale' has no parameter facto=; did you mean factor=\? .*"),
    (2, "x.npy -e x+y", r"--expr 'x\+y': 'y' is no name; the element is x, .*"),
    (2, "x.npy -e x*(1+", r"--expr 'x\*\(1\+': the expression ends where a value should be"),
    (2, "x.npy --expr==x", r"--expr '=x': nothing can be assigned to; == compares"),
    (2, "x.npy -e x[9]", r"step 'x\[9\]': x\[9\]: rows have \d+ elements here, the first one is x\[0\]"),
    (2, "x.npy -t -5", r"--timeout '-5': seconds must not be negative"),
    (2, "x.npy -w 1.5G", r"--window '1.5G': not a size: .*"),
    (2, "--input x.npy", r"unknown option '--input', which is for job files: .*"),
    (2, "--info v5.npy x.npy", r"--info tells of one FILE and runs nothing: leave out '@/x.npy'"),
    (3, "random:shape=3x99999999999 -k softmax -o none", r"windows of 1 row take [0-9.]+ TiB for .*"),
)


def refused():
    for name, data in (("empty", b""), ("text", b"1,2\n"), ("odd.bin", bytes(9)), ("short.npy", npy("<f4", (3, 2), bytes(20)))):
        with open(name, "wb") as f:
            f.write(data)
    for code, words, line in REFUSED:
        got = cudist(*words.split())
        good = got.rc == code and len(got.lines) == 1 and not got.notes and not got.stdout
        good = good and re.fullmatch("cudist: " + line.replace("@", re.escape(os.getcwd())), got.lines[0])
        ok(good, f"{words}: code {code}", f"{got}\nwanted {code}: {line}")


LONG = ("@", "x.npy -q -o @", "x.npy -q -o none --result @", "--job @", "--info @", "x.npy -k dense:weights=@",
        "x.npy -k copy:@", "x.npy -o @ --result @", "x.npy -k dense:weights='@", "random:shape=3,dtype=@", "--@", "x.npy -w @")


def long_paths():
    """Of a path that fills the line the middle is left out: both ends and the reason are there."""
    reasons = r"No such file|are the same|unknown option|KEY=VALUE|a type such|not closed|not a size"
    for words in LONG:
        got = cudist(*words.replace("@", "/no" + "/folder" * 570 + "/x.npy").split())
        said = got.lines[0] if got.lines else ""
        good = got.rc in (2, 3) and len(got.lines) == 1 and "/folder" in said and "..." in said and len(said) < 1100
        ok(good and re.search(reasons, said), f"{words} with a path of 4000 bytes: the reason is there", f"{got.rc} {said}")


# ---- what a terminal would obey

UGLY = b"a\nb\tc\x1b[31m\xff\xc2\x9b\xe2\x80\xaed\x07".decode(errors="surrogateescape")
TERMINAL = (                               # @ is such a name, @.npy is there
    (0, "@.npy -f"), (0, "@.npy -f -v"), (0, "@.npy -o none"), (0, "@.npy -f --dry-run"), (0, "--info @.npy"),
    (0, "@.npy --show-config"), (0, "--job good.job --show-config"), (0, "--job good.job x.npy -f"), (6, "@.npy -k copy"),
    (3, "@"), (2, "--job @"), (2, "--job @.job"), (2, "--job key.job"), (2, "--@"), (2, "-@"), (2, "-x@"), (2, "x.npy -w @"),
    (2, "x.npy -w -@"), (2, "x.npy --write @"), (2, "x.npy --dtype @"), (2, "x.npy --shape @"), (2, "x.npy -k @"),
    (2, "x.npy -k scale:factor=@"), (2, "x.npy -k scale:a@=1"), (2, "x.npy -k scale:factor=1,@"),
    (2, "x.npy -k dense:weights='@"), (3, "x.npy -k dense:weights=@"), (2, "random:shape=@"), (2, "random:shape=3,dtype=@"),
    (3, "descr.npy"), (2, "x.npy -o @/x"), (2, "x.npy -o @.npy --result @.npy"), (3, "@.npy random:shape=3"),
)


def plain(data):
    """UTF-8, of what is printed and newlines."""
    try:
        return all(c == "\n" or c.isprintable() for c in data.decode())
    except UnicodeDecodeError:
        return False


def terminal():
    cudist("random:shape=10x4", "-q", "-k", "copy", "-o", UGLY + ".npy")
    for name, text in ((UGLY + ".job", b"window = 1\x1b[31m\xff\n"), ("key.job", b"win\x1b[31m\xffdow = 1\n"),
                       ("good.job", b"output = o\x1b[31m\xff.npy\n"), ("descr.npy", npy("<\x1b[31m", (3, 2), bytes(24)))):
        with open(name, "wb") as f:
            f.write(text)
    runs = [(code, words, [CUDIST, *(w.replace("@", UGLY) for w in words.split())], {}) for code, words in TERMINAL]
    runs += [(2, f"{name} in the environment", [CUDIST, "x.npy", "-o", "none"], {name.replace("@", UGLY): UGLY})
             for name in ("CUDIST_WINDOW", "CUDIST_WIN@", "CUDIST_KERNEL", "CUDIST_LIBS", "CUDIST_ISA")]
    runs.append((6, "2 ranks", [*MPIRUN, "-np", "2", CUDIST, UGLY + ".npy", "-k", "copy"], {}))
    for code, what, words, env in runs:
        got = run(words, env=dict(ENV, **env))
        good = got.rc == code and plain(got.stdout) and plain(got.raw) and len(got.lines) == (code > 0)
        ok(good, f"{what}: plain text", f"{got.rc} {got.raw} {got.stdout}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        cudist("random:shape=10x4", "-q", "-k", "copy", "-o", "x.npy")
        with open("big.npy", "wb") as f:
            f.write(npy("<f4", (2, 2), struct.pack("<4f", 1, 1e5, float("inf"), -65520)))
        with open("nan.npy", "wb") as f:
            f.write(npy("<f4", (3, 2), b"\0\0\xc8\x42\0\0\x80\x7f" + b"\0\0\xc8\xc3" + bytes(4) + b"\0\0\xc0\x7f" + bytes(4)))
        for name, shape in (("w54", "5x4"), ("w57", "5x7"), ("v5", "5")):
            cudist("random:shape=" + shape, "-q", "-k", "copy", "-o", name + ".npy")
        notes()
        progress()
        refused()
        long_paths()
        terminal()
        os.chdir("/")
    return done()


sys.exit(main())
