#!/usr/bin/env python3
"""NumPy as the witness of .npy: mutated files, the heads that are written, and files of every type through --info.

CUDIST names the program (default: ./cudist); tests/unit/npy_fuzz.t is beside it."""
import ast, io, itertools, os, re, subprocess, sys, tempfile, warnings

sys.dont_write_bytecode = True
from whole import BESIDE, CUDIST, SET, done, ok, run

try:
    import numpy as np
except ImportError:
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)
    print("1..0 # SKIP no numpy")
    sys.exit(0)

FUZZ = os.path.join(BESIDE, "unit/npy_fuzz.t")
CASES = 20000 if SET == "long" else 4000
NAMES = {"bool": "|b1", "i8": "|i1", "u8": "|u1", "i16": "<i2", "u16": "<u2", "i32": "<i4", "u32": "<u4", "i64": "<i8",
         "u64": "<u8", "f16": "<f2", "bf16": "|V2", "f32": "<f4", "f64": "<f8"}


def by_numpy(data):
    """The array, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.load(io.BytesIO(data), allow_pickle=False)
    except Exception:
        return None


S = r"[ \n\t]*"
VALUES = [rf"(?P<q%d>['\"])descr(?P=q%d){S}:{S}(?P<r>['\"])(?P<descr>(?:[<>|][biu]1|[<>](?:[iu][248]|f[248])))(?P=r)",
          rf"(?P<q%d>['\"])fortran_order(?P=q%d){S}:{S}(?P<fortran>True|False)",
          rf"(?P<q%d>['\"])shape(?P=q%d){S}:{S}(?P<shape>\({S}\)|\({S}(?:0|[1-9][0-9]*){S},{S}\)|"
          rf"\({S}(?:0|[1-9][0-9]*)(?:{S},{S}(?:0|[1-9][0-9]*))+{S}(?:,{S})?\))"]
STRICT = [re.compile(rf"\{{{S}" + rf"{S},{S}".join(VALUES[k] % (k, k) for k in order) + rf"{S}(?:,{S})?\}}{S}")
          for order in itertools.permutations(range(3))]


def must_accept(data, array):
    """NumPy accepts it: is it also in the grammar of src/format/npyhead.h, in C order, and exactly as long as it should be?"""
    start = 10 if data[6] == 1 else 12
    offset = start + int.from_bytes(data[8:start], "little")
    found = [m for m in (r.fullmatch(data[start:offset].decode("latin1")) for r in STRICT) if m]
    if not found:
        return False
    plain = found[0]["fortran"] == "False" or array.size == 0 or sum(d > 1 for d in array.shape) < 2
    return plain and offset + array.nbytes == len(data)


def agrees(data, answer):
    array = by_numpy(data)
    if answer[0] == "no":
        return array is None or not must_accept(data, array)
    if array is None:
        return False
    dtype = array.dtype.str.replace(">", "<")
    order = "big" if array.dtype.str[0] == ">" else "little"
    shape = ast.literal_eval(" ".join(answer[4:]))
    return (NAMES[answer[1]], answer[2]) == (dtype, order) and shape == array.shape and array.tobytes() == data[int(answer[3]):]


def check_fuzz():
    lines = subprocess.run([FUZZ, "show", str(CASES)], capture_output=True, text=True, errors="replace").stdout.splitlines()
    bad = [line for line in lines if not agrees(bytes.fromhex(line.split(" ")[0]), line.split(" ")[1:])]
    for line in bad[:5]:
        print("#", bytes.fromhex(line.split(" ")[0]), line.split(" ")[1:])
    accepted = sum(line.split(" ")[1] == "yes" for line in lines)
    both = sum(by_numpy(bytes.fromhex(line.split(" ")[0])) is not None for line in lines)
    ok(len(lines) == CASES and not bad, f"{CASES} mutated files: {accepted} accepted, all by NumPy too; {both} by NumPy")
    ok(accepted > CASES // 20, "enough of them")


def shapes():
    yield from [(), (0,), (1,), (12345,), (1000, 16), (3, 0, 5)]
    for dims in range(3, 33):
        for first in (1, 12, 123):
            yield (first,) + (1,) * (dims - 1)


def check_heads():
    cases = [(t, s) for s in shapes() for t in NAMES]
    text = "".join(f"{t} {'x'.join(map(str, s)) or '()'}\n" for t, s in cases)
    heads = subprocess.run([FUZZ, "heads"], input=text, capture_output=True, text=True).stdout.split()
    bad = []
    for (t, s), head in zip(cases, heads):
        file, array = io.BytesIO(), np.zeros(s, NAMES[t])
        np.save(file, array)
        if bytes.fromhex(head) + bytes(array.nbytes) != file.getvalue():
            bad.append((t, s))
    ok(len(heads) == len(cases) and not bad, f"{len(cases)} heads are those of numpy.save {np.__version__}")
    if bad:
        print("#", bad[:5])


def info(path, *options):
    r = run([CUDIST, *options, "--info", path])
    return r.rc, dict(line.split(": ", 1) for line in r.stdout.decode().splitlines()), r.stderr


def check_files(folder):
    path = os.path.join(folder, "a.npy")
    bad = []
    for (name, descr), order, shape in itertools.product(NAMES.items(), "<>", [(), (7,), (3, 4), (0, 5)]):
        dtype = np.dtype(descr).newbyteorder(order)
        np.save(path, np.zeros(shape, dtype))
        code, lines, said = info(path, *(["--dtype", "bf16"] if name == "bf16" else []))
        wanted = "none (1-byte elements)" if dtype.itemsize == 1 else "big-endian" if dtype.str[0] == ">" else "little-endian"
        if code or (lines["dtype"], lines["byte order"], lines["shape"]) != (name, wanted, str(shape)):
            bad.append((name, order, shape, said))
    ok(not bad, "--info of what numpy.save writes, all types, byte orders and shapes")
    if bad:
        print("#", bad[:5])


def check_refused(folder):
    path = os.path.join(folder, "a.npy")
    for array, says in [(np.zeros(3, "c8"), "complex numbers"), (np.zeros(3, "g"), "long doubles"), (np.zeros(3, "S4"), "text"),
                        (np.zeros(3, "U4"), "text"), (np.zeros(3, "M8[s]"), "dates"), (np.zeros(3, "m8[s]"), "time spans"),
                        (np.zeros(3, "O"), "Python objects"), (np.zeros(3, "V5"), "bytes without a type"),
                        (np.zeros(3, "V2"), "--dtype bf16"), (np.zeros(3, [("a", "f4"), ("b", "i4")]), "records"),
                        (np.asfortranarray(np.zeros((3, 4))), "numpy.ascontiguousarray")]:
        np.save(path, array)
        code, _, said = info(path)
        good = code == 3 and said.count("\n") == 1 and path in said and says in said
        ok(good, f"refuses {array.dtype.str} as {says}")
        if not good:
            print("#", code, said)


check_fuzz()
check_heads()
with tempfile.TemporaryDirectory() as folder:
    check_files(folder)
    check_refused(folder)
sys.exit(done())
