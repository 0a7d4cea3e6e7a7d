"""ITML-Online: LogDet with the gradient of the last step (Davis et al. 2007; Jain 2009, §5.1)."""

from dataclasses import dataclass

import numpy as np

from gramian.online.factored import FactoredRule, prior_factor
from gramian.online.learner import OnlineLearner


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
