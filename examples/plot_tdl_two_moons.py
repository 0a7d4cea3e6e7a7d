"""
Two moons from six labels
=========================

The labels of six points (large) are known, those of the others are not. By Euclidean distance large parts of each moon
go to the wrong label. TDL learns a distance that is smooth along the neighborhood graph of all points and tells the
labels apart: in its coordinates the moons come apart, and labels follow the shape of the data. The draw of labels
that is shown is a hard one; the printed figures are means over 20 draws.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm

SMALL = os.environ.get("GRAMIAN_EXAMPLES_SMALL", "0") != "0"

# %%
# Two half circles, and two ways to label them from three known labels on each.
moons = gm.datasets.moons(200 if SMALL else 400, noise=0.1, random_state=0)
X, y = moons.X, moons.y


def learn(seed):
    """Known labels (-1 for the others), the labels of the nearest known points, and TDL."""
    rng = np.random.default_rng(seed)
    known = np.concatenate([rng.choice(np.flatnonzero(y == c), 3, replace=False) for c in (0, 1)])
    labels = np.full(len(y), -1)
    labels[known] = y[known]
    nearest = y[known][gm.Mahalanobis.euclidean(2).sqdist(X, X[known]).argmin(axis=1)]
    return labels, nearest, gm.TDL(n_components=2, lam=10.0, n_neighbors=10).fit(X, labels)


# %%
# How many labels are right, over several draws?
draws = [learn(seed) for seed in range(3 if SMALL else 20)]
right = [(np.mean(nearest == y), np.mean(model.predict() == y)) for _, nearest, model in draws]
print("mean over draws: nearest label {:.1%} right, TDL {:.1%} right".format(*np.mean(right, axis=0)))

# %%
# Colors are predictions in the first two panels and the truth in the third.
labels, nearest, model = draws[2]
views = {
    f"nearest label: {right[2][0]:.0%} right": (X, nearest),
    f"labels by TDL: {right[2][1]:.0%} right": (X, model.predict()),
    "coordinates of TDL, true classes": (model.embedding_, y),
}
figure, panels = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for ax, (title, (Z, shown)) in zip(panels, views.items()):
    gm.plotting.embedding(Z, shown, ax=ax, title=title, names=["", ""], marked=labels >= 0)
plt.show()
