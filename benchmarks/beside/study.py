"""Two tables: the time that a sidecar adds to a search, and the gain in MRR that reaches people through each engine."""

import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager

import numpy as np

import gramian as gm
from benchmarks.beside.engines import ENGINES, Opened
from benchmarks.retrieval.tasks import load
from gramian.beside.log import number
from gramian.service import learning

K = 10
SEARCHES = 300
"""Searches of one state, in turns with direct ones."""
TAUGHT = 500
"""Queries that people ask and judge."""


@contextmanager
def by_hand():
    """Meanwhile nothing is learned unasked."""
    first, learning.FIRST = learning.FIRST, 10**9
    try:
        yield
    finally:
        learning.FIRST = first


def people(docs: gm.beside.Sidecar, Q: np.ndarray, rows: np.ndarray) -> int:
    """Each asks a query and says of its document that it was useful, where it is shown."""
    liked = 0
    for row in rows:
        answer = docs.search(Q[row].tolist(), K)
        at = [i for i, name in enumerate(answer.ids) if int(name) == row]
        liked += bool(at and docs.useful(answer.query_id, answer.ids[at[0]]))
    return liked


def overhead(name: str, rows: int, d: int = 384) -> list[dict]:
    """Milliseconds of a search with and without a sidecar, in turns: at first, on trial, and after it was adopted."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, d)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Q = X[:SEARCHES] @ (np.eye(d) + 0.02 * rng.normal(size=(d, d))).astype(np.float32)
    table = []
    with ENGINES[name](X, True) as opened, by_hand(), opened.beside(tempfile.mkdtemp()) as docs:
        table.append(turns(docs, opened, Q) | {"state": "at first"})
        for i in range(30):
            docs.useful(Q[i], str(i) if name == "Chroma" else i)
        version = docs.learn()["version"]
        table.append(turns(docs, opened, Q) | {"state": "on trial"})
        docs._log.space.activate(docs._log.name, version)
        table.append(turns(docs, opened, Q) | {"state": "adopted"})
    return [{"engine": name, "rows": rows, "width": d, **row} for row in table]


def turns(docs: gm.beside.Sidecar, opened: Opened, Q: np.ndarray) -> dict:
    """Medians over queries; ours is what a search takes outside of the engine's own method."""
    walls = np.array([(direct(opened, q), *outside(docs, q, time.perf_counter)) for q in Q.tolist()])
    cpu = np.array([outside(docs, q, time.thread_time)[1] for q in Q.tolist()])  # apart: to ask for it costs a switch
    names = ("direct ms", "sidecar ms", "ours ms")
    more = {"ours p99 ms": np.quantile(walls[:, 2], 0.99), "ours CPU ms": np.median(cpu)}
    return {name: round(1e3 * float(v), 3) for name, v in (dict(zip(names, np.median(walls, axis=0))) | more).items()}


def direct(opened: Opened, q: list[float]) -> float:
    """Seconds of a search without a sidecar."""
    start = time.perf_counter()
    opened.direct(q, K)
    return time.perf_counter() - start


def outside(docs: gm.beside.Sidecar, q: list[float], clock: Callable[[], float]) -> tuple[float, float]:
    """Seconds of a search by a clock, and those outside of the engine's method."""
    search, inside = docs.engine.search, [0.0]

    def timed(*args, **options):
        start = clock()
        try:
            return search(*args, **options)
        finally:
            inside[0] += clock() - start

    docs.engine.search = timed
    start = clock()
    docs.search(q, K)
    whole = clock() - start
    docs.engine.search = search
    return whole, whole - inside[0]


def gains(name: str, draw: int = 0) -> dict:
    """MRR@10 of queries that nobody asked before, through an engine and by the library on what was said."""
    task = load("debian")
    asked = task.reported
    rows = np.random.default_rng([draw, TAUGHT]).permutation(task.pool(asked))[:TAUGHT]
    with ENGINES[name](task.D, False) as opened, by_hand(), opened.beside(tempfile.mkdtemp()) as docs:
        clicks = people(docs, task.Q, rows)
        version = docs.learn()["version"]
        turn = docs._turn(docs._log.view, version) or (lambda q: q)
        plain = reciprocal(docs, task.Q[asked], asked)
        through = reciprocal(docs, [turn(q) for q in task.Q[asked]], asked)
        known = docs._log.view
        liked, lists = shown(task, rows)
        names = [str(i) if name == "Chroma" else i for i in lists.tolist()]
        stored = docs.engine.vectors(names)  # some engines divide by the length
    D = np.array([stored[i] for i in names], dtype=np.float32)
    adapter = gm.QueryAdapter(random_state=0).fit(task.Q[liked], D, matches(liked, lists))
    library = exact(task, adapter.transform_queries(task.Q[asked]), asked)
    before = exact(task, task.Q[asked], asked)
    documents = int(np.count_nonzero(known.known(np.array([number(i) for i in range(len(task.D))]))))
    told = {"engine": name, "rows": len(task.D), "draw": draw, "clicks": clicks, "documents": documents}
    measured = {"plain": plain, "through": through, "library plain": before, "library": library}
    return told | {word: round(float(value.mean()), 5) for word, value in measured.items()} | {
        "gain": round(float((through - plain).mean()), 5),
        "error": round(float((through - plain).std() / np.sqrt(len(asked))), 5),
        "library's gain": round(float((library - before).mean()), 5),
    }  # fmt: skip


def reciprocal(docs: gm.beside.Sidecar, queries: list, rows: np.ndarray) -> np.ndarray:
    """1/rank of each query's document in what the engine answers, 0 below the tenth place."""
    values = []
    for q, row in zip(queries, rows):
        names = [int(hit.id) for hit in docs.engine.search([q], K)[0]]
        values.append(1 / (1 + names.index(row)) if row in names else 0.0)
    return np.array(values)


def exact(task, Q: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The same by NumPy."""
    S = Q @ task.D.T
    rank = 1 + (S[np.arange(len(rows)), rows][:, None] < S).sum(axis=1)
    return np.where(rank <= K, 1 / rank, 0.0)


def shown(task, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Queries whose document is among the first, and all documents shown to them."""
    tops = np.argsort(-(task.Q[rows] @ task.D.T), axis=1, kind="stable")[:, :K]
    there = (tops == rows[:, None]).any(axis=1)
    return rows[there], np.unique(tops[there])


def matches(liked: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """Places of queries and of their documents."""
    return np.column_stack([np.arange(len(liked)), np.searchsorted(lists, liked)])
