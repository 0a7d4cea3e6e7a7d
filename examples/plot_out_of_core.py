"""
Points that do not fit into memory
==================================

``gramian.dask.fit`` learns from a file, one block after the other, and finds the metric of all points at once. With a
``distributed.Client`` in place of ``None`` the blocks go to the workers of a cluster. On the left the two features that
vary most, which say nothing about the classes; on the right the first block as it was learned to be seen.
"""

import os
import tempfile

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm
from gramian.dask import fit, transform

# %%
# A file of 200,000 points whose classes differ in two of twenty features, which vary less than the others.

rng = np.random.default_rng(0)
n, d = 200_000, 20
path = os.path.join(tempfile.mkdtemp(), "points.npy")
labels = rng.integers(5, size=n)
centers = np.zeros((5, d))
centers[:, :2] = 3 * rng.normal(size=(5, 2))
points = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))
for start in range(0, n, 50_000):
    rows = slice(start, start + 50_000)
    points[rows] = centers[labels[rows]] + rng.normal(size=(50_000, d)) * np.linspace(1, 6, d)
points.flush()

# %%
# The fit reads blocks of 25,000 rows, each of them once; the metric is that of all points in memory.

rca = fit(None, gm.RCA(n_components=2, anchor=0), path, labels, block_rows=25_000)
whole = gm.RCA(n_components=2, anchor=0).fit(points, labels)
print("largest difference:", np.abs(rca.metric_.matrix - whole.metric_.matrix).max())

# %%
# ``transform`` goes through the file in the same way. The first block, before and after:

first = transform(None, rca, path, block_rows=2_000).blocks[0].compute()
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
left.scatter(*np.asarray(points[:2_000, -2:]).T, c=labels[:2_000], s=4, cmap="tab10")
left.set_title("the features that vary most")
right.scatter(*first.T, c=labels[:2_000], s=4, cmap="tab10")
right.set_title("what was learned")
figure.tight_layout()
plt.show()
