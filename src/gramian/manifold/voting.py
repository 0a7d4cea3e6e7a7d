"""Labels of many points from a few: votes in an embedding, anchored to the plain distance, and evidence for them."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.model_selection import RepeatedStratifiedKFold

from gramian import _validate, linalg, neighbors

ANCHORS = (0.0, 0.5, 0.75, 0.9)
"""Weights of the plain distance that are tried beside it alone."""
CUT = 0.5
"""Share of the edges that plain votes cut, up to which votes that get as many held-out labels right need no more."""
FOLDS, FEW = 5, 100
"""Folds of the labels; up to so many labels they are drawn twice."""
MANY, ENOUGH = 5_000, 2_000
"""From so many labels on there is one fold, of which so many are asked for: that tells any two shares apart."""
SPREAD, STEPS = 0.9, 50
"""Share that a point takes from its neighbors in label spreading, and its iterations."""


@dataclass(frozen=True, eq=False)
class Voters:
    """Labeled points with codes (m,): their rows of an embedding, and their plain coordinates where these count.

    Votes go by (1 − anchor) · d²_embedding + anchor · d²_plain, each in units of its mean over all points.
    """

    codes: np.ndarray
    embedding: np.ndarray
    plain: Any
    anchor: float
    units: tuple[float, float]

    @classmethod
    def among(cls, codes: np.ndarray, embedding: np.ndarray, plain: Any, anchor: float) -> "Voters":
        """The labeled ones of all points; codes are −1 where unknown."""
        rows = np.flatnonzero(codes >= 0)
        units = mean_sqdist(embedding), mean_sqdist(plain) if anchor > 0 else 1.0
        return cls(codes[rows], embedding[rows], plain[rows] if anchor > 0 else None, anchor, units)

    def sqdist(self, embedding: np.ndarray, plain: Any) -> np.ndarray:
        """Squared distances of other points to the voters, (n, m)."""
        if self.anchor >= 1:
            of_plain: np.ndarray = linalg.sqdist(plain, self.plain)
            return of_plain
        D: np.ndarray = linalg.sqdist(embedding, self.embedding) / self.units[0]  # (n, m)
        if self.anchor > 0:
            D = (1 - self.anchor) * D + self.anchor * linalg.sqdist(plain, self.plain) / self.units[1]
        return D

    def winners(self, embedding: np.ndarray, plain: Any, k: int) -> np.ndarray:
        """Codes of other points by the vote of their k nearest voters."""
        n = len(embedding)
        codes = np.empty(n, dtype=np.intp)
        for rows in linalg.blocks(n, 24 * len(self.codes)):
            D = self.sqdist(embedding[rows], None if plain is None else plain[rows])
            codes[rows] = neighbors.winners(self.codes[nearest(D, k)], int(self.codes.max()) + 1)
        return codes


def nearest(D: np.ndarray, k: int) -> np.ndarray:
    """Places of the k smallest of each row, ascending, ties to the first."""
    k = min(k, D.shape[1])
    if k == 1:
        places: np.ndarray = D.argmin(axis=1)[:, None]
        return places
    return np.argsort(D, axis=1, kind="stable")[:, :k]


def mean_sqdist(X: Any) -> float:
    """The mean squared distance of two points, 1 when all are one point."""
    center = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    spread = float(linalg.row_norms(X).mean() - center @ center)
    return 2 * spread if spread > 0 else 1.0


class Choice(NamedTuple):
    """A value and an anchor, and the share of held-out labels that they, the plain distance and spreading get right."""

    value: float
    anchor: float
    learned: float = np.nan
    plain: float = np.nan
    spreading: float = np.nan

    def sentence(self, owner: str) -> str | None:
        """What to say where something simpler is as good."""
        spread = self.spreading >= self.learned
        if not (spread or self.anchor >= 1) or np.isnan(self.learned):
            return None
        rival = f"label spreading {self.spreading:.2f}" if spread else ""
        plain = f"plain 1-NN {self.plain:.2f}" if self.anchor >= 1 else ""
        good = " and ".join(filter(None, (plain, rival)))
        voting = "votes go by the plain distance" if self.anchor >= 1 else f"votes have the anchor {self.anchor:g}"
        return (
            f"{owner}: on held-out labels the learned distance is right in {self.learned:.2f}, "
            f"no clear gain over {good}; {voting}."
        )


class Evidence(NamedTuple):
    """What a choice is made on: codes (−1 where unknown), plain coordinates, the graph if there is one, and votes."""

    codes: np.ndarray
    plain: Any
    adjacency: Any
    n_votes: int
    random_state: Any

    def folds(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Codes with some labels hidden, and which ones; nothing where no class has two labels."""
        labeled = np.flatnonzero(self.codes >= 0)
        folds = min(FOLDS, np.bincount(self.codes[labeled]).max(initial=0))
        if folds < 2:
            return
        rng = _validate.random(self.random_state, "folds")
        repeats = 2 if len(labeled) <= FEW else 1
        splitter = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=rng)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
            tests = [test for _, test in splitter.split(labeled, self.codes[labeled])]
        if len(labeled) > MANY:
            tests = [tests[0][:: -(-len(tests[0]) // ENOUGH)]]
        for test in tests:
            hidden = labeled[test]
            rest = self.codes.copy()
            rest[hidden] = -1
            yield rest, hidden


Embeddings = Callable[[np.ndarray, list[float]], Iterable[np.ndarray]]
"""Coordinates of all points for each value of a grid, learned from codes."""


def choose(evidence: Evidence, grid: list[float], anchor: float | None, embeddings: Embeddings) -> Choice:
    """The value of a grid, and the anchor when None, that get most held-out labels right; ties go to the first value.

    An anchor below 1 must gain more than one label over the plain distance: with few labels less is chance. Where it
    gains less, and loses none, the graph of all points speaks, which needs no labels: classes hang together, so votes
    that cut at most half of the edges that plain votes cut are taken.
    """
    anchors = (*ANCHORS, 1.0) if anchor is None else (anchor, 1.0)
    right = np.zeros((len(grid), len(anchors)))  # hidden labels that each got right
    spread, total, rounds = 0.0, 0, 0
    for rest, hidden in evidence.folds():
        truth = evidence.codes[hidden]  # (hidden,)
        for i, F in enumerate(embeddings(rest, grid)):
            right[i] += [_right(evidence, rest, hidden, F, weight) for weight in anchors]
        if evidence.adjacency is not None:
            spread += np.sum(spreading(evidence.adjacency, rest)[hidden] == truth)
        total += len(hidden)
        rounds += 1
    if not rounds:
        return Choice(grid[0], 1.0 if anchor is None else anchor)
    best, column = best_choice(right, total / max((evidence.codes >= 0).sum(), 1), anchor is None)
    if anchor is None and anchors[column] == 1.0 and right[best, :-1].max() >= right[best, -1]:
        column = smoothest(evidence, next(iter(embeddings(evidence.codes, [grid[best]]))), anchors, right[best])
    shares = right[best] / total
    of_spreading = spread / total if evidence.adjacency is not None else np.nan
    return Choice(grid[best], anchors[column], shares[:-1].max(), shares[-1], of_spreading)


def best_choice(right: np.ndarray, repeats: float, free: bool) -> tuple[int, int]:
    """Row and column of the choice; the last column is the plain distance."""
    learned = right[:, :-1]  # all but the plain distance
    most = learned.max(axis=1)
    row = int(most.argmax())
    if not free:
        return row, 0
    column = int(np.flatnonzero(learned[row] == most[row])[-1])  # of equal ones the most anchored
    clear = most[row] > right[row, -1] + repeats
    return row, column if clear else right.shape[1] - 1


def smoothest(evidence: Evidence, F: np.ndarray, anchors: tuple[float, ...], right: np.ndarray) -> int:
    """Column of the votes that cut fewest edges, of those with most labels; the last where that says little."""
    last = len(anchors) - 1
    if evidence.adjacency is None:
        return last
    even = [*np.flatnonzero(right[:-1] == right[:-1].max())[::-1], last]  # of equal cuts the most anchored
    cuts = [cut(evidence, F, anchors[column]) for column in even]
    least = int(np.argmin(cuts))
    return int(even[least]) if cuts[least] <= CUT * cuts[-1] and cuts[-1] > 0 else last


def cut(evidence: Evidence, F: np.ndarray, anchor: float) -> float:
    """Share of the edges of the graph between points that get different codes."""
    votes = Voters.among(evidence.codes, F, evidence.plain, anchor).winners(F, evidence.plain, evidence.n_votes)
    votes = np.where(evidence.codes >= 0, evidence.codes, votes)
    edges = sparse.coo_array(evidence.adjacency)
    return float(np.mean(votes[edges.row] != votes[edges.col]))


def _right(evidence: Evidence, rest: np.ndarray, hidden: np.ndarray, F: np.ndarray, anchor: float) -> int:
    voters = Voters.among(rest, F, evidence.plain, anchor)
    plain = evidence.plain[hidden] if anchor > 0 else None
    return int(np.sum(voters.winners(F[hidden], plain, evidence.n_votes) == evidence.codes[hidden]))


def spreading(A: Any, codes: np.ndarray) -> np.ndarray:
    """Codes of all points by label spreading on a graph, F ← αSF + (1 − α)Y (Zhou et al., 2004)."""
    degree = np.asarray(A.sum(axis=1), dtype=float).ravel()
    half = sparse.diags_array(np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0))
    S = half @ sparse.csr_array(A) @ half  # D^{−1/2} A D^{−1/2}
    Y = (codes[:, None] == np.arange(codes.max() + 1)).astype(float)  # (n, classes), 0 where unknown
    F: np.ndarray = Y  # (n, classes)
    for _ in range(STEPS):
        F = SPREAD * (S @ F) + (1 - SPREAD) * Y
    codes_of_all: np.ndarray = F.argmax(axis=1)
    return codes_of_all
