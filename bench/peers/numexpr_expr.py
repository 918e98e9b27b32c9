"""numexpr_expr.py IN EXPR: numexpr's evaluate of an f32 array in memory, into one that is there already; constants are of f32: c.
Prints the seconds of one evaluation after another that compiled it."""
import sys
import time

import numexpr
import numpy as np

import common


def main(path, text):
    x, c = np.load(path), np.float32(0.01)
    y = np.zeros_like(x)
    names = {"x": x, "c": c}
    numexpr.evaluate(text, names, {}, out=y)
    began = time.perf_counter()
    numexpr.evaluate(text, names, {}, out=y)
    common.report(began)


main(*sys.argv[1:])
