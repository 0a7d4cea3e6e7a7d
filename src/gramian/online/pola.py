"""POLA: two projections after each pair (Shalev-Shwartz et al. 2004; Jain 2009, §5.1)."""

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian import _validate, linalg
from gramian._jit import own_loop
from gramian._settings import Positive, Rule, Size, holds
from gramian.metrics import Mahalanobis
from gramian.online.base import KINDS, Direction, Form, Forms, OnlineRule, Stream, with_identity
from gramian.online.learner import OnlineLearner


@dataclass(frozen=True, eq=False)
class Projected:
    """State: M (r, r), positive semi-definite, and the threshold b (not used unless it is learned)."""

    M: np.ndarray
    threshold: float = 1.0


@dataclass(frozen=True, eq=False)
class PolaRule(OnlineRule[Projected]):
    """M ← [M − α vvᵀ]₊ with α the step to the half-space of the constraint, or η's share of it."""

    eta: float = np.inf
    prior: np.ndarray | None = None
    margin: float = 0.0
    compiled = "pola_stream"

    def init(self, d: int) -> Projected:
        """M_0, the identity unless a prior was given; b = margin."""
        M = np.eye(d) if self.prior is None else np.array(self.prior, dtype=np.float64)
        return Projected(M, self.margin)

    def predict(self, state: Projected, v: Direction) -> float:
        """Squared distance vᵀMv, or ⟨A, M⟩ of a form."""
        if isinstance(v, Form):
            return v.value(state.M)
        return max(float(v @ state.M @ v), 0.0)

    def update(self, state: Projected, v: Direction, target: float, kind: str = "equal") -> Projected:
        """Onto the half-space, then onto the cone (here by a full eigendecomposition, as a reference)."""
        sign = KINDS[kind]
        learned = self.margin > 0 and not isinstance(v, Form)
        A = v.matrix if isinstance(v, Form) else np.outer(v, v)
        wanted = state.threshold - sign * self.margin if learned else target
        gap = self.predict(state, v) - wanted
        norm = float(np.sum(A * A))  # ‖A‖² = |v|⁴ of a pair
        if norm == 0 or gap == 0 or (sign != 0 and sign * gap <= 0):
            return state
        size = norm + learned  # the threshold is one more coordinate
        step = gap / size if self.eta == np.inf else self.eta * gap / (1 + self.eta * size)
        # b moves against M, and stays at the margin at least
        threshold = max(state.threshold + step, self.margin) if learned else state.threshold
        return Projected(linalg.project_psd(state.M - step * A), threshold)

    def stream(
        self,
        state: Projected,
        V: Stream,
        targets: np.ndarray,
        signs: np.ndarray,
        follow: np.ndarray | None = None,
    ) -> tuple[Projected, np.ndarray]:
        """Compiled: M − αvvᵀ has at most one negative eigenvalue, found by Lanczos from v and dropped."""
        loop = own_loop(self, "online")
        if loop is None or isinstance(V, Forms):
            return super().stream(state, V, targets, signs, follow)
        M = state.M.copy()
        eta, threshold = float(self.eta), float(state.threshold)
        try:
            predictions, threshold = loop(M, V, targets, signs, eta, threshold, float(self.margin))
        except np.linalg.LinAlgError as error:
            raise OverflowError("a squared distance or a step is too large for double precision; rescale X") from error
        return Projected(M, threshold), predictions

    def grow(self, state: Projected, k: int) -> Projected:
        """The block matrix of M and I."""
        return Projected(with_identity(state.M, k), state.threshold)

    def metric(self, state: Projected) -> Mahalanobis:
        """The metric of M, with its symmetric root."""
        return Mahalanobis(linalg.psd_sqrt(state.M))

    def finite(self, state: Projected) -> bool:
        """Whether M is finite."""
        return bool(np.isfinite(state.M).all())

    def pack(self, state: Projected) -> dict[str, Any]:
        """M and b."""
        return {"M": state.M, "threshold": state.threshold}

    def unpack(self, data: dict[str, Any]) -> Projected:
        """The state of :meth:`pack`."""
        return Projected(data["M"], data["threshold"])


def _is_step(value: Any) -> bool:
    return holds(Literal["auto"] | Positive, value) or (isinstance(value, Real) and value == np.inf)


@dataclass(eq=False, repr=False)
class OnlinePOLA(OnlineLearner):
    """Learn a distance and a threshold from one pair at a time.

    M_{t+1} = Π_PSD(Π_t(M_t)): onto the constraint of the pair, then onto the cone (Shalev-Shwartz et al. 2004).

    With v = u − w, ŷ = vᵀM_t v and y the target, Π_t(M) = M − α vvᵀ, α = (ŷ − y) / |v|⁴, when the pair violates it.
    At most one eigenvalue is negative afterwards; its vector lies in the Krylov space of v, so a few
    Lanczos steps replace the full eigendecomposition. A finite η gives the minimizer of (5.1) with the Frobenius
    divergence instead, α = η(ŷ − y) / (1 + η|v|⁴).

    Parameters
    ----------
    eta : float or "auto"
        Infinity (default) projects fully, as POLA does.
    prior : "identity", array (d, d) or Mahalanobis
        M_0, positive semi-definite; POLA itself starts from zeros.
    margin : float
        0 (default): bounds are the targets given. Positive: POLA's own form, in which the threshold b is learned along
        with M, similar pairs ask for d² ≤ b − margin, dissimilar ones for d² ≥ b + margin, and targets are not used.
    rank, features, alpha, hinge, comparator, n_pretrain, random_state
        As in :class:`LEGO`.

    Attributes
    ----------
    metric_, loss_, comparator_loss_, regret_, n_seen_, eta_
        As in :class:`LEGO`.
    threshold_ : float
        b, when it is learned.

    See Also
    --------
    gramian.LEGO : Faster, without a threshold.
    gramian.POLA : All pairs at once.

    Examples
    --------
    >>> import gramian as gm
    >>> pola = gm.OnlinePOLA().learn_one([0.0, 0.0], [1.0, 1.0], target=0.0, kind="at_most")
    >>> pola.metric_.matrix.round(6).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """

    _most_pairs = 50_000

    eta: Annotated[Any, Rule("'auto' or a number in (0, inf]", _is_step)] = np.inf
    _: KW_ONLY
    margin: Size = 0.0

    def _rule(self, eta: float, d: int) -> PolaRule:
        margin = float(self.margin)
        if margin > 0 and not self.hinge:
            raise ValueError(
                "OnlinePOLA: hinge must be True when margin > 0; a learned threshold has no exact targets."
            )
        prior = self.prior.matrix if isinstance(self.prior, Mahalanobis) else self.prior
        if isinstance(prior, str):
            return PolaRule(eta, None, margin)
        return PolaRule(eta, _validate.psd(prior, "OnlinePOLA", "prior", d), margin)

    @property
    def _kinds(self) -> tuple[str, ...]:  # type: ignore[override]  # a constant elsewhere
        return ("at_most", "at_least") if self.margin > 0 else super()._kinds

    @property
    def threshold_(self) -> float:  # type: ignore[override]  # it lives in the state
        """The learned threshold b."""
        check_is_fitted(self, "progress_")
        state = self.progress_.state
        inner = state.states[state.best] if hasattr(state, "states") else state
        return float(inner.threshold)
