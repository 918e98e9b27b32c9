#!/usr/bin/env python3
"""The kernels as nvcc made them: nothing spills, nothing lies in local memory, and element-wise ones load and store 16 bytes at a
time.  From what ptxas said when they were built (kernels/*.ptxas), and from the PTX in the program, by way of the CUDA emulator."""
import collections, glob, os, re, subprocess, sys, tempfile

BUILD = os.path.dirname(os.path.abspath(os.environ.get("CUDIST", "./cudist")))
EMULATED = os.path.join(BUILD, "tests", "cudist-emu")
REPORTS = sorted(glob.glob(os.path.join(BUILD, "kernels", "*.ptxas")))
# Kernels that use MAP or MAP_OF, by the names of their functions.
MAPS = ["abs_each", "affine", "cast", "clip", "copy", "counting", "elu", "exp_each", "floats", "gelu", "l2norm",
        "leaky_relu", "log_each", "log_softmax", "neg", "reciprocal", "relu", "round_each", "round_tens", "scale", "sigmoid", "sign",
        "silu", "softmax", "softplus", "sqrt_each", "square", "tanh_each"]
count = bad = 0


def ok(good, name, detail=""):
    global count, bad
    count += 1
    bad += not good
    print(f"{'' if good else 'not '}ok {count} - {name}")
    if not good:
        print("".join(f"#   {line}\n" for line in str(detail).splitlines()[:20]), end="")


def reports():
    """(file, GPU, function): bytes of stack, of spill stores, of spill loads."""
    found, at = {}, None
    for path in REPORTS:
        with open(path) as f:
            for line in f:
                head = re.search(r"Compiling entry function '(\S+)' for '(\S+)'", line)
                sizes = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)
                at = (os.path.basename(path), head[2], head[1]) if head else at
                if sizes:
                    found[at] = tuple(map(int, sizes.groups()))
    return found


def ptx():
    """function: its text."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ptx")
        env = {k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
        subprocess.run([EMULATED, "--version"], env=dict(env, CUDAEMU_PTX=path), stdout=subprocess.DEVNULL, check=True)
        with open(path) as f:
            return {m[1]: m[2] for m in re.finditer(r"\.entry (\w+)\s*\((.*?)\n}", f.read(), re.S)}


def accesses(text):
    return collections.Counter(re.findall(r"\b((?:ld|st)\.global(?:\.v\d)?\.[a-z]+\d+)", text))


def is_wide(name):
    """16 bytes."""
    m = re.search(r"\.v(\d)\.[a-z]+(\d+)$", name)
    return bool(m) and int(m[1]) * int(m[2]) == 128


def of(function):
    """The name in a mangled one: _Z5scaleIfEv... is scale."""
    m = re.match(r"_Z(?:L)?(\d+)(\w+)", function)
    return m[2][:int(m[1])] if m else function


if not os.path.exists(EMULATED):
    print("1..0 # SKIP built without nvcc")
    sys.exit(0)
sizes = reports()
if sizes:
    machines = sorted({gpu for _, gpu, _ in sizes})
    # An interpreter's registers are an array.
    wrong = [f"{key}: {value}" for key, value in sizes.items() if any(value) and key[0] != "expr.ptxas"]
    ok(not wrong, f"{len(sizes)} functions for {', '.join(machines)}: no spills, no local memory", "\n".join(wrong))
    ok(len(REPORTS) == len(glob.glob(os.path.join(BUILD, "kernels", "*.cuda.o"))), "of all kernels", REPORTS)
else:
    ok(True, "spills # SKIP GENCODE has PTX alone")
texts = ptx()
names = {of(f) for f in texts}
ok(texts and set(MAPS) <= names, "the PTX is there", f"{sorted(names)}")
for name in MAPS:
    narrow, scalar = [], []
    for function, text in texts.items():
        if of(function) == name:
            found = accesses(text)
            wide = {k[:2] for k in found if is_wide(k)}
            elements = sum(n for k, n in found.items() if k.startswith("st.") and not is_wide(k) and not (name == "counting" and k.endswith("64")))
            narrow += [f"{function}: {dict(found)}"] if wide != {"ld", "st"} else []
            scalar += [f"{function}: {dict(found)}"] if elements > 2 else []      # what is left over; in two loops where one is swapped
    ok(not narrow, f"{name}: loads and stores of 16 bytes", "\n".join(narrow))
    ok(not scalar, f"{name}: and no others but for what is left over", "\n".join(scalar))
print(f"1..{count}")
sys.exit(bad != 0)
