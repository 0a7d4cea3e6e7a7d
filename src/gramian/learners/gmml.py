"""Geometric mean metric learning."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from gramian import linalg
from gramian._arrays import to_numpy
from gramian._settings import Count, Positive, Share
from gramian.constraints import Labels, Pairs
from gramian.learners.base import Blended
from gramian.learners.task import Task, Traits
from gramian.solvers.base import Solution


@dataclass(eq=False, repr=False)
class GMML(Blended):
    """Make similar pairs near and dissimilar pairs far, in closed form.

    min_{M ≻ 0} ⟨M, S⟩ + ⟨M⁻¹, D⟩, in closed form M = S⁻¹ ♯_t D   (Zadeh et al. 2016).

    S and D are the mean scatters of similar and dissimilar pair differences and ♯_t is the point at t on the
    geodesic of positive definite matrices; t = ½ is the minimizer. A LogDet pull toward a prior M₀ adds
    λM₀⁻¹ to S and λM₀ to D, with λ relative to the size of S, which keeps constant features harmless.

    Parameters
    ----------
    t : float in [0, 1]
        0 uses similar pairs only (RCA's inverse scatter), 1 dissimilar pairs only.
    reg : float, > 0
        λ, relative to the mean eigenvalue of S (and of D).
    prior : {"identity", "covariance"} or array (d, d)
        M₀, positive definite.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out, in the leading directions of the points (see the guide on anchored learning).
    n_pairs : int, optional
        Pairs drawn from labels.
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
    gramian.ITML : Iterative, with bounds.
    gramian.RCA : In closed form from groups.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> gm.GMML(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    traits = Traits(takes=(Pairs,), prior_inside=True, repeats=3, devices=True)

    t: Share = 0.5
    reg: Positive = 1e-3
    _: KW_ONLY
    n_pairs: Count | None = None

    def solve(self, task: Task) -> Solution:
        """In closed form."""
        pairs: Any = task.y
        if isinstance(pairs, Labels):
            pairs = Pairs.from_labels(pairs, self.n_pairs, random_state=task.rng)
        if pairs.similar.all() or not pairs.similar.any():
            raise ValueError(
                "GMML: needs both similar and dissimilar pairs; where all are similar, give "
                "Chunklets.from_pairs(pairs) to PLDA, RCA or AutoMetric, which learn from groups."
            )
        S, D = (mean_scatter(task.Z, pairs.left[kind], pairs.right[kind]) for kind in (pairs.similar, ~pairs.similar))
        return self.from_sums(S, D, task.M0)

    def from_sums(self, S: Any, D: Any, M0: Any) -> Solution:
        """The same from the mean scatters (d, d) of similar and of dissimilar pairs, near M₀."""
        S = regularized(S, np.linalg.inv(M0), self.reg)
        D = regularized(D, M0, self.reg)
        M = geodesic(S, D, self.t)
        return Solution(M=M, objective=float(np.sum(M * S) + np.sum(np.linalg.inv(M) * D)))


def mean_scatter(Z: Any, left: np.ndarray, right: np.ndarray) -> Any:
    """The mean of vvᵀ over the differences v of pairs, some of them at a time, on the host."""
    total = 0.0
    for rows in linalg.blocks(len(left), 16 * Z.shape[1], of=Z):
        V = linalg.difference(linalg.take(Z, left[rows]), linalg.take(Z, right[rows]))  # (m, d)
        total = total + V.T @ V
    return to_numpy(total) / len(left)


def regularized(S: Any, R: Any, lam: float) -> Any:
    """S with a share ``lam`` of R in its unit."""
    size = np.trace(S) / np.trace(R)
    return S + lam * (size if size > 0 else 1.0) * R


def geodesic(S: np.ndarray, D: np.ndarray, t: float) -> np.ndarray:
    """S⁻¹ ♯_t D = S^{-1/2} (S^{1/2} D S^{1/2})^t S^{-1/2}, for matrices of any scale."""
    s, r = np.trace(S), np.trace(D)
    S, D = S / s, D / r
    root, inverse = linalg.psd_power(S, 0.5, 0.0), linalg.psd_power(S, -0.5, 0.0)
    middle = linalg.psd_power(linalg.symmetrize(root @ D @ root), t, 0.0)
    return s ** (t - 1) * r**t * linalg.symmetrize(inverse @ middle @ inverse)
