"""The front door: the best metric for what is known, or the points as they are."""

import time
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.base import clone

from gramian import _validate, linalg
from gramian._arrays import asarray, free_bytes
from gramian._settings import Loudness, Seed, Size, Within
from gramian.constraints import Chunklets, Comparisons, Labels, Pairs
from gramian.learners.anchored import WEIGHTS, Anchored
from gramian.learners.base import Learner
from gramian.learners.beside_classes import Asked, BesideClasses
from gramian.learners.candidates import MeanOf, as_learner, default_candidates, early, references
from gramian.learners.posteriors import Posteriors, cross_fitted
from gramian.learners.starts import FEWEST, AsTheyAre, ByAngle, LengthOne, Scaled, Start, around_origin, dominated
from gramian.learners.subsample import by_content
from gramian.learners.task import Task, Traits
from gramian.learners.trials import OTHERS, PLAIN, Report, Search, Standing, Trial, honest, winner
from gramian.solvers.base import Solution

BEHIND = 0.1
"""A start that scores so much less than another is not learned from."""
DEAR = 1_000_000
"""Numbers from which on points by their angle are left to closed forms and to what is meant for angles."""

TWO_KINDS = (
    "if these are queries and the documents that answer them, QueryAdapter().fit(queries, documents) is for them"
)


@dataclass(eq=False, repr=False)
class AutoMetric(Learner):
    """The best metric for labels, pairs, triplets or chunklets, as held-out points say; else the points as they are.

    Learning starts from the features as they are, scaled to unit variance, or (``normalize``) divided by the length of
    each row; points of 64 and more columns, and those around the origin, are also compared by their angle. Every
    candidate learns, anchored to its start (M = w · start + (1 − w) · learned, in the leading directions of the
    points), on three folds, and is scored on the points *and* on the classes that the fold held out (points count
    twice): closed forms from every start, the others from the best one. Then three sentences decide:

    The *reference* takes the place of the start where it gains more than one standard error, and any candidate takes
    that of what stands then where it gains more than two. Its weight w is the largest within half an error of its
    best. It rises until classes that were held out lose at most 0.03.

    Then class probabilities (:class:`Posteriors`: of a logistic model, or below 64 columns of a forest, and votes of
    the labeled points) are tried beside what stands, on the same folds, at any weight that spares held-out classes;
    half an error is enough for them.

    The start are the features as they are, or scaled ones where one column has more than half of the variance. The
    reference is named beforehand, so that less is asked of it: by angle the mean of two PLDA and two Contrastive, at a
    weight of at most 0.3, and by distance the most shrunk PLDA. Few neighbors of a point are looked
    at, one for three held-out points of its class: the nearest of few points are farther apart than those that a
    search will find. From 200 labels on the penalty of Contrastive falls as one over their number.
    ``estimate_`` is honest: each fold is judged by the choice that the other folds would make.

    Parameters
    ----------
    scoring : str
        "precision@k" among the nearest of what was held out. Pairs are scored by the area under the ROC curve, and
        triplets by the share that holds.
    candidates : list or dict of learners, optional
        Learners to try, by class, instance or public name; PLDA, Contrastive, RCA, GMML, ITML, LMNN, NCA, SCML and
        Posteriors when None, LSML and SCML for triplets and quadruplets. Kernels are tried where
        ``Kernelized(learner)`` is among them; the metric may then be one beside the features, which databases take as
        coordinates only.
    classes : {"open", "closed"}
        "open": classes that nobody labeled may come, and must not lose; "closed": these are all there are, so that
        only their points are held out.
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
    posteriors_ : Posteriors or None
        What makes the class probabilities in the metric, where there are any.
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

    traits = Traits(takes=(Pairs, Comparisons, Chunklets), scale_free=True, lifts=True, devices=True)

    scoring: str = "precision@10"
    candidates: Any = None
    _: KW_ONLY
    classes: Literal["open", "closed"] = "open"
    cv: Annotated[int, Within(2)] = 3
    normalize: Literal["auto"] | bool = "auto"
    budget_s: Size | None = None
    verbose: Loudness = False
    callback: Callable | None = None
    random_state: Seed = None

    def solve(self, task: Task) -> Solution:
        """Try the candidates on folds, and fit the one that the rule says on all points."""
        if self.cv > linalg.count(task.Z):
            raise ValueError(
                f"AutoMetric: cv must be at most the number of points {linalg.count(task.Z)}, got {self.cv}."
            )
        task = grouped(task)
        named = self.affordable(self.named(task.y), task.Z)
        classifiers = {name: one for name, one in named.items() if isinstance(one, Posteriors)}
        candidates = {name: one for name, one in named.items() if name not in classifiers}
        search = Search(task, neighbors_of(self.scoring), self.cv, self.classes == "closed")
        starts = [search.trial(start.name, start) for start in self.starts(search.X)]
        plain = starts[1:] if self.normalize is True else starts
        first = prior_of(plain, dominated(search.X))
        began = time.process_time()
        tried = list(self.tried(search, starts, first, candidates))
        tried += self.beside(search, starts[0], winner([*plain, *tried], first), classifiers, began, len(tried))
        stand = winner([*plain, *tried], first)
        if not starts[0].scores:
            warn_of_nothing(task.y)
        gain = honest([*plain, *tried], first, starts[0], len(search.folds))
        report = Report(trial.row(starts[0], stand) for trial in [*starts, *tried])
        posteriors = getattr(stand.trial.learner, "posteriors", None)
        said = {"chosen": stand.trial.name, "estimate": gain, "report": report, "posteriors": posteriors}
        return fitted(stand, task).saying(**said)

    def named(self, y: Any = None) -> dict[str, Any]:
        """Candidates by name, as learners of their own."""
        if self.candidates is None:
            return default_candidates(y)
        named = self.candidates
        if not isinstance(named, dict | list | tuple):
            raise TypeError(f"AutoMetric: candidates must be a list or dict of learners, got {_validate.shown(named)}.")
        items = named.items() if isinstance(named, dict) else ((None, learner) for learner in named)
        return {name or repr(learner): learner for name, learner in ((n, as_learner(c)) for n, c in items)}

    def affordable(self, candidates: dict[str, Any], X: Any) -> dict[str, Any]:
        """The candidates without those whose work would grow with n² for so many points, unless they were named."""
        n, away = linalg.count(X), free_bytes(X) is not None  # a device can do what a processor cannot
        limits = {
            name: learner.traits.most_points(X.shape[1])
            for name, learner in candidates.items()
            if not away or not learner.traits.devices
        }
        dear = [name for name, most in limits.items() if most is not None and most < n]
        if self.candidates is not None or not dear:
            return candidates
        _validate.warn(
            f"AutoMetric: leaves out {' and '.join(dear)}, whose work grows with n², for {n:,} points; "
            "name them in candidates to try them."
        )
        return {name: learner for name, learner in candidates.items() if name not in dear}

    def starts(self, X: np.ndarray) -> list[Start]:
        """Where learning may begin; the points as they are come first.

        Rows are divided by their length only where that can be a matter of angle: where they have not length one, and
        where they lie around the origin and not to one side of it.
        """
        d = X.shape[1]
        if isinstance(self.normalize, str):
            around = around_origin(X)
            angles = [ByAngle(d)] if d >= FEWEST or around else []
            return [AsTheyAre(d), Scaled(d), *angles, *([LengthOne(d)] if around else [])]
        return [AsTheyAre(d), ByAngle(d), LengthOne(d)] if self.normalize else [AsTheyAre(d), Scaled(d)]

    def tried(self, search: Search, starts: list[Trial], first: Trial, candidates: dict[str, Any]) -> Iterator[Trial]:
        """Closed forms from every start, then the others from the one that is best by then."""
        hopeful = [trial.start for trial in hopeful_of(starts) if self.normalize is not True or trial is not starts[0]]
        hopeful.sort(key=lambda start: start.learned_as != AsTheyAre.name)  # what starts share is found once
        named = references(candidates)
        stages = [
            (name, learner, start) for start in hopeful for name, learner in candidates.items() if early(learner, start)
        ]
        stages = [one for one in stages if not one[1].traits.lifts or one[2] is starts[0].start]
        began, trials = time.process_time(), list[Trial]()
        for name, learner, start in stages:
            reference = name in named and start.learned_as == first.start.learned_as
            reference = reference and isinstance(start, ByAngle) == isinstance(learner, MeanOf)
            trials.append(
                self.judged(
                    search, starts[0], Trial(name + start.suffix, start, learner, reference), began, len(trials)
                )
            )
            yield trials[-1]
        best = winner([*starts, *trials], first).trial.start
        dear = self.candidates is None and isinstance(best, ByAngle) and search.X.size > DEAR
        for name, learner in {} if dear else candidates.items():
            if not early(learner, best) and not isinstance(learner, MeanOf):
                trials.append(
                    self.judged(search, starts[0], Trial(name + best.suffix, best, learner), began, len(trials))
                )
                yield trials[-1]

    def beside(
        self, search: Search, base: Trial, stand: Standing, classifiers: dict[str, Posteriors], began: float, done: int
    ) -> list[Trial]:
        """Class probabilities beside what stands, where labels are classes."""
        asked: dict[int, Asked] = {}
        trials = [
            Trial(f"{stand.trial.name}, beside {name}", stand.trial.start, beside)
            for name, learner in classifiers.items()
            for beside in [BesideClasses(stand, learner, search.seed, asked)]
        ]
        return [self.judged(search, base, trial, began, done) for trial in trials]

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> np.ndarray:
        """Coordinates of labeled points; class probabilities in them are of models that did not see their labels."""
        self.fit(X, y, **options)
        return self.transform(X) if self.posteriors_ is None else cross_fitted(self, self.posteriors_, X, y, **options)

    def judged(self, search: Search, base: Trial, trial: Trial, began: float, done: int) -> Trial:
        """A trial with its scores, unless the budget was spent."""
        if self.budget_s is not None and time.process_time() - began > self.budget_s:
            return replace(trial, note="not tried: the budget was spent")
        trial = search.trial(trial.name, trial.start, trial.learner, trial.reference)
        if search.task.report is not None:
            row = trial.row(base)
            search.task.report(done + 1, row["score"], row["gain"])
        return trial


def grouped(task: Task) -> Task:
    """The same task; pairs that are all similar are groups, whose fellows a held-out point must find."""
    if not isinstance(task.y, Pairs) or not task.y.similar.all():
        return task
    if len(task.y.left) > 1 and not np.intersect1d(task.y.left, task.y.right).size:
        _validate.warn(f"AutoMetric: all pairs are similar, and no point is on both sides; {TWO_KINDS}.")
    return replace(task, y=Chunklets.from_pairs(task.y, linalg.count(task.Z)), order=by_content(task.Z))


def neighbors_of(scoring: str) -> int:
    """k of "precision@k"."""
    head, _, tail = scoring.partition("@")
    if head != "precision" or not tail.isdigit() or int(tail) < 1:
        raise ValueError(f"AutoMetric: scoring must be 'precision@k', got {_validate.shown(scoring)}.")
    return int(tail)


def hopeful_of(starts: list[Trial]) -> list[Trial]:
    """Starts that are not far behind the best one; of many columns also not surely behind the points as they are."""
    gains = [trial.gain(Standing(starts[0])) if trial.scores else (np.zeros(PLAIN + 1),) * 2 for trial in starts]
    most = max(mean[PLAIN] for mean, _ in gains) - BEHIND
    wide = starts[0].start.d >= FEWEST
    sure = [trial.start.learned_as != AsTheyAre.name and wide for trial in starts]
    return [
        trial
        for trial, (mean, error), strict in zip(starts, gains, sure)
        if mean[PLAIN] >= most and not (strict and mean[PLAIN] + OTHERS * error[PLAIN] < 0)
    ]


def prior_of(starts: list[Trial], one_column_decides: bool) -> Trial:
    """The points as they are; scaled ones where one column has more than half of the variance.

    The unit of a column is no knowledge: where one has more than half of all variance, the others are not heard.
    """
    first, scaled = starts[0], [trial for trial in starts if isinstance(trial.start, Scaled)]
    if not one_column_decides or not scaled or not first.scores:
        return first
    mean, error = scaled[0].gain(Standing(first))
    return scaled[0] if mean[PLAIN] >= -error[PLAIN] else first


def fitted(stand: Standing, task: Task) -> Solution:
    """What stands, on all points, in the coordinates of its start."""
    start, learner = stand.trial.start, stand.trial.learner
    if isinstance(learner, BesideClasses):
        return learner.solve(fitted(learner.under, task), task, float(WEIGHTS[stand.place]))
    points = start.coordinates.accept(linalg.dense(task.Z))  # (n, d)
    weights, weight = start.weights(points), float(WEIGHTS[stand.place])
    if learner is None:
        space, factor = start.end(points, np.eye(start.d) * weights)
        return Solution(factor=factor, objective=0.0, coordinates=space, alpha=0.0 if space.whole else 1.0).saying(
            anchor=1.0
        )
    weighed = points * asarray(weights, points)
    inside = replace(task, Z=weighed, report=None)
    if learner.traits.lifts:
        return learner.set_params(learner=clone(learner.learner).set_params(anchor=weight)).solve(inside)
    solution = learner.near(inside, weight) if isinstance(learner, MeanOf) else Anchored(learner, weight).solve(inside)
    space, factor = start.end(weighed, solution.factor * weights)
    return replace(solution, factor=factor, coordinates=space, extra={"anchor": weight})


def warn_of_nothing(y: Any) -> None:
    """Why nothing could be compared."""
    classes = len(y.classes) if isinstance(y, Labels) else None
    reason = "there is one class" if classes == 1 else "too little is known to hold some of it out"
    _validate.warn(
        f"AutoMetric: nothing could be compared, since {reason}, so the features stay as they are; give labels of two "
        "classes with three points in each, or more pairs."
    )
