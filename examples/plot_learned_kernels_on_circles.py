"""
A distance that follows circles
===============================

Two classes on concentric circles: no linear distance brings a class together, since its points lie in all directions.
Learned in the feature space of a Gaussian kernel, the distance does. The background is the distance from the starred
point to every place in the plane, dark where it is near. Before, near means close by; after learning from pairs,
the rest of the star's own circle is near as well.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm

SMALL = os.environ.get("GRAMIAN_EXAMPLES_SMALL", "0") != "0"

# %%
# The same learner, ITML, with and without a kernel.
rings = gm.datasets.rings(60 if SMALL else 160, noise=0.08, random_state=0)
X, y = rings.X, rings.y
learner = gm.ITML(gamma=10.0, random_state=0, anchor=0)
metrics = {
    "Euclidean": gm.Mahalanobis.euclidean(2),
    "ITML": learner.fit(X, y).metric_,
    "ITML in the space of a Gaussian kernel": gm.Kernelized(learner, gm.Gaussian(0.7)).fit(X, y).metric_,
}

# %%
# A panel for each distance. For new points: which share of the nearer half of all points is on the same circle?
new = gm.datasets.rings(1000, noise=0.08, random_state=1)
figure, panels = plt.subplots(1, 3, figsize=(11.5, 4), layout="constrained")
star = np.argmax(X[:, 0] * (y == 1))
for ax, (name, metric) in zip(panels, metrics.items()):
    gm.plotting.distance_field(metric, X[star], X, y, ax=ax, title=name)
    D = metric.sqdist(new.X, X)
    same = (y[np.argsort(D, axis=1)[:, : len(X) // 2]] == new.y[:, None]).mean()
    print(f"{name}: of the nearer half of all points {same:.0%} are on the same circle")
plt.show()
