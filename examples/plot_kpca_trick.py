"""
Any learner, with a kernel
==========================

Each class lies on a curve, sampled so thinly that the nearest point is often of the other class. No linear distance can
straighten the curves. The KPCA trick gives any linear learner a kernel: it learns on the coordinates of kernel PCA, and
nothing in the learner changes. Each panel shows the two largest components of a learned distance, and the accuracy of
the nearest neighbor on new points, which rises with the polynomial kernel of degree two.
"""

import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

import gramian as gm

SMALL = os.environ.get("GRAMIAN_EXAMPLES_SMALL", "0") != "0"


# %%
# Two parabolas and two circles, made after Figure 2 of Chatpatanasiri et al., whose points are not published.
def curves(kind, n, seed):
    """Points and their classes."""
    rng = np.random.default_rng(seed)
    y, t = np.arange(n) % 2, rng.uniform(-1, 1, n)
    if kind == "parabolas":
        return np.c_[2 * t, 4 * t**2 + 0.3 * y + 0.02 * rng.standard_normal(n)], y
    radius = 1 + 0.2 * y + 0.01 * rng.standard_normal(n)
    return np.c_[radius * np.cos(np.pi * t), radius * np.sin(np.pi * t)], y


# %%
# Two learners, alone and with the kernel.
learners = {"NCA": gm.NCA(anchor=0), "LMNN": gm.LMNN(reg=1.0, anchor=0)}
for name, learner in list(learners.items()):
    learners[f"{name}, kernel"] = gm.Kernelized(learner, gm.Polynomial(2))
warnings.simplefilter("ignore")  # fifty points are few: some fits stop at their limit
figure, panels = plt.subplots(2, 5, figsize=(13, 5.4), layout="constrained")
for row, kind in zip(panels, ("parabolas", "circles")):
    (X, y), (X_new, truth) = curves(kind, 50, 0), curves(kind, 200 if SMALL else 2000, 1)
    gm.plotting.embedding(X, y, ax=row[0], title=kind, names=["", ""])
    for ax, (name, learner) in zip(row[1:], learners.items()):
        metric = learner.fit(X, y).metric_
        nearest = gm.ExactIndex(metric).add(X).query(X_new, k=1)[0][:, 0]
        Z = PCA(2).fit_transform(metric.transform(X))
        gm.plotting.embedding(Z, y, ax=ax, title=f"{name}: {np.mean(y[nearest] == truth):.2f}", names=["", ""])
plt.show()
