"""
Bits, candidates and recall
===========================

A hash index compares a query exactly with a few candidates only, those whose hash bits agree well enough. It takes as
many as it needs to find each true neighbor with the probability that ``recall`` asks for. More bits tell near from
far more sharply, so the same recall needs fewer comparisons, for more memory. The metric is part of the hash
functions: here it is the Mahalanobis distance that whitens the vectors.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm
from gramian.search.evaluation import recall_at_k

SMALL = os.environ.get("GRAMIAN_EXAMPLES_SMALL", "0") != "0"

# %%
# 20,000 GloVe word vectors and 200 more as queries, or scikit-learn's digits without the data folder.
if "GRAMIAN_DATA" in os.environ:
    words = gm.datasets.load("glove100_20k")
    X, queries = words.X, words.queries[:200].astype(float)
else:
    print("GRAMIAN_DATA is not set: digits take the place of word vectors.")
    X = gm.datasets.load("digits").X
    X, queries = X[200:], X[:200]
if SMALL:
    X, queries = X[:1500], queries[:50]
metric = gm.Mahalanobis.from_matrix(np.linalg.inv(np.cov(X.T) + 0.1 * np.eye(X.shape[1])))

# %%
# For each number of bits: which recall costs how many comparisons?
exact = gm.ExactIndex(metric).add(X).query(queries, k=10)[0]
lines = {}
for n_bits in (64, 256) if SMALL else (64, 128, 256, 512):
    points = []
    for wanted in (0.5, 0.8, 0.9, 0.95, 0.99):
        index = gm.HashIndex(metric, n_bits, recall=wanted, random_state=0).add(X)
        points.append((index.compared(queries, 10).mean() / len(X), recall_at_k(index.query(queries, k=10)[0], exact)))
    lines[f"{n_bits} bits"] = tuple(np.transpose(points))
    print(f"{n_bits} bits: {points[-1][0]:.1%} of the items compared for a recall of {points[-1][1]:.3f}")

# %%
# Up and to the left is better.
title = f"{len(X):,} vectors of {X.shape[1]} dimensions"
gm.plotting.curves(lines, "share of the items compared exactly", "recall of the ten nearest", title=title, log="x")
plt.show()
