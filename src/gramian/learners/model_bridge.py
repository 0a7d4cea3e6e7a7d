"""From one embedding model to another: a map between their vectors, and what it will find before anybody switches."""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import NotFittedError

from gramian import _validate, linalg
from gramian._settings import Seed, whole
from gramian.learners.retrieval import LOOKED_AT, directed, unit
from gramian.learners.trials import Report
from gramian.learners.two_sided import as_precise
from gramian.persist import Stored

OWNER = "ModelBridge"
FOLDS = 5
FEWEST = 30
"""Rows without which ten neighbors of a part say nothing."""
ASKED = 500
"""Queries of a fold, at most."""
SEARCHED = 20_000
"""Rows of a fold that are searched, at most."""
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0)
"""Weights of ‖W‖² beside the mean variance."""

Fit = tuple[np.ndarray, np.ndarray]
"""W (p, q) and w (q,) of x ↦ xW + w."""


@dataclass(eq=False, repr=False)
class ModelBridge(Stored):
    """Map vectors of one embedding model to those of another, and say what a search across them will find.

    Row i of ``old`` and of ``new`` are one text in two models, whose sizes may differ. With ``to="old"`` new queries
    are mapped and search the index that exists; with ``to="new"`` old vectors are mapped, and new queries search them
    as they are. The map is x ↦ normalized(x W + w) on rows of length one, by one of three roads: Procrustes (W is a
    rotation), ridge (argmin Σ |x_i W + w − y_i|² + λ ‖W‖²) and ridge cut to a low rank. Rows that were held out choose.

    ``recall_`` is the expected recall@10 and its standard error: of the ten rows that the new model on both sides
    would show for a held-out row, the share that the search across models shows. Each fold is judged by the choice
    of the others. It holds for as many rows as were searched (``n_searched_``); among more, ten neighbors are nearer
    to each other, and recall is lower.

    Parameters
    ----------
    to : "old" or "new"
        The space that is mapped into.
    random_state : int or generator, optional
        For the rows that are held out.

    Attributes
    ----------
    recall_ : (float, float)
        Expected recall@10 and its standard error.
    chosen_ : str
        The road.
    report_ : Report
        A row for each road: recall@10 as ``score``, and its gain over Procrustes.
    n_searched_ : int
        Rows among which neighbors were looked for.
    matrix_, offset_ : arrays (p, q) and (q,)
        W and w.

    See Also
    --------
    gramian.QueryAdapter : For queries and documents of one model.

    Examples
    --------
    >>> import gramian as gm, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> old = rng.normal(size=(500, 12))
    >>> new = np.tanh(old @ rng.normal(size=(12, 16)) / 3)
    >>> bridge = gm.ModelBridge(to="old").fit(old, new)
    >>> bridge.transform(new[:5]).shape  # new queries for the old index
    (5, 12)
    >>> bridge.recall_[0] > 0.5
    True
    """

    to: Literal["old", "new"] = "old"
    _: KW_ONLY
    random_state: Seed = None
    recall_: tuple[float, float] = field(init=False)
    chosen_: str = field(init=False)
    report_: Report = field(init=False)
    n_searched_: int = field(init=False)
    matrix_: np.ndarray = field(init=False)
    offset_: np.ndarray = field(init=False)

    @whole
    def fit(self, old: Any, new: Any) -> "ModelBridge":
        """Learn from vectors of the same texts in two models.

        Parameters
        ----------
        old, new : arrays (n, p) and (n, q)
            Row i of both is one text.

        Returns
        -------
        self : ModelBridge
        """
        A, B = directed(old, OWNER, "old"), directed(new, OWNER, "new")
        if len(A) != len(B):
            raise ValueError(
                f"{OWNER}: old and new must have the same number of rows, got {len(A)} and {len(B)}; row i of both "
                "is one text."
            )
        if len(A) < FEWEST:
            raise ValueError(f"{OWNER}: old and new must have at least {FEWEST} rows to hold some out, got {len(A)}.")
        A, B = unit(A), unit(B)
        for name, X in (("old", A), ("new", B)):
            if (X[0] == X).all():
                raise ValueError(f"{OWNER}: {name} must have rows that differ, got one vector {len(X)} times.")
        recalls, folds = self._held_out(A, B, _validate.random(self.random_state, OWNER))  # (roads, m), (m,)
        X, Y = (B, A) if self.to == "old" else (A, B)
        names = list(roads(X, Y))
        best = int(np.argmax(recalls.mean(axis=1)))
        self.chosen_ = names[best]
        self.matrix_, self.offset_ = roads(X, Y)[self.chosen_]()
        self.recall_ = honest(recalls, folds)
        self.report_ = Report(rows(names, recalls, best))
        return self

    def _held_out(self, A: np.ndarray, B: np.ndarray, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """recall@10 of each held-out row by each road, (roads, m), and the fold of each."""
        order = rng.permutation(len(A))
        recalls, folds = [], []
        for number in range(FOLDS):
            out = np.sort(order[number::FOLDS])
            rest = np.setdiff1d(order, out)
            probes = out[linalg.spread(len(out), ASKED)]
            # Mapped vectors of rows that taught the map look too good, so that only others are searched.
            searched = np.arange(len(A)) if self.to == "old" else out
            searched = np.union1d(searched[linalg.spread(len(searched), SEARCHED)], probes)
            self.n_searched_ = len(searched)
            truth = nearest(B[probes], B[searched], np.searchsorted(searched, probes))
            X, Y = (B, A) if self.to == "old" else (A, B)
            table = []
            for road in roads(X[rest], Y[rest]).values():
                W, w = road()
                queries = mapped(B[probes], W, w) if self.to == "old" else B[probes]
                documents = A[searched] if self.to == "old" else mapped(A[searched], W, w)
                answer = nearest(queries, documents, np.searchsorted(searched, probes))
                table.append([len(np.intersect1d(a, t)) / len(t) for a, t in zip(answer, truth)])
            recalls.append(np.array(table))
            folds.append(np.full(len(probes), number))
        return np.concatenate(recalls, axis=1), np.concatenate(folds)

    def transform(self, X: Any) -> Any:
        """Vectors of the one model in the space of the other, of length one: new ones with ``to="old"``."""
        if not hasattr(self, "matrix_"):
            raise NotFittedError("This ModelBridge instance is not fitted yet; call fit(old, new) first.")
        points = _validate.points(X, OWNER, n_features=len(self.matrix_), allow_sparse=False, devices=True)
        return mapped(linalg.unit_rows(points), self.matrix_, self.offset_)

    def __repr__(self) -> str:
        if not hasattr(self, "matrix_"):
            return f"ModelBridge(to={self.to!r})"
        recall, error = self.recall_
        return f"ModelBridge(to={self.to!r}): {self.chosen_}, recall@10 {recall:.3f} ± {error:.3f}"

    def _state(self) -> dict[str, Any]:
        if not hasattr(self, "matrix_"):
            return {"to": self.to}
        state = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("_", "random_state")}
        return state | {"report_": list(self.report_), "recall_": list(self.recall_)}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "ModelBridge":
        bridge = cls(state.pop("to"))
        for name, value in state.items():
            setattr(bridge, name, value)
        if state:
            bridge.report_, bridge.recall_ = Report(state["report_"]), tuple(state["recall_"])
        return bridge


def mapped(X: Any, W: Any, w: Any) -> Any:
    """xW + w, of length one."""
    return linalg.unit_rows(X @ as_precise(W, X) + as_precise(w, X))


def nearest(Q: np.ndarray, D: np.ndarray, same: np.ndarray) -> np.ndarray:
    """The ten rows of D with the largest cosine to each query, without the query's row itself, (m, 10)."""
    k = min(LOOKED_AT, len(D) - 1)
    ids = np.empty((len(Q), k), dtype=np.intp)
    for part in linalg.blocks(len(Q), D.itemsize * len(D)):
        S = Q[part] @ D.T
        S[np.arange(len(S)), same[part]] = -np.inf
        ids[part] = np.argpartition(-S, k - 1, axis=1)[:, :k]
    return ids


def roads(X: np.ndarray, Y: np.ndarray) -> dict[str, Callable[[], Fit]]:
    """Maps from rows X (n, p) to rows Y (n, q), by name."""
    x, y = X.mean(axis=0, dtype=float), Y.mean(axis=0, dtype=float)
    n = len(X)
    C = (X.T @ X).astype(float) / n - np.outer(x, x)  # (p, p)
    cross = (X.T @ Y).astype(float) / n - np.outer(x, y)  # (p, q)
    unit_of = max(float(np.trace(C)) / len(C), np.finfo(float).tiny)

    def affine(W: np.ndarray) -> Fit:
        return W, y - x @ W

    def procrustes() -> Fit:
        U, s, Vt = np.linalg.svd(cross, full_matrices=False)
        return affine(U @ Vt * (s.sum() / max(float(np.trace(C)), np.finfo(float).tiny)))

    def ridge(reg: float) -> Fit:
        return affine(np.linalg.solve(C + reg * unit_of * np.eye(len(C)), cross))

    def cut(reg: float, rank: int) -> Fit:
        W = ridge(reg)[0]
        values, vectors = np.linalg.eigh(W.T @ C @ W)  # reduced-rank regression (Izenman 1975)
        leading = vectors[:, -rank:]
        return affine(W @ leading @ leading.T)

    made: dict[str, Callable[[], Fit]] = {"Procrustes": procrustes}
    made |= {f"ridge {reg:g}": lambda reg=reg: ridge(reg) for reg in PENALTIES}  # type: ignore[misc]
    rank = max(1, min(cross.shape) // 2)
    made[f"ridge {PENALTIES[1]:g}, rank {rank}"] = lambda: cut(PENALTIES[1], rank)
    return made


def honest(recalls: np.ndarray, folds: np.ndarray) -> tuple[float, float]:
    """Mean recall and its error, each fold by the road that the others choose."""
    values = np.empty(recalls.shape[1])
    for fold in np.unique(folds):
        inside = folds == fold
        values[inside] = recalls[int(np.argmax(recalls[:, ~inside].mean(axis=1))), inside]
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def rows(names: list[str], recalls: np.ndarray, best: int) -> Iterator[dict[str, Any]]:
    """What a report says."""
    for i, name in enumerate(names):
        gains = recalls[i] - recalls[0]
        score, gain = (float(v.mean()) for v in (recalls[i], gains))
        error, gain_error = (float(v.std(ddof=1) / np.sqrt(len(v))) for v in (recalls[i], gains))
        yield {
            "candidate": name,
            "score": score,
            "error": error,
            "gain": gain,
            "gain_error": gain_error,
            "weight": 0.0,
            "seconds": 0.0,
            "note": "chosen" if i == best else "",
        }
