"""
Searching while learning
========================

Feedback arrives one pair at a time: these two digits are alike, those two are not. LEGO moves its metric after each
pair and forgets it; an online hash index keeps answering under the metric of the moment. On the left, the mean loss per
lesson so far, and what the Euclidean distance would have lost on the same lessons. The gap is the regret, and it is
negative. On the right, what the index finds meanwhile: the share of the true nearest neighbors, and the share of
neighbors of the query's kind.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm
from gramian.search.evaluation import recall_at_k

SMALL = os.environ.get("GRAMIAN_EXAMPLES_SMALL", "0") != "0"

# %%
# USPS digits on 40 principal components, or scikit-learn's digits without the data folder.
name = "usps" if "GRAMIAN_DATA" in os.environ else "digits"
few = " (GRAMIAN_DATA is not set; of so few items the index compares all, so it finds every neighbor)"
print(f"data: {name}" + ("" if name == "usps" else few))
X, y = gm.datasets.load(name, return_X_y=True)
if SMALL:
    X, y = X[:2500], y[:2500]
X = X - X.mean(axis=0)
X = X @ np.linalg.svd(X, full_matrices=False)[2][:40].T
X /= np.sqrt(X.var(axis=0).sum())
X, y, queries, truth = X[300:], y[300:], X[:300], y[:300]

# %%
# Lessons: pairs from labels, with bounds on their squared distances.
n_lessons, every = (400, 100) if SMALL else (6000, 300)
lessons = gm.Pairs.from_labels(y, n_lessons, random_state=0, X=X, percentiles=(5, 50))
index = gm.OnlineHashIndex(gm.LEGO(eta=0.02), random_state=0).add(X)
plain = np.mean(y[gm.ExactIndex(gm.Mahalanobis.euclidean(40)).add(X).query(queries, k=10)[0]] == truth[:, None])
losses, shares = [], []
for number, (i, j, near, bound) in enumerate(zip(lessons.left, lessons.right, lessons.similar, lessons.limit), 1):
    index.learn_one(X[i], X[j], bound, "at_most" if near else "at_least")
    if number % every == 0:
        exact = gm.ExactIndex(index.metric_).add(X).query(queries, k=10)[0]
        found = index.query(queries, k=10)[0]
        losses.append((number, index.learner.loss_ / number, index.learner.comparator_loss_ / number))
        shares.append((number, recall_at_k(found, exact), np.mean(y[found] == truth[:, None]), plain))

# %%
# Regret and recall along the stream.
print(f"after {n_lessons} lessons: regret {index.learner.regret_:.1f}, index updates {index.stats_}")
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
at, own, euclidean = np.transpose(losses)
gm.plotting.curves({"LEGO": (at, own), "Euclidean": (at, euclidean)}, "lessons", "mean loss per lesson", ax=left)
at, recall, live, before = np.transpose(shares)
names = ("true neighbors found", "neighbors of the query's kind", "the same, Euclidean distance")
lines = {name: (at, values) for name, values in zip(names, (recall, live, before))}
gm.plotting.curves(lines, "lessons", "share of the ten found", ax=right)
plt.show()
