"""The front door: the best metric for what is known, or the points as they are."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian import _checks, linalg
from gramian.constraints import Chunklets, Comparisons, Constraints, Labels, Pairs
from gramian.coordinates import Rest
from gramian.learners.anchor import WEIGHTS
from gramian.learners.base import MetricLearner
from gramian.learners.blend import Blend
from gramian.learners.contrastive import Contrastive
from gramian.learners.gmml import GMML
from gramian.learners.itml import ITML
from gramian.learners.lmnn import LMNN
from gramian.learners.lsml import LSML
from gramian.learners.nca import NCA
from gramian.learners.plda import PLDA
from gramian.learners.progress import progress
from gramian.learners.rca import RCA
from gramian.learners.scml import SCML
from gramian.learners.starts import FEWEST, AsTheyAre, ByAngle, LengthOne, Scaled, Start, around_origin
from gramian.learners.trials import Search, Trial
from gramian.solvers.base import Solution

FULL = 200
"""Labeled points up to which the penalty of Contrastive is whole: one prior beside the mean loss of n points says less,
the more they are."""


def default_candidates(y: Labels | Constraints | None = None) -> dict[str, Any]:
    """Learners from closed form to LMNN and NCA that take what is given, the cheap ones first."""
    if isinstance(y, Comparisons):
        return {"LSML": LSML(), "SCML": SCML()}
    codes = y.codes if isinstance(y, Labels) else y.ids if isinstance(y, Chunklets) else np.zeros(0)
    part = FULL / max(FULL, int(np.sum(codes >= 0)))
    much, some = PLDA(0.7, 0.3), PLDA(0.3, 0.1)
    near, wide = Contrastive(0.1, 0.03 * part), Contrastive(0.2, 0.01 * part)
    found: dict[str, Any] = {
        "PLDA, much shrunk": much,
        "PLDA": some,
        "PLDA, little shrunk": PLDA(0.1, 0.01),
        "Contrastive": near,
        "blend of four": Blend(much, some, near, wide),
        "blend of two": Blend(some, wide),
        "RCA": RCA(),
        "GMML": GMML(),
        "ITML": ITML(),
        "LMNN": LMNN(),
        "NCA": NCA(),
    }
    given = y is None or isinstance(y, Labels)
    return {name: learner for name, learner in found.items() if given or isinstance(y, learner._accepts)}


class AutoMetric(MetricLearner):
    """The best metric for labels, pairs, triplets or chunklets, as held-out points say; else the points as they are.

    Learning starts from the features as they are, scaled to unit variance, or (``normalize``) divided by the length of
    each row, since embeddings are compared by their angle. Every candidate learns, anchored to its start
    (M = w · start + (1 − w) · learned, in the leading directions of the points), on three folds, and is scored on the
    points *and* on the classes that the fold held out (points count twice): closed forms from every start, the others
    from the best one. Few neighbors of a point are looked at, one for three held-out points of its class: the nearest
    of few points are farther apart than those that a search will find. The candidate with the largest gain less two
    standard errors is fitted again on everything, with the largest weight of its start that is within half an error of
    the best; where there is none, the first candidate wins if it gains more than one error. **Otherwise the features
    as they are do**, or scaled ones where one column has more than half of the variance.
    Points of 64 and more columns, and those around the origin, are also compared by their angle, seen from their mean,
    under the metric learned. There, with few labels, what is known of embeddings in general says more than folds do:
    the mean of two PLDA and two Contrastive with weight 0.3 of the features, if it gains more than one error, is what
    others must be better than; a smaller weight takes the place of 0.3 where it is better by one error.
    From 200 labels on the penalty of Contrastive falls as one over their number. Whatever wins, its weight of the start
    rises until classes that the folds held out lose at most 0.03 by what was learned: they shall not pay for others.
    ``estimate_`` is honest: each fold is judged by the choice that the other folds would make.

    Parameters
    ----------
    scoring : str
        "precision@k" among the nearest of what was held out. Pairs are scored by the area under the ROC curve, and
        triplets by the share that holds.
    candidates : list or dict of learners, optional
        Learners to try, by class, instance or public name; PLDA, Contrastive, RCA, GMML, ITML, LMNN and NCA when None,
        LSML and SCML for triplets and quadruplets. Kernels are tried where ``Kernelized(learner)`` is among them; the
        metric may then be one beside the features, which databases take as coordinates only.
    cv : int
        Folds.
    normalize : "auto", True or False
        Whether rows are divided by their length.
    budget_s : float, optional
        CPU seconds after which no further candidate is tried; the best so far is taken.
    verbose : bool
        Show a progress bar.
    callback : callable, optional
        Called as ``callback(number, score, gain)`` after each candidate.
    random_state : int or generator, optional
        Draws, where there are any: the same number gives the same result.

    Attributes
    ----------
    metric_ : Metric
        The learned distance.
    chosen_ : str
        The candidate that won, or the start.
    report_ : Report
        Rows of candidate, score ± error, gain, weight of the prior, CPU seconds; ``report_.to_frame()``.
    estimate_ : (float, float)
        Gain over the points as they are to expect, and its standard error.

    See Also
    --------
    gramian.LMNN : For neighbors, from labels.
    gramian.ITML : From pairs.
    gramian.LSML : From comparisons.

    Examples
    --------
    >>> import gramian as gm
    >>> X, y = gm.datasets.load("wine", return_X_y=True)
    >>> auto = gm.AutoMetric(random_state=0).fit(X, y)
    >>> auto.report_[0]["candidate"], auto.estimate_[0] > 0.1
    ('features as they are', True)
    """

    _devices = True
    _scale_free = True
    _accepts = (Pairs, Comparisons, Chunklets)

    def __init__(
        self,
        scoring="precision@10",
        candidates=None,
        *,
        cv=3,
        normalize="auto",
        budget_s=None,
        verbose=False,
        callback=None,
        random_state=None,
    ):
        self.scoring = scoring
        self.candidates = candidates
        self.cv = cv
        self.normalize = normalize
        self.budget_s = budget_s
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    def _learn(self, Z: Any, side: Any, rest: Rest, rng: np.random.RandomState) -> Solution:
        raise TypeError("AutoMetric: is not a learner on given coordinates; name its candidates instead.")

    def fit(self, X: Any, y: Any = None, *, unknown: Any = None) -> "AutoMetric":
        """Choose and learn.

        Parameters
        ----------
        X : array (n, d), or tuples as in every learner
        y : labels (n,), or a Constraints object, or ±1 for pairs
        unknown : label, optional
            What stands for "no label"; such points, and those labeled None, are left out.
        """
        with _checks.intact(self):
            rng = _checks.random(self.random_state, "AutoMetric")
            X, y = self._door(X, y, unknown=unknown)
            candidates = self._affordable(self._candidates(y), linalg.count(X))
            cv = _checks.number(self.cv, "AutoMetric", "cv", low=2, high=linalg.count(X), integer=True)
            if self.budget_s is not None:
                _checks.number(self.budget_s, "AutoMetric", "budget_s", low=0)
            search = Search(X, y, self._neighbors(), cv, rng)
            starts = self._starts(search.X)
            for start in starts:
                search.score_start(start)
            self._conclude(search, list(self._tried(search, starts, candidates)))
        return self

    def _neighbors(self) -> int:
        text = self.scoring if isinstance(self.scoring, str) else ""
        head, _, tail = text.partition("@")
        if head != "precision" or not tail.isdigit() or int(tail) < 1:
            raise ValueError(f"AutoMetric: scoring must be 'precision@k', got {_checks.shown(self.scoring)}.")
        return int(tail)

    def _candidates(self, y: Labels | Constraints | None = None) -> dict[str, Any]:
        """Candidates by name, as learners of their own."""
        if self.candidates is None:
            return default_candidates(y)
        given = self.candidates
        if not isinstance(given, dict | list | tuple):
            raise TypeError(f"AutoMetric: candidates must be a list or dict of learners, got {_checks.shown(given)}.")
        items = given.items() if isinstance(given, dict) else ((None, learner) for learner in given)
        return {name or repr(learner): learner for name, learner in ((n, as_learner(c)) for n, c in items)}

    def _affordable(self, candidates: dict[str, Any], n: int) -> dict[str, Any]:
        """The candidates without those whose work would grow with n² for so many points, unless they were named."""
        left_out = [name for name, learner in candidates.items() if (learner._most_points or n) < n]
        if self.candidates is not None or not left_out:
            return candidates
        _checks.warn(
            f"AutoMetric: leaves out {' and '.join(left_out)}, whose work grows with n², for {n:,} points; "
            "name them in candidates to try them."
        )
        return {name: learner for name, learner in candidates.items() if name not in left_out}

    def _starts(self, X: np.ndarray) -> list[Start]:
        """Where learning may begin; the points as they are come first.

        Rows are divided by their length only where that can be a matter of angle: where they have not length one, and
        where they lie around the origin and not to one side of it.
        """
        d = X.shape[1]
        if isinstance(self.normalize, str) or not isinstance(self.normalize, bool | np.bool_):
            _checks.one_of(self.normalize, "AutoMetric", "normalize", ("auto",))
            around = around_origin(X)
            angles = [ByAngle(d)] if d >= FEWEST or around else []
            rows = [LengthOne(d)] if around else []
            return [AsTheyAre(d), Scaled(d), *angles, *rows]
        return [AsTheyAre(d), ByAngle(d), LengthOne(d)] if self.normalize else [AsTheyAre(d), Scaled(d)]

    def _tried(self, search: Search, starts: list[Start], candidates: dict[str, Any]) -> Iterator[Trial]:
        """Closed forms from every start, then the others from the one that is best by then."""
        hopeful = search.hopeful(starts)
        first = next((learner for learner in candidates.values() if not learner._enough), None)
        settled = next((learner for learner in candidates.values() if isinstance(learner, Blend)), None)
        plan = [
            Trial(name + start.suffix, start, learner, careful=learner is first, settled=learner is settled)
            for start in hopeful
            for name, learner in candidates.items()
            if _early(learner, start) and (learner._anywhere or start is starts[0])
        ]
        if self.normalize is True:
            plan = [trial for trial in plan if trial.start is not starts[0]]
        dear = {name: learner for name, learner in candidates.items() if learner._enough}
        began, done = time.process_time(), 0
        best = starts[-1] if self.normalize is True else starts[0]
        with progress("AutoMetric", self.verbose, len(plan) + len(dear), self.callback) as report:
            for stage in (plan, dear):
                trials = plan if stage is plan else _later(dear, best)
                for trial in trials:
                    if self.budget_s is not None and time.process_time() - began > self.budget_s:
                        trial.note = "not tried: the budget was spent"
                    else:
                        search.score(trial)
                    done += 1
                    if report is not None:
                        gain = trial.best(search.base)[2]
                        report(done, float(search.base_score + gain), gain)
                    yield trial
                best = search.leader(trials, best)

    def _conclude(self, search: Search, tried: list[Trial]) -> None:
        plain = search.starts[1:] if self.normalize is True else search.starts
        best, place = search.winner([*plain, *tried])
        self.estimate_ = search.honest([*plain, *tried])
        self.report_ = search.report(tried, best, place)
        self.chosen_ = best.name
        points = best.start.coordinates.accept(search.X)
        weights = best.start.weights(points)
        solution = Solution(factor=np.eye(search.X.shape[1]), objective=0.0)
        if best.learner is not None:
            points = points * weights
            weight = float(WEIGHTS[place])
            coordinates, solution = best.learner._near_prior(points, search.y, weight, search.rng)
            if not best.learner._anywhere:
                self._store(coordinates, solution)
                return
        coordinates, factor = best.start.end(points, solution.factor * weights)
        self._store(coordinates, replace(solution, factor=factor))


def _early(learner: Any, start: Start) -> bool:
    """Whether a learner is tried before the best start is known: closed forms, and those of angles by angle."""
    if isinstance(learner, Blend):
        return isinstance(start, ByAngle)
    return not learner._enough or (learner._by_angle and isinstance(start, ByAngle))


def _later(dear: dict[str, Any], start: Start) -> list[Trial]:
    """The trials from the best start of those that take longer, without what was tried there."""
    return [Trial(name + start.suffix, start, learner) for name, learner in dear.items() if not _early(learner, start)]


def as_learner(candidate: Any) -> Any:
    """A learner from an instance, a class, or a public name."""
    if isinstance(candidate, str):
        candidate = {cls.__name__: cls for cls in _subclasses(MetricLearner)}.get(candidate, candidate)
    if isinstance(candidate, type):
        candidate = candidate()
    if not isinstance(candidate, MetricLearner) or not (hasattr(candidate, "anchor") or not candidate._anywhere):
        raise TypeError(f"AutoMetric: candidates must be learners with an anchor, got {_checks.shown(candidate)}.")
    return clone(candidate)


def _subclasses(cls: Any) -> Iterator[Any]:
    for child in cls.__subclasses__():
        yield child
        yield from _subclasses(child)
