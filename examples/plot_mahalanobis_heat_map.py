"""
What a learned distance looks at
================================

A Mahalanobis distance is a matrix: its diagonal says how much each feature counts, and what lies off the diagonal how
features are counted together. Wines of three growers are described by thirteen measurements; on standardized
measurements GMML finds the matrix in closed form, from pairs of wines of the same grower and of different ones. The
heat map is ordered by the diagonal, so that what the distance looks at comes first.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

import gramian as gm

# %%
# Unit variances make the weights of different measurements comparable.
wine = gm.datasets.load("wine")
X = StandardScaler().fit_transform(wine.X)
metric = gm.GMML(random_state=0).fit(X, wine.y).metric_

# %%
# Order the features by their weight, and look.
order = np.argsort(-np.diag(metric.matrix))
sorted_metric = gm.Mahalanobis.from_matrix(metric.matrix[np.ix_(order, order)])
print("most weight:", ", ".join(wine.feature_names[order[:3]]), "| least:", wine.feature_names[order[-1]])
ax = gm.plotting.matrix(sorted_metric, wine.feature_names[order])
ax.set_title("Matrix of the learned distance on wine", fontsize=10)
plt.show()
