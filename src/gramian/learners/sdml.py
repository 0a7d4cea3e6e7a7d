"""Sparse distance metric learning."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy import linalg as sla

from gramian import _validate, linalg
from gramian._settings import Count, Positive, Size
from gramian.constraints import Labels, Pairs
from gramian.learners.base import Iterative
from gramian.learners.priors import positive
from gramian.learners.task import Effort, Task, Traits
from gramian.solvers.base import Solution, ended
from gramian.solvers.newton import Point, minimize_box

FAIR = (0.1, 30)
"""How well a Newton direction is found unless the solution is to be exact, and with how many products."""
MOST = 0.99
"""Share of the largest weight of the pairs that leaves a minimum, when a larger one is asked for."""


@dataclass(frozen=True, eq=False)
class InverseCurvature:
    """size · (MAM)_ij for a symmetric A of entries above the diagonal at ``places`` of M, row by row.

    The derivative of −log det in such entries; others stay at zero.
    """

    M: np.ndarray
    places: np.ndarray
    size: float

    @cached_property
    def diagonal(self) -> np.ndarray:
        """M_ij² + M_ii M_jj, times the size."""
        i, j = np.divmod(self.places, len(self.M))
        diagonal = np.diag(self.M)
        return self.size * (self.M.ravel()[self.places] ** 2 + diagonal[i] * diagonal[j])

    def product(self, v: np.ndarray) -> np.ndarray:
        """The entries of M(A + Aᵀ)M for the upper triangle A of v."""
        A = np.zeros(self.M.size)
        A[self.places] = v
        S = self.M @ A.reshape(self.M.shape) @ self.M
        S = S + S.T
        return self.size * S.ravel()[self.places]

    def part(self, keep: np.ndarray) -> "InverseCurvature":
        """Only some entries."""
        return replace(self, places=self.places[keep])


class SparseInverse:
    """The dual of min_M ⟨K, M⟩ − log det M + λ Σ_{i≠j} |M_ij|.

    It is max log det(K + U) + d over symmetric U with |U_ij| ≤ λ and U_ii = 0 (Banerjee et al. 2008).
    Variables x in [0, 1] stand for the entries above the diagonal, U_ij = λ(2x − 1).
    """

    def __init__(self, K: np.ndarray, lam: float):
        self.K, self.lam = K, lam
        self.upper = np.triu_indices(len(K), 1)

    def symmetric(self, entries: np.ndarray) -> np.ndarray:
        """The symmetric matrix with these entries off its diagonal."""
        A = np.zeros_like(self.K)
        A[self.upper] = entries
        return A + A.T

    def start(self) -> np.ndarray:
        """The x that brings entries of K + U to zero as far as they may go, or half as far until K + U ≻ 0."""
        x = (1 - np.clip(self.K[self.upper] / self.lam, -1, 1)) / 2
        for _ in range(50):
            if np.isfinite(self.value(x)[0]):
                return x
            x = (x + 0.5) / 2
        return np.full_like(x, 0.5)

    def has_minimum(self) -> bool:
        """Whether some K + U ≻ 0 is found, as it is wherever K ≻ 0."""
        return bool(np.isfinite(self.value(self.start())[0]))

    def value(self, x: np.ndarray) -> tuple[float, Any, Any]:
        """−log det(K + U), its gradient, and M = (K + U)⁻¹; infinite outside of the cone."""
        try:
            C = np.linalg.cholesky(self.K + self.symmetric(self.lam * (2 * x - 1)))
        except np.linalg.LinAlgError:
            return np.inf, None, None
        M = sla.cho_solve((C, True), np.eye(len(C)), check_finite=False)  # (K + U)⁻¹, (d, d)
        return -2 * float(np.log(np.diag(C)).sum()), -4 * self.lam * M[self.upper], M

    def hessian(self, x: np.ndarray, M: np.ndarray) -> "InverseCurvature":
        """The Hessian in x."""
        i, j = self.upper
        return InverseCurvature(M, i * len(M) + j, 8 * self.lam**2)

    def primal(self, M: np.ndarray) -> float:
        """⟨K, M⟩ − log det M + λ Σ_{i≠j} |M_ij|."""
        try:
            logdet = 2 * np.log(np.diag(np.linalg.cholesky(M))).sum()
        except np.linalg.LinAlgError:
            return np.inf
        return float((self.K * M).sum() - logdet + 2 * self.lam * np.abs(M[self.upper]).sum())

    def gap(self, point: Point) -> float:
        """The duality gap relative to the objective."""
        dual = len(self.K) - point.value  # d + log det(K + U)
        return (self.primal(point.info) - dual) / max(1.0, abs(dual))

    def sparse(self, M: np.ndarray) -> np.ndarray:
        """M after the longest proximal step that does not cost more: small entries become the zeros of the optimum."""
        U = np.linalg.inv(M) - self.K
        np.fill_diagonal(U, 0)
        before, step = self.primal(M), float(np.abs(M).max() ** 2)
        for _ in range(40):
            goal = M + step * U  # a step against the gradient K − M⁻¹, then the shrinking of |M_ij|
            candidate = np.sign(goal) * np.maximum(np.abs(goal) - step * self.lam, 0)
            np.fill_diagonal(candidate, np.diag(M))
            if self.primal(candidate) <= before:
                return candidate
            step /= 4
        return M


def sparse_inverse(
    K: np.ndarray, lam: float, *, max_iter: int, tol: float, report: Callable[..., Any] | None = None
) -> Solution:
    """The sparse inverse of a positive definite K by projected Newton steps on the dual, to a certified gap."""
    problem = SparseInverse(K, lam)
    x = problem.start()
    end = minimize_box(
        problem.value,
        problem.hessian,
        x,
        np.ones_like(x),
        problem.gap,
        tol,
        max_iter,
        callback=report,
        effort=FAIR if tol >= 1e-5 else None,
    )
    if report is not None and end.n_iter == 0:  # the start is the solution
        report(1, end.value, end.residual)
    M = problem.sparse(linalg.symmetrize(end.info))
    objective = problem.primal(M)
    return Solution(
        M=M,
        objective=objective,
        gap=objective - (len(K) - end.value),
        n_iter=max(end.n_iter, 1),
        result=ended(end.residual, tol, end.n_iter, max_iter),
        residual=end.residual,
        tol=tol,
    )


def signed_scatter(V: np.ndarray, sign: np.ndarray) -> np.ndarray:
    """Σ_i δ_i v_i v_iᵀ."""
    return V.T @ (V * sign[:, None])


def pair_balance(V: np.ndarray, sign: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, float]:
    """P = s · mean_i δ_i v_i v_iᵀ, as large as M₀⁻¹ on average, and the weight below which M₀⁻¹ + ηP ≻ 0.

    s = d / mean vᵀM₀v makes η independent of the units of X and of the number of pairs.
    """
    size = linalg.row_inner(V @ prior, V).mean()
    P = signed_scatter(V, sign) * (len(prior) / (len(V) * size) if size > 0 else 0.0)
    root = linalg.psd_sqrt(prior)
    low = float(linalg.eigh(linalg.symmetrize(root @ P @ root))[0][0])
    return P, 1 / -low if low < 0 else np.inf


@dataclass(eq=False, repr=False)
class SDML(Iterative):
    """Learn from pairs a metric whose matrix has many zeros, for few pairs and many features.

    min_M ⟨M₀⁻¹ + ηP, M⟩ − log det M + λ Σ_{i≠j} |M_ij|   (Qi et al. 2009, (8)): a metric with many zeros.

    P = s · mean_i δ_i v_i v_iᵀ over the differences v of pairs, δ = 1 for similar and −1 for dissimilar ones;
    s = d / mean vᵀM₀v makes η the same in all units. Dissimilar pairs make P indefinite, and the problem has no
    minimum when η is too large, so η is kept where M₀⁻¹ + ηP ≻ 0. Solved by projected Newton steps on the dual, to a
    duality gap.

    Parameters
    ----------
    balance : float or "auto"
        η; "auto" is half of the largest one, or 1 where any will do. A larger one is made smaller, with a warning.
    sparsity : float, > 0
        λ relative to the mean diagonal entry of M₀⁻¹ + ηP.
    prior : {"identity", "covariance"} or array (d, d)
        M₀, positive definite.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out, in the leading directions of the points (see the guide on anchored learning).
    n_pairs : int, optional
        Pairs drawn from labels; see :meth:`Pairs.from_labels`.
    max_iter, tol
        Limit, and the duality gap relative to the objective to stop at.
        None: 200 and 0.0001.
    verbose : bool
        Show progress: a bar, or lines where rich is not installed.
    callback : callable, optional
        Called as ``callback(n_iter, value, residual)``.
    random_state : int or generator, optional
        Draws, where there are any: the same number gives the same result.

    Attributes
    ----------
    metric_ : Metric
        The learned distance, an immutable value.
    n_iter_, converged_, objective_, solution_
        Steps taken, whether ``solution_.tol`` was met, the objective (of a blend there is none), and the whole answer.

    See Also
    --------
    gramian.ITML : Without sparsity.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> sdml = gm.SDML(sparsity=0.1, anchor=0, random_state=0).fit(X, y)
    >>> sdml.score(X, y) > 0.9, bool((abs(sdml.metric_.matrix) < 1e-12).any())
    (True, True)
    """

    traits = Traits(
        takes=(Pairs,),
        exact=Effort(tol=1e-4, max_iter=200),
        blended=Effort(tol=1e-4, max_iter=200),
        prior_inside=True,
        repeats=5,
    )

    balance: Size | Literal["auto"] = "auto"
    sparsity: Positive = 0.01
    _: KW_ONLY
    n_pairs: Count | None = None

    def solve(self, task: Task) -> Solution:
        """The sparse inverse of M₀⁻¹ + ηP."""
        pairs = task.y
        if isinstance(pairs, Labels):
            pairs = Pairs.from_labels(pairs, self.n_pairs, random_state=task.rng)
        prior = positive(task.M0, "SDML")
        V = task.Z[pairs.left] - task.Z[pairs.right]  # (m, d)
        P, most = pair_balance(V, pairs.sign, prior)
        K = linalg.symmetrize(np.linalg.inv(prior) + self.balance_below(most) * P)
        lam = self.sparsity * np.trace(K) / len(K)
        return sparse_inverse(K, lam, max_iter=int(task.effort.max_iter or 1), tol=task.effort.tol, report=task.report)

    def balance_below(self, most: float) -> float:
        """η as a number below ``most``."""
        if isinstance(self.balance, str):
            return 0.5 * most if np.isfinite(most) else 1.0
        if self.balance < most:
            return float(self.balance)
        _validate.warn(
            f"SDML: balance must be below {most:.3g} for these pairs, or there is no minimum, got {self.balance:.3g}; "
            f"{MOST * most:.3g} is taken."
        )
        return MOST * most
