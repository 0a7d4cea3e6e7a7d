"""The online estimator: constraints one at a time or in batches, a metric at any time."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import validate_data

from gramian import _validate
from gramian._settings import Count, Distance, Positive, Seed, Size, checked, intact
from gramian.constraints import Comparisons, Labels, Pairs, RelativeSimilarities, Similarities, Triplets
from gramian.features import KernelFeatures
from gramian.learners.base import Learner, reading
from gramian.learners.door import are_tuples, enter
from gramian.learners.subsample import usual
from gramian.learners.task import Task, Traits
from gramian.metrics import Mahalanobis
from gramian.online import updates
from gramian.online.base import KINDS, OnlineRule
from gramian.online.progress import Progress, beginning, standing
from gramian.persist import Stored
from gramian.solvers import Solution


@dataclass(eq=False, repr=False)
class OnlineLearner(Learner, Stored):
    """Base of the online learners; subclasses give ``_rule(eta, d)``.

    ``progress_`` holds everything learned, as one immutable value; each call puts a new one in its place, so an
    error changes nothing and ``metric_`` is always that of a whole number of constraints.
    """

    _most_pairs: ClassVar[int | None] = None
    """Pairs that are drawn from labels at most; None where steps are cheap."""
    _step = "an eigenvalue problem"
    """What a step takes where steps are not cheap."""
    _kinds: ClassVar[tuple[str, ...]] = tuple(KINDS)
    """What a target may be."""

    eta: Literal["auto"] | Positive = "auto"
    prior: Literal["identity"] | Mahalanobis | np.ndarray = "identity"
    _: KW_ONLY
    rank: Count | None = None
    features: KernelFeatures | None = None
    alpha: Size = 1.0
    hinge: bool = True
    comparator: Distance | None = None
    n_pretrain: Count = 1000
    random_state: Seed = None

    @abstractmethod
    def _rule(self, eta: float, d: int) -> OnlineRule[Any]: ...

    @property
    def traits(self) -> Traits:  # type: ignore[override]  # a constant elsewhere
        """Room for a matrix is asked for where there is one; few coordinates take sparse points."""
        takes = (Pairs, Comparisons, Similarities, RelativeSimilarities)
        narrow = self.rank is not None or self.features is not None
        return Traits(takes=takes, prior_inside=True, lifts=True, sparse=narrow)

    def _constraints(self, y: Any, X: Any, rng: np.random.RandomState) -> Any:
        """Constraints with their bounds; pairs from labels where these were given."""
        if not isinstance(y, Labels):
            return y.filled(X)
        count = usual(None, self._most_pairs, y, 5)
        if count is not None:
            _validate.warn(
                f"{type(self).__name__}: learns from {count:,} pairs of {len(y.codes):,} points, since each step "
                f"takes {self._step}; give Pairs for more of them."
            )
        return Pairs.from_labels(y, count, random_state=rng).filled(X)

    def start(self, n_features: int | None = None) -> "OnlineLearner":
        """Forget everything and stand at M_0 for points of ``n_features`` features."""
        return self._adopt(beginning(self, n_features))

    def _adopt(self, progress: Progress) -> "OnlineLearner":
        """Know from now on what a progress holds."""
        self.progress_ = progress
        if progress.coordinates.n_features is not None:
            self.n_features_in_ = progress.coordinates.n_features
        return self

    def learn_one(self, u: Any, v: Any, target: float, kind: str = "equal") -> "OnlineLearner":
        """Learn that d²(u, v) should be equal to, at most or at least ``target`` (a squared distance).

        Returns the learner. A wrong argument raises ValueError and changes nothing; u = v changes only the account.
        """
        return self._adopt(updates.pair(self, u, v, target, kind))

    @checked
    def learn_comparison(self, anchor: Any, near: Any, far: Any, *, margin: Size = 0.0) -> "OnlineLearner":
        """Learn that d²(anchor, far) − d²(anchor, near) should be at least ``margin`` (Jain 2009, §3.1 item 2).

        On all features only, without rank and features, as :meth:`learn_similarity`.
        """
        side = Triplets(np.array([0]), np.array([1]), np.array([2]), margin=margin)
        return self._adopt(updates.by_points(self, (anchor, near, far), side))

    @checked
    def learn_similarity(
        self, u: Any, v: Any, target: float, kind: Literal["at_least", "at_most"] = "at_least"
    ) -> "OnlineLearner":
        """Learn that the inner product uᵀMv should be at least or at most ``target`` (Jain 2009, §5.1.1)."""
        side = Similarities(np.array([0]), np.array([1]), np.array([kind == "at_least"]), limit=target)
        return self._adopt(updates.by_points(self, (u, v), side))

    def feedback(self, query: Any, liked: Any = (), disliked: Any = (), shown: Any = None) -> "OnlineLearner":
        """Learn from clicks on a list of results.

        A liked point should be as near as the first of the list, a disliked one beyond the last: targets relative to
        what was on the screen, under the metric that ranked it. With ``eta="auto"`` a stream that begins with clicks
        takes small steps, η = 0.1 / s² with s the farthest squared distance of the first list (``eta_``), or of the
        list at hand where that is farther.

        Parameters
        ----------
        query : point (d,)
        liked, disliked : points (m, d)
        shown : points (k, d), optional
            The list; what was liked and disliked when None.
        """
        return self._adopt(updates.clicks(self, query, liked, disliked, shown))

    def partial_fit(self, X: Any, y: Any = None) -> "OnlineLearner":
        """Learn from pairs, comparisons or similarities in their order, or from pairs drawn from labels y."""
        if hasattr(self, "progress_"):
            require_width(self, X)
        with intact(self):
            X, y = enter(self, X, y)
            now = standing(self, X.shape[1])
            rng = _validate.random(self.random_state, type(self).__name__)
            return self._adopt(updates.batch(self, now, X, self._constraints(y, X, rng)))

    def solve(self, task: Task) -> Solution:
        """The whole stream from the start; its progress holds the metric."""
        X = task.Z
        after = updates.batch(self, beginning(self, X.shape[1]), X, self._constraints(task.y, X, task.rng))
        return Solution(objective=after.loss, n_iter=after.n_seen, extra={"progress": after})

    metric_ = reading("progress_", "metric", "The metric after all constraints so far, an immutable value.")
    loss_ = reading("progress_", "loss", "Cumulative loss of the predictions made before each step.")
    comparator_loss_ = reading("progress_", "comparator_loss", "Cumulative loss of the comparator on the same stream.")
    regret_ = reading("progress_", "regret", "``loss_ - comparator_loss_``.")
    eta_ = reading("progress_", "eta", "Step size in use.")
    n_seen_ = reading("progress_", "n_seen", "Number of constraints so far.")
    n_iter_ = reading("progress_", "n_seen", "Number of steps: one per constraint.")
    objective_ = reading("progress_", "loss", "The cumulative loss.")
    converged_ = reading("progress_", "converged", "Always True: a stream has no end to converge to.")

    def _state(self) -> dict[str, Any]:
        return {
            "params": self.get_params(deep=False),
            "features": getattr(self, "n_features_in_", None),
            "progress": self.progress_.pack() if hasattr(self, "progress_") else None,
        }

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "OnlineLearner":
        learner = cls(**state["params"])
        packed = state["progress"]
        if packed is None:
            return learner
        sizes = [len(M) for M in matrices_of(packed["state"])]
        if learner.rank is None and learner.features is None and sizes != [state["features"]] * len(sizes):
            raise ValueError("its state is not that of its number of features")  # before memory is taken for it
        learner.start(state["features"])
        progress = learner.progress_.unpack(packed)
        metric = progress.rule.metric(progress.state)
        if metric.components.shape[1] != progress.coordinates.size or not progress.rule.finite(progress.state):
            raise ValueError("its state does not fit its coordinates")
        learner.progress_ = progress
        return learner


def matrices_of(packed: Any) -> Iterator[np.ndarray]:
    """The matrices of a packed state."""
    if isinstance(packed, np.ndarray) and packed.ndim == 2:
        yield packed
    elif isinstance(packed, dict | list):
        for value in packed.values() if isinstance(packed, dict) else packed:
            yield from matrices_of(value)


def require_width(learner: OnlineLearner, X: Any) -> None:
    """Refuse points of another number of features than those so far."""
    points = np.asarray(X)[:, 0] if are_tuples(X) else X
    try:
        validate_data(learner, points, reset=False, skip_check_array=True)
    except (TypeError, LookupError) as error:
        raise ValueError(f"{type(learner).__name__}: X must be points (n, d), got {_validate.shown(X)}.") from error
    except ValueError as error:
        raise ValueError(f"{type(learner).__name__}: {error}") from error
