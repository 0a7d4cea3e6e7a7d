"""Metric learning for kernel regression."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np

from gramian import linalg
from gramian._arrays import namespace
from gramian._settings import Count, Size, Within
from gramian.constraints import Labels
from gramian.learners import softmax
from gramian.learners.base import Iterative, altered
from gramian.learners.door import are_tuples
from gramian.learners.factor_descent import Start
from gramian.learners.task import Effort, Targets, Task, Traits
from gramian.solvers.base import Solution

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
    xp, ones, values = namespace(X), softmax.with_ones(T), []
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
    everyone, blocks = np.arange(len(rows)), []
    last = rows
    for _ in range(min(NEAR, len(V) - 1)):
        D[everyone, last] = np.inf
        last = D.argmin(axis=1)
        blocks.append(last)
    return np.tile(rows, len(blocks)), np.concatenate(blocks)


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


@dataclass(eq=False, repr=False)
class MLKR(Iterative):
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
    max_iter : int, optional
        Most iterations.
    tol : float, optional
        Stop at ‖∇f‖ ‖L‖ ≤ tol · n, for targets of variance 1, or at f ≤ 10 tol · n: by default where a hundredth of the
        variance is left.
        None: 200 and 0.001; 50 and 0.01 in a blend with a prior.
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

    traits = Traits(
        labels="numbers",
        exact=Effort(tol=1e-3, max_iter=200),
        blended=Effort(tol=1e-2, max_iter=50),
        by_class=False,
    )

    n_components: Count | None = None
    _: KW_ONLY
    init: Literal["auto", "identity", "pca", "random"] | np.ndarray = "auto"
    reg: Size = 0.0
    max_points: Annotated[int, Within(2)] | None = 3000

    def most_points(self, d: int) -> tuple[int | None, str]:
        """As many as were asked for."""
        return self.max_points, "give max_points=None"

    def variants(self) -> list["MLKR"]:
        """In the leading directions, or in all and to the end: a number may hang on one in which points hardly vary."""
        if not isinstance(self.anchor, str):
            return [self]
        return [
            self,
            altered(self, traits=replace(self.traits, directions=None, points_each=1, blended=self.traits.exact)),
        ]

    def solve(self, task: Task) -> Solution:
        """A descent over L, with each point predicted from the others."""
        targets = task.y
        T, variance = targets.standard, targets.variance
        start = Start.of(self, task, neighbor_sample(task.Z), self.reg)
        if isinstance(self.init, str):
            start = replace(start, L=CLOSER * start.L)
        report = task.report
        end = start.descend(
            lambda L, Z: mlkr_loss(L, Z, T.astype(Z.dtype, copy=False)),
            task.effort,
            report and (lambda n_iter, value, residual: report(n_iter, variance * value, residual)),
            height=HEIGHT * len(T),
            value=lambda L, Z: mlkr_value(L, Z, T),
        )
        return start.solution(end, task.effort, unit=variance)

    def refine(self, task: Task, blend: Solution) -> Solution:
        """A blend in the unit of kernel regression, with the squared errors there."""
        targets = task.y
        points = linalg.dense(task.Z) @ blend.factor.T  # (n, r)
        unit = kernel_unit(points, targets.standard)
        errors = mlkr_value(unit * np.eye(points.shape[1]), points, targets.standard)
        objective = targets.variance * (errors + self.reg * unit**2 * float((blend.factor**2).sum()))
        return replace(blend, factor=unit * blend.factor, alpha=unit**2, objective=objective)

    def score(self, X: Any, y: Any = None) -> float:
        """R² of kernel regression on points with targets, each predicted from the others; for pairs as elsewhere."""
        if are_tuples(X):
            return super().score(X, y)
        Z = self.transform(X)
        T = Targets.from_labels(Labels.from_array(y, "MLKR", len(Z), numbers=True), "MLKR").standard
        return 1 - mlkr_loss(np.eye(Z.shape[1]), Z, T)[0] / len(T)
