#!/usr/bin/env python3
"""Writes the witnesses: what each step must give, worked out in exact and decimal arithmetic, not by the kernels.

    python3 witness.py [FOLDER]      writes FOLDER/NAME.tsv (default: this folder) for every step

A line is one case, its fields separated by tabs:
    type  ulps  columns in  columns out  parameters (k=v,...; - for none)  in  out  [array ...]
Numbers are C hexadecimal, nan, inf; N*X is X N times; = for "in" is that of the line before.  An array is SHAPE:numbers, as 3x2:1 2 3 4 5 6, or - where not given.
ulps is how far a result may be from the one here, which is exact but for one rounding; 0: the same bits."""
import os
import sys
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction

getcontext().prec = 60
getcontext().Emin, getcontext().Emax = -10**6, 10**6
FORMATS = {"f32": (24, -149, 128), "f64": (53, -1074, 1024)}      # digits, the least exponent, the first too great
NARROW = {"f16": (11, -24, 16), "bf16": (8, -133, 128), "f32": (24, -149, 128)}
NAN, INF = "nan", "inf"


def rounded(x, form):
    """A Fraction, to the nearest number of the format, to even in the middle; the sign of zero is lost."""
    digits, low, high = (FORMATS | NARROW)[form]
    if x == 0:
        return Fraction(0)
    a = abs(x)
    e = a.numerator.bit_length() - a.denominator.bit_length()
    while Fraction(2) ** e > a:
        e -= 1
    while Fraction(2) ** (e + 1) <= a:
        e += 1
    unit = Fraction(2) ** max(e - digits + 1, low)
    q = a / unit
    n = q.numerator // q.denominator
    rest = q - n
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and n % 2):
        n += 1
    y = n * unit
    if y >= Fraction(2) ** high:
        return INF if x > 0 else "-inf"
    return y if x > 0 else -y


def text(x, negative=False):
    if isinstance(x, str):
        return x
    if x == 0:
        return "-0x0p+0" if negative else "0x0p+0"
    mantissa, exponent = float(x).hex().split("p")      # every f32 and f64 is a Python float
    return mantissa.rstrip("0").rstrip(".") + "p" + exponent


def special(s):
    return isinstance(s, str)


def exact(s):
    """The number in a text that is not NaN or infinite."""
    return Fraction(0) if s == "-0x0p+0" else Fraction(float.fromhex(s))


def decimal(x):
    return Decimal(x.numerator) / Decimal(x.denominator)


def fraction(d):
    return Fraction(d)


def sign(s):
    return -1 if s.startswith("-") else 1


SPECIAL = ["nan", "inf", "-inf", "0x0p+0", "-0x0p+0"]
EDGES = {
    "f32": ["0x1p-149", "-0x1p-149", "0x1.8p-140", "0x1.fffffcp-127", "0x1p-126", "-0x1p-126", "0x1.fffffep+127",
            "-0x1.fffffep+127"],
    "f64": ["0x1p-1074", "-0x1p-1074", "0x1.8p-1060", "0x1.ffffffffffffep-1023", "0x1p-1022", "-0x1p-1022",
            "0x1.fffffffffffffp+1023", "-0x1.fffffffffffffp+1023"],
}


def plain(form, seed, n, low, high):
    """n numbers of the format between low and high, from a small generator of our own."""
    out, state = [], seed
    for _ in range(n):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append(text(rounded(Fraction(low) + Fraction(state >> 11, 2**53) * (Fraction(high) - Fraction(low)), form)))
    return out


class Sheet:
    def __init__(self, name):
        self.name, self.lines = name, []

    def case(self, form, ulps, cols, params, ins, outs, *arrays):
        self.lines.append("\t".join([form, str(ulps), str(cols[0]), str(cols[1]), params or "-", " ".join(ins), " ".join(outs)]
                                    + list(arrays)))

    def write(self, folder):
        before = None
        with open(os.path.join(folder, self.name + ".tsv"), "w") as f:
            f.write("# %s: written by witness.py, which says what the fields are\n" % self.name)
            for line in self.lines:
                fields = line.split("\t")
                ins, fields[5] = fields[5], "=" if fields[5] == before else fields[5]
                before = ins
                f.write("\t".join(fields) + "\n")


# ---- element-wise: functions of the text of one number

def product(a, b):
    """IEEE's a * b as (exact value or text, negative zero?)."""
    if NAN in (a, b):
        return NAN, False
    minus = sign(a) * sign(b) < 0
    if a.endswith(INF) or b.endswith(INF):
        other = b if a.endswith(INF) else a
        if not other.endswith(INF) and exact(other) == 0:
            return NAN, False
        return ("-inf" if minus else INF), False
    return exact(a) * exact(b), minus


def times(a, b, form):
    x, minus = product(a, b)
    return text(x if special(x) else rounded(x, form), minus)


def scale(s, form, factor):
    return times(text(rounded(Fraction(factor), form)) if factor not in SPECIAL else factor, s, form)


def affine(s, form, factor, shift):
    """Two roundings.  shift is neither 0 nor special."""
    x = scale(s, form, factor)
    if x in SPECIAL[:3]:
        return x
    b = rounded(Fraction(shift), form)
    return text(rounded(exact(x) + b, form))


def relu(s, form):
    return s if s in (NAN, INF) or (s not in SPECIAL and exact(s) > 0) else "0x0p+0"


def exp(s, form):
    if s in SPECIAL:
        return {"nan": NAN, "inf": INF, "-inf": "0x0p+0"}.get(s, "0x1p+0")
    x = decimal(exact(s))
    if abs(x) > 2000:
        return INF if x > 0 else "0x0p+0"
    return text(rounded(fraction(x.exp()), form))


def log(s, form):
    if s in SPECIAL:
        return {"nan": NAN, "inf": INF, "-inf": NAN}.get(s, "-inf")
    x = exact(s)
    if x < 0:
        return NAN
    if x == 1:
        return "0x0p+0"
    return text(rounded(fraction(decimal(x).ln()), form))


def tanh(s, form):
    if s in SPECIAL:
        return {"inf": "0x1p+0", "-inf": "-0x1p+0"}.get(s, s)
    x = exact(s)
    a = abs(x)
    if a > 40:
        y = Fraction(1)
    elif a < Fraction(1, 2**40):
        y = a - a**3 / 3                  # the next term is below 2^-200 of it
    else:
        t = fraction((2 * decimal(a)).exp())
        y = (t - 1) / (t + 1)
    return text(rounded(y if x > 0 else -y, form), x < 0)


def number(s):
    return s not in SPECIAL[:3]


def absolute(s, form):
    return s.lstrip("-")


def neg(s, form):
    return s if s == NAN else s[1:] if s.startswith("-") else "-" + s


def square(s, form):
    return times(s, s, form)


def reciprocal(s, form):
    if not number(s):
        return {"inf": "0x0p+0", "-inf": "-0x0p+0"}.get(s, NAN)
    return text(rounded(1 / exact(s), form), s.startswith("-")) if exact(s) else "-inf" if s.startswith("-") else INF


def root(s, form):
    if s in SPECIAL:
        return NAN if s == "-inf" else s
    return NAN if s.startswith("-") else text(rounded(fraction(decimal(exact(s)).sqrt()), form))


def sign_of(s, form):
    return NAN if s == NAN else "0x0p+0" if number(s) and exact(s) == 0 else "-0x1p+0" if s.startswith("-") else "0x1p+0"


def clip(s, form, low, high):
    """low and high are numbers of both formats, or infinite."""
    if s == NAN:
        return s
    if low != "-inf" and (s == "-inf" or (number(s) and exact(s) < exact(low))):
        return low
    return high if high != INF and (s == INF or (number(s) and exact(s) > exact(high))) else s


def leaky_relu(s, form, slope):
    return s if s in (NAN, INF) or (number(s) and exact(s) > 0) else scale(s, form, slope)


def logistic(x):
    """1 / (1 + exp(-x)) of a Decimal."""
    return 1 / (1 + (-x).exp())


def sigmoid(s, form):
    if not number(s):
        return {"inf": "0x1p+0", "-inf": "0x0p+0"}.get(s, NAN)
    x = exact(s)
    return "0x1p+0" if x > 2000 else "0x0p+0" if x < -2000 else text(rounded(fraction(logistic(decimal(x))), form))


def silu(s, form):
    if not number(s) or abs(exact(s)) > 2000 or exact(s) == 0:
        return {"nan": NAN, "inf": INF, "0x0p+0": "0x0p+0"}.get(s, "-0x0p+0" if s.startswith("-") else s)
    x = decimal(exact(s))
    return text(rounded(fraction(x * logistic(x)), form), x < 0)


def gelu(s, form):
    """x erfc(-x / sqrt 2) / 2, erf(z) = 2 / sqrt(pi) exp(-z^2) (z + 2 z^3 / 3 + 4 z^5 / 15 + ...), with enough digits."""
    if not number(s) or abs(exact(s)) > 60 or exact(s) == 0:
        return silu(s, form)
    with localcontext() as context:
        context.prec = 80 + int(exact(s) ** 2)
        x = decimal(exact(s))
        z = abs(x) / Decimal(2).sqrt()
        term = total_ = z
        n = 0
        while term > total_ * Decimal(10) ** -context.prec:
            n += 1
            term = term * 2 * z * z / (2 * n + 1)
            total_ += term
        erf = total_ * (-z * z).exp() * 2 / pi().sqrt()
        return text(rounded(fraction(x * (1 + erf if x > 0 else 1 - erf) / 2), form), x < 0)


def pi():
    """By Machin's formula, to the context's precision."""
    digits = getcontext().prec + 10
    def arctan_of_inverse(n):
        total_ = term = 10**digits // n
        k = 1
        while term:
            term //= -n * n
            k += 2
            total_ += term // k
        return total_
    return Decimal(4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))) / Decimal(10) ** digits


def gelu_tanh(s, form):
    if not number(s) or abs(exact(s)) > 2000 or exact(s) == 0:
        return silu(s, form)
    x = decimal(exact(s))
    u = (2 / pi()).sqrt() * (x + Decimal("0.044715") * x**3)
    y = x * logistic(2 * u) if u > -10**5 else Decimal(0)
    return text(rounded(fraction(y), form), x < 0)


def elu(s, form, alpha):
    if s in (NAN, INF) or (number(s) and exact(s) >= 0):
        return s
    if s == "-inf" or exact(s) < -2000:
        return text(-rounded(Fraction(alpha), form))
    x = exact(s)
    y = fraction(decimal(x).exp() - 1) if x < -Fraction(1, 2**60) else x + x * x / 2
    return text(rounded(y * rounded(Fraction(alpha), form), form), True)


def softplus(s, form, beta, threshold):
    if s == NAN or s == ("inf" if beta > 0 else "-inf"):
        return s
    if not number(s):
        return "0x0p+0" if beta > 0 else "-0x0p+0"
    b = exact(s) * Fraction(beta)
    if b > threshold:
        return s
    e = Decimal(0) if b < -2000 else decimal(b).exp()
    y = (1 + e).ln() if b > -40 else e - e * e / 2
    return text(rounded(fraction(y) / Fraction(beta), form), beta < 0)


def round_to(s, form, decimals):
    """Each operation rounded, as NumPy does."""
    def divided(a, b):
        return text(rounded(exact(a) / exact(b), form), a.startswith("-"))
    if s in SPECIAL:
        return s
    ten = text(rounded(Fraction(10) ** abs(decimals), form))
    moved = times(s, ten, form) if decimals >= 0 else divided(s, ten)
    if moved.endswith(INF):
        return s
    whole = exact(moved)
    whole = text(Fraction(round(whole)), moved.startswith("-"))      # Python's round is to even in the middle
    back = divided(whole, ten) if decimals >= 0 else times(whole, ten, form)
    return s if back.endswith(INF) else back


def each(name, function, ulps, inputs, cases=(("", ()),)):
    sheet = Sheet(name)
    for form in FORMATS:
        values = SPECIAL + EDGES[form] + inputs(form)
        for params, args in cases:
            sheet.case(form, ulps, (1, 1), params, values, [function(s, form, *args) for s in values])
    return sheet


def near(form, *values):
    """Each value, rounded, and one a few ulps to either side."""
    digits = FORMATS[form][0]
    out = []
    for v in values:
        x = rounded(Fraction(v), form)
        step = Fraction(2) ** (abs(x).numerator.bit_length() - abs(x).denominator.bit_length() - digits)
        out += [text(rounded(x + k * step, form)) for k in (-2, 0, 2)]
    return out


def exp_inputs(form):
    ends = {"f32": ("88.7228390", "-87.33654", "-103.97208"),
            "f64": ("709.782712893384", "-708.3964185322641", "-745.133219")}[form]
    half = Decimal(2).ln() / 2
    return (near(form, *(Fraction(e) for e in ends), *(fraction(half * k) for k in (-3, -1, 1, 3, 40)))
            + plain(form, 1, 30, -1, 1) + plain(form, 2, 30, -80, 80)
            + plain(form, 3, 10, -104 if form == "f32" else -745, -87))


def log_inputs(form):
    return (near(form, 1, fraction(Decimal(2).sqrt()), fraction(Decimal("0.5").sqrt()), 2, fraction(Decimal(1).exp()))
            + plain(form, 4, 30, Fraction(1, 2), 2) + plain(form, 5, 30, 0, 1000) + ["-0x1p+0", "0x1.8p-130", "0x1.23456p+100"])


def tanh_inputs(form):
    return (near(form, Fraction("0.35"), Fraction("-0.35"), Fraction("0.1732867951"), 9, 19, 22)
            + plain(form, 6, 30, -1, 1) + plain(form, 7, 20, -10, 10) + ["0x1p-30", "-0x1p-12", "0x1.23456p-9", "0x1.8p+6"])


def cast(s, form, to):
    """As --out-dtype to a narrower type, and back."""
    if to in NARROW:
        return s if s in SPECIAL else text(rounded(exact(s), to), s.startswith("-"))
    if to == "bool":
        return "0x0p+0" if s == NAN or (number(s) and exact(s) == 0) else "0x1p+0"
    bits, least = int(to[1:]), 0
    if to[0] == "i":
        bits -= 1
        least = -2**bits
    if s == NAN:
        return "0x0p+0"
    n = least if s == "-inf" else 2**bits - 1 if s == INF else min(max(round(exact(s)), least), 2**bits - 1)
    return text(rounded(Fraction(n), form))


def cast_inputs(form):
    return (["0x1p-1", "0x1.8p+0", "-0x1p-1", "-0x1.8p+0", "0x1.ffcp+15", "0x1.ffep+15", "0x1.ffdffep+15", "0x1p-24",
             "0x1p-25", "0x1.8p-25", "0x1.004p+0", "0x1.00cp+0", "0x1.01p+0", "0x1.03p+0", "0x1.fep+6", "0x1.fefp+6", "0x1.fep+7",
             "0x1.ffp+7", "-0x1p+7", "-0x1.01p+7", "-0x1.03p+7", "0x1.fffffep+30", "0x1p+31", "-0x1p+31", "0x1p+32", "0x1p+63", "-0x1p+63", "0x1p+64"]
            + plain(form, 50, 10, -200, 200) + plain(form, 51, 10, -10**5, 10**5) + plain(form, 52, 5, -10**10, 10**10))


def wide_inputs(form):
    """From where exponentials are subnormal to where they are 1, on both sides."""
    far = 104 if form == "f32" else 745
    return (plain(form, 41, 20, -1, 1) + plain(form, 42, 20, -20, 20) + plain(form, 43, 20, -far, far)
            + plain(form, 44, 10, -far - 5, -far + 20) + ["-0x1p-30", "0x1p-30", "0x1.4p+4", "0x1.4p+5"])


def gelu_inputs(form):
    far = 15 if form == "f32" else 39
    return (near(form, Fraction("0.9"), Fraction("-0.9"), Fraction("0.8838834764"), 1, -1) + plain(form, 45, 20, -1, 1)
            + plain(form, 46, 20, -6, 6) + plain(form, 47, 15, -far, far) + ["-0x1p-30", "0x1p-30"])


def round_inputs(form):
    return (["0x1p-1", "-0x1p-1", "0x1.8p+0", "0x1.4p+1", "-0x1.cp+1", "0x1.fffffep-2", "0x1.fffffep+22", "0x1p+23", "0x1.2cp+7",
             "-0x1.9p+5", "0x1.5ep+8", "0x1.6p+0", "0x1.48p+3"]
            + plain(form, 48, 20, -100, 100) + plain(form, 49, 10, -10**6, 10**6))


# ---- of rows

def expand(pattern):
    out = []
    for p in pattern:
        n, star, x = p.partition("*")
        out += [x] * int(n) if star else [p]
    return out


def total(pattern, form):
    xs = expand(pattern)
    if NAN in xs or (INF in xs and "-inf" in xs):
        return NAN
    if INF in xs or "-inf" in xs:
        return INF if INF in xs else "-inf"
    return text(rounded(sum((exact(s) for s in xs), Fraction(0)), form))


def sum_sheet():
    sheet = Sheet("sum")
    for form in FORMATS:
        ulps = 0 if form == "f32" else 2
        whole = [["1*0x1p+0"], ["0x1p+0", "0x1p+1", "-0x1p+2"], ["31*0x1p+0"], ["32*0x1p+0"], ["33*0x1p-1"], ["4096*0x1p+0"],
                 ["4097*0x1p+0"], ["9000*0x1.8p+0", "0x1p+3"], ["32768*0x1p+0", "0x1p+0"], ["-0x0p+0"], ["nan", "40*0x1p+0"],
                 ["5000*0x1p+0", "inf"], ["inf", "50*0x1p+0", "-inf"], ["-inf", "0x1p+0"], EDGES[form][:6]]
        for row in whole:
            sheet.case(form, ulps if row == whole[-1] else 0, (len(expand(row)), 1), "", row, [total(row, form)])
        for n, seed in ((5, 11), (31, 12), (100, 13), (300, 14)):
            row = plain(form, seed, n, 0, 10)
            sheet.case(form, ulps, (n, 1), "", row, [total(row, form)])
    return sheet


def softmax_of(row, form):
    xs = expand(row)
    if NAN in xs or INF in xs or all(s == "-inf" for s in xs):
        return [NAN] * len(xs)
    most = max(exact(s) for s in xs if s != "-inf")
    e = [Decimal(0) if s == "-inf" else decimal(exact(s) - most).exp() for s in xs]
    whole = sum(e)
    return [text(rounded(fraction(v / whole), form)) for v in e]


def softmax_sheet():
    sheet = Sheet("softmax")
    for form in FORMATS:
        rows = [["0x1p+0"], ["0x1p+0", "0x1p+1"], ["-0x0p+0", "0x0p+0", "0x1p+0"], ["nan", "0x1p+0"],
                ["inf", "0x1p+0", "0x1p+1"], ["-inf", "-inf"], ["-inf", "0x1p+1", "0x1.8p+1"],
                ["0x1p+6", "-0x1p+6", "0x1p-2"], ["0x1.9p+9", "-0x1.9p+9"]]
        for row in rows:
            sheet.case(form, 3, (len(row), len(row)), "", row, softmax_of(row, form))
        for n, seed in ((10, 21), (33, 22), (100, 23)):   # multiples of 1/64: the differences are exact
            row = [text(Fraction(int(exact(s) * 64), 64)) for s in plain(form, seed, n, -6, 6)]
            sheet.case(form, 4, (n, n), "", row, softmax_of(row, form))
        sheet.case(form, 3, (4100, 4100), "", ["4100*0x1p-1"], ["4100*" + softmax_of(["4100*0x1p-1"], form)[0]])
    return sheet


ROWS = [["0x1p+0"], ["-0x0p+0"], ["-0x0p+0", "0x0p+0"], ["0x0p+0", "-0x0p+0"], ["0x1p+0", "0x1p+1", "-0x1p+2"],
        ["nan", "0x1p+0"], ["0x1p+0", "nan", "inf", "nan"], ["-inf", "-inf"], ["-inf", "0x1p+1", "inf", "-0x1p+1", "inf"],
        ["40*0x1p+0", "0x1p+1", "0x1p+1"], ["5000*-0x1p+0", "0x1p-1", "4000*0x0p+0", "0x1p-1"], ["100*-inf", "nan", "nan"], ["70*nan"],
        ["4096*0x1p+0", "0x1p+1", "0x1p-149"]]


def rows_and_more(form):
    return ROWS + [EDGES[form]] + [plain(form, 60 + n, n, -5, 5) for n in (10, 33, 100, 300)]


def mean_sheet():
    sheet = Sheet("mean")
    for form in FORMATS:
        for row in ROWS + [EDGES[form][:6]] + [plain(form, 60 + n, n, 0, 10) for n in (10, 33, 100, 300)]:
            xs = expand(row)
            s = total(row, form)
            y = s if s in SPECIAL[:3] else text(rounded(sum((exact(x) for x in xs), Fraction(0)) / len(xs), form))
            sheet.case(form, 0 if form == "f32" else 2, (len(xs), 1), "", row, [y])
    return sheet


def ordered(xs, largest=True):
    """Indices, the greatest or least first, of equal ones the first first; NaN as the greatest, but last among the least."""
    big = Fraction(2) ** 2000
    value = lambda s: big * 2 if s == NAN else big if s == INF else -big if s == "-inf" else exact(s)
    return sorted(range(len(xs)), key=lambda i: (-value(xs[i]) if largest else value(xs[i]), i))


def best_sheet(name, give):
    sheet = Sheet(name)
    for form in FORMATS:
        for row in rows_and_more(form):
            xs = expand(row)
            sheet.case(form, 0, (len(xs), 1), "", row, [give(xs, ordered(xs)[0])])
    return sheet


def topk_sheet():
    sheet = Sheet("topk")
    for form in FORMATS:
        for row in rows_and_more(form):
            xs = expand(row)
            for k in (1, 3, len(xs)) if len(xs) < 50 else (7,):
                for largest in ("yes", "no"):
                    at = ordered(xs, largest == "yes")[:k]
                    if k <= len(xs):
                        params = "k=%d,largest=%s,give=" % (k, largest)
                        sheet.case(form, 0, (len(xs), k), params + "values", row, [xs[i] for i in at])
                        sheet.case(form, 0, (len(xs), k), params + "indices", row, [text(Fraction(i)) for i in at])
    return sheet


def onehot_sheet():
    sheet = Sheet("onehot")
    for form in FORMATS:
        for n in (1, 3, 40):
            xs = ["0x0p+0", "-0x0p+0", "0x1p+0", "0x1p+1", "0x1.8p+1", "0x1.38p+5", "0x1.4p+5", "-0x1p+0", "0x1p-1", "nan", "inf",
                  "-inf"]
            hot = [["0x1p+0" if number(x) and exact(x) == i else "0x0p+0" for i in range(n)] for x in xs]
            sheet.case(form, 0, (1, n), "classes=%d" % n, xs, sum(hot, []))
            sheet.case(form, 0, (3, 3 * n), "classes=%d" % n, xs, sum(hot, []))
    return sheet


def log_softmax_sheet():
    """Like softmax's.  The greatest element of a row of f64 is only good to 2^-52: the sum of exponentials has no more."""
    sheet = Sheet("log_softmax")
    for form in FORMATS:
        rows = [["0x1p+0"], ["0x1p+0", "0x1p+1"], ["-0x0p+0", "0x0p+0", "0x1p+0"], ["nan", "0x1p+0"],
                ["inf", "0x1p+0", "0x1p+1"], ["-inf", "-inf"], ["-inf", "0x1p+1", "0x1.8p+1"], ["4100*0x1p-1"]]
        rows += [["0x1p+3", "-0x1p+3", "0x1p-2"]] if form == "f32" else []
        for n, seed in ((10, 71), (33, 72), (100, 73)):   # multiples of 1/64: the differences are exact
            rows.append([text(Fraction(int(exact(s) * 64), 64)) for s in plain(form, seed, n, -6, 6)])
        for row in rows:
            xs = expand(row)
            if NAN in xs or INF in xs or all(s == "-inf" for s in xs):
                y = [NAN] * len(xs)
            else:
                most = max(exact(s) for s in xs if s != "-inf")
                whole = sum(decimal(exact(s) - most).exp() for s in xs if s != "-inf").ln()
                y = [s if s == "-inf" else text(rounded(exact(s) - most - fraction(whole), form)) for s in xs]
            y = ["%d*%s" % (len(xs), y[0])] if len(set(y)) == 1 else y
            sheet.case(form, 3 if form == "f32" else 16, (len(xs), len(xs)), "", row, y)
    return sheet


def l2norm_of(xs, form, eps):
    if NAN in xs:
        return [NAN] * len(xs)
    if INF in xs or "-inf" in xs:
        return [NAN if s.endswith(INF) else "-0x0p+0" if s.startswith("-") else "0x0p+0" for s in xs]
    norm = max(decimal(sum(exact(s) ** 2 for s in xs)).sqrt(), Decimal(eps))
    return [text(rounded(fraction(decimal(exact(s)) / norm), form), s.startswith("-")) for s in xs]


def l2norm_sheet():
    sheet = Sheet("l2norm")
    for form in FORMATS:
        great, tiny = EDGES[form][6], EDGES[form][0]
        rows = ROWS[:10] + [["0x1.8p+1", "0x1p+2"], ["0x0p+0"] * 3, [great, great, "-" + great], ["0x1p-60", "0x1p-61"]]
        rows += [plain(form, 80 + n, n, -5, 5) for n in (10, 33, 100)]
        for row in rows:
            for eps in ("1e-12", "0.5"):
                xs = expand(row)
                sheet.case(form, 0 if form == "f32" else 2, (len(xs), len(xs)), "eps=" + eps, row, l2norm_of(xs, form, eps))
        row = [tiny, "-" + tiny, tiny]
        sheet.case(form, 0 if form == "f32" else 2, (3, 3), "eps=0", row, l2norm_of(row, form, "0"))
    return sheet


def standardize(s, form, mean, std):
    if s in SPECIAL[:3]:
        return s
    x = rounded(exact(s) - exact(mean), form)
    if special(x):
        return x
    return text(rounded(x / exact(std), form), x < 0 or (x == 0 and s == "-0x0p+0" and mean == "0x0p+0"))


def standardize_sheet():
    """std is positive; no difference overflows."""
    sheet = Sheet("standardize")
    for form in FORMATS:
        xs = SPECIAL + EDGES[form][:6] + plain(form, 90, 19, -100, 100)
        means, stds = plain(form, 91, 3, -50, 50), ["0x1p+1", "0x1.8p-1", "0x1.4p+3"]
        for mean, std in (("0x0p+0", "0x1p+0"), ("0x1p-3", "0x1.8p+1")):
            y = [standardize(s, form, mean, std) for s in xs]
            sheet.case(form, 0, (1, 1), "mean=%s,std=%s" % (mean, std), xs, y, "-", "-")
        sheet.case(form, 0, (3, 3), "", xs, [standardize(s, form, means[i % 3], stds[i % 3]) for i, s in enumerate(xs)],
                   "3:" + " ".join(means), "3:" + " ".join(stds))
        sheet.case(form, 0, (3, 3), "std=0x1p+1", xs, [standardize(s, form, means[i % 3], "0x1p+1") for i, s in enumerate(xs)],
                   "1x3:" + " ".join(means), "-")
        y = [standardize(s, form, "-0x1p+0", stds[i % 3]) for i, s in enumerate(xs)]
        sheet.case(form, 0, (3, 3), "mean=-0x1p+0", xs, y, "-", "3:" + " ".join(stds))
    return sheet


def dense_of(rows, k, n, weights, bias, activation, form):
    out = []
    for r in range(len(rows) // k):
        for j in range(n):
            y = sum(exact(rows[r * k + i]) * exact(weights[i * n + j]) for i in range(k))
            y = rounded(y + exact(bias[j]) if bias else y, form)
            s = text(y)
            out.append(relu(s, form) if activation == "relu" else tanh(s, form) if activation == "tanh" else s)
    return out


def dense_case(sheet, form, ulps, shape, activation, layout, biased, exactly):
    m, k, n, seed = shape
    def values(s, count):
        v = plain(form, s, count, -4, 4)
        return [text(Fraction(int(exact(x) * 8), 8)) for x in v] if exactly else v
    rows, weights, bias = values(seed, m * k), values(seed + 1, k * n), values(seed + 2, n) if biased else None
    stored = weights if layout == "in-out" else [weights[i * n + j] for j in range(n) for i in range(k)]
    dims = (k, n) if layout == "in-out" else (n, k)
    sheet.case(form, ulps, (k, n), "activation=%s,layout=%s" % (activation, layout), rows,
               dense_of(rows, k, n, weights, bias, activation, form), "%dx%d:%s" % (dims + (" ".join(stored),)),
               "%d:%s" % (n, " ".join(bias)) if biased else "-")


def dense_sheet():
    sheet = Sheet("dense")
    for form in FORMATS:
        dense_case(sheet, form, 0, (1, 1, 1, 31), "none", "in-out", False, True)
        dense_case(sheet, form, 0, (3, 5, 2, 32), "none", "in-out", True, True)
        dense_case(sheet, form, 0, (3, 40, 3, 33), "relu", "out-in", True, True)
        dense_case(sheet, form, 0, (2, 9, 66, 34), "none", "out-in", False, True)
        dense_case(sheet, form, 0, (1, 34, 5, 35), "relu", "in-out", True, True)
        dense_case(sheet, form, 2, (5, 3, 4, 36), "tanh", "in-out", True, True)
        # Sums that round: 12 terms of at most 16; a sum of 2 may be off by 12 * 192 / 2 of its ulps, and is not.
        dense_case(sheet, form, 64, (4, 12, 9, 37), "none", "in-out", True, False)
        sheet.case(form, 0, (2, 2), "activation=relu,layout=in-out", ["nan", "0x1p+0", "inf", "0x1p+0"], [NAN, NAN, INF, NAN],
                   "2x2:0x1p+0 0x0p+0 0x1p+0 -0x1p+0", "-")
    return sheet


def gelu_sheet():
    sheet = each("gelu", gelu, 4, gelu_inputs, [("approximate=none", ())])
    sheet.lines += each("gelu", gelu_tanh, 4, gelu_inputs, [("approximate=tanh", ())]).lines
    return sheet


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    some = lambda form: plain(form, 8, 20, -100, 100)
    tenth = "0x1.999999999999ap-4"        # is rounded once more for f32
    affines = [("scale=%s,shift=%s" % c, c) for c in (("1", "0x1p-3"), ("-0x1.8p+0", "0x1p+5"), (tenth, "0x1p-20"))]
    scales = [("factor=" + c, (float.fromhex(c) if c not in SPECIAL else c,))
              for c in ("0x1p+1", "-0x1.8p+0", "0x0p+0", "nan", "inf", tenth)]
    sheets = [
        each("scale", scale, 0, some, scales),
        each("affine", affine, 0, some, [(p, tuple(float.fromhex(v) for v in c)) for p, c in affines]),
        each("relu", relu, 0, some),
        each("copy", lambda s, form: s, 0, some),
        each("exp", exp, 1, exp_inputs),
        each("log", log, 1, log_inputs),
        each("tanh", tanh, 2, tanh_inputs),
        each("abs", absolute, 0, some),
        each("neg", neg, 0, some),
        each("square", square, 0, some),
        each("reciprocal", reciprocal, 0, some),
        each("sqrt", root, 0, some),
        each("sign", sign_of, 0, some),
        each("clip", clip, 0, some, [("min=%s,max=%s" % c, c)
                                     for c in (("-0x1.8p+0", "0x1p+5"), ("0x0p+0", INF), ("-inf", "0x1p+4"))]),
        each("round", round_to, 0, round_inputs, [("decimals=%d" % d, (d,)) for d in (0, 1, 3, -2, 22)]),
        each("leaky_relu", leaky_relu, 0, some, [("negative_slope=" + c, (float.fromhex(c),))
                                                 for c in ("0x1.47ae147ae147bp-7", "-0x1p-1")]),
        each("elu", elu, 2, wide_inputs, [("alpha=" + c, (float.fromhex(c),)) for c in ("0x1p+0", "0x1.8p-1")]),
        each("sigmoid", sigmoid, 3, wide_inputs),
        each("silu", silu, 3, wide_inputs),
        each("softplus", softplus, 3, wide_inputs, [("beta=%s,threshold=%s" % c, tuple(float.fromhex(v) for v in c))
                                                    for c in (("0x1p+0", "0x1.4p+4"), ("-0x1p+1", "0x1p+3"))]),
        each("cast", cast, 0, cast_inputs, [("dtype=" + t, (t,)) for t in
                                            ("bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", *NARROW)]),
        gelu_sheet(), mean_sheet(), log_softmax_sheet(), l2norm_sheet(), standardize_sheet(), topk_sheet(), onehot_sheet(),
        best_sheet("max", lambda xs, i: xs[i]), best_sheet("argmax", lambda xs, i: text(Fraction(i))),
        sum_sheet(), softmax_sheet(), dense_sheet(),
    ]
    for sheet in sheets:
        sheet.write(folder)


main()
