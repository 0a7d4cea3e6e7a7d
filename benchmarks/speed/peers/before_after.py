"""The cases of ``before_after``, run by either version: a name comes in on a line, its CPU seconds go out."""

import inspect
import sys
import time
import warnings
from functools import cache, partial

import numpy as np
from sklearn import datasets

import gramian as gm

LEARNERS = ("RCA", "DNE", "GMML", "ITML", "POLA", "Framework", "MMC", "LMNN", "NCA", "MCML")
SETS = ("iris", "wine", "breast cancer", "digits")
LONG = {(name, data) for name in ("MCML", "Framework", "POLA") for data in ("breast cancer", "digits")}
"""Fits of more than ten seconds, then or now."""
RULES = ("LEGO", "OnlinePOLA", "OnlineITML")


@cache
def points(name):
    """Points at unit variance, and labels."""
    X, y = getattr(datasets, "load_" + name.replace(" ", "_"))(return_X_y=True)
    return (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1), y


def learner(name):
    """A learner as version 0.1 made it: not anchored, with the same seed."""
    cls = getattr(gm, name)
    return cls(**{name: 0 for name in ("anchor", "random_state") if name in inspect.signature(cls).parameters})


def fit(name, data):
    """One fit."""
    made = learner(name)
    return lambda: made.fit(*points(data))


def kernelized(name, data):
    """One fit on 30 coordinates of a kernel."""
    made = gm.Kernelized(learner(name), gm.Polynomial(2), rank=30, random_state=0)
    return lambda: made.fit(*points(data))


@cache
def many(n=20_000, d=64):
    """Points around 200 centers."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((200, d))[rng.integers(0, 200, n)] * 2 + rng.standard_normal((n, d))


@cache
def metric(seed, d=64):
    """A full metric."""
    return gm.Mahalanobis(np.random.default_rng(seed).standard_normal((d, d)) / np.sqrt(d))


@cache
def index(kind):
    """An index of many points."""
    return {"ExactIndex": gm.ExactIndex, "HashIndex": partial(gm.HashIndex, random_state=0)}[kind](metric(0))


@cache
def filled(kind):
    """One with items."""
    return index(kind).with_metric(metric(0)).add(many())


def build(kind):
    """Items added to an empty index."""
    return lambda: index(kind).with_metric(metric(0)).add(many())


def query(kind):
    """Ten neighbors of 200 points."""
    return lambda: filled(kind).query(many()[:200] + 0.1, k=10)


def new_metric(kind):
    """The same items under another metric, and one query, since some of the work may be put off."""
    return lambda: filled(kind).with_metric(metric(1)).query(many()[:1], k=10)


def stream(rule, data):
    """A stream of 5,000 pairs of labels."""
    X, y = points(data)
    pairs = gm.Pairs.from_labels(y, 5000, random_state=0)
    pairs = gm.Pairs(pairs.left, pairs.right, pairs.similar, bounds=(float(X.shape[1]), 4.0 * X.shape[1]))
    eta = {} if rule == "OnlinePOLA" else {"eta": 0.01}
    return lambda: getattr(gm, rule)(**eta).partial_fit(X, pairs)


def one_by_one(rule, data):
    """300 lessons, one at a time."""
    X, _ = points(data)
    eta = {} if rule == "OnlinePOLA" else {"eta": 0.01}

    def lessons():
        made = getattr(gm, rule)(**eta)
        for i in range(300):
            made.learn_one(X[i % 100], X[i % 101 + 1], 10.0, "at_most")

    return lessons


def online_index(part):
    """Ten lessons or ten queries of an OnlineHashIndex with 20,000 items, or one forced move of its codes."""
    own = gm.OnlineHashIndex(gm.LEGO(eta=1e-4), random_state=0).add(many())
    rng = np.random.default_rng(0)

    def learn():
        for i, j in rng.integers(0, 20_000, (10, 2)):
            own.learn_one(many()[i], many()[j], 50.0)

    def ask():
        own.learn_one(many()[0], many()[1], 50.0)
        for i in range(10):
            own.query(many()[i : i + 1], k=10)

    def move():
        learn()
        own.upkeep(force=True)

    return {"learn": learn, "query": ask, "upkeep": move}[part]


CASES = {f"{name}, {data}": partial(fit, name, data) for name in LEARNERS for data in SETS if (name, data) not in LONG}
CASES |= {f"Kernelized {name}, wine": partial(kernelized, name, "wine") for name in ("RCA", "ITML", "LMNN")}
CASES |= {
    f"{kind} {made.__name__.replace('_', ' ')}": partial(made, kind)
    for kind in ("ExactIndex", "HashIndex")
    for made in (build, query, new_metric)
}
CASES |= {f"{rule} stream, {data}": partial(stream, rule, data) for rule in RULES for data in ("wine", "digits")}
CASES |= {f"{rule} one by one, wine": partial(one_by_one, rule, "wine") for rule in RULES}
CASES |= {f"OnlineHashIndex {part}": partial(online_index, part) for part in ("learn", "query", "upkeep")}


def seconds(call, least=0.02):
    """CPU seconds of one call: the mean over as many as fill ``least``."""
    start, n = time.process_time(), 0
    while n == 0 or time.process_time() - start < least:
        call()
        n += 1
    return (time.process_time() - start) / n


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    calls: dict = {}
    for line in sys.stdin:
        case = line.strip()
        if case not in calls:
            calls = {case: CASES[case]()}
            calls[case]()  # compilation and caches
        print(seconds(calls[case]), flush=True)
