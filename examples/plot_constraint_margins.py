"""
Do the constraints hold?
========================

ITML is told that some pairs of wines should be near (squared distance at most u) and others far (at least l), and moves
the Euclidean distance no further than the pairs ask for. The margin of a pair is how far it is on the right side of
its bound, relative to the bound. The histograms show the pairs that ITML was given, and pairs of wines that it never
saw: more of both hold after learning.
"""

import os

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import gramian as gm

SMALL = os.environ.get("GRAMIAN_EXAMPLES_SMALL", "0") != "0"

# %%
# Half of the wines teach; the bounds u and l are percentiles of their Euclidean distances.
X, y = gm.datasets.load("wine", return_X_y=True)
X = StandardScaler().fit_transform(X)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
n_pairs = 200 if SMALL else 1000
seen = gm.Pairs.from_labels(y, n_pairs, X=X, percentiles=(20, 80), random_state=0)
metric = gm.ITML(gamma=10.0, anchor=0).fit(X, seen).metric_

# %%
# The same bounds for pairs of the other half.
drawn = gm.Pairs.from_labels(y_new, n_pairs, random_state=0)
unseen = gm.Pairs(drawn.left, drawn.right, drawn.similar, bounds=(seen.bounds[0][0], seen.bounds[1][0]))

# %%
# Right of zero a pair is as near or as far as it should be.
figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.4), sharey=True, layout="constrained")
gm.plotting.margins(seen, X, metric, ax=panels[0]).set_title("pairs given to ITML", fontsize=10, pad=26)
gm.plotting.margins(unseen, X_new, metric, ax=panels[1]).set_title("pairs of unseen wines", fontsize=10, pad=26)
plt.show()
