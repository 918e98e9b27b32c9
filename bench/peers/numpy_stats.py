"""numpy_stats.py IN: NumPy's mean, var, min and max of the mapped file.  Prints the seconds without Python's and NumPy's own
start."""
import sys
import time

import numpy as np

began = time.perf_counter()
a = np.load(sys.argv[1], mmap_mode="r")
a.mean(), a.var(), a.min(), a.max()
print(f"{time.perf_counter() - began:.6f}")
