"""
Digits in the plane
===================

Two coordinates for handwritten digits. Laplacian eigenmaps see the neighborhood graph and no labels; the geometry-aware
kernel learns from 200 labels as well, and keeps to the graph. Colors, markers and names are the true digits, most of
which neither method knew. The titles give the leave-one-out error of five nearest neighbors in the plane.
"""

import os
import warnings

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm

SMALL = os.environ.get("GRAMIAN_EXAMPLES_SMALL", "0") != "0"

# %%
# The 2,007 test digits of USPS, or scikit-learn's digits without the data folder.
if "GRAMIAN_DATA" in os.environ:
    _, X, _, y = gm.datasets.load("usps").split()
else:
    print("GRAMIAN_DATA is not set: scikit-learn's digits take the place of USPS.")
    X, y = gm.datasets.load("digits", return_X_y=True)
X, y = (X[:400], y[:400]) if SMALL else (X, y)
y = y.astype(int)
labels = np.full(len(y), -1)
known = np.random.default_rng(0).permutation(len(y))[: 100 if SMALL else 200]
labels[known] = y[known]

# %%
# Both on the graph of ten neighbors. The graph of digits may fall apart in a few pieces, which is reported.
warnings.simplefilter("ignore", UserWarning)
learned = gm.GeometryAwareKernel(gamma=0.1, n_components=2, random_state=0).fit(X, labels)
eigenmaps = gm.LaplacianEigenmaps(2, n_neighbors=10).fit_transform(X)
planes = {"Laplacian eigenmaps": eigenmaps, "geometry-aware kernel": learned.embedding_}

# %%
# The few outermost points are drawn at the border.
figure, panels = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
for ax, (name, Z) in zip(panels, planes.items()):
    D = gm.Mahalanobis.euclidean(2).sqdist(Z) + np.diag(np.full(len(Z), np.inf))
    votes = y[np.argsort(D, axis=1)[:, :5]]
    error = np.mean([np.bincount(v).argmax() for v in votes] != y)
    low, high = np.percentile(Z, (0.5, 99.5), axis=0)
    gm.plotting.embedding(np.clip(Z, low, high), y, ax=ax, title=f"{name}: error {error:.2f}")
plt.show()
