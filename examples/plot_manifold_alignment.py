"""
Objects that turn alike
=======================

Three objects were photographed from 72 angles each. By pixels every object is an island: nothing says which view of one
corresponds to which view of another. Ten links, "these two were taken at the same angle", are enough for the
geometry-aware kernel to turn the islands alike. The first row is a query at six angles; below it are the nearest views
of the two other objects, with the graph alone and after learning from the links.
"""

import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy import ndimage

import gramian as gm
from gramian.manifold import NeighborGraph, SpectralFamily, diffusion_factor

SMALL = os.environ.get("GRAMIAN_EXAMPLES_SMALL", "0") != "0"

# %%
# Coil-20 objects; without the data folder three of scikit-learn's digits are turned instead.
step = 10 if SMALL else 5
angles = np.arange(0, 360, step)
if "GRAMIAN_DATA" in os.environ:
    coil = gm.datasets.load("coil20_32x32")
    views = np.stack([coil.X[coil.y == thing][:: step // 5] for thing in np.unique(coil.y)[[0, 3, 8]]]) / 255
else:
    print("GRAMIAN_DATA is not set: three turned digits take the place of objects.")
    drawn = [ndimage.zoom(image.reshape(8, 8), 4, order=1) / 16 for image in gm.datasets.load("digits").X[[2, 4, 7]]]
    views = np.stack([[ndimage.rotate(d, a, reshape=False, order=1).ravel() for a in angles] for d in drawn])
n = len(angles)
X = views.reshape(3 * n, -1)

# %%
# Ten links between views of two objects at the same angle.
rng = np.random.default_rng(0)
at, ends = rng.permutation(n)[:10], np.array([rng.permutation(3)[:2] for _ in range(10)])
links = gm.Pairs(ends[:, 0] * n + at, ends[:, 1] * n + at, np.ones(10, bool), bounds=(1e-5, 1.0))
warnings.simplefilter("ignore")  # the graph is in three pieces, as it should be
model = gm.GeometryAwareKernel(SpectralFamily(n_eigenvectors=14, n_neighbors=2), gamma=100.0, max_iter=5).fit(X, links)
F = diffusion_factor(NeighborGraph(2)(X), 0.1, n_eigenvectors=14)
distances = {"graph alone": gm.Mahalanobis.euclidean(F.shape[1]).sqdist(F), "learned": model.metric_.sqdist(X)}

# %%
# For each view of the first object, the nearest view of each of the others.
queries = np.arange(0, n, n // 6)
rows, names = [views[0, queries]], ["query"]
for thing in (1, 2):
    for name, D in distances.items():
        nearest = D[:n, thing * n : (thing + 1) * n].argmin(axis=1)
        gap = np.abs((angles[nearest] - angles + 180) % 360 - 180)
        print(f"object {thing + 1}, {name}: median error of the angle {np.median(gap):.0f} degrees")
        rows.append(views[thing, nearest[queries]])
        names.append(f"{name}\n(median error {np.median(gap):.0f}°)")
gm.plotting.images(rows, (32, 32), row_names=names, column_names=[f"{angles[q]}°" for q in queries])
plt.show()
