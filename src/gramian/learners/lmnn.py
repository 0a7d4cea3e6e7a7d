"""Large margin nearest neighbors."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gramian import _array, _checks, _device, linalg
from gramian.constraints import Comparisons, Labels
from gramian.learners import targets
from gramian.learners.factored import FactorLearner, Start
from gramian.learners.hinges import Hinges
from gramian.learners.impostors import Triplets
from gramian.learners.initial import pull
from gramian.learners.margins import descend_margins
from gramian.learners.softmax import Cross
from gramian.learners.weights import class_weights
from gramian.solvers.base import Solution


def lmnn_loss(L: Any, X: Any, codes: Any, near: Any, push: float = 1.0) -> tuple[float, Any]:
    """f(L) = Σ_ij d²_ij + push · Σ_ijl [1 + d²_ij − d²_il]₊ and a subgradient (Chatpatanasiri et al. 2010, §2.2).

    d² = ‖L(x_i − x_j)‖², j runs over the target neighbors of i, l over the points of other classes. Every
    triplet is looked at, in blocks of rows, on any array namespace; the learner itself keeps a list of impostors.

    Parameters
    ----------
    L : array (r, d)
    X : array (n, d)
    codes : integer array (n,)
    near : integer array (n, k)
        Target neighbors of each point; a place that holds the point itself is empty.
    push : float
    """
    xp = _array.namespace(X)
    cross = Cross(L, X)
    value = 0.0
    gradient = xp.zeros_like(L)
    Z = cross.Z
    norms = xp.sum(Z * Z, axis=1)
    for j in range(near.shape[1]):
        V = X - xp.take(X, near[:, j], axis=0)
        E = V @ L.T
        pull = xp.sum(E * E, axis=1)
        weight = xp.ones_like(norms)
        real = near[:, j] != xp.arange(X.shape[0], device=X.device)
        for rows in linalg.blocks(X.shape[0], 8 * X.shape[0]):
            S = 1 + (pull - norms)[rows][:, None] - norms[None, :] + 2 * (Z[rows, :] @ Z.T)
            far = (codes[rows][:, None] != codes[None, :]) & real[rows][:, None]
            active = xp.astype((S > 0) & far, X.dtype)
            value += push * float(xp.sum(active * S))
            weight[rows] += push * xp.sum(active, axis=1)
            cross.add_rows(rows, -push * cross.sums(active))
            cross.add_columns(rows, -push * xp.ones_like(active[:, :1]), active)
        value += float(xp.sum(pull))
        gradient += 2 * (E * weight[:, None]).T @ V
    return value, gradient + 2 * cross.total()


class LMNN(FactorLearner):
    """Make the nearest neighbors of each point be of its class: pull them close, push others out.

    Minimize Σ_ij d²_M(x_i, x_j) + push · Σ_ijl [1 + d²_M(x_i, x_j) − d²_M(x_i, x_l)]₊ + reg · tr(M) over M ⪰ 0.

    j runs over the k target neighbors of i, the nearest points of its class in the Euclidean distance, and l over
    all points of other classes (Weinberger and Saul 2009; Chatpatanasiri et al. 2010, §2.2). The problem is
    convex in M. It is solved on a factor, M = LᵀL: hinges enter as augmented Lagrangians, whose multipliers
    λ ∈ [0, push] are renewed together with the list of impostors every few steps of L-BFGS, in coordinates
    whitened by the scatter of target pairs. All active triplets fold into one sparse Laplacian, so a step costs
    O(pairs · d + n d²), and nothing depends on the units of X. It stops when stationarity and complementary
    slackness, over all triplets, hold to ``tol`` relative to the objective; at full rank λ then also gives a
    dual bound, ``solution_.gap``.

    A class with fewer than k + 1 points uses the targets it has; a class of one point has none and only pushes.
    Triplets and quadruplets may take the place of labels: their near pairs are the targets, their far pairs the
    impostors, and each hinge has the margin that it was given.
    Directions in which X is constant are left out of the metric.

    Parameters
    ----------
    n_neighbors : int
        Target neighbors k.
    push : float, > 0
        Weight of the hinges against the pull of the targets.
    n_components : int, optional
        Rows r of L; the number of features when None. Below it the problem is not convex, and a fit has also converged
        when 40 searches for impostors in a row have lowered the objective by less than a thousandth.
    init : {"auto", "identity", "pca", "lda", "random"} or array (r, d)
        Where L starts; "auto" is the identity at full rank and PCA below it.
    reg : float, ≥ 0, or "pull"
        Weight of tr(M) = ‖L‖² (Chatpatanasiri et al. 2010, Theorem 3); "pull" is the mean eigenvalue of the scatter of
        target pairs. With as many features as points the problem without it has degenerate solutions, which pull
        all targets together and separate classes in directions that mean nothing: give "pull" then, and to
        kernelized LMNN.
    prior : {"identity", "covariance"} or array (d, d)
        What the metric is where the labels say nothing.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out, in the leading directions of the points (see the guide on anchored learning).
    class_weight : None, "balanced" or dict
        What the pull and the hinges of the points i of a class count: all the same; each class the same in all,
        however rare it is; or label → weight.
    reselect : int
        How often targets are chosen again, each time under the metric learned so far.
    max_iter : int
        Most iterations.
    tol : float
        Residual, relative to the objective, to stop at.
    verbose : bool
        Show progress: a bar, or lines where rich is not installed.
    callback : callable, optional
        Called as ``callback(iteration, objective, residual)`` after each search for impostors.
    random_state : int or generator, optional
        Draws, where there are any: the same number gives the same result.

    Attributes
    ----------
    metric_ : Metric
        The learned distance, an immutable value.
    targets_ : array (n, k)
        Target neighbors; a missing one is the point itself.

    See Also
    --------
    gramian.NCA : The same aim, smoothly.
    gramian.MCML : A convex relative of NCA.
    gramian.AutoMetric : Chooses among learners.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import gramian as gm
    >>> X, y = load_iris(return_X_y=True)
    >>> lmnn = gm.LMNN(anchor=0).fit(X, y)
    >>> lmnn.converged_, bool(0 <= lmnn.solution_.gap < 0.02 * lmnn.objective_)
    (True, True)
    """

    _accepts = (Comparisons,)
    _devices = True
    _most_points = 3_000
    _enough = {"tol": lambda tol: max(tol, 5e-2), "max_iter": lambda most: min(most, 30)}

    def __init__(
        self,
        n_neighbors=3,
        push=1.0,
        *,
        n_components=None,
        init="auto",
        reg=0.0,
        prior="identity",
        anchor="auto",
        class_weight=None,
        reselect=0,
        max_iter=1000,
        tol=5e-3,
        verbose=False,
        callback=None,
        random_state=None,
    ):
        shared = {"max_iter": max_iter, "tol": tol, "verbose": verbose, "callback": callback}
        super().__init__(
            n_components, init=init, reg=reg, prior=prior, anchor=anchor, random_state=random_state, **shared
        )
        self.n_neighbors = n_neighbors
        self.push = push
        self.class_weight = class_weight
        self.reselect = reselect

    def _require(self, side: Any) -> None:
        if isinstance(side, Labels):
            super()._require(side)
        elif not (side.margin > 0).any():
            raise ValueError(
                "LMNN: margin must be positive, or M = 0 is best; give margin=None to take it from the data."
            )

    def _descend(self, X: np.ndarray, labels: Any, rng: Any, report: Callable | None) -> Solution:
        if isinstance(labels, Comparisons):
            return self._compare(_device.to_host(X), labels, rng, report)
        k = _checks.number(self.n_neighbors, "LMNN", "n_neighbors", low=1, integer=True)
        again = _checks.number(self.reselect, "LMNN", "reselect", low=0, integer=True)
        _checks.number(self.push, "LMNN", "push", low=0, open_low=True)
        near = self._targets(X, labels, k)
        start = Start.around(self, X, labels, rng, near, self._weight(X, near), ridge=1e-9)
        options = {"max_iter": self.max_iter, "tol": self.tol, "report": report}
        weight = class_weights(self.class_weight, labels, "LMNN")
        solution = descend_margins(start, labels, self._hinges(start.Z, near, weight), **options)
        for _ in range(again):
            near = self._targets(X @ solution.factor.T, labels, k)
            start = replace(start, L=start.coordinates.lower(solution.factor, given=True))
            hinges = self._hinges(start.Z, near, weight)
            solution = descend_margins(start, labels, hinges, done=solution.n_iter, **options)
        return replace(solution, found={"targets": near})

    def _compare(self, X: np.ndarray, side: Comparisons, rng: Any, report: Callable | None) -> Solution:
        """Given comparisons in the place of targets and impostors; M grows with their margins, 1 on average inside."""
        _checks.number(self.push, "LMNN", "push", low=0, open_low=True)
        if _checks.is_word(self.init, "lda"):
            raise ValueError("LMNN: init must not be 'lda' without labels; give 'pca' or 'identity'.")
        n = linalg.count(X)
        i, j = side.near_ends
        once = np.unique(i * n + j)  # a pair that stands in several comparisons counts once
        near = once // n, once % n
        start = Start.around(self, X, None, rng, near, self._weight(X, near), ridge=1e-9)
        hinges = Hinges.of(start.Z, side, self.push)
        found = descend_margins(start, None, hinges, max_iter=self.max_iter, tol=self.tol, report=report)
        size = float(side.margin.mean())
        return replace(
            found, factor=np.sqrt(size) * found.factor, objective=size * found.objective, gap=size * found.gap
        )

    def _targets(self, X: Any, labels: Labels, k: int) -> np.ndarray:
        """Target neighbors (n, k)."""
        return targets.same_class(X, labels, k)

    def _hinges(self, Z: Any, near: np.ndarray, weight: Any = None) -> Any:
        """The triplets of a descent, with no impostor yet."""
        return Triplets.none(Z, near, self.push, weight)

    def _weight(self, X: np.ndarray, near: Any) -> float:
        """The weight of tr(M) as a number."""
        if isinstance(self.reg, str):
            _checks.one_of(self.reg, "LMNN", "reg", ("pull",))
            if isinstance(near, tuple):
                return float(np.trace(pull(X, near))) / X.shape[1]
            return float(sum(linalg.pair_sqdist(X, X[column]).sum() for column in near.T)) / X.shape[1]
        return _checks.number(self.reg, "LMNN", "reg", low=0)
