"""numpy_chunks.py IN OUT: doubles an f32 array chunk by chunk, with mean, variance, min and max.  Prints the seconds without
Python's and NumPy's own start."""
import os
import sys
import time

import common


def main(source_path, sink_path):
    began = time.perf_counter()
    shape, dtype, offset = common.header(source_path)
    moments = common.Moments()
    source, sink = os.open(source_path, os.O_RDONLY), common.make_output(sink_path, shape, dtype)
    common.stream(source, sink, offset, 0, shape[0] * shape[1], moments)
    common.report(began)


main(*sys.argv[1:])
