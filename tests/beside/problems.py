"""A database in memory that can be told to fail, queries that are twisted against their documents, and people."""

import threading
import time

import numpy as np

from gramian.beside import Engine, Hit

D, N = 8, 120


def twisted(n=N, d=D, seed=0):
    """Queries (n, d) and their documents (n, d): another basis than that in which they are compared."""
    rng = np.random.default_rng(seed)
    documents = rng.normal(size=(n, d)).astype(np.float32)
    turn = np.eye(d) + 0.5 * rng.normal(size=(d, d))
    return (documents @ turn + 0.2 * rng.normal(size=(n, d))).astype(np.float32), documents


class InMemory(Engine):
    """All cosines (or products, or distances) by NumPy; ``asked`` holds the vectors of every search."""

    name = "docs"

    def __init__(self, X, metric="cosine", payload=""):
        self.X, self.width, self.metric, self.payload = X, X.shape[1], metric, payload
        self.asked, self.away, self.turned_away, self.gone = [], False, False, set()
        self.quick = threading.Event()  # what documents wait for
        self.quick.set()

    def scores(self, vectors):
        Q = np.asarray(vectors, dtype=np.float64)
        if self.metric == "l2":
            return -((Q[:, None] - self.X[None]) ** 2).sum(axis=2)
        X = self.X / np.linalg.norm(self.X, axis=1, keepdims=True) if self.metric == "cosine" else self.X
        return Q @ X.T

    def search(self, vectors, k):
        self.asked.append(list(vectors))
        if self.away or (self.turned_away and len(vectors) > 1):
            raise ConnectionError("the database is away")
        record = {"text": self.payload}
        scores = self.scores(vectors)
        return [[Hit(int(i), float(s[i]), record) for i in np.argsort(-s, kind="stable")[:k]] for s in scores]

    def vectors(self, ids):
        self.quick.wait(120)
        if self.away:
            raise ConnectionError("the database is away")
        return {i: self.X[i] for i in ids if i not in self.gone}

    def count(self):
        return len(self.X)


def people(docs, Q, rows, k=10):
    """Ask each query, and like its document where it is shown; returns how many were."""
    liked = 0
    for i in rows:
        answer = docs.search(Q[i], k)
        at = [int(name) for name in answer.ids].index(i) if i in map(int, answer.ids) else None
        if at is not None:
            docs.useful(answer.query_id, answer.ids[at])
            liked += 1
    return liked


def by_hand(X, q, k=10):
    """The k best by cosine."""
    return np.argsort(-(X / np.linalg.norm(X, axis=1, keepdims=True)) @ q, kind="stable")[:k].tolist()


def until(true, seconds=120.0):
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not become so"
        time.sleep(0.01)
