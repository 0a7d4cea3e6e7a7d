"""Mahalanobis' own distance."""

from typing import Any

import numpy as np
from scipy.linalg import lapack

from gramian import linalg
from gramian.learners.base import Learner
from gramian.learners.task import Sums, Task, Traits
from gramian.solvers.base import Solution

RTOL = 1e-12
"""Directions with less of the variance than this, in units of the features, are constant."""
SAFE = 1e-4
"""How far from that limit a bound on the condition must be."""


def whitening(C: np.ndarray) -> Solution:
    """M = C⁺, the inverse of the covariance of points on the directions in which they vary.

    The inverse is taken of the correlations, so that no unit of a feature drowns another:
    M = S⁻¹R⁺S⁻¹ for C = SRS with standard deviations S. All generalized inverses agree on differences of the points.
    """
    size = np.sqrt(np.diag(C))
    varies = np.flatnonzero(size > 0)
    size = size[varies]
    root, logdet = inverse_root(C[np.ix_(varies, varies)] / (size[:, None] * size))
    factor = np.zeros((len(root), len(C)))
    factor[:, varies] = root / size
    # min ⟨C, M⟩ − log det M on the span of the points: r + log det C there.
    return Solution(factor=factor, objective=float(len(factor) + 2 * np.log(size).sum() + logdet))


def inverse_root(R: np.ndarray) -> tuple[np.ndarray, float]:
    """A factor L of R⁺ = LᵀL for correlations R, and the sum of the logarithms of their eigenvalues that are not 0.

    By Cholesky where that is safe: no eigenvalue is above d or below 1 / tr R⁻¹. Otherwise by eigenvectors.
    """
    lower, failed = lapack.dpotrf(R, lower=True)
    if not failed and len(R):
        inverse, _ = lapack.dtrtri(lower, lower=True)
        if len(R) * np.vdot(inverse, inverse) * RTOL < SAFE:
            return inverse, 2 * float(np.log(np.diag(lower)).sum())
    values, vectors = linalg.eigh(R)
    positive = values > RTOL * values.max(initial=0)
    return (vectors[:, positive] / np.sqrt(values[positive])).T, float(np.log(values[positive]).sum())


class Covariance(Learner):
    """Whiten all points: no labels, only their spread.

    M = C⁺ with C the covariance of X: the minimizer of ⟨C, M⟩ − log det M (Mahalanobis 1936).

    The one learner without side information: y may be left out and is not looked at. Directions in which
    X does not vary get weight zero. Nothing tells whether it helps, so there is no anchor; to learn near it from labels
    or pairs, give it to another learner as ``prior="covariance"``.

    Attributes
    ----------
    metric_ : Metric
        The learned distance, an immutable value.
    n_iter_, converged_, objective_, solution_
        Steps taken, whether ``solution_.tol`` was met, the objective (of a blend there is none), and the whole answer.

    See Also
    --------
    gramian.RCA : The spread within groups, where labels are known.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, _ = load_iris(return_X_y=True)
    >>> metric = gm.Covariance().fit(X).metric_
    >>> bool(abs(metric.sqdist(X).sum() / (2 * 150 * 149) - 4) < 1e-9)  # four directions of variance 1
    True
    """

    traits = Traits(labels="none", summed=True)

    def solve(self, task: Task) -> Solution:
        """In closed form."""
        n = len(task.Z)
        return self.from_sums(task.sums or Sums(n, linalg.scatter_around_mean(task.Z) / max(n - 1, 1)))

    def from_sums(self, sums: Sums) -> Solution:
        """The same from the covariance of the points."""
        return whitening(sums.covariance)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.input_tags.three_d_array = False
        return tags
