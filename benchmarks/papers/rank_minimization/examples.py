"""Two uses that Jain 2009, chapter 7, names: completing a distance matrix, and semidefinite embedding."""

import numpy as np

from benchmarks.harness import ROOT
from gramian import RankMinimizer, linalg
from gramian.rankmin import LowRank, SchattenBall

TITLE = "Low rank at work: a distance matrix completed, a spiral unrolled"
NOTES = """
The two worked examples of the guide, by the factored method. Left: 30 points in the plane, 40% of their squared
distances given (to 0.002); the other distances come out too. Right: a spiral of 40 points of which only the distances
to the three nearest on each side are kept, and the variance raised to 2.2 times the given one; the first coordinate
found is the position on the curve. Three times the variance is refused with a certificate.
"""
TABLE = "Worked examples"


def distances(pairs: list, target: np.ndarray, n: int) -> tuple[list, np.ndarray]:
    """d²_ij = target as two inequalities each, and 1ᵀK1 ≤ 0: centered points."""
    rows = []
    for sign in (1.0, -1.0):
        for i, j in pairs:
            u = np.zeros((n, 1))
            u[i], u[j] = 1.0, -1.0
            rows.append(LowRank(u, [sign]))
    return [*rows, LowRank(np.ones((n, 1)), [-1.0])], np.concatenate([target, -target, [0.0]])


def completion(n: int = 30, share: float = 0.4) -> tuple:
    """True and found squared distances of points in the plane, which of them were given, and the rank."""
    rng = np.random.default_rng(0)
    D = linalg.sqdist(rng.uniform(size=(n, 2)))
    i, j = np.tril_indices(n, -1)
    known = rng.random(len(i)) < share
    A, b = distances(list(zip(i[known], j[known])), D[i, j][known], n)
    found = RankMinimizer("factored", epsilon=2e-3, oracle=SchattenBall(radius=10.0)).solve(A, b)
    return D[i, j], linalg.sqdist(found.factor)[i, j], known, found.rank


def embedding(n: int = 40, stretch: float = 2.2) -> tuple:
    """A spiral, and what keeps its short distances with ``stretch`` times its variance."""
    t = np.linspace(0, 1, n)
    spiral = np.c_[np.cos(5 * t) * (1 + t), np.sin(5 * t) * (1 + t)]
    D = linalg.sqdist(spiral)
    near = [(i, j) for i in range(n) for j in range(max(i - 3, 0), i)]
    A, b = distances(near, np.array([D[i, j] for i, j in near]), n)
    variance = ((spiral - spiral.mean(axis=0)) ** 2).sum()
    solver = RankMinimizer("factored", epsilon=5e-3, oracle=SchattenBall(radius=1e4))
    return t, spiral, solver.solve([*A, np.eye(n)], np.append(b, stretch * variance))


def run(quick: bool = False) -> list[dict]:
    """Both examples and their picture."""
    true, found, known, rank = completion()
    t, spiral, unrolled = embedding()
    _draw(true, found, known, t, spiral, unrolled.factor)
    error = np.abs(found - true)[~known].max()
    along = abs(np.corrcoef(unrolled.factor[:, 0], t)[0, 1])
    refused = embedding(stretch=3.0)[2].certificate is not None
    return [
        _row("completion", "rank", rank, "2 is the truth"),
        _row("completion", "largest error of an unknown squared distance", error, f"of up to {true.max():.2f}"),
        _row("embedding", "rank", unrolled.rank, ""),
        _row("embedding", "correlation of the first coordinate with the position", along, ""),
        _row("embedding, three times the variance", "certificate of infeasibility", float(refused), ""),
    ]


def _draw(true, found, known, t, spiral, factor) -> None:
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4), layout="constrained")
    left.plot([0, true.max()], [0, true.max()], color="0.7", linewidth=1)
    left.scatter(true[~known], found[~known], s=9, label="not given")
    left.scatter(true[known], found[known], s=9, label="given")
    left.set(xlabel="true squared distance", ylabel="found", title="A completed distance matrix")
    left.legend()
    right.scatter(*spiral.T, c=t, s=18)
    line = np.zeros((len(t), 2))
    line[:, : factor.shape[1]] = factor[:, :2]
    right.scatter(line[:, 0], line[:, 1] - 3.2, c=t, s=18)
    right.set(title="A spiral (above), and unrolled (below)", aspect="equal", xticks=[], yticks=[])
    figure.savefig(ROOT / "docs" / "results" / "rank_minimization_examples.png", dpi=110)
    pyplot.close(figure)


def _row(case: str, method: str, ours: float, note: str) -> dict:
    return {"table": TABLE, "case": case, "method": method, "ours": ours, "paper": None, "note": note}
