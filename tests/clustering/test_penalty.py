"""The weight of decorrelation: units, the place where clusterings part, and views that share directions."""

import numpy as np
import pytest

import gramian as gm
from gramian.clustering import largest_drop, match, parting, redundancy
from gramian.clustering.penalty import Trials
from gramian.clustering.points import Points
from gramian.clustering.starts import objective, representatives

rules = pytest.mark.parametrize("rule", [parting, largest_drop])


def seed():
    return np.random.RandomState(0)


@rules
def test_the_weight_follows_units_and_number_of_points(rule):
    X = gm.datasets.two_views(400, 6, n_clusters=2, family="sum", random_state=0).X
    lam = rule(Points.of(X), (2, 2), seed())
    assert rule(Points.of(10 * X), (2, 2), seed()) == pytest.approx(lam / 100)
    assert lam < rule(Points.of(np.vstack([X, X])), (2, 2), seed()) < 4 * lam


@rules
def test_nothing_to_part_needs_no_weight(rule):
    assert rule(Points.of(np.ones((9, 2))), (2, 2), seed()) == 0
    assert rule(Points.of(np.eye(9)), (3,), seed()) == 0


def test_the_lowest_objective_is_over_all_labelings():
    points, k = Points.of(gm.datasets.two_views(200, 5, n_clusters=2, family="sum", random_state=0).X), (2, 2)
    trials = Trials.of(points, k, seed())
    lam = 3.0 * trials.unit
    values = []
    for labels in trials.labels:
        S, counts = points.sums(labels, k)
        values.append(objective(points.norms.sum(), S, counts, representatives(S, counts, k, lam)[1], k, lam))
    assert trials.lowest(3.0) == (pytest.approx(min(values)), int(np.argmin(values)))


def test_clusterings_are_the_same_below_the_weight_and_apart_at_it():
    data = gm.datasets.two_views(300, 10, n_clusters=2, family="concatenated", random_state=0)
    X = data.X * np.r_[2 * np.ones(10), np.ones(10)]
    at = gm.DecorrelatedKMeans((2, 2), random_state=0).fit(X)
    below = gm.DecorrelatedKMeans((2, 2), at.penalty_ / 30, center=True, random_state=0).fit(X)
    assert redundancy(at.labels_) < 0.05 and redundancy(below.labels_) > 0.5
    assert match(at.labels_, data.y).scores.min() > 0.95


@pytest.mark.parametrize("cls", [gm.DecorrelatedKMeans, gm.ConvolutionalEM])
def test_views_that_share_directions_are_found(cls):
    for draw in range(3):
        data = gm.datasets.two_views(300, 20, n_clusters=3, family="sum", correlation=0.5, random_state=draw)
        assert match(cls((3, 3), n_init=4, random_state=0).fit(data.X).labels_, data.y).scores.min() > 0.9


def test_both_rules_have_a_name():
    X = gm.datasets.two_views(200, 5, n_clusters=2, family="sum", random_state=0).X
    for name, rule in (("auto", parting), ("drop", largest_drop)):
        fitted = gm.DecorrelatedKMeans(penalty=name, n_init=1, random_state=0).fit(X)
        assert fitted.penalty_ == rule(Points.of(X), (2, 2), seed())


def test_the_average_drop_is_that_of_the_curves_averaged(monkeypatch):
    """One draw of all points is the largest drop; it does not depend on the units of the data."""
    data = gm.datasets.two_views(200, 6, n_clusters=2, family="concatenated", random_state=0)
    weights = [
        gm.DecorrelatedKMeans((2, 2), "average", n_init=1, random_state=0).fit(s * data.X).penalty_ for s in (1.0, 10.0)
    ]
    assert weights[0] == pytest.approx(100 * weights[1])
    labels = gm.DecorrelatedKMeans((2, 2), "average", random_state=0).fit(data.X).labels_
    assert match(labels, data.y).scores.min() > 0.9
