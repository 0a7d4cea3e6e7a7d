"""For new queries: what the clicks of earlier ones teach, and whether duels let only gains through."""

from typing import Any

import numpy as np

from benchmarks.report import PICTURES
from benchmarks.serve import people, tasks
from gramian.metrics import Mahalanobis
from gramian.service import Space

TITLE = "New queries"
NOTES = """
People visit one after the other and click on 10 results each, 1,000 clicks in all, on queries of half of the classes.
As soon as there are 50 clicks the service learns a candidate (and again whenever the clicks have grown by half and no
candidate is in the middle of its duels); from then on every visit is a duel: the 10 results are interleaved, and the
candidate is adopted or dropped by itself. Afterwards: share of right ones among the 10 best, without a click, for
queries nobody asked before, of the classes that people clicked in (*same*) and of classes that nobody clicked in
(*new*; with two classes there are none apart). *in use* is the gain over plain features of what the service
then uses, ± its standard error over the queries; *candidate* that of a metric learned from all clicks, in use or
not; *adapter* that of a linear map of the query, fitted by ridge regression to the liked items with the same anchor
(as LlamaIndex and Chroma have it); *LDA* that of shrunk linear discriminants of the liked pairs' scatter. Tasks
marked * were used to choose constants.
"""
VISITS, TESTED, RESULTS = 100, 300, 10


def run(quick: bool = False) -> list[dict[str, Any]]:
    """A row for each task and share of wrong clicks."""
    names = [*tasks.CHOSEN_ON, *tasks.HELD_OUT]
    names = names[:1] if quick else names
    rows = [row(name, wrong, 30 if quick else VISITS) for name in names for wrong in (0.0, 0.1)]
    if not quick:
        draw(rows)
    return rows


def row(name: str, wrong: float, visits: int) -> dict[str, Any]:
    """One task: people, then the questions nobody asked."""
    X, y = tasks.task(name)
    rng = np.random.default_rng(2)
    classes = rng.permutation(np.unique(y))
    taught = classes[: (len(classes) + 1) // 2] if len(classes) > 3 else classes
    asked = rng.permutation(np.flatnonzero(np.isin(y, taught)))[:visits]
    rest = np.setdiff1d(rng.permutation(len(X)), asked)
    rest = rng.permutation(rest)
    sides = {"same": rest[np.isin(y[rest], taught)][:TESTED], "new": rest[~np.isin(y[rest], taught)][:TESTED]}
    with people.opened(X) as space:
        for query in asked.tolist():
            learn_when_due(space)
            one_visit(space, y, query, wrong, rng)
        versions = space.versions("a")
        space.learn("a", label="all clicks")
        last = space.collection("a").version(max(space.collection("a").versions)).metric
        active = space.collection("a").version("active").metric
        clicks = space.clicks("a", limit=10**6)
    statuses = [v["status"] for v in versions["versions"][1:]]
    duels = sum(v["duels"]["queries"] for v in versions["versions"])
    marked = f"{name} *" if name in tasks.CHOSEN_ON else name
    result: dict[str, Any] = {"task": marked, "wrong clicks": wrong, "clicks": len(clicks)}
    result |= {"candidates": ", ".join(statuses) or "none", "duels": duels}
    metrics = {"in use": active, "candidate": last, "LDA": discriminants(X, clicks)}
    for side, test in sides.items():
        if len(test):
            result |= gains(side, X, y, test, metrics, clicks)
    return result


def learn_when_due(space: Space) -> None:
    """What the background does, at a moment that does not depend on the machine."""
    if space.teacher.due(space.collection("a")):
        space.learn("a")


def one_visit(space: Space, y: np.ndarray, query: int, wrong: float, rng: np.random.Generator) -> None:
    """Ten results, ten clicks."""
    found = space.query("a", id=query, k=10, duel=True)
    for item in found["ids"]:
        like = bool((y[item] == y[query]) != (rng.random() < wrong))
        space.feedback("a", query, item, like, duel_id=found["duel_id"])


def gains(side: str, X: np.ndarray, y: np.ndarray, test: np.ndarray, metrics: Any, clicks: Any) -> dict[str, Any]:
    """Precision of plain features and what each metric, and the adapter, adds to it."""
    plain = precision(X, X[test], y, test)
    found: dict[str, Any] = {f"{side}: plain": float(plain.mean())}
    for name, metric in metrics.items():
        Z = metric.transform(X)
        found[f"{side}: {name}"] = _gain(precision(Z, Z[test], y, test) - plain)
    found[f"{side}: adapter"] = _gain(precision(X, adapter(X, clicks)(X[test]), y, test) - plain)
    return found


def _gain(differences: np.ndarray) -> str:
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return f"{differences.mean():+.3f} ± {error:.3f}"


def precision(Z: np.ndarray, Q: np.ndarray, y: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Share of right ones among the ten items nearest to each query, without itself."""
    norms = (Z**2).sum(axis=1)
    D = norms[None] - 2 * Q @ Z.T
    D[np.arange(len(test)), test] = np.inf
    near = np.argpartition(D, RESULTS, axis=1)[:, :RESULTS]
    return (y[near] == y[test][:, None]).mean(axis=1)


def adapter(X: np.ndarray, clicks: Any) -> Any:
    """q → q + W(q − μ), W by ridge regression of the liked items on their queries, anchored as the service is."""
    pairs = np.array([(c["query"], c["item"]) for c in clicks if c["like"]])
    center = X.mean(axis=0)
    Q, T = X[pairs[:, 0]] - center, X[pairs[:, 1]] - X[pairs[:, 0]]
    C = np.cov(X.T) + 1e-9 * np.eye(X.shape[1])
    W = np.linalg.solve(Q.T @ Q + 50 * C, Q.T @ T)
    return lambda points: points + (points - center) @ W


def discriminants(X: np.ndarray, clicks: Any) -> Mahalanobis:
    """M = (S + shrinkage)⁻¹ of the liked pairs: what shrunk discriminant analysis makes of the same clicks."""
    from sklearn.covariance import ledoit_wolf

    pairs = np.array([(c["query"], c["item"]) for c in clicks if c["like"]])
    S, _ = ledoit_wolf(X[pairs[:, 0]] - X[pairs[:, 1]], assume_centered=True)
    return Mahalanobis.from_matrix(np.linalg.pinv(S, hermitian=True))


def draw(rows: list[dict[str, Any]]) -> None:
    """Gain of what is in use and of the last candidate, by task."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 6), sharey=True)
    for ax, side in zip(axes, ("same", "new")):
        chosen = [row for row in rows if f"{side}: in use" in row]
        labels = [f"{row['task']}, {row['wrong clicks']:.0%}" for row in chosen]
        for shift, name in enumerate(("in use", "candidate", "adapter")):
            parts = [row[f"{side}: {name}"].split(" ± ") for row in chosen]
            values, errors = [float(p[0]) for p in parts], [float(p[1]) for p in parts]
            ax.errorbar(values, np.arange(len(chosen)) + 0.2 * (shift - 1), xerr=errors, fmt="o", ms=4, label=name)
        ax.set_yticks(np.arange(len(labels)), labels, fontsize=6) if side == "same" else None
        ax.axvline(0, color="gray", lw=0.8)
        ax.set_title({"same": "classes that people clicked in", "new": "classes that nobody clicked in"}[side])
        ax.set_xlabel("gain in the share of right ones among 10")
    axes[0].invert_yaxis()
    axes[0].legend()
    figure.tight_layout()
    figure.savefig(PICTURES / "serve_across.png", dpi=110)
    plt.close(figure)
