#!/usr/bin/env python3
"""Expressions: random ones against an evaluator of the test's own (expr_oracle.py), the table of docs/expressions.md, and the
functions against Python's, in every build of the kernels."""
import math, os, random, re, struct, subprocess, sys, tempfile
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from expr_oracle import INF, Evaluator, Machine, Maker, Writer, random_array, uses
from whole import BESIDE, CUDIST, SET, done, ok, run

R = random.Random(11)
ROUNDS = {"short": 300, "usual": 1500, "long": 10000}[SET]


def random_case():
    array = random_array(R, R.random() < 0.5)
    by_row = R.random() < 0.3
    maker = Maker(R, array, by_row and array.cols != 1)
    trees = [maker.any(R.randrange(1, 6)) for _ in range(R.randrange(1, 4) if by_row else 1)]
    if len(trees) == 1:                    # worked out once a row if nothing of one element is in it
        by_row = not uses(trees[0], ("x", "i", "col"))
    return array, trees, by_row


def evaluate(lines):
    p = subprocess.run([os.path.join(BESIDE, "expr-eval")], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=600)
    return p.returncode, p.stdout.splitlines(), p.stderr


def test_random():
    writer, cases, lines = Writer(R), [], []
    while len(cases) < ROUNDS:
        array, trees, by_row = random_case()
        text = ", ".join(writer.text(t) for t in trees)
        if len(text) > 3900:
            continue
        m = array.m
        lines.append(f"data {'f32' if m.single else 'f64'} {array.rows} {array.cols} {array.row0} {array.nrows} " + " ".join(map(m.bits, array.x)))
        lines.append("expr " + text)
        cases.append((array, trees, by_row, text))
    rc, got, err = evaluate(lines)
    bad, refused = [], 0
    for (array, trees, by_row, text), line in zip(cases, got):
        if line.startswith("error"):       # the few that the generator cannot know: 7/2, x * 1e-60 of f32
            refused += 1
            if not any(why in line for why in ("among whole numbers", "divided by 0", "values are f32", "rows have")):
                bad.append(f"{text}\n{line}")
            continue
        want = f"= {len(trees) if by_row else array.cols} " + " ".join(Evaluator(array).all(trees, by_row))
        if line != want:
            bad.append(f"{text}\n{array.x}\ngot  {line}\nwant {want}")
    ok(rc == 0 and len(got) == len(cases) and not bad, f"{len(cases)} random expressions are what they should be", "\n".join(bad[:4]) + err)
    ok(refused < ROUNDS / 5, f"{refused} of them are refused")


# ---- docs/expressions.md

DOCS = os.path.join(os.environ.get("srcdir", "."), "docs", "expressions.md")


def data_line(machine, rows):
    return f"data {'f32' if machine.single else 'f64'} {len(rows)} {len(rows[0])} 0 {len(rows)} " + \
        " ".join(machine.bits(v) for row in rows for v in row)


def array_of(text):
    """[1 2; 3 4]: rows of two columns.  [1 2] alone is an array of one dimension."""
    rows = [[float(v) for v in row.split()] for row in text.split(";")]
    return rows if len(rows) > 1 else [[v] for v in rows[0]]


def test_docs():
    with open(DOCS) as f:
        text = f.read()
    rows = re.findall(r"^(.+?) {2,}\[(.*?)\] +-> +\[(.*?)\]$", text, re.M)
    lines = []
    for expr, given, _ in rows:
        lines += [data_line(Machine(False), array_of(given)), "expr " + expr]
    rc, got, err = evaluate(lines)
    ok(rc == 0 and len(rows) > 12 and len(got) == len(rows), f"docs/expressions.md has {len(rows)} examples", err)
    for (expr, _, wanted), line in zip(rows, got):
        rows_out = array_of(wanted)
        want = f"= {len(rows_out[0])} " + " ".join(Machine(False).bits(v) for row in rows_out for v in row)
        ok(line == want, f"{expr}: as the docs have it", f"want {want}\ngot  {line}")
    named = set(re.findall(r"\b[a-z]\w*(?=\()", re.search(r"functions of reals \|(.*?)\|\n", text)[1]))
    ok(named == set(FUNCTIONS) | {"copysign", "fmin", "fmax"}, "and all functions", sorted(named ^ set(FUNCTIONS)))


# ---- functions: a few ulp of Python's at most, so none is another; how exact they are is tests/unit/kernels_math.c's

FUNCTIONS = {
    "exp": math.exp, "exp2": lambda x: 2.0**x, "expm1": math.expm1, "log": math.log, "log2": math.log2, "log10": math.log10,
    "log1p": math.log1p, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "sin": math.sin, "cos": math.cos, "tan": math.tan,
    "asin": math.asin, "acos": math.acos, "atan": math.atan, "sqrt": math.sqrt, "rsqrt": lambda x: 1 / math.sqrt(x),
    "cbrt": lambda x: math.copysign(abs(x)**(1 / 3), x), "erf": math.erf, "erfc": math.erfc, "floor": math.floor, "ceil": math.ceil,
    "trunc": math.trunc, "rint": round, "round": lambda x: math.floor(x + 0.5) if x > 0 else math.ceil(x - 0.5),
    "atan2": math.atan2, "hypot": math.hypot, "pow": math.pow, "fmod": math.fmod,
}
TWO = ("atan2", "hypot", "pow", "fmod")


def called(f, *args):
    try:
        return float(f(*args))
    except (ValueError, ZeroDivisionError):
        return None                        # Python raises where C gives NaN or infinity
    except OverflowError:
        return None


def near(machine, bits, want):
    got = struct.unpack("<f" if machine.single else "<d", int(bits, 16).to_bytes(4 if machine.single else 8, "little"))[0]
    return abs(got - want) <= (2.0**-21 if machine.single else 2.0**-46) * abs(want) + (2e-38 if machine.single else 1e-307)


def test_functions():
    for single in True, False:
        m = Machine(single)
        rows = [[m.round(v) for v in pair] for pair in
                [(R.uniform(-1, 1), R.uniform(-1, 1)) for _ in range(70)] + [(R.uniform(-30, 30), R.uniform(-5, 5)) for _ in range(70)] +
                [(R.uniform(0, 1e6), R.uniform(0, 3)) for _ in range(70)] + [(1e9, 2.5), (-3e22, 1.5)]]
        exprs = {f: f"{f}(x[0], x[1])" if f in TWO else f"{f}(x[0])" for f in FUNCTIONS}
        rc, got, err = evaluate([data_line(m, rows)] + ["expr " + e for e in exprs.values()])
        for name, line in zip(exprs, got):
            words = line.split()[2:]
            wants = [called(FUNCTIONS[name], *row) if name in TWO else called(FUNCTIONS[name], row[0]) for row in rows]
            pairs = [(r, b, w) for r, b, w in zip(rows, words, wants) if w is not None and abs(m.round(w)) != INF]
            bad = [p for p in pairs if not near(m, p[1], p[2])]
            ok(len(pairs) > 20 and not bad and "differs" not in line, f"{name} of {'f32' if single else 'f64'}", bad[:5] or line[:200])


# ---- the whole program

def test_errors():
    with tempfile.TemporaryDirectory() as folder:
        cases = ((["-e", "x - row_meen"], ["    x - row_meen", "        ^"]),
                 (["-k", "relu", "-e", "x[2], x[9]"], ["    x[2], x[9]", "          ^"]),
                 (["-e", "x * 1e39"], ["    x * 1e39", "        ^"]))
        for words, shown in cases:
            got = run([CUDIST, "random:shape=5x3", *words, "-o", "o.npy"], cwd=folder)
            lines = got.stderr.splitlines()
            ok(got.rc == 2 and len(got.lines) == 1 and lines[-2:] == shown and not os.listdir(folder), f"{words[-1]}: a line and its place", got)
        with open(os.path.join(folder, "a.job"), "w") as f:
            f.write("input = random:shape=5\nexpr = x +\n")
        got = run([CUDIST, "--job", "a.job"], cwd=folder)
        ok(got.rc == 2 and "a.job:2: " in got.lines[0] and got.stderr.splitlines()[-1] == "       ^", "in a job file, too", got)
        got = run([CUDIST, "-q", "random:shape=5,dist=index", "-e", "-x", "-o", "o.npy"], cwd=folder)
        ok(got.rc == 0, "what begins with a minus is an expression", got)


test_random()
test_docs()
test_errors()
test_functions()
sys.exit(done())
