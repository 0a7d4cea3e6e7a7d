"""
Texts that belong together
==========================

Counts of words make a sparse table with one column for each word, most of them about nothing that matters. A
truncated SVD keeps 100 directions of it, in which LMNN learns which ones tell the groups apart. The second way starts
from static vectors of words: a text is the weighted mean of its words, and AutoMetric learns on these means. The
bars are shares of the ten nearest training texts that are of the unseen text's group.
"""

import importlib
import inspect
import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

import gramian as gm

# %%
# Posts of four newsgroups, or without the data folder the documentation of SciPy's functions in five modules.
# Texts of a few words are left out.
if "GRAMIAN_DATA" in os.environ:
    news = gm.datasets.load("newsgroups20_raw4")
    pages = {(post.split("\n\n", 1)[-1], group) for post, group in zip(news.X, news.y)}
else:
    print("GRAMIAN_DATA is not set: the documentation of SciPy takes the place of newsgroups.")
    modules = [importlib.import_module(f"scipy.{m}") for m in ("stats", "signal", "optimize", "linalg", "special")]
    pages = {(inspect.getdoc(getattr(m, name)) or "", i) for i, m in enumerate(modules) for name in m.__all__}
texts, y = zip(*sorted(page for page in pages if len(page[0]) > 200))
n = 400 if os.environ.get("GRAMIAN_EXAMPLES_SMALL", "0") != "0" else len(texts) // 2
seen, unseen, y, y_new = train_test_split(texts, np.array(y), train_size=n, stratify=y, random_state=0)
words = TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=3)
X, X_new = words.fit_transform(seen), words.transform(unseen)

# %%
# Two dense forms of a text: 100 directions of the table, and the mean of its word vectors (here from the same
# SVD), all of length one, so that long texts are not far from everything.
svd = TruncatedSVD(100, random_state=0).fit(X)
vectors = svd.components_.T / np.linalg.norm(svd.components_.T, axis=1, keepdims=True)
svds = normalize(svd.transform(X)), normalize(svd.transform(X_new))
means = normalize(X @ vectors), normalize(X_new @ vectors)
ways = [("tf-idf", X, X_new, None), ("SVD", *svds, None), ("SVD, LMNN", *svds, gm.LMNN(random_state=0))]
ways += [("word vectors", *means, None), ("word vectors, AutoMetric", *means, gm.AutoMetric(random_state=0))]

# %%
# Before and after learning.
ax = plt.subplots(figsize=(7, 3), layout="constrained")[1]
for name, Z, Z_new, learner in ways:
    metric = learner.fit(Z, y).metric_ if learner else gm.Mahalanobis.euclidean(Z.shape[1])
    share = (y[gm.ExactIndex(metric).add(Z).query(Z_new, k=10)[0]] == y_new[:, None]).mean()
    ax.bar_label(ax.barh(name, share, color="tab:blue" if learner else "0.75"), fmt="%.3f", padding=3)
    print(f"{name}: {share:.3f}")
ax.invert_yaxis()
ax.set(xlim=(0, 1.1), xlabel="share of the ten nearest of the same group", title="Neighbors of unseen texts")
plt.show()
