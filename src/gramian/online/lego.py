"""The LogDet rules: LEGO with the exact gradient, and ITML-Online with that of the last step (Jain 2009, §5.1)."""

from dataclasses import dataclass
from math import hypot, sqrt
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._settings import Positive, require
from gramian.coordinates import KernelSpace, Subspace
from gramian.divergences import LogDet
from gramian.metrics import Metric
from gramian.online.factored import FactoredRule, prior_factor
from gramian.online.learner import OnlineLearner
from gramian.solvers.bregman import step
from gramian.solvers.slack import Quadratic


@dataclass(frozen=True, eq=False)
class LegoRule(FactoredRule):
    """M_{t+1} = argmin_M D_ld(M, M_t) + η/2 (vᵀMv − y)², solved exactly (Jain 2009, (5.1)–(5.4))."""

    compiled = "lego_stream"

    def _after(self, prediction: float, target: float) -> tuple[float, float]:
        eta, p, y = self.eta, prediction, target
        t = eta * y * p - 1
        h = hypot(t, 2 * sqrt(eta) * p)
        after = 2 * p / (h - t) if t < 0 else (t + h) / (2 * eta * p)  # (5.4), written without cancellation
        # ŷ − y = (ȳ − y)(1 + ηŷȳ) by (5.3), so x = −η(ȳ − y)ȳ loses no digits when ȳ is near y.
        return after, -eta * (p - y) * after / (1 + eta * p * after)

    def multiplier(self, mu: np.ndarray, target: float) -> float:
        """c = η(⟨A, M⁺⟩ − y), the root of Σ_k μ_k/(1 + cμ_k) = y + c/η, which is (5.3) for a form."""
        sign = 1.0 if mu.sum() > target else -1.0
        return sign * step(sign * mu, 0.0, 0.0, sign * target, Quadratic(self.eta))


class LEGO(OnlineLearner):
    """Learn from one pair at a time, with a bound on the regret.

    M_{t+1} = argmin_{M ≻ 0} D_ld(M, M_t) + η ℓ(vᵀMv, y), v = u − w, ℓ(ŷ, y) = ½(ŷ − y)² (Jain 2009, (5.1)).

    The minimizer is exact, one rank-one step without eigenvectors: with ŷ = vᵀM_t v, ȳ the positive root (5.4),

        M_{t+1} = M_t − η(ȳ − y) M_t v vᵀ M_t / (1 + η(ȳ − y) ŷ)                               (5.2)

    which is positive definite for every η > 0 (Theorem 7). For a bound (``at_most``, ``at_least``) the step is
    taken only when the bound is violated. The state is a factor of M = GᵀG: G_{t+1} = G_t + a G_t v vᵀM_t (§5.2.1).

    Parameters
    ----------
    eta : float or "auto"
        Step size η > 0; "auto" runs a grid over the first ``n_pretrain`` constraints and keeps the best (§5.3).
    prior : "identity", array (d, d) or Mahalanobis
        M_0, positive definite. The thesis starts from I/d.
    rank : int, optional
        Learn I plus a matrix of this rank: O(d · rank) a step, sparse points allowed, no d × d array.
    features : KernelFeatures, optional
        A fitted kernel basis: learn in kernel space, on its coordinates.
    alpha : float
        With ``features``, the fixed weight of the kernel distance outside of the basis.
    hinge : bool
        How ``partial_fit`` reads pairs: bounds u and l (True), or exact targets (False, as in §5.3).
    comparator : Metric, optional
        Fixed metric to measure the regret against; M_0 when None.
    n_pretrain : int
        Length of the phase that chooses η.
    random_state : int, optional
        For the pairs drawn when ``partial_fit`` is given labels.

    Attributes
    ----------
    metric_ : Metric
        The metric after all constraints so far.
    loss_, comparator_loss_, regret_ : float
        Σ ℓ of the predictions made before each step, the same for the comparator, and their difference.
    n_seen_, eta_
        Number of constraints so far, step size in use.

    See Also
    --------
    gramian.OnlineITML : An earlier rule of LogDet.
    gramian.OnlineHashIndex : Search while it learns.

    Examples
    --------
    >>> import gramian as gm
    >>> lego = gm.LEGO(eta=1.0)
    >>> lego.learn_one([0.0, 0.0], [1.0, 0.0], target=0.25).metric_.matrix.round(3).tolist()
    [[0.693, 0.0], [0.0, 1.0]]
    >>> lego.learn_one([0.0, 0.0], [0.0, 1.0], target=2.0, kind="at_most").n_seen_
    2
    """

    def _rule(self, eta: float, d: int) -> LegoRule:
        return LegoRule(eta, prior_factor(self.prior, type(self).__name__, d))

    def loss_bound(self, comparator: Metric, comparator_loss: float) -> float:
        """Largest loss possible so far, given a fixed metric with its own loss; see :func:`loss_bound`.

        The metric must be one that the learner could reach: any positive definite one on all features; with ``rank``
        I + U(C − I)Uᵀ on the basis U so far; with ``features`` a kernel metric on them with the same alpha. The theorem
        is about one step size: with ``eta="auto"`` the losses are those of whichever candidate led, for which
        nothing is proved, and this raises.
        """
        check_is_fitted(self, "progress_")
        progress = self.progress_
        if not isinstance(progress.rule, FactoredRule):
            raise ValueError('LEGO: loss_bound holds for one step size, got eta="auto"; give eta a number.')
        divergence = LogDet().value(core_on(progress, comparator), progress.start.core)
        return loss_bound(self.eta_, progress.reach, progress.peak, comparator_loss, divergence)


def core_on(progress: Any, metric: Metric) -> np.ndarray:
    """The core of a metric on the coordinates of a learner; raises when the metric is not of that form."""
    space, coordinates = progress.coordinates, metric.coordinates
    if space.whole:
        core: np.ndarray = metric.matrix
        return core
    if isinstance(space, KernelSpace):
        same = isinstance(coordinates, KernelSpace) and np.array_equal(space.features.map_, coordinates.features.map_)
    else:
        same = isinstance(coordinates, Subspace) and np.array_equal(space.basis, coordinates.basis)
    if same and metric.alpha == progress.alpha:
        return metric.core
    if isinstance(space, Subspace) and not isinstance(coordinates, KernelSpace):
        M, U = metric.matrix, space.basis  # (d, d), (d, r)
        C: np.ndarray = U.T @ M @ U  # (r, r)
        outside = M - np.eye(len(M)) - U @ (C - np.eye(len(C))) @ U.T  # M − (I + U(C − I)Uᵀ)
        if np.abs(outside).max() <= 1e-9 * np.abs(M).max():
            return C
    raise ValueError(
        "LEGO: loss_bound holds for metrics of the form that is learned, got another one; with rank give "
        "I + U(C − I)Uᵀ on the basis of metric_, with features a KernelMetric on them with the same alpha."
    )


def loss_bound(eta: float, reach: float, peak: float, comparator_loss: float, divergence: float) -> float:
    """Evaluate (1 + ηB²) L_{M*} + (1/η + B²) D_ld(M*, M_0) with B = max(R/2 + √(R²/4 + 1/η), max_t ŷ_t).

    Jain 2009, Theorem 8, with max_t ŷ_t added to the constant: without it the statement is false, because Lemma 7
    needs α ≤ η / (1 + ηŷȳ) and only ȳ is bounded by the targets (the guide on online learning gives a stream).

    Parameters
    ----------
    eta : float
        Step size η.
    reach, peak : float
        R, the largest target, and the largest prediction max_t ŷ_t.
    comparator_loss, divergence : float
        Loss L_{M*} of a fixed metric M* on the same stream, and D_ld(M*, M_0).
    """
    require(Positive, eta, "loss_bound", "eta")
    B = max(reach / 2 + sqrt(reach * reach / 4 + 1 / eta), peak)
    if np.isinf(B):  # nothing is proved, whatever the comparator
        return np.inf
    return (1 + eta * B * B) * comparator_loss + (1 / eta + B * B) * divergence


@dataclass(frozen=True, eq=False)
class OnlineITMLRule(FactoredRule):
    """M⁻¹ ← M⁻¹ + η_t (ŷ − y) vvᵀ with η_t cut so that vᵀMv at most doubles."""

    compiled = "itml_stream"

    def _after(self, prediction: float, target: float) -> tuple[float, float]:
        p, y = prediction, target
        # M⁺ ≻ 0 needs 1 + η(ŷ − y)ŷ > 0; at least one half is kept of it.
        rate = self.eta if p >= y else min(self.eta, 0.5 / ((y - p) * p))
        after = p / (1 + rate * (p - y) * p)
        return after, -rate * (p - y) * after

    def multiplier(self, mu: np.ndarray, target: float) -> float:
        """c = η(⟨A, M⟩ − y), cut so that no 1 + cμ_k falls below one half."""
        c = self.eta * (float(mu.sum()) - target)
        worst = float((c * mu).min())
        return c if worst >= -0.5 else -0.5 * c / worst


class OnlineITML(OnlineLearner):
    """Learn from one pair at a time by the earlier LogDet rule.

    M_{t+1}⁻¹ = M_t⁻¹ + η_t (ŷ − y) vvᵀ with v = u − w, ŷ = vᵀM_t v (Davis et al. 2007; Jain 2009, §5.1).

    This is (5.1) with the gradient of the loss taken at M_t, not at M_{t+1}. That can leave the positive definite cone,
    so the step size shrinks where it must:

        η_t = η if ŷ ≥ y,   min(η, 1 / (2 (y − ŷ) ŷ)) otherwise,

    which keeps 1 + η_t(ŷ − y)ŷ ≥ ½. An adversary can make η_t as small as he likes; :class:`LEGO` has no such limit.

    Parameters
    ----------
    eta : float or "auto"
        Largest step size; "auto" chooses it on the first constraints.
    prior, rank, features, alpha, hinge, comparator, n_pretrain, random_state
        As in :class:`LEGO`.

    Attributes
    ----------
    metric_, loss_, comparator_loss_, regret_, n_seen_, eta_
        As in :class:`LEGO`.

    See Also
    --------
    gramian.LEGO : Steps of any size keep the matrix positive.
    gramian.ITML : All pairs at once.

    Examples
    --------
    >>> import gramian as gm
    >>> itml = gm.OnlineITML(eta=1.0).learn_one([0.0, 0.0], [1.0, 0.0], target=9.0)
    >>> itml.metric_.matrix.round(6).tolist()
    [[2.0, 0.0], [0.0, 1.0]]
    """

    def _rule(self, eta: float, d: int) -> OnlineITMLRule:
        return OnlineITMLRule(eta, prior_factor(self.prior, type(self).__name__, d))
