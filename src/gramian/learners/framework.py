"""The framework itself: any divergence, any constraints, any solver."""

from dataclasses import replace
from typing import Any

import numpy as np

from gramian import _checks, _device, linalg
from gramian.constraints import Comparisons, Labels, Pairs
from gramian.constraints.triplets import unit_margins
from gramian.coordinates import Coordinates, Plain, Rest, Subspace
from gramian.divergences import Divergence, LogDet
from gramian.learners.base import MetricLearner
from gramian.learners.priors import prior_matrix
from gramian.learners.progress import progress
from gramian.learners.subspace import subspace_basis
from gramian.linalg import dense, psd_sqrt
from gramian.solvers import (
    BregmanProjections,
    DualAscent,
    Hard,
    Hinge,
    InfeasibleError,
    PrimalNewton,
    Problem,
    Quadratic,
    Slack,
    Solution,
    Solver,
    rows_of,
)
from gramian.solvers.range import in_range, lifted
from gramian.solvers.slack import default_weight

WIDEST = 10_000
"""Most features for which a d × d matrix is learned."""
ANCHORED_PAIRS = 3000
"""Pairs that are enough for what is blended with a prior."""
DUAL_STEPS = 40
"""Steps of the dual in an anchored fit on a device."""
SOLVERS: dict[str, type[DualAscent | BregmanProjections | PrimalNewton]] = {
    "primal": PrimalNewton,
    "dual": DualAscent,
    "bregman": BregmanProjections,
}


class FrameworkLearner(MetricLearner):
    """Base of the learners that are instances of the framework problem.

    Subclasses have the parameters prior, solver, max_iter, tol, rank, subspace, alpha, verbose, callback, random_state,
    and give ``_divergence(Z, rest)`` and ``_slack(side)``.
    """

    _sparse = True
    _devices = True
    _has_prior = True
    _most_pairs: int | None = None
    """Pairs to draw from labels at most, where their number was left open."""
    _enough = {
        "tol": lambda tol: max(tol, 1e-2),
        "max_iter": lambda most: min(most, 15),
        "_most_pairs": lambda most: ANCHORED_PAIRS,
    }

    def _divergence(self, Z: Any, rest: Rest) -> Divergence:
        return LogDet()

    def _slack(self, side: Any) -> Slack:
        return Hard()

    def _coordinates(self, X: Any) -> tuple[Coordinates, Any]:
        """All features, or the subspace that ``rank`` asks for."""
        owner = type(self).__name__
        if self.rank is not None:
            rng = _checks.random(self.random_state, owner)
            basis = _device.to_host(subspace_basis(self.subspace, X, self.rank, rng, owner))
            if basis.shape[1] == 0:
                raise ValueError(f"{owner}: the subspace must have a direction, got points or columns of zeros alone.")
            coordinates = Subspace(basis)
            return coordinates, coordinates.z(X)
        if X.shape[1] > WIDEST:
            raise ValueError(
                f"{owner}: X must have at most {WIDEST} features without rank, got {X.shape[1]}; give rank."
            )
        return Plain(X.shape[1]), dense(X)

    def _side(self, y: Any, Z: Any, rest: Rest, rng: np.random.RandomState) -> Any:
        """As the base; bounds that were left open come from the distances under the prior, and are soft then."""
        if isinstance(y, Labels):
            y = self._drawn(y, rng)
        if y.from_data:
            y = self._bounded(y, Z, rest).softened()
        return super()._side(y, Z, rest, rng)

    def _drawn(self, labels: Labels, rng: np.random.RandomState) -> Pairs:
        """Pairs from labels."""
        n_pairs = getattr(self, "n_pairs", None)
        return Pairs.from_labels(labels, self._most_pairs if n_pairs is None else n_pairs, random_state=rng)

    def _bounded(self, side: Any, Z: Any, rest: Rest) -> Any:
        """Bounds: percentiles of the squared distances under the prior, in the whole space if it reaches there."""
        percentiles = getattr(self, "percentiles", (5, 95))
        alpha = self._weight()
        if alpha > 0 and not rest.empty:
            return side.filled(Z, percentiles, sqdist=lambda rows: alpha * rest.sqdist(rows))
        M0 = self._prior(Z, rest)
        return side.filled(Z @ psd_sqrt(M0) if M0.any() else Z, percentiles)

    def _prior(self, Z: np.ndarray, rest: Rest) -> np.ndarray:
        """M₀ on the coordinates."""
        M0 = prior_matrix(self.prior, Z, rest, type(self).__name__)
        return self._weight() * M0 if _checks.is_word(self.prior, "identity") else M0

    def _weight(self) -> float:
        """The weight α of an identity prior, 0 for another one."""
        if not _checks.is_word(self.prior, "identity"):
            return 0.0
        return _checks.number(self.alpha, type(self).__name__, "alpha", low=0)

    def _outside(self) -> float:
        """The weight of what lies outside of the coordinates."""
        return self._weight()

    def _learn(self, Z: Any, side: Any, rest: Rest, rng: np.random.RandomState) -> Solution:
        """Solve for M on the coordinates."""
        owner = type(self).__name__
        problem = self._problem(Z, side, rest)
        if problem.divergence.keeps_range and not np.any(_device.inside(problem.prior)):
            raise ValueError(f"{owner}: prior must not be 0 for LogDet and von Neumann, which keep its range.")
        problem, V = in_range(problem)
        solver = self._solver(problem)
        if isinstance(Z, _device.DeviceArray) and not isinstance(solver, DualAscent):
            raise TypeError(
                f"{owner}: solver must be 'dual' for X on a device, got {type(solver).__name__}, "
                "which runs on the CPU; pass X as a NumPy array for it."
            )
        solver.check(problem)
        try:
            with progress(owner, self.verbose, solver.max_iter, self.callback) as report:
                solution = lifted(solver.solve(problem, report), V)
                return replace(solution, M=_device.inside(solution.M), alpha=self._outside())
        except InfeasibleError as error:
            way = ", or margin=None in the triplets for a soft one that fits the data" * isinstance(side, Comparisons)
            raise InfeasibleError(f"{owner}: {str(error).rstrip('.')}{way}.") from None

    def _problem(self, Z: np.ndarray, side: Any, rest: Rest) -> Problem:
        alpha = self._outside()
        offset: Any = 0.0
        if alpha > 0 and not rest.empty:
            # Jain 2009, (3.8): what the part αI outside of the coordinates already spends.
            offset = alpha * np.concatenate([rest.energy(terms) for terms in side.blocks(Z.shape[0])])
        native = _device.outside
        return Problem(
            rows=rows_of(side, Z),
            bound=native(linalg.placed(side.bound, Z)),
            prior=native(self._prior(Z, rest)),
            divergence=self._divergence(Z, rest),
            slack=self._slack(side).placed(Z),
            offset=native(linalg.placed(offset, Z)),
        )

    def _solver(self, problem: Problem) -> Solver:
        if isinstance(self.solver, Solver):
            return self.solver
        _checks.one_of(self.solver, type(self).__name__, "solver", ("auto", *SOLVERS))
        there = _device.foreign(problem.bound)  # the dual runs on any array library
        best = "dual" if there or not PrimalNewton.suits(problem) else "primal"
        name = best if self.solver == "auto" else self.solver
        # An anchored fit counts on primal steps, of which the dual needs more.
        steps = max(int(self.max_iter), DUAL_STEPS) if there and self._most_pairs else int(self.max_iter)
        return SOLVERS[name](max_iter=steps, tol=float(self.tol))


class Framework(FrameworkLearner):
    """Learn from any constraints, under any divergence, with any solver.

    min_M D(M, M₀) + slack   s.t.  ⟨C_i, X M Xᵀ⟩ ≤ b_i,  M ⪰ 0   (Jain 2009, (3.2)).

    Parameters
    ----------
    divergence : Divergence, optional
        D; :class:`LogDet` when None. LinearFrobenius and LinearLogDet have no prior.
    prior : {"identity", "covariance", "zero"} or array (d, d)
        M₀. A singular M₀ confines M to its range for LogDet and von Neumann.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out, in the leading directions of the points (see the guide on anchored learning).
        Constraints whose bounds are given are a problem of your own: "auto" is 0 for them.
    slack : float or Slack, optional
        None: constraints must hold. Where their bounds are taken from the data they rarely can all hold, and get
        C = 1 / mean |b_i| of their kind instead. C: a violation v costs C · v (``slack_loss="hinge"``) or C/2 · v²
        (``"quadratic"``). A :class:`~gramian.solvers.Slack`: any convex cost.
    slack_loss : {"hinge", "quadratic"}
        What a violation costs: in proportion, or its square.
    solver : {"auto", "primal", "dual", "bregman"} or Solver
        Newton's method on M (LogDet with a slack that curves), the box-constrained dual (everything), or cyclic
        Bregman projections (constraints of rank two at most; fast under LogDet); "auto" takes the first that suits.
    rank : int, optional
        Learn W = αI + U(M − αI)Uᵀ on a subspace of that dimension (Jain 2009, (3.6)); linear in d, takes sparse X.
    subspace : {"svd", "landmarks"} or array (d, k)
        U: leading singular vectors of X, the span of points drawn at random, or your own columns.
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

    Attributes
    ----------
    metric_ : Metric
        The learned distance, an immutable value.
    n_iter_, converged_, objective_, solution_
        Steps taken, whether the tolerance was met, the value reached, and the solver's whole answer.

    See Also
    --------
    gramian.ITML : LogDet with relative slack, ready made.
    gramian.LEGO : One constraint at a time.

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
        *,
        anchor="auto",
        slack=None,
        solver="auto",
        slack_loss="hinge",
        rank=None,
        subspace="svd",
        alpha=1.0,
        max_iter=5000,
        tol=1e-7,
        verbose=False,
        callback=None,
        random_state=None,
    ):
        self.divergence = divergence
        self.prior = prior
        self.anchor = anchor
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

    def _divergence(self, Z: Any, rest: Rest) -> Divergence:
        divergence = LogDet() if self.divergence is None else self.divergence
        if not isinstance(divergence, Divergence):
            raise TypeError(f"Framework: divergence must be a Divergence, got {type(divergence).__name__}.")
        return divergence.at(Z, rest.lower) if hasattr(divergence, "at") else divergence

    def _outside(self) -> float:
        return super()._outside() if getattr(self.divergence, "uses_prior", True) else 0.0

    def _anchors(self, y: Any) -> bool:
        given = not isinstance(y, Labels) and not y.from_data and isinstance(self.anchor, str)
        zero = _checks.is_word(self.prior, "zero")
        return super()._anchors(y) and not given and not zero and getattr(self.divergence, "uses_prior", True)

    def _bounded(self, side: Any, Z: Any, rest: Rest) -> Any:
        return super()._bounded(side if self.slack is None else unit_margins(side), Z, rest)

    def _slack(self, side: Any) -> Slack:
        _checks.one_of(self.slack_loss, "Framework", "slack_loss", ("hinge", "quadratic"))
        if isinstance(self.slack, Slack):
            return self.slack
        if self.slack is not None:
            C: Any = _checks.number(self.slack, "Framework", "slack", low=0, open_low=True)
        elif side.soft:
            C = default_weight(side.sizes())
        else:
            return Hard()
        return Hinge(C) if self.slack_loss == "hinge" else Quadratic(C)
