"""The framework itself: any divergence, any constraints, any solver."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian import _checks
from gramian.constraints import Constraints, Pairs, Terms
from gramian.divergences import Divergence, LogDet
from gramian.learners.base import MetricLearner
from gramian.learners.priors import prior_matrix
from gramian.learners.progress import progress
from gramian.learners.subspace import subspace_basis
from gramian.linalg import dense, psd_sqrt, row_inner
from gramian.metrics import SubspaceMahalanobis
from gramian.solvers import (
    BregmanProjections,
    DualAscent,
    Hard,
    Hinge,
    InfeasibleError,
    Problem,
    Quadratic,
    Solution,
    Solver,
)

WIDEST = 10_000
"""Most features for which a d × d matrix is learned."""
SOLVERS: dict[str, type[DualAscent | BregmanProjections]] = {
    "dual": DualAscent,
    "bregman": BregmanProjections,
    "auto": DualAscent,
}


class FrameworkLearner(MetricLearner):
    """Base of the learners that are instances of the framework problem.

    Subclasses have the parameters prior, solver, max_iter, tol, rank, subspace, alpha, random_state, verbose, callback,
    and give ``_divergence(X)`` and ``_slack(bound)``.
    """

    _sparse = True

    def _divergence(self, X: Any) -> Divergence:
        return LogDet()

    def _slack(self, bound: np.ndarray) -> Hard:
        return Hard()

    def _validated(self, X: Any, y: Any) -> tuple[Any, Any]:
        """As the base; without ``rank`` M is d × d, so X is made dense, and a width that cannot work is refused."""
        X, y = super()._validated(X, y)
        if self.rank is not None:
            return X, y
        if X.shape[1] > WIDEST:
            owner = type(self).__name__
            raise ValueError(
                f"{owner}: X must have at most {WIDEST} features without rank, got {X.shape[1]}; give rank."
            )
        return dense(X), y

    def _learn(self, X: Any, side: Any, rng: np.random.RandomState, residual: Callable | None = None) -> Solution:
        """Solve for M on the rows of X; ``residual(terms)`` is ⟨C_i, R⟩ for what lies outside of these coordinates."""
        owner = type(self).__name__
        if self.rank is not None and residual is None:
            U = subspace_basis(self.subspace, X, self.rank, rng, owner)
            Z = np.asarray(X @ U)
            self._basis = U
            return self._learn(Z, side, rng, lambda terms: outside(terms, X, Z))
        problem = self._problem(X, side, residual)
        solver = self._solver()
        solver.check(problem)
        try:
            with progress(owner, self.verbose, solver.max_iter, self.callback) as report:
                return solver.solve(problem, callback=report)
        except InfeasibleError as error:
            raise InfeasibleError(f"{owner}: {error}") from None

    def _problem(self, X: np.ndarray, side: Any, residual: Callable | None) -> Problem:
        terms = side.terms(X.shape[0])
        right = None if terms.symmetric else terms.right @ X
        # Jain 2009, (3.8): what the part αI outside of the coordinates already spends.
        offset = 0.0 if residual is None else self._complement() * residual(terms)
        return Problem(
            left=terms.left @ X,
            right=right,
            weight=terms.weight,
            bound=side.bound,
            prior=self._prior(X),
            divergence=self._divergence(X),
            slack=self._slack(side.bound),
            offset=offset,
        )

    def _prior(self, X: np.ndarray) -> np.ndarray:
        owner = type(self).__name__
        M0 = prior_matrix(self.prior, X, owner)
        if self._identity_prior():
            M0 = _checks.number(self.alpha, owner, "alpha", low=0) * M0
        if isinstance(self._divergence(X), LogDet) and np.linalg.eigvalsh(M0)[0] <= 0:
            raise ValueError(f"{owner}: prior must be positive definite for LogDet, got a singular matrix.")
        return M0

    def _draw(self, y: Any, rng: np.random.RandomState) -> Pairs:
        """Pairs from labels, without bounds."""
        return Pairs.from_labels(y, getattr(self, "n_pairs", None), random_state=rng)

    def _fill(self, pairs: Pairs, X: Any, sqdist: Callable | None) -> Pairs:
        """Bounds for pairs that have none: percentiles of the squared distances under the prior."""
        if sqdist is None and self._identity_prior():
            alpha = _checks.number(self.alpha, type(self).__name__, "alpha", low=0)
            X = np.sqrt(alpha) * X if alpha > 0 else X
        elif sqdist is None and self.rank is None:
            X = X @ psd_sqrt(prior_matrix(self.prior, X, type(self).__name__))
        return pairs.with_bounds(X, getattr(self, "percentiles", (5, 95)), sqdist=sqdist)

    def _from_labels(self, X: Any, y: Any, rng: np.random.RandomState) -> Pairs:
        return self._fill(self._draw(y, rng), X, None)

    def _side(self, X: Any, y: Any, rng: np.random.RandomState, sqdist: Callable | None = None) -> Any:
        """As the base; ``sqdist(rows)`` gives distances among points when X are not all of their coordinates."""
        self._drawn = not isinstance(y, Constraints) or getattr(y, "bounds", ()) is None
        y = y if isinstance(y, Constraints) else self._draw(y, rng)
        if isinstance(y, Pairs) and y.bounds is None:
            y = self._fill(y, X, sqdist)
        return super()._side(X, y, rng)

    def _identity_prior(self) -> bool:
        return isinstance(self.prior, str) and self.prior == "identity"

    def _complement(self) -> float:
        """The weight α of what lies outside of the coordinates: that of an identity prior, else 0."""
        return float(self.alpha) if self._identity_prior() else 0.0

    def _solver(self) -> Solver:
        if isinstance(self.solver, Solver):
            return self.solver
        _checks.one_of(self.solver, type(self).__name__, "solver", tuple(SOLVERS))
        max_iter = _checks.number(self.max_iter, type(self).__name__, "max_iter", low=1, integer=True)
        return SOLVERS[self.solver](max_iter=max_iter, tol=_checks.number(self.tol, type(self).__name__, "tol", low=0))

    def _metric(self, solution: Solution) -> Any:
        if self.rank is not None and hasattr(self, "_basis"):
            metric = SubspaceMahalanobis(self._basis, solution.M, self._complement())
            del self._basis
            return metric
        return super()._metric(solution)


def outside(terms: Terms, X: Any, Z: np.ndarray) -> np.ndarray:
    """⟨C_i, R⟩ with R = XXᵀ − ZZᵀ, the energy of each constraint outside of the coordinates Z."""
    full = row_inner(terms.left @ X, terms.right @ X) - row_inner(terms.left @ Z, terms.right @ Z)
    return (terms.weight * full.reshape(terms.weight.shape)).sum(axis=1)


class Framework(FrameworkLearner):
    """min_M D(M, M₀) + slack   s.t.  ⟨C_i, X M Xᵀ⟩ ≤ b_i,  M ⪰ 0   (Jain 2009, (3.2)).

    Parameters
    ----------
    divergence : Divergence, optional
        D; :class:`LogDet` when None. LinearFrobenius and LinearLogDet have no prior.
    prior : {"identity", "covariance", "zero"} or array (d, d)
        M₀.
    slack : float, optional
        None: constraints must hold; pairs drawn from labels, or whose bounds are, get C = 1 / mean |b_i| instead,
        since they rarely can all hold. C: a violation v costs C · v (``slack_loss="hinge"``) or C/2 · v²
        (``"quadratic"``).
    slack_loss : {"hinge", "quadratic"}
    solver : {"auto", "dual", "bregman"} or Solver
        The box-constrained dual, or cyclic Bregman projections (LogDet only).
    rank : int, optional
        Learn W = αI + U(M − αI)Uᵀ on a subspace of that dimension (Jain 2009, (3.6)); linear in d, takes sparse X.
    subspace : {"svd", "landmarks"} or array (d, k)
    alpha : float
        Weight α of an identity prior; also of what lies outside of the subspace.
    max_iter, tol
        Limit of the solver, and the relative duality gap and violation to stop at.
    random_state : int or generator, optional
        For constraints drawn from labels.
    verbose : bool
        Show progress.
    callback : callable, optional
        Called as ``callback(n_iter, value, residual)``.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> pairs = gm.Pairs([0, 0], [1, 2], [True, False], bounds=(0.5, 6.0))
    >>> gm.Framework(gm.LogDet()).fit(X, pairs).metric_.sqdist(X)[0].round(6).tolist()
    [0.0, 0.5, 6.0]
    """

    def __init__(
        self,
        divergence=None,
        prior="identity",
        slack=None,
        solver="auto",
        *,
        slack_loss="hinge",
        rank=None,
        subspace="svd",
        alpha=1.0,
        max_iter=5000,
        tol=1e-7,
        random_state=None,
        verbose=False,
        callback=None,
    ):
        self.divergence = divergence
        self.prior = prior
        self.slack = slack
        self.solver = solver
        self.slack_loss = slack_loss
        self.rank = rank
        self.subspace = subspace
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _divergence(self, X: Any) -> Divergence:
        divergence = LogDet() if self.divergence is None else self.divergence
        if not isinstance(divergence, Divergence):
            raise TypeError(f"Framework: divergence must be a Divergence, got {type(divergence).__name__}.")
        return divergence.at(X) if hasattr(divergence, "at") else divergence

    def _complement(self) -> float:
        used = self.divergence is None or self.divergence.uses_prior
        return super()._complement() if used else 0.0

    def _slack(self, bound: np.ndarray) -> Hard:
        if self.slack is None and not self._drawn:
            return Hard()
        _checks.one_of(self.slack_loss, "Framework", "slack_loss", ("hinge", "quadratic"))
        slack = 1 / np.abs(bound).mean() if self.slack is None else self.slack
        C = _checks.number(slack, "Framework", "slack", low=0, open_low=True)
        return Hinge(C) if self.slack_loss == "hinge" else Quadratic(C)
