"""
Neighbors before and after
==========================

The Euclidean distance of two images adds up the differences of all pixels, so a slanted or shifted digit often lands
among digits of another kind. From 200 labeled digits NCA, in the feature space of a Gaussian kernel, learns which
differences to ignore. The picture shows the unseen digits whose eight nearest labeled ones changed most: blue frames
are of the query's kind, orange ones are not. They were picked because they changed; the printed figures are for all.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

import gramian as gm

SMALL = os.environ.get("GRAMIAN_EXAMPLES_SMALL", "0") != "0"

# %%
# 200 of scikit-learn's digits are labeled, the others ask for their neighbors among these.
digits = gm.datasets.load("digits")
n = 100 if SMALL else 200
X, X_new, y, y_new = train_test_split(digits.X, digits.y, train_size=n, stratify=digits.y, random_state=0)
metric = gm.Kernelized(gm.NCA(anchor=0)).fit(X, y).metric_

# %%
# How many of the eight nearest are of the query's kind?
sides = {"Euclidean": gm.Mahalanobis.euclidean(64), "learned": metric}
found = {name: gm.ExactIndex(side).add(X).query(X_new, k=8)[0] for name, side in sides.items()}
share = {name: (y[ids] == y_new[:, None]).mean(axis=1) for name, ids in found.items()}
for name, ids in found.items():
    wrong = np.mean(y[ids[:, 0]] != y_new)
    print(f"{name}: {share[name].mean():.1%} of the eight nearest are of the query's kind, 1-NN error {wrong:.1%}")

# %%
# The four digits that gained most.
rows = np.argsort(share["Euclidean"] - share["learned"], kind="stable")[:4]
gm.plotting.neighbors(metric, X, y, X_new[rows], y_new[rows], digits.image_shape)
plt.show()
