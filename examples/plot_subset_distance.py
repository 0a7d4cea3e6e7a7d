"""
Many distances from a few
=========================

Some distances are expensive. Kernel semi-least squares measures a new image against m members of a set only and
estimates its distance to all of them. Closeness is one minus the mean relative error of the estimates. Here the images
are faces, one set for each person, and the distance counts the pixels in which two thresholded faces differ. The
Nyström estimate from the same m distances stands beside it; the difference is largest when m is small.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm

SMALL = os.environ.get("GRAMIAN_EXAMPLES_SMALL", "0") != "0"

# %%
# Faces of 20 people from the data folder, or the ten digits of scikit-learn when it is absent.
if "GRAMIAN_DATA" in os.environ:
    data = gm.datasets.load("umist_faces")
else:
    print("GRAMIAN_DATA is not set: the first 40 images of each digit take the place of faces.")
    data = gm.datasets.load("digits")
groups = [data.X[data.y == person][:40] for person in np.unique(data.y)[: 2 if SMALL else None]]

# %%
# Every fifth image is new; it is measured against m of the others. The root makes the distance Hilbertian.
sizes = [1, 2, 4, 8] if SMALL else [1, 2, 3, 4, 6, 8, 10, 12]
names = {"pinv": "semi-least squares", "span": "Nyström, from the same m distances"}
closeness = {name: np.zeros(len(sizes)) for name in names.values()}
for images in groups:
    hamming = gm.Hamming(threshold=float(images.mean()), root=True)
    new, known = images[::5], np.delete(images, np.s_[::5], axis=0)
    true = hamming.pairwise(new, known)
    apart = true > 0  # the relative error of no distance has no value
    for projection, name in names.items():
        for i, m in enumerate(sizes):
            estimate = np.sqrt(gm.SubsetDistance(hamming, m, projection=projection).fit(known).sqdist(new))
            closeness[name][i] += (1 - np.mean(np.abs(estimate - true)[apart] / true[apart])) / len(groups)

# %%
# Estimates of all distances from m measured ones.
for name, values in closeness.items():
    print(f"{name}: closeness {values[0]:.2f} with one member measured, {values[-1]:.2f} with {sizes[-1]}")
lines = {name: (sizes, values) for name, values in closeness.items()}
title = f"Sets of about {int(np.mean([len(g) for g in groups]) * 0.8)} images"
gm.plotting.curves(lines, "members measured, m", "closeness of all estimates", title=title)
plt.show()
