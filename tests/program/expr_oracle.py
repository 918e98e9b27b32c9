"""Random expressions and what they are, worked out without cudist: docs/expressions.md in Python.

A tree is (kind, ...) with a type, b, i or r.  It is written as C would have it, by C's precedence, and evaluated here, so that
cudist's own reading of it is tested.  Reals are floats; of f32 each result is rounded, which is exact for + - * / sqrt, as a double
has more than twice the digits."""
import ctypes, math, struct
from fractions import Fraction

LEVEL = {"*": 11, "/": 11, "%": 11, "+": 10, "-": 10, "<<": 9, ">>": 9, "<": 8, "<=": 8, ">": 8, ">=": 8, "==": 7, "!=": 7, "&": 6, "^": 5,
         "|": 4, "&&": 3, "||": 2}
NAN = float("nan")
INF = float("inf")


def wrap(n):
    """Whole numbers have 64 bits."""
    return (n + 2**63) % 2**64 - 2**63


class Machine:
    """Arithmetic of f32 or f64."""

    def __init__(self, single):
        self.single = single

    def round(self, x):
        return ctypes.c_float(x).value if self.single else x

    def whole(self, n):
        """The nearest real, to even in the middle: one rounding."""
        if not self.single:
            return float(n)
        bits = abs(n).bit_length() - 24
        if bits <= 0:
            return float(n)
        return math.copysign(float(round(Fraction(abs(n), 2**bits)) * 2**bits), n)

    def bits(self, x):
        if x != x:
            return "7fc00000" if self.single else "7ff8000000000000"
        return f"{struct.unpack('<I' if self.single else '<Q', struct.pack('<f' if self.single else '<d', x))[0]:x}"


def divide(a, b):
    if b == 0:
        return NAN if a == 0 or a != a else math.copysign(INF, math.copysign(1, a) * math.copysign(1, b))
    return a / b


def truncate(x):
    return 0 if x != x else -2**63 if x < -2**63 else 2**63 - 1 if x >= 2**63 else int(x)


def quotient(a, b):
    return 0 if b == 0 else wrap(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))


def least(a, b):
    return a if a < b or a != a else b


def greatest(a, b):
    return a if a > b or a != a else b


def ordered(x):
    """-0 is below 0."""
    return x, math.copysign(1, x)


def rounded(f):
    """floor and its like of floats, which keep the sign of a zero."""
    return lambda x: x if x != x or abs(x) == INF or abs(x) >= 2**52 else math.copysign(float(f(x)), x)


def away(x):
    return math.copysign(math.floor(abs(x)) + (abs(x) - math.floor(abs(x)) >= 0.5), x)


REAL = {                                   # functions of reals that are exact, or rounded once
    "sqrt": lambda x: NAN if x != x or x < 0 else math.sqrt(x), "abs": abs, "fabs": abs,
    "floor": rounded(math.floor), "ceil": rounded(math.ceil), "trunc": rounded(math.trunc), "rint": rounded(round), "round": rounded(away),
    "min": least, "max": greatest, "clamp": lambda x, a, b: least(greatest(x, a), b),
    "fmin": lambda a, b: a if b != b else b if a != a else min((a, b), key=ordered),
    "fmax": lambda a, b: a if b != b else b if a != a else max((a, b), key=ordered),
    "fmod": lambda a, b: NAN if a != a or b != b or abs(a) == INF or b == 0 else math.fmod(a, b),
    "copysign": lambda x, y: math.copysign(x, 1 if y != y else y),
}
WHOLE = {"abs": lambda n: wrap(abs(n)), "min": min, "max": max, "clamp": lambda x, a, b: min(max(x, a), b)}
TRUTH = {"isnan": lambda x: x != x, "isinf": lambda x: abs(x) == INF, "isfinite": lambda x: abs(x) < INF,
         "signbit": lambda x: x == x and math.copysign(1, x) < 0}
ARGS = {"min": 2, "max": 2, "fmin": 2, "fmax": 2, "fmod": 2, "copysign": 2, "clamp": 3}
ARITHMETIC = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}
ORDER = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "==": lambda a, b: a == b,
         "!=": lambda a, b: a != b}
SHIFTS = {"<<": lambda a, b: wrap(a << b) if 0 <= b < 64 else 0, ">>": lambda a, b: a >> (b if 0 <= b < 64 else 63)}


def multiply(a, b):
    return NAN if a != a or b != b or (abs(a) == INF and b == 0) or (abs(b) == INF and a == 0) else a * b


class Array:
    def __init__(self, machine, rows, cols, row0, nrows, x):
        self.m, self.rows, self.cols, self.row0, self.nrows, self.x = machine, rows, cols, row0, nrows, x
        self.kept = {}

    def row(self, r):
        return self.x[r * self.cols:(r + 1) * self.cols]

    def fact(self, name, r):
        if (name, r) not in self.kept:
            self.kept[name, r] = self.m.round(self.work_out(name, self.row(r)))
        return self.kept[name, r]

    def work_out(self, name, x):
        """Rows of less than 32 elements are added one after the other, as doubles."""
        if any(v != v for v in x):
            return NAN
        total = 0.0
        for v in x:
            total += v
        mean = divide(total, float(len(x)))
        var = 0.0
        for v in x:
            var += (v - mean) * (v - mean)
        var = divide(var, float(len(x)))
        key = [(v, math.copysign(1, v)) for v in x]
        return {"row_sum": total, "row_mean": mean, "row_var": var, "row_std": REAL["sqrt"](var), "row_min": min(key)[0] if x else NAN,
                "row_max": max(key)[0] if x else NAN}[name]


class Maker:
    """Random trees.  by_row: of expressions that are worked out once a row."""

    def __init__(self, random, array, by_row):
        self.r, self.a, self.by_row = random, array, by_row

    def tree(self, kind, depth):
        if depth <= 0 or self.r.random() < 0.1:
            return self.leaf(kind)
        return {"r": self.real, "i": self.whole, "b": self.truth}[kind](depth)

    def any(self, depth, kinds="rrrib"):
        return self.tree(self.r.choice(kinds), depth)

    def leaf(self, kind):
        r = self.r
        if kind == "b":
            return r.choice([("name", "b", "true"), ("name", "b", "false"), ("op", "b", "<", self.leaf("r"), self.leaf("r"))])
        if kind == "i":
            return r.choice([("name", "i", v) for v in ("row", "nrows", "ncols") + (() if self.by_row else ("i", "col"))] +
                            2 * [("number", "i", r.choice([0, 1, 2, 3, 7, 63, 64, 100, 2**31, 2**63 - 1, r.randrange(2**62)]))])
        own = [("name", "r", "x")] * 4 if not self.by_row else []
        other = [("name", "r", f"row_{f}") for f in ("sum", "mean", "min", "max", "var", "std")]
        if self.a.cols:
            other += [("at", "r", ("number", "i", r.randrange(self.a.cols)))] * (3 if not self.by_row else 8)
        numbers = [0.0, 1.0, 0.5, 2.0, 0.1, 1e10, 3.25, r.uniform(0, 10), r.uniform(0, 1) * 2.0**r.randrange(-20, 20)]
        return r.choice(own + other + [("number", "r", r.choice(numbers))] * 4 + [("name", "r", n) for n in ("pi", "e", "inf", "nan")])

    def real(self, depth):
        r, d = self.r, depth - 1
        way = r.randrange(12)
        if way < 5:
            pair = [self.tree("r", d), self.any(d)]
            r.shuffle(pair)
            return ("op", "r", r.choice("++--**/"), *pair)
        if way < 8:
            f = r.choice(list(REAL))
            args = [self.any(d) for _ in range(ARGS.get(f, 1))]
            if f in WHOLE and all(a[1] != "r" for a in args):
                args[0] = self.tree("r", d)
            return ("call", "r", f, *args)
        if way == 8:
            pair = [self.tree("r", d), self.any(d)]
            r.shuffle(pair)
            return ("choice", "r", self.any(d), *pair)
        if way == 9:
            return ("unary", "r", "-", self.tree("r", d))
        if way == 10:
            return ("cast", "r", self.any(d))
        return ("at", "r", self.tree("i", d)) if self.a.cols else self.leaf("r")

    def whole(self, depth):
        r, d = self.r, depth - 1
        way = r.randrange(12)
        if way < 6:
            pair = [self.any(d, "iib"), self.any(d, "iib")]
            op = r.choice(["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^"])
            if op in "&|^":
                pair = [self.tree("i", d), self.tree("i", d)]
            if op in "/%":                 # what is made of numbers alone is refused if it is 0 or leaves a rest
                pair[1] = ("op", "i", "+", pair[1], ("name", "i", "row"))
            return ("op", "i", op, *pair)
        if way == 6:
            return ("unary", "i", r.choice("-~"), self.tree("i", d))
        if way == 7:
            pair = [self.tree("i", d), self.any(d, "ib")]
            r.shuffle(pair)
            return ("choice", "i", self.any(d), *pair)
        if way == 8:
            f = r.choice(list(WHOLE))
            return ("call", "i", f, *[self.any(d, "iib") for _ in range(ARGS.get(f, 1))])
        return ("cast", "i", self.any(d))

    def truth(self, depth):
        r, d = self.r, depth - 1
        way = r.randrange(10)
        if way < 4:
            pair = [self.any(d, "rri"), self.any(d, "rri")]
            return ("op", "b", r.choice(list(ORDER)), *pair)
        if way < 6:
            return ("op", "b", r.choice(["&&", "||"]), self.any(d), self.any(d))
        if way == 6:
            return ("op", "b", r.choice("&|^"), self.tree("b", d), self.tree("b", d))
        if way == 7:
            return ("unary", "b", "!", self.any(d))
        if way == 8:
            return ("call", "b", r.choice(list(TRUTH)), self.any(d))
        return r.choice([("cast", "b", self.any(d)), ("choice", "b", self.any(d), self.tree("b", d), self.tree("b", d))])


class Writer:
    """C's text of a tree, with blanks and parentheses that change nothing here and there."""

    def __init__(self, random):
        self.r = random

    def blank(self):
        return self.r.choice(["", "", " ", "  ", "\t"])

    def number(self, t):
        v = t[2]
        if t[1] == "i":
            return self.r.choice([str(v), hex(v), f"{v}u", f"{v}LL"])
        return self.r.choice([repr(v), v.hex(), f"{v!r}"])

    def text(self, t, level=0):
        s, own = self.inner(t)
        if own < level or self.r.random() < 0.03:
            return f"({self.blank()}{s}{self.blank()})"
        return s

    def inner(self, t):
        kind = t[0]
        if kind == "name":
            return self.r.choice({"pi": ["pi", "M_PI"], "nan": ["nan", "NAN"]}.get(t[2], [t[2]])), 13
        if kind == "number":
            return self.number(t), 13
        if kind == "at":
            return f"x{self.blank()}[{self.text(t[2])}]", 13
        if kind == "call":
            return f"{t[2]}{self.blank()}({', '.join(self.text(a) for a in t[3:])})", 13
        if kind == "cast":
            name = {"r": ["float", "double"], "i": ["int", "long"], "b": ["bool"]}[t[1]]
            if self.r.random() < 0.3:
                return f"{self.r.choice(name)}({self.text(t[2])})", 13
            return f"({self.r.choice(name)}){self.blank()}{self.text(t[2], 12)}", 12
        if kind == "unary":
            return f"{t[2]}{self.blank()}{self.text(t[3], 12)}", 12
        if kind == "choice":
            return f"{self.text(t[2], 1)} ? {self.text(t[3])} : {self.text(t[4])}", 0
        level = LEVEL[t[2]]
        return f"{self.text(t[3], level)}{self.blank()}{t[2]}{self.r.choice(['', ' '])}{self.text(t[4], level + 1)}", level


class Evaluator:
    def __init__(self, array):
        self.a, self.m = array, array.m

    def as_kind(self, v, was, kind):
        if was == kind:
            return v
        if kind == "b":
            return v != 0
        if kind == "i":
            return int(v) if was == "b" else truncate(v)
        return self.m.whole(int(v))

    def get(self, t, kind, at):
        return self.as_kind(self.value(t, at), t[1], kind)

    def value(self, t, at):
        """at: row and column (None where an expression is worked out once a row)."""
        kind = t[0]
        if kind == "number":
            return self.m.round(t[2]) if t[1] == "r" else t[2]
        if kind == "name":
            return self.name(t[2], at)
        if kind == "at":
            k = self.get(t[2], "i", at)
            return self.a.row(at[0])[k] if 0 <= k < self.a.cols else NAN
        if kind == "cast":
            return self.get(t[2], t[1], at)
        if kind == "choice":
            return self.get(t[3] if self.get(t[2], "b", at) else t[4], t[1], at)
        if kind == "unary":
            return {"-": lambda v: wrap(-v) if t[1] == "i" else -v, "~": lambda v: ~v, "!": lambda v: not v}[t[2]](self.get(t[3], t[1], at))
        if kind == "call":
            return self.call(t, at)
        return self.operation(t, at)

    def name(self, n, at):
        a, (r, c) = self.a, at
        if n.startswith("row_"):
            return a.fact(n, r)
        return {"x": lambda: a.row(r)[c], "row": lambda: a.row0 + r, "col": lambda: c, "i": lambda: (a.row0 + r) * a.cols + c,
                "nrows": lambda: a.nrows, "ncols": lambda: a.cols, "pi": lambda: self.m.round(math.pi), "e": lambda: self.m.round(math.e),
                "inf": lambda: INF, "nan": lambda: NAN, "true": lambda: True, "false": lambda: False}[n]()

    def call(self, t, at):
        f, kind = t[2], t[1]
        if kind == "b":
            return TRUTH[f](self.get(t[3], "r", at))
        args = [self.get(a, kind, at) for a in t[3:]]
        return WHOLE[f](*args) if kind == "i" else self.m.round(REAL[f](*args))

    def operation(self, t, at):
        op, a, b = t[2:]
        if op in ("&&", "||"):
            x, y = self.get(a, "b", at), self.get(b, "b", at)
            return x and y if op == "&&" else x or y
        if t[1] == "b" and op in "&|^":
            x, y = self.get(a, "b", at), self.get(b, "b", at)
            return {"&": x and y, "|": x or y, "^": x != y}[op]
        kind = "r" if "r" in (a[1], b[1]) else "i"
        x, y = self.get(a, kind, at), self.get(b, kind, at)
        if op in ORDER:
            return ORDER[op](x, y)
        if kind == "r":
            return self.m.round(divide(x, y) if op == "/" else multiply(x, y) if op == "*" else ARITHMETIC[op](x, y))
        if op in ARITHMETIC:
            return wrap(ARITHMETIC[op](x, y))
        if op in SHIFTS:
            return SHIFTS[op](x, y)
        if op in "/%":
            q = quotient(x, y)
            return q if op == "/" else wrap(x - q * y)
        return {"&": x & y, "|": x | y, "^": x ^ y}[op]

    def all(self, trees, by_row):
        """Bits of all results, row by row."""
        out = []
        for r in range(self.a.rows):
            if by_row:
                out += [self.m.bits(self.get(t, "r", (r, 0 if self.a.cols == 1 else None))) for t in trees]
            else:
                out += [self.m.bits(self.get(trees[0], "r", (r, c))) for c in range(self.a.cols)]
        return out


def uses(tree, names):
    return (tree[0] == "name" and tree[2] in names) or any(isinstance(t, tuple) and uses(t, names) for t in tree)


def random_array(random, single):
    m = Machine(single)
    rows, cols = random.choice([(5, 1), (3, 4), (40, 3), (2, 31), (1, 7)])
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, INF, -INF, NAN, 1e-40, -3e-310, 1e300, 3e38, 2.0**62, -2.0**63, 2.0**24 + 1]
    x = [m.round(random.choice([random.choice(special), random.gauss(0, 3), random.gauss(0, 3), float(random.randrange(-5, 6))]))
         for _ in range(rows * cols)]
    row0 = random.choice([0, 0, 1000, 2**40])
    return Array(m, rows, cols, row0, row0 + rows + random.choice([0, 5]), x)
