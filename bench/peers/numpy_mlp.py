"""numpy_mlp.py IN BATCH W1 B1 W2 B2 ...: x @ w + b with relu between, a batch at a time, all in memory.  Prints the seconds
without the start of Python and NumPy and without reading the files."""
import sys
import time

import numpy as np

x, batch = np.load(sys.argv[1]), int(sys.argv[2])
weights = [np.load(path) for path in sys.argv[3:]]
began = time.perf_counter()
for at in range(0, len(x), batch):
    y = x[at:at + batch]
    for layer in range(0, len(weights), 2):
        y = y @ weights[layer]
        y += weights[layer + 1]
        if layer + 2 < len(weights):
            np.maximum(y, np.float32(0), out=y)
print(f"{time.perf_counter() - began:.6f}")
