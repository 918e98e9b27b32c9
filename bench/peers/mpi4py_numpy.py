"""mpirun -np N mpi4py_numpy.py IN OUT: numpy_chunks.py with every rank doing its share of the rows.  Rank 0 prints the seconds
without the start of Python, NumPy and MPI."""
import os
import sys
import time

from mpi4py import MPI

import common


def main(source_path, sink_path):
    world = MPI.COMM_WORLD
    me, ranks = world.Get_rank(), world.Get_size()
    world.Barrier()
    began = time.perf_counter()
    shape, dtype, offset = common.header(source_path)
    if me == 0:
        os.close(common.make_output(sink_path, shape, dtype))
    world.Barrier()
    source, sink = os.open(source_path, os.O_RDONLY), os.open(sink_path, os.O_WRONLY)
    first, last = (shape[0] * r // ranks * shape[1] for r in (me, me + 1))
    mine, all_ = common.Moments(), common.Moments()
    common.stream(source, sink, offset, first, last, mine)
    for m in world.gather(mine, root=0) or []:
        if m.n:
            all_.join(m.n, m.mean, m.m2, m.min, m.max)
    if me == 0:
        common.report(began)


main(*sys.argv[1:])
