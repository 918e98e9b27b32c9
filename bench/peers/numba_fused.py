"""numba_fused.py IN OUT: one compiled loop on all cores that doubles, sums and stores, chunk by chunk.  Prints the seconds
without Python's start and without compiling."""
import os
import sys
import time

import numba
import numpy as np

import common

CHUNK = 1 << 22          # elements: 16 MiB, so that starting the threads is nothing beside the work


@numba.njit(parallel=True)
def double(x):
    """In place; sums are about the first element."""
    s, q, least, most = 0.0, 0.0, np.float32(np.inf), np.float32(-np.inf)
    base = float(x[0]) * 2
    for i in numba.prange(x.size):
        y = x[i] * np.float32(2)
        x[i] = y
        d = float(y) - base
        s += d
        q += d * d
        least = min(least, y)
        most = max(most, y)
    return base, s, q, least, most


def main(source_path, sink_path):
    double(np.ones(1 << 12, np.float32))
    began = time.perf_counter()
    shape, dtype, offset = common.header(source_path)
    moments, elems = common.Moments(), shape[0] * shape[1]
    source, sink = os.open(source_path, os.O_RDONLY), common.make_output(sink_path, shape, dtype)
    x = np.empty(CHUNK, np.float32)
    for at in range(0, elems, CHUNK):
        a = x[:min(CHUNK, elems - at)]
        os.preadv(source, [memoryview(a).cast("B")], offset + 4 * at)
        base, s, q, least, most = double(a)
        moments.join(a.size, base + s / a.size, q - s * s / a.size, float(least), float(most))
        os.pwrite(sink, memoryview(a).cast("B"), offset + 4 * at)
    common.report(began)


main(*sys.argv[1:])
