"""
Two clusterings of the same faces
=================================

Faces can be grouped by person or by the direction in which they look; k-means finds one grouping, or a mixture.
Decorrelated k-means looks for two at once whose centers are not correlated. The means of the clusters are shown as
images: one row keeps the person and blurs the pose, the other keeps the pose and blurs the person. No label was used.
The shares say how well each row agrees with the labels that the images have; other people and poses come out less
cleanly, as the results page shows.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

import gramian as gm
from gramian.clustering import match

SMALL = os.environ.get("GRAMIAN_EXAMPLES_SMALL", "0") != "0"

# %%
# Three people looking in three directions. Without the data folder: two digits side by side, each of three kinds.
if "GRAMIAN_DATA" in os.environ:
    data = gm.datasets.load("cmu_faces")
    rows = np.isin(data.y_person, (5, 7, 10)) & np.isin(data.y_pose, (0, 1, 2))
    X, truth, shape = data.X[rows], np.column_stack([data.y_person, data.y_pose])[rows], data.image_shape
    kinds = ("person", "pose")
else:
    print("GRAMIAN_DATA is not set: pairs of digits take the place of faces.")
    digits = gm.datasets.load("digits")
    pool = np.flatnonzero(digits.y < 3)
    left, right = np.random.default_rng(0).choice(pool, (2, 150 if SMALL else 500))
    X = np.dstack([digits.X[left].reshape(-1, 8, 8), digits.X[right].reshape(-1, 8, 8)]).reshape(len(left), -1)
    truth, shape, kinds = np.column_stack([digits.y[left], digits.y[right]]), (8, 16), ("left digit", "right digit")

# %%
# Two clusterings into three, on principal components.
Z = PCA(min(40, len(X) - 1), random_state=0).fit_transform(X)
labels = gm.DecorrelatedKMeans((3, 3), n_init=3 if SMALL else 20, random_state=0).fit(Z).labels_
found = match(labels, truth, score="accuracy")

# %%
# The mean image of each cluster.
names = [f"{kind}:\n{score:.0%} agree" for kind, score in zip(kinds, found.scores)]
print(", ".join(name.replace("\n", " ") for name in names))
gm.plotting.cluster_means(X, labels[:, found.found], shape, names=names)
plt.show()
