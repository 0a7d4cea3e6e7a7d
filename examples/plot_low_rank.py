"""
How much rank does a kernel need?
=================================

A Gaussian kernel has full rank. ``LowRankKernel`` looks for a kernel of a wanted rank that keeps pairs of the same
class near and others far, and stays as close to the Gaussian one as that allows. The curves are the accuracy of five
nearest neighbors on points that were not used in learning, against the rank. Kernel PCA of the same rank sees no
labels: as the rank grows it becomes the Gaussian kernel, drawn as a level line, and the learned kernel does not.
"""

import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

import gramian as gm

SMALL = os.environ.get("GRAMIAN_EXAMPLES_SMALL", "0") != "0"

# %%
# Radar returns from the ionosphere, or breast cancer from scikit-learn without the data folder.
name = "ionosphere" if "GRAMIAN_DATA" in os.environ else "breast_cancer"
print(f"data: {name}" + ("" if name == "ionosphere" else " (GRAMIAN_DATA is not set)"))
X, y = gm.datasets.load(name, return_X_y=True)
X = scale(X)
kernel = gm.Gaussian(np.sqrt(np.median(gm.linalg.sqdist(X))))
ranks = (2, 10) if SMALL else (1, 2, 3, 5, 10, 20, 40)
splits = range(1 if SMALL else 3)

# %%
# Each method gives coordinates of half of the points for learning and of the other half for the test. At these ranks
# not all pairs can be met, which LowRankKernel would report.
warnings.simplefilter("ignore", ConvergenceWarning)
found = {"LowRankKernel": [], "kernel PCA": [], "Gaussian kernel": []}
for seed in splits:
    A, B, a, b = train_test_split(X, y, train_size=100 if SMALL else 0.5, stratify=y, random_state=seed)
    for rank in ranks:
        learned = gm.LowRankKernel(kernel, rank, n_pairs=1000, random_state=seed).fit(A, a)
        pca = gm.KernelFeatures(kernel, rank, basis="all", center=True).fit(A)
        full = gm.KernelFeatures(kernel, basis="all").fit(A)
        for method, side in zip(found, (learned, pca, full)):
            knn = KNeighborsClassifier(5).fit(side.transform(A), a)
            found[method].append(knn.score(side.transform(B), b))

# %%
# Means over the splits.
lines = {method: (ranks, np.reshape(scores, (len(splits), -1)).mean(axis=0)) for method, scores in found.items()}
for method, (_, means) in lines.items():
    print(f"{method}: best {means.max():.3f} at rank {ranks[means.argmax()]}")
title = f"{name}: {len(X)} points, {len(splits)} random halves"
gm.plotting.curves(lines, "rank", "accuracy of 5-NN on new points", title=title)
plt.show()
