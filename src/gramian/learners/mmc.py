"""Mahalanobis metric for clustering."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize

from gramian import linalg
from gramian._arrays import asarray, foreign, namespace, to_numpy
from gramian._settings import Count, Positive
from gramian.constraints import Labels, Pairs
from gramian.learners.base import Iterative
from gramian.learners.subsample import ENOUGH, usual
from gramian.learners.task import Effort, Task, Traits
from gramian.solvers.base import Solution, ended
from gramian.solvers.descent import descend, dot, norm


@dataclass(eq=False, repr=False)
class MMC(Iterative):
    """Spread dissimilar pairs while similar ones stay close, for clustering.

    max_M Σ_{(i,j) dissimilar} d_M(x_i, x_j)   s.t.  Σ_{(i,j) similar} d²_M(x_i, x_j) ≤ 1,  M ⪰ 0.

    Xing et al. (2003); Jain (2009), §3.1.1. With S the scatter of the similar pairs and M = S^{-1/2} B S^{-1/2} the
    constraint is Tr B ≤ 1 and the objective g(B) = Σ √(wᵀBw) is concave and grows with the size of B, so B = FFᵀ/‖F‖²
    turns it into a smooth problem without constraints, solved by L-BFGS. F is square, so nothing is lost; the fit
    stops on a duality gap of the concave problem, not on the progress of the factored one.

    S gets a small ridge, because a direction in which similar pairs do not differ would make the problem unbounded.

    Parameters
    ----------
    diagonal : bool
        Learn a diagonal M only.
    reg : float, > 0
        The ridge, relative to the mean eigenvalue of S.
    prior : {"identity", "covariance"} or array (d, d)
        What the metric is where the labels say nothing.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out, in the leading directions of the points (see the guide on anchored learning).
    n_pairs : int, optional
        Pairs drawn from labels.
    max_iter, tol
        Limit, and the duality gap relative to the objective to stop at.
        None: 1000 and 0.0001; 200 and 0.01 in a blend with a prior.
    random_state : int or generator, optional
        Draws, where there are any: the same number gives the same result.
    verbose : bool
        Show progress: a bar, or lines where rich is not installed.
    callback : callable, optional
        Called as ``callback(n_iter, value, residual)``.

    Attributes
    ----------
    metric_ : Metric
        The learned distance, an immutable value.
    n_iter_, converged_, objective_, solution_
        Steps taken, whether ``solution_.tol`` was met, the objective (of a blend there is none), and the whole answer.

    See Also
    --------
    gramian.POLA : Learns a threshold as well.
    gramian.ITML : Stays near a prior.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> gm.MMC(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    traits = Traits(
        takes=(Pairs,),
        exact=Effort(tol=1e-4, max_iter=1000),
        blended=Effort(tol=1e-2, max_iter=200, constraints=ENOUGH),
        devices=True,
    )

    diagonal: bool = False
    reg: Positive = 1e-6
    _: KW_ONLY
    n_pairs: Count | None = None

    def solve(self, task: Task) -> Solution:
        """L-BFGS in rounds, each ended by the exact duality gap."""
        pairs = task.y
        if isinstance(pairs, Labels):
            count = usual(self.n_pairs, task.effort.constraints, pairs, 5)
            pairs = Pairs.from_labels(pairs, count, random_state=task.rng)
        V = linalg.take(task.Z, pairs.left) - linalg.take(task.Z, pairs.right)  # (m, d)
        close, far = linalg.take(V, pairs.similar), linalg.take(V, ~pairs.similar)
        far = linalg.take(far, linalg.row_norms(far) > 0)
        if close.shape[0] == 0 or far.shape[0] == 0:
            raise ValueError("MMC: needs similar pairs, and dissimilar pairs of points that differ.")
        S = to_numpy(close.T @ close)  # Σ_S vvᵀ, (d, d)
        size = np.trace(S) / len(S)  # the unit of reg
        S = S + self.reg * (size if size > 0 else 1.0) * np.eye(len(S))
        ascent = ascend_diagonal if self.diagonal else ascend
        M, gap, n_iter = ascent(S, far, task.effort, task.report)
        value = float(np.sqrt(np.maximum(to_numpy(linalg.row_inner(far @ asarray(M, far), far)), 0)).sum())
        tol, most = task.effort.tol, int(task.effort.max_iter or 1)
        result = ended(gap, tol, n_iter, most)
        return Solution(M=M, objective=value, gap=gap * value, n_iter=n_iter, result=result, residual=gap, tol=tol)


def ascend(S: Any, far: Any, effort: Effort, report: Callable[..., Any] | None) -> tuple[Any, float, int]:
    """M = S^{-1/2} B S^{-1/2} with the best B = FFᵀ/‖F‖², the gap, and the steps."""
    root = linalg.psd_power(S, -0.5, 0.0)
    start = linalg.identity(len(S), far)
    F, gap, n_iter = maximize(far @ asarray(root, far), start, full_objective, effort, report)
    F = to_numpy(F)
    return linalg.symmetrize(root @ (F @ F.T) @ root) / np.sum(F * F), gap, n_iter


def ascend_diagonal(S: Any, far: Any, effort: Effort, report: Callable[..., Any] | None) -> tuple[Any, float, int]:
    """The same for a diagonal M."""
    root = 1 / np.sqrt(np.diag(S))
    W = far**2 * asarray(root**2, far)  # d²_i = Σ_j W_ij m_j, (m, d)
    F, gap, n_iter = maximize(W, linalg.full(len(S), 1.0, far), diagonal_objective, effort, report)
    F = to_numpy(F)
    return np.diag((root * F) ** 2 / (F @ F)), gap, n_iter


def maximize(
    W: Any, F: Any, objective: Any, effort: Effort, report: Callable[..., Any] | None
) -> tuple[Any, float, int]:
    """L-BFGS in rounds until the duality gap is small."""
    n_iter, gap, most = 0, np.inf, int(effort.max_iter or 1)
    while n_iter < most:
        budget = min(25, most - n_iter)
        x, value, steps = descended(partial(objective, W=W), linalg.flat(F), budget)
        F = namespace(x).reshape(x, F.shape) / norm(x)
        n_iter += max(steps, 1)
        gap = duality_gap(W, F)
        if report is not None:
            report(n_iter, -value, gap)
        if gap <= effort.tol or steps < budget:
            break
    return F, gap, n_iter


def descended(objective: Any, x: Any, max_iter: int) -> tuple[Any, float, int]:
    """Where L-BFGS comes to from x, the value there, and the steps it took."""
    if foreign(x):
        end = descend(objective, x, max_iter=max_iter, memory=20)
        return end.point, end.value, end.n_iter
    options = {"maxiter": max_iter, "maxcor": 20, "ftol": 0.0, "gtol": 0.0}
    result = minimize(objective, x, jac=True, method="L-BFGS-B", options=options)
    return result.x, float(result.fun), int(result.nit)


def full_objective(x: np.ndarray, W: np.ndarray) -> tuple[float, np.ndarray]:
    """−log Σ ‖Fᵀw‖ + ½ log ‖F‖² and its gradient."""
    xp = namespace(x)
    F = xp.reshape(x, (W.shape[1], W.shape[1]))
    P = W @ F
    lengths = xp.sqrt(linalg.row_norms(P))
    total = linalg.total(lengths)
    size = dot(x, x)
    safe = xp.where(lengths > 0, lengths, 1.0)
    grad = -(W.T @ (P / safe[:, None])) / total + F / size
    return float(0.5 * np.log(size) - np.log(total)), linalg.flat(grad)


def diagonal_objective(x: np.ndarray, W: np.ndarray) -> tuple[float, np.ndarray]:
    """The same for diagonal F; W holds squared coordinates."""
    xp = namespace(x)
    lengths = xp.sqrt(W @ x**2)
    total = linalg.total(lengths)
    size = dot(x, x)
    safe = xp.where(lengths > 0, lengths, 1.0)
    grad = -(W.T @ (1 / safe)) * x / total + x / size
    return float(0.5 * np.log(size) - np.log(total)), grad


def duality_gap(W: np.ndarray, F: np.ndarray) -> float:
    """Bound on (g* − g)/g: with G = ∇g(B), Tr B' ≤ 1 gives g(B') ≤ g(B) + ⟨G, B'−B⟩ ≤ g/2 + λ_max(G)."""
    xp = namespace(W)
    lengths = xp.sqrt(W @ F**2 if F.ndim == 1 else linalg.row_norms(W @ F))
    inverse = 1 / linalg.at_least(lengths, 1e-12 * float(xp.max(lengths)))
    if F.ndim == 1:
        top = float(xp.max(W.T @ inverse)) / 2
    else:
        G = W.T @ (W * inverse[:, None]) / 2
        top = float(linalg.eigh(G)[0][-1])
    return top / linalg.total(lengths) - 0.5
