"""The online estimator: constraints one at a time or in batches, a metric at any time."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian import _checks, linalg
from gramian.constraints import Comparisons, Constraints, Pairs, RelativeSimilarities, Similarities, Triplets
from gramian.coordinates import Coordinates, KernelSpace, Plain, Rest, Subspace
from gramian.learners.base import MetricLearner, are_tuples
from gramian.metrics import Metric
from gramian.online.base import KINDS, OnlineRule
from gramian.online.factored import prior_factor
from gramian.online.forms import Forms
from gramian.online.pretraining import PreTraining
from gramian.online.progress import Progress
from gramian.persist import Stored
from gramian.solvers import Solution, rows_of

GENTLE = 0.1
"""η s² of clicks, s the farthest of the first list. The race for η is won by steps that fit the clicks best, which
is not what the person asks next: they take a good metric down."""


class OnlineLearner(MetricLearner, Stored):
    """Base of the online learners; subclasses give ``_rule(eta, d)``.

    ``progress_`` holds everything learned, as one immutable value; each call puts a new one in its place, so an
    error changes nothing and ``metric_`` is always that of a whole number of constraints.
    """

    _accepts = (Pairs, Comparisons, Similarities, RelativeSimilarities)
    _infinite = False
    progress_: Progress

    def __init__(
        self,
        eta="auto",
        prior="identity",
        *,
        rank=None,
        features=None,
        alpha=1.0,
        hinge=True,
        comparator=None,
        n_pretrain=1000,
        random_state=None,
    ):
        self.eta = eta
        self.prior = prior
        self.rank = rank
        self.features = features
        self.alpha = alpha
        self.hinge = hinge
        self.comparator = comparator
        self.n_pretrain = n_pretrain
        self.random_state = random_state

    @abstractmethod
    def _rule(self, eta: float, d: int) -> OnlineRule: ...

    def _kinds(self) -> tuple[str, ...]:
        return tuple(KINDS)

    def _prior_factor(self, d: int) -> np.ndarray | None:
        return prior_factor(self.prior, type(self).__name__, d)

    @property
    def _sparse(self) -> bool:  # type: ignore[override]  # a constant elsewhere
        return self.rank is not None or self.features is not None

    def start(self, n_features: int | None = None) -> "OnlineLearner":
        """Forget everything and stand at M_0 for points of ``n_features`` features."""
        return self._stand(self._fresh(n_features))

    def _stand(self, progress: Progress) -> "OnlineLearner":
        self.progress_ = progress
        if progress.coordinates.n_features is not None:
            self.n_features_in_ = progress.coordinates.n_features
        return self

    def _fresh(self, n_features: int | None) -> Progress:
        """The start, M_0, for points of so many features."""
        coordinates, alpha, rank = self._space(n_features)
        rule = self._tuned_rule(coordinates.size)
        return Progress(rule, coordinates, rule.init(coordinates.size), alpha, rank)

    def _space(self, n_features: int | None) -> tuple[Coordinates, float, int | None]:
        """Where to learn: on all features, on a subspace that grows up to ``rank``, or on kernel features."""
        owner = type(self).__name__
        if self.features is not None:
            if not hasattr(self.features, "map_"):
                raise ValueError(f"{owner}: features must be fitted KernelFeatures, got {self.features!r:.60}.")
            return KernelSpace(self.features), _checks.number(self.alpha, owner, "alpha", low=0), None
        d = _checks.number(n_features, owner, "n_features", low=1, integer=True)
        if self.rank is None:
            return Plain(d), 0.0, None
        if not (isinstance(self.prior, str) and self.prior == "identity"):
            raise ValueError(f"{owner}: prior must be 'identity' when rank is given, got {self.prior!r}.")
        rank = _checks.number(self.rank, owner, "rank", low=1, integer=True)
        return Subspace(np.zeros((d, 0))), 1.0, rank

    def _tuned_rule(self, d: int) -> OnlineRule:
        owner = type(self).__name__
        if isinstance(self.eta, str):
            _checks.one_of(self.eta, owner, "eta", ("auto",))
            n = _checks.number(self.n_pretrain, owner, "n_pretrain", low=1, integer=True)
            return PreTraining(self._rule(1.0, d), n)
        if self._infinite and np.ndim(self.eta) == 0 and self.eta == np.inf:
            return self._rule(np.inf, d)
        return self._rule(_checks.number(self.eta, owner, "eta", low=0, open_low=True), d)

    def learn_one(self, u: Any, v: Any, target: float, kind: str = "equal") -> "OnlineLearner":
        """Learn that d²(u, v) should be equal to, at most or at least ``target`` (a squared distance).

        Returns the learner. A wrong argument raises ValueError and changes nothing; u = v changes only the account.
        """
        return self._stand(self._one(u, v, target, kind))

    def _one(self, u: Any, v: Any, target: float, kind: str, follow: np.ndarray | None = None) -> Progress:
        owner = type(self).__name__
        _checks.one_of(kind, owner, "kind", self._kinds())
        target = _checks.number(target, owner, "target", low=0)
        here = self._here(np.shape(u)[-1] if np.ndim(u) else None)
        space = here.coordinates
        U, W = (space.check(space.one(x, owner, name), owner, name) for x, name in ((u, "u"), (v, "v")))
        if sparse.issparse(U) and space.whole:
            raise TypeError(f"{owner}: u must be dense, got a sparse matrix; pass u.toarray(), or give rank.")
        return self._after(here, U, W, np.array([target]), np.array([KINDS[kind]]), follow)

    def learn_comparison(self, anchor: Any, near: Any, far: Any, *, margin: float = 0.0) -> "OnlineLearner":
        """Learn that d²(anchor, far) − d²(anchor, near) should be at least ``margin`` (Jain 2009, §3.1 item 2).

        On all features only, without rank and features, as :meth:`learn_similarity`.
        """
        margin = _checks.number(margin, type(self).__name__, "margin", low=0)
        return self._learn_some(
            (anchor, near, far), Triplets(np.array([0]), np.array([1]), np.array([2]), margin=margin)
        )

    def learn_similarity(self, u: Any, v: Any, target: float, kind: str = "at_least") -> "OnlineLearner":
        """Learn that the inner product uᵀMv should be at least or at most ``target`` (Jain 2009, §5.1.1)."""
        owner = type(self).__name__
        target = _checks.number(target, owner, "target")
        near = _checks.one_of(kind, owner, "kind", ("at_least", "at_most")) == "at_least"
        return self._learn_some((u, v), Similarities(np.array([0]), np.array([1]), np.array([near]), limit=target))

    def _learn_some(self, points: tuple, side: Constraints) -> "OnlineLearner":
        """One constraint on a few points."""
        owner = type(self).__name__
        here = self._here(np.shape(points[0])[-1] if np.ndim(points[0]) else None)
        rows = [here.coordinates.one(point, owner, "a point") for point in points]
        X = here.coordinates.check(stacked(rows), owner, "a point")
        return self._stand(self._forms(here, X, side))

    def feedback(self, query: Any, liked: Any = (), disliked: Any = (), *, shown: Any = None) -> "OnlineLearner":
        """Learn from clicks on a list of results.

        A liked point should be as near as the first of the list, a disliked one beyond the last: targets relative to
        what was on the screen, under the metric that ranked it. With ``eta="auto"`` a stream that begins with clicks
        takes small steps, η = 0.1 / s² with s the farthest squared distance of the first list.

        Parameters
        ----------
        query : point (d,)
        liked, disliked : points (m, d)
        shown : points (k, d), optional
            The list; what was liked and disliked when None.
        """
        return self._stand(self._clicked(query, liked, disliked, shown))

    def _clicked(self, query: Any, liked: Any, disliked: Any, shown: Any, follow: np.ndarray | None = None) -> Progress:
        owner = type(self).__name__
        here = self._here(np.shape(query)[-1] if np.ndim(query) else None)
        space = here.coordinates
        q = space.check(space.one(query, owner, "query"), owner, "query")
        groups = [_group(space, points, owner, name) for points, name in ((liked, "liked"), (disliked, "disliked"))]
        judged = [group for group in groups if group is not None]
        if not judged:
            raise ValueError(f"{owner}: feedback needs something liked or disliked, got neither.")
        screen = judged if shown is None else [_group(space, shown, owner, "shown")]
        d = np.concatenate([here.metric.sqdist_of(q, points)[0] for points in screen if points is not None])
        if isinstance(here.rule, PreTraining) and d.max() > 0:
            here = replace(here, state=here.rule.given(here.state, GENTLE / float(d.max()) ** 2))
        sizes = [0 if group is None else linalg.count(group) for group in groups]
        targets = np.repeat([d[d > 0].min(initial=d.max()), d.max()], sizes)
        signs = np.repeat([KINDS["at_most"], KINDS["at_least"]], sizes)
        W = judged[0] if len(judged) == 1 else stacked(judged)
        return self._after(here, linalg.take(q, np.zeros(sum(sizes), np.intp)), W, targets, signs, follow)

    def _here(self, n_features: int | None) -> Progress:
        """Where the learner stands, or would stand if it began now."""
        return self.progress_ if hasattr(self, "progress_") else self._fresh(n_features)

    def partial_fit(self, X: Any, y: Any = None) -> "OnlineLearner":
        """Learn from pairs, comparisons or similarities in their order, or from pairs drawn from labels y."""
        if hasattr(self, "progress_"):
            self._same_width(X)
        with _checks.intact(self):
            X, y = self._door(X, y)
            here = self._here(X.shape[1])
            pairs = self._side(
                y, X, Rest(here.coordinates, X, X), _checks.random(self.random_state, type(self).__name__)
            )
            return self._stand(self._batch(here, X, pairs))

    def _same_width(self, X: Any) -> None:
        points = np.asarray(X)[:, 0] if are_tuples(X) else X
        try:
            validate_data(self, points, reset=False, skip_check_array=True)
        except ValueError as error:
            raise ValueError(f"{type(self).__name__}: {error}") from error

    def _forms(self, here: Progress, X: Any, side: Constraints) -> Progress:
        """After constraints on forms of rank two, each an upper bound of ⟨A_i, M⟩."""
        owner = type(self).__name__
        if not here.coordinates.whole:
            raise ValueError(f"{owner}: takes only pairs with rank or features, got {type(side).__name__}.")
        forms = Forms(*rows_of(side, linalg.dense(X).astype(np.float64)).squares())
        try:
            return here.after_forms(forms, side.bound, np.full(len(forms), KINDS["at_most"]))
        except (NotImplementedError, OverflowError) as error:
            raise ValueError(f"{owner}: {error}") from error

    def _batch(self, here: Progress, X: Any, pairs: Any) -> Progress:
        if not isinstance(pairs, Pairs):
            return self._forms(here, X, pairs)
        sign = np.where(pairs.similar, 1, -1) if self.hinge else np.zeros(len(pairs), dtype=int)
        return self._after(here, X[pairs.left], X[pairs.right], pairs.limit, sign)

    def _after(
        self, here: Progress, U: Any, W: Any, targets: np.ndarray, signs: np.ndarray, follow: Any = None
    ) -> Progress:
        try:
            return here.after(U, W, targets, signs.astype(np.int64), self.comparator, follow)
        except OverflowError as error:
            raise ValueError(f"{type(self).__name__}: {error}.") from error

    def _learn(self, Z: Any, side: Pairs, rest: Rest, rng: np.random.RandomState) -> Solution:
        after = self._batch(self._fresh(Z.shape[1]), Z, side)
        return Solution(objective=after.loss, n_iter=after.n_seen, found={"progress": after})

    def _store(self, coordinates: Coordinates, solution: Solution) -> None:
        self.solution_ = solution
        self._stand(solution.found["progress"])

    def _progress(self) -> Progress:
        check_is_fitted(self, "progress_")
        return self.progress_

    @property
    def metric_(self) -> Metric:  # type: ignore[override]  # a stored value elsewhere
        """The metric after all constraints so far, an immutable value."""
        return self._progress().metric

    @property
    def loss_(self) -> float:
        """Cumulative loss of the predictions made before each step."""
        return self._progress().loss

    @property
    def comparator_loss_(self) -> float:
        """Cumulative loss of the fixed comparator on the same stream."""
        return self._progress().comparator_loss

    @property
    def regret_(self) -> float:
        """``loss_ - comparator_loss_``."""
        return self.loss_ - self.comparator_loss_

    @property
    def n_seen_(self) -> int:
        """Number of constraints so far."""
        return self._progress().n_seen

    @property
    def eta_(self) -> float:
        """Step size in use."""
        progress = self._progress()
        return progress.rule.eta_of(progress.state)

    @property
    def n_iter_(self) -> int:
        """Number of steps: one per constraint."""
        return self.n_seen_

    @property
    def converged_(self) -> bool:
        """Always True: a stream has no end to converge to."""
        return self._progress() is not None

    @property
    def objective_(self) -> float:
        """The cumulative loss."""
        return self.loss_

    def _state(self) -> dict[str, Any]:
        return {
            "params": self.get_params(deep=False),
            "features": getattr(self, "n_features_in_", None),
            "progress": self.progress_.pack() if hasattr(self, "progress_") else None,
        }

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "OnlineLearner":
        learner = cls(**state["params"])
        if state["progress"] is not None:
            learner.start(state["features"])
            learner.progress_ = learner.progress_.unpack(state["progress"])
        return learner


def _group(space: Coordinates, points: Any, owner: str, name: str) -> Any:
    """Checked points, None when there are none."""
    if linalg.count(points) == 0:
        return None
    if getattr(points, "ndim", 2) == 1 and space.n_features is not None:
        points = points.reshape(1, -1)
    return space.check(points, owner, name)


def stacked(parts: list[Any]) -> Any:
    """Points of several sets as one."""
    if any(sparse.issparse(part) for part in parts):
        return sparse.csr_array(sparse.vstack(parts))
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else [point for part in parts for point in part]
