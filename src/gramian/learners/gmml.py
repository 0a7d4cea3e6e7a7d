"""Geometric mean metric learning."""

from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.constraints import Labels, Pairs
from gramian.learners.base import MetricLearner
from gramian.learners.priors import prior_matrix
from gramian.solvers.base import Solution


class GMML(MetricLearner):
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
        Steps taken, whether the tolerance was met, the value reached, and the solver's whole answer.

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

    _accepts = (Pairs,)
    _bounds = False
    _devices = True
    _has_prior = True

    def __init__(self, t=0.5, reg=1e-3, *, prior="identity", anchor="auto", n_pairs=None, random_state=None):
        self.t = t
        self.reg = reg
        self.prior = prior
        self.anchor = anchor
        self.n_pairs = n_pairs
        self.random_state = random_state

    def _from_labels(self, Z: Any, labels: Labels, rest: Any, rng: np.random.RandomState) -> Pairs:
        return Pairs.from_labels(labels, self.n_pairs, random_state=rng)

    def _learn(self, Z: np.ndarray, side: Pairs, rest: Any, rng: np.random.RandomState) -> Solution:
        t = _checks.number(self.t, "GMML", "t", low=0, high=1)
        lam = _checks.number(self.reg, "GMML", "reg", low=0, open_low=True)
        if side.similar.all() or not side.similar.any():
            raise ValueError("GMML: needs both similar and dissimilar pairs.")
        V = Z[side.left] - Z[side.right]
        M0 = prior_matrix(self.prior, Z, rest, "GMML")
        similar = linalg.placed(side.similar, Z)
        S = regularized(V[similar], np.linalg.inv(M0), lam)
        D = regularized(V[~similar], M0, lam)
        M = geodesic(S, D, t)
        objective = float(np.sum(M * S) + np.sum(np.linalg.inv(M) * D))
        return Solution(M=M, objective=objective)


def regularized(V: np.ndarray, R: np.ndarray, lam: float) -> np.ndarray:
    """The mean of vvᵀ over rows v, with a share ``lam`` of R in its unit."""
    S = V.T @ V / len(V)
    size = np.trace(S) / np.trace(R)
    return S + lam * (size if size > 0 else 1.0) * R


def geodesic(S: np.ndarray, D: np.ndarray, t: float) -> np.ndarray:
    """S⁻¹ ♯_t D = S^{-1/2} (S^{1/2} D S^{1/2})^t S^{-1/2}, for matrices of any scale."""
    s, r = np.trace(S), np.trace(D)
    S, D = S / s, D / r
    root, inverse = linalg.psd_power(S, 0.5, 0.0), linalg.psd_power(S, -0.5, 0.0)
    middle = linalg.psd_power(linalg.symmetrize(root @ D @ root), t, 0.0)
    return s ** (t - 1) * r**t * linalg.symmetrize(inverse @ middle @ inverse)
