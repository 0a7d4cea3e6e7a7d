"""Class probabilities of a classifier beside the features, or beside what a learner made of them."""

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from scipy.linalg import block_diag
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from gramian import _validate, linalg
from gramian._arrays import to_numpy
from gramian._settings import Rule, Seed, Size, Within
from gramian.constraints import Labels
from gramian.coordinates import Hellinger, KernelProbabilities, Plain, Probabilities, probabilities
from gramian.coordinates.probabilities import linear_model, trees
from gramian.learners.base import Learner, named_prior, plan
from gramian.learners.kernel_votes import KernelVotes
from gramian.learners.spaces import spread
from gramian.learners.subsample import by_content, in_order
from gramian.learners.task import Task, Traits
from gramian.metrics import Metric
from gramian.solvers.base import Solution

FEWEST = 64
"""Columns from which on a linear model says more than trees of single columns."""
PENALTY = 10.0
"""C of the logistic model, on points with a spread of 1."""
STEPS = 100
"""Steps of its fit."""
TREES, FEW_TREES = 200, 30
"""Trees of a forest, and the fewest where their leaves are large."""
LEAVES = 1.5e8
"""Numbers that the leaves of a forest may hold while it grows."""
PROBED = 500
"""Points by which a unit is measured, and a model compared with what was read off it."""

VOTES = {"votes": 1.0, "soft votes": 2.0}
"""What multiplies the temperature of votes: one of a class that nobody named should not look sure."""

Classifier = Annotated[Any, Rule("a classifier with predict_proba", lambda value: hasattr(value, "predict_proba"))]
InnerLearner = Annotated[Any, Rule("a learner or None", lambda value: value is None or isinstance(value, Learner))]


@dataclass(eq=False, repr=False)
class Posteriors(Learner):
    """Compare points by their features and by the classes that a classifier sees in them.

    d²(x, y) = d₀²(x, y) + w² s Σ_c (√p_c(x) − √p_c(y))².

    p are class probabilities, and their term Hellinger's squared distance: what a forest or a logistic model knows of
    the classes, as a distance, a kernel (:class:`.Bhattacharyya`) and coordinates that can be searched. d₀ are the
    features, or what a learner made of them, which tell points of one class apart, and classes that nobody labeled. s
    is the spread of d₀, so that the weight w has no unit.

    The points that a classifier was fitted to look more sure than others will. So ``fit_transform(X, y)`` is not
    ``fit(X, y).transform(X)``: it gives each labeled point probabilities of a model that did not see its label (``cv``
    parts, as scikit-learn's TargetEncoder does). Where labeled points are searched later, index these coordinates.

    Parameters
    ----------
    classifier : "auto", "logistic", "forest", "votes", "soft votes" or classifier
        p. "auto" is a forest below 64 columns and a logistic model from there on. "votes" are those of the labeled
        points, which count the more the nearer they are under d₀ (kernel least squares); "soft votes" are half as sure,
        which keeps apart classes that nobody labeled. Or any of scikit-learn's with ``predict_proba``, cloned. Linear
        ones, forests and votes are written down as arrays, and can be saved; others are held.
    learner : Learner, optional
        Makes d₀; the features as they are when None.
    weight : float
        w.
    cv : int
        Parts for ``fit_transform``.
    random_state : int or generator, optional
        Draws, where there are any: the same number gives the same result.

    Attributes
    ----------
    metric_ : Metric
        The learned distance, an immutable value; ``metric_.explain(x, y, by="classes")`` says which classes make it.
    n_iter_, converged_, solution_
        Steps of the learner inside, and the whole answer.

    See Also
    --------
    gramian.AutoMetric : Chooses the weight on points and classes that were held out.
    gramian.Bhattacharyya : The kernel of class probabilities.

    Examples
    --------
    >>> import gramian as gm
    >>> X, y = gm.datasets.load("wine", return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> learner = gm.Posteriors(random_state=0).fit(X[::2], y[::2])
    >>> learner.transform(X[1::2]).shape  # 13 features, 3 classes
    (89, 16)
    """

    traits = Traits(lifts=True)

    classifier: Literal["auto", "logistic", "forest", "votes", "soft votes"] | Classifier = "auto"
    learner: InnerLearner = None
    _: KW_ONLY
    weight: Size = 1.0
    cv: Annotated[int, Within(2)] = 5
    random_state: Seed = None

    def solve(self, task: Task) -> Solution:
        """The classifier beside what the learner inside finds."""
        weight = _validate.number(self.weight, "Posteriors", "weight", low=0, high=1e150)  # its square is taken
        seed = int(task.rng.randint(2**31 - 1))
        base = Solution(factor=np.eye(task.Z.shape[1]), objective=0.0)
        if self.learner is not None:
            inner = clone(self.learner)
            effort = inner.traits.exact.of(inner)
            inside = replace(task, effort=effort, prior=named_prior(inner, task.Z, task.rest), report=None)
            base = plan(inner, task.y).solve(inside)
        metric = metric_of(base, task.Z.shape[1])
        model = self.model(metric.coordinates.accept(task.Z), task.y, metric=metric, random_state=seed)
        return beside(base, metric, task.Z, model, 1.0, weight**2)

    def model(self, points: Any, labels: Labels, *, metric: Metric | None = None, random_state: int) -> Probabilities:
        """The classifier, fitted to points behind a door, in an order that these decide; votes are under a metric."""
        points = linalg.dense(to_numpy(points))
        order = by_content(points)
        points, labels = points[order], Labels(labels.codes[order], labels.classes).by_appearance()
        if len(labels.classes) < 2:
            raise ValueError("Posteriors: needs at least two classes, got one.")
        kind = self.classifier
        if kind == "auto":
            kind = "logistic" if points.shape[1] >= FEWEST else "forest"
        if isinstance(kind, str) and kind in VOTES:
            assert metric is not None
            return votes(points, labels, metric, VOTES[kind])
        if isinstance(kind, str):
            return (logistic if kind == "logistic" else forest)(points, labels, random_state)
        return probabilities(seeded(kind, random_state).fit(points, labels.classes[labels.codes]), points[:PROBED])

    def crossed(self, points: Any, labels: Labels, model: Probabilities, metric: Metric) -> np.ndarray:
        """√p of each labeled point by a model that did not see its label, (n, c); by ``model`` where there is none."""
        groups = in_order(labels, by_content(points))
        place = np.empty(len(labels.codes), dtype=int)
        for members in groups:
            place[members] = np.arange(len(members)) % self.cv
        seed = int(_validate.random(self.random_state, "Posteriors").randint(2**31 - 1))
        roots = model.roots(points)
        for fold in range(self.cv):
            rows, others = np.flatnonzero(place == fold), np.flatnonzero(place != fold)
            if len(rows) and len(np.unique(labels.codes[others])) > 1:
                other = self.model(points[others], labels.of(others), metric=metric, random_state=seed)
                roots[rows] = 0.0
                roots[np.ix_(rows, places(other.classes, model.classes))] = other.roots(points[rows])
        return roots

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> np.ndarray:
        """Coordinates of labeled points, whose probabilities are those of models that did not see their labels."""
        return cross_fitted(self.fit(X, y, **options), self, X, y, **options)


def metric_of(base: Solution, d: int) -> Metric:
    """What was learned, as a metric of points of d features."""
    L = to_numpy(linalg.psd_sqrt(base.M) if base.factor is None else base.factor)  # (q, r)
    return Metric.of(Plain(d) if base.coordinates is None else base.coordinates, L, base.alpha)


def beside(base: Solution, metric: Metric, points: Any, model: Probabilities, first: float, second: float) -> Solution:
    """What was learned, times ``first``, and class probabilities, times ``second`` in its unit."""
    unit = unit_of(metric, metric.coordinates.accept(points))
    factor = block_diag(np.sqrt(first) * metric.components, np.sqrt(second * unit) * np.eye(len(model.classes)))
    both = Solution(factor=factor, alpha=first * base.alpha, coordinates=Hellinger(metric.coordinates, model))
    return replace(both, n_iter=base.n_iter, learned=base.learned or base, extra=base.extra)


def cross_fitted(learner: Any, posteriors: Posteriors, X: Any, y: Any, unknown: Any = None) -> np.ndarray:
    """Coordinates of its own points under a fitted learner, with probabilities that did not see their labels."""
    points = learner._points(X)
    Z, space = learner.metric_.transform_of(points), learner.metric_.coordinates
    labels = Labels.from_array(y, type(learner).__name__, len(points), unknown)
    rows = np.flatnonzero(labels.codes >= 0)
    L, c = learner.metric_.components, len(space.classes)
    metric = Metric.of(space.space, L[:-c, :-c], learner.metric_.alpha)
    Z[rows, -c:] = L[-1, -1] * posteriors.crossed(points[rows], labels.of(rows), space.model, metric)
    return Z


def logistic(points: np.ndarray, labels: Labels, seed: int = 0) -> Probabilities:
    """Multinomial logistic regression, on points with a spread of 1 around their mean.

    Below ``FEWEST`` columns, whose units say little, each has the same part of it.
    """
    from sklearn.linear_model import LogisticRegression

    center, scale = points.mean(axis=0), points.std(axis=0) * np.sqrt(points.shape[1])
    if points.shape[1] >= FEWEST:
        scale[:] = np.sqrt(np.mean(scale**2))
    scale[scale == 0] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # its end is not what is asked for
        fitted = LogisticRegression(C=PENALTY, max_iter=STEPS).fit((points - center) / scale, labels.codes)
    model = linear_model(fitted)
    assert model is not None
    return replace(model.scaled(center, scale), classes=labels.classes)


def forest(points: np.ndarray, labels: Labels, seed: int = 0) -> Probabilities:
    """Extremely randomized trees (Geurts, Ernst and Wehenkel 2006)."""
    from sklearn.ensemble import ExtraTreesClassifier

    numbers = 1.5 * len(points) * len(labels.classes)  # about so many in the leaves of a tree
    n_trees = int(np.clip(LEAVES / numbers, FEW_TREES, TREES))
    center, scale = points.mean(axis=0), points.std(axis=0)
    scale[scale == 0] = 1.0
    fitted = ExtraTreesClassifier(n_trees, random_state=seed, n_jobs=1).fit((points - center) / scale, labels.codes)
    model = trees(fitted)
    assert model is not None
    return replace(model.scaled(center, scale), classes=labels.classes)


def votes(points: np.ndarray, labels: Labels, metric: Metric, softer: float) -> Probabilities:
    """Votes of the labeled points, in the coordinates of a metric."""
    Z = to_numpy(metric.transform_of(points))  # (n, q)
    ridge = KernelVotes.fit(linalg.sqdist(Z), labels.codes, softer)
    return KernelProbabilities(metric, Z, ridge.coefficients, ridge.scale, labels.classes)


def seeded(classifier: Any, seed: int) -> Any:
    """A copy of a classifier; one that draws without a seed gets ours."""
    other = clone(classifier)
    draws = {
        name: seed for name, value in other.get_params().items() if name.endswith("random_state") and value is None
    }
    return other.set_params(**draws)


def unit_of(metric: Metric, points: Any) -> float:
    """The spread of points under a metric."""
    return spread(metric.transform_of(linalg.take(points, linalg.spread(linalg.count(points), PROBED)))) or 1.0


def places(names: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Where some of the classes stand among all of them."""
    order = np.argsort(classes)
    return order[np.searchsorted(classes, names, sorter=order)]
