"""Metric learning for kernel regression."""

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gramian import _array, _checks, linalg
from gramian.constraints import Labels
from gramian.learners import many, softmax
from gramian.learners.base import are_tuples
from gramian.learners.factored import FactorLearner, Start
from gramian.learners.holdout import Fold, number_folds
from gramian.solvers.base import Solution

INITS = ("auto", "identity", "pca", "random")
NEAR, ANCHORS = 3, 256
"""Neighbors of a point, and points whose neighbors are looked at, for the coordinates."""
CLOSER = 1.5
"""How much larger than the unit of near neighbors a named start is."""
MOST_TRIED = 1000
"""Points on which the unit of a blend is found."""
STEP, WIDEST, NARROWEST, ROUNDING = 1.5, 10.0, 10.0, 1e-8
"""From one squared unit to the next; kernels as wide as so many mean squared distances, or as narrow as a tenth of the
nearest; nearer points than this share of the mean are copies."""
HEIGHT = 10.0
"""An objective of tol · this · n is as good as a gradient of tol · n."""


def mlkr_loss(L: Any, X: Any, T: Any) -> tuple[float, Any]:
    """f(L) = Σ_i ‖t̂_i − t_i‖² and its gradient, t̂_i = Σ_j p_ij t_j with p_ij ∝ exp(−‖Lx_i − Lx_j‖²), j ≠ i.

    Weinberger and Tesauro (2007), (3) and (7). Memory is n × d and one block of probabilities, never n × n.

    Parameters
    ----------
    L : array (r, d)
    X : array (n, d), of any array namespace
    T : array (n, q)
        Targets.
    """
    cross, value = softmax.Cross(L, X), 0.0
    xp, ones, values = _array.namespace(X), softmax.with_ones(T), []
    for rows, E, total, guess in predictions(cross.Z, ones):
        error = guess - T[rows, :]
        values.append(xp.sum(error * error))
        # ∂f/∂d²_ij = 2 p_ij ⟨t̂_i − t_i, t̂_i − t_j⟩: all brackets in one product with the targets and 1
        slope = xp.concat([-error, xp.sum(error * guess, axis=1, keepdims=True)], axis=1) * (2 / total)
        W = slope @ ones.T
        W *= E
        cross.add_rows(rows, cross.sums(W))
        cross.add_columns(rows, xp.ones_like(total), W)
    value = sum(map(float, values))
    return value, 2 * cross.total()


def predictions(Z: Any, ones: Any) -> Iterator[tuple[slice, Any, Any, Any]]:
    """Blocks ``(rows, E, total, guess)``: p_ij · total_i, and predictions of the targets beside the ones."""
    for rows, E, _ in softmax.neighborhoods(Z):
        sums = E @ ones
        total = sums[:, -1:]
        yield rows, E, total, sums[:, :-1] / total


def mlkr_value(L: Any, X: Any, T: Any) -> float:
    """f(L) alone."""
    blocks = predictions(X @ L.T, softmax.with_ones(T))
    return sum(float(((guess - T[rows, :]) ** 2).sum()) for rows, _, _, guess in blocks)


def neighbor_sample(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of pairs of points with their three nearest, for points spread over all: enough for a scatter."""
    V = X - X.mean(axis=0)
    V = (V / (np.abs(V).max() or 1.0)).astype(np.float32)
    rows = linalg.spread(len(V), ANCHORS)
    D = linalg.row_norms(V) - 2 * (V[rows] @ V.T)  # less ‖v_i‖², which is the same in a row
    everyone, found = np.arange(len(rows)), []
    last = rows
    for _ in range(min(NEAR, len(V) - 1)):
        D[everyone, last] = np.inf
        last = D.argmin(axis=1)
        found.append(last)
    return np.tile(rows, len(found)), np.concatenate(found)


def standardized(labels: Labels, owner: str) -> tuple[np.ndarray, float]:
    """Targets (n, q) with mean 0 and variance 1 in all, and the variance they had; classes become indicators."""
    numbers = labels.classes.dtype.kind in "biuf"
    values = labels.classes[:, None].astype(np.float64) if numbers else np.eye(len(labels.classes))
    T = values[labels.codes]
    T = T - T.mean(axis=0)
    variance = float((T**2).sum() / len(T))
    if not 0 < variance < np.inf:
        raise ValueError(f"{owner}: needs finite targets that differ; all are the same or some are too large.")
    return T / np.sqrt(variance), variance


def kernel_unit(Z: np.ndarray, T: np.ndarray) -> float:
    """The factor of the points at which kernel regression errs least, each point left out; 1 where all are one point.

    Factors are tried from where the kernel holds all points to where it holds the nearest alone.
    """
    rows = linalg.spread(len(Z), MOST_TRIED)
    Z, T = Z[rows], T[rows]
    D = linalg.sqdist(Z)
    np.fill_diagonal(D, np.inf)
    nearest = D.min(axis=1)
    least, most = float(np.median(nearest)), float(linalg.row_norms(Z - Z.mean(axis=0)).mean())
    if not 0 < most < np.inf:
        return 1.0
    steps = 1 + int(np.ceil(np.log(NARROWEST * WIDEST * most / max(least, ROUNDING * most)) / np.log(STEP)))
    squares = STEP ** np.arange(steps) / (WIDEST * most)
    errors = [mlkr_value(np.sqrt(c) * np.eye(Z.shape[1]), Z, T) for c in squares]
    return float(np.sqrt(squares[int(np.argmin(errors))]))


class MLKR(FactorLearner):
    """Learn a distance for predicting a number from the neighbors of a point.

    Minimize Σ_i (y_i − ŷ_i)² + reg · ‖L‖² over L (r, d): the error of kernel regression, each point left out.

    ŷ_i = Σ_{j≠i} p_ij y_j with p_ij ∝ exp(−‖Lx_i − Lx_j‖²) (Weinberger and Tesauro 2007). The targets are numbers;
    other labels enter as one indicator column for each class. The problem is not convex; it is descended by L-BFGS in
    coordinates that are whitened by the scatter of near neighbors, from a start at which every point has several
    neighbors, so that the result does not depend on the units of X or y and does not stick where p is one-hot.
    Probabilities are computed in blocks, as in :class:`NCA`.

    Parameters
    ----------
    n_components : int, optional
        Rows r of L; the number of features when None.
    init : {"auto", "identity", "pca", "random"} or array (r, d)
        Where the descent starts. A named start is scaled to the data, an array is taken as it is.
    reg : float, ≥ 0
        Weight of ‖L‖², for targets of variance 1.
    prior : {"identity", "covariance"} or array (d, d)
        What the metric is as far as ``anchor`` says.
    anchor : "auto" or float in [0, 1]
        Weight of the prior; 0 is the problem as it stands above. With "auto" it is chosen on points that were held out,
        each predicted as the mean of its nearest, and so is whether L sees all directions or the leading ones alone.
        What is blended is in the unit in which kernel regression on the training points errs least.
    max_points : int, optional
        Of more points a part is learned from, drawn at random, since the work grows with n²; a warning says so. None
        learns from all.
    max_iter : int
        Most iterations.
    tol : float
        Stop at ‖∇f‖ ‖L‖ ≤ tol · n, for targets of variance 1, or at f ≤ 10 tol · n: by default where a hundredth of the
        variance is left.
    verbose : bool
        Show progress.
    callback : callable, optional
        Called as ``callback(iteration, objective, residual)``, with the objective in units of y².
    random_state : int or generator, optional
        Draws, where there are any: the same number gives the same result.

    Attributes
    ----------
    metric_ : Metric
        The learned distance, an immutable value.
    objective_ : float
        The sum of squared errors, in units of y².

    See Also
    --------
    gramian.NCA : The same for classes.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> mlkr = gm.MLKR(n_components=2, tol=1e-2).fit(X, y)
    >>> bool(mlkr.objective_ < 0.7 * len(y) * y.var())  # squared errors, each point predicted from the others
    True
    """

    def __init__(
        self,
        n_components=None,
        *,
        init="auto",
        reg=0.0,
        prior="identity",
        anchor="auto",
        max_points=3000,
        max_iter=200,
        tol=1e-3,
        verbose=False,
        callback=None,
        random_state=None,
    ):
        shared = {"max_iter": max_iter, "tol": tol, "verbose": verbose, "callback": callback}
        super().__init__(
            n_components, init=init, reg=reg, prior=prior, anchor=anchor, random_state=random_state, **shared
        )
        self.max_points = max_points

    _numbers = True
    _wide = False
    """Whether an anchored fit works in all directions, to its end: a number may hang on one in which points hardly
    vary."""

    def _variants(self) -> list[Any]:
        if not isinstance(self.anchor, str):
            return [self]
        wide = copy.copy(self)
        wide._wide, wide._enough = True, {}
        return [self, wide]

    def _directions(self, n: int) -> int:
        return n if self._wide else super()._directions(n)

    def _folds(self, y: Any, rng: np.random.RandomState) -> Iterable[Fold]:
        return number_folds(y, standardized(y, "MLKR")[0], rng)

    def solve(self, Z: Any, y: Any, rest: Any, rng: np.random.RandomState) -> Solution:
        """What is found on given coordinates; blended with a prior it is in the unit of kernel regression."""
        solution = super().solve(Z, y, rest, rng)
        if not self._anchors(y):
            return solution
        T, variance = standardized(y, "MLKR")
        points = linalg.dense(Z) @ solution.factor.T
        unit = kernel_unit(points, T)
        value = mlkr_value(unit * np.eye(points.shape[1]), points, T)
        return replace(solution, factor=unit * solution.factor, alpha=unit**2, objective=variance * value)

    def _fewer(self, X: Any, y: Any, rng: np.random.RandomState) -> tuple[Any, Any]:
        if self.max_points is None:
            return X, y
        return many.fewer(X, y, self.max_points, "MLKR", "give max_points=None", rng, by_class=False)

    def _side(self, y: Any, Z: Any, rest: Any, rng: Any) -> Any:
        return standardized(super()._side(y, Z, rest, rng), "MLKR")

    def _require(self, side: Any) -> None:
        """Targets that differ are enough, and that was seen at the door."""

    def _descend(self, X: np.ndarray, side: Any, rng: Any, report: Callable | None) -> Solution:
        T, variance = side
        if isinstance(self.init, str):
            _checks.one_of(self.init, "MLKR", "init", INITS)
        reg = _checks.number(self.reg, "MLKR", "reg", low=0)
        start = Start.around(self, X, None, rng, neighbor_sample(X), reg)
        if isinstance(self.init, str):
            start = replace(start, L=CLOSER * start.L)
        end = start.descend(
            lambda L, Z: mlkr_loss(L, Z, T.astype(Z.dtype, copy=False)),
            max_iter=self.max_iter,
            tol=self.tol,
            height=HEIGHT * len(X),
            value=lambda L, Z: mlkr_value(L, Z, T),
            report=report and (lambda n_iter, value, residual: report(n_iter, variance * value, residual)),
        )
        return start.solution(end, self.tol, unit=variance)

    def score(self, X: Any, y: Any = None) -> float:
        """R² of kernel regression on points with targets, each predicted from the others; for pairs as elsewhere."""
        if are_tuples(X):
            return super().score(X, y)
        Z = self.transform(X)
        T, _ = standardized(Labels.from_array(y, "MLKR", len(Z), numbers=True), "MLKR")
        return 1 - mlkr_loss(np.eye(Z.shape[1]), Z, T)[0] / len(T)
