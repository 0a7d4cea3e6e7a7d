"""Forms for many points: what is drawn, what is said, and that a number for the anchor learns from all."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import gramian as gm
from gramian.constraints import Labels
from gramian.features import kernel_features
from gramian.learners import subsample as many
from gramian.learners.task import BUDGET
from gramian.manifold import alternation, voting


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=150)
    return rng.normal(size=(150, 4)) + 2 * np.eye(3, 4)[y], y


def said(fit):
    """The result, and the sentences that came with it."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = fit()
    return result, [str(warning.message) for warning in found]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=30), st.integers(2, 400), st.integers(0, 9))
def test_a_part_has_all_classes_or_whole_pairs_of_some(sizes, most, seed):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    labels = Labels(codes, np.arange(len(sizes)))
    rows = many.some(labels, most, np.random.RandomState(seed))
    assert (np.diff(rows) > 0).all() and rows.min() >= 0 and rows.max() < len(codes)
    found = np.bincount(codes[rows], minlength=len(sizes))
    least = np.minimum(sizes, many.PER_CLASS)
    if least.sum() <= most:
        assert len(rows) <= max(most, 0) and (found >= least).all()
        share = np.array(sizes) * most / len(codes)
        assert (found <= np.maximum(share, least) + 1).all() or least.sum() > most / 2
    else:
        assert ((found == 0) | (found == least)).all() and (found > 0).sum() >= min(2, len(sizes))


def limit(monkeypatch, cls, most):
    """Points that a default fit learns from."""
    cost = None if most is None else (1e9 * BUDGET / (most + 0.5) ** 2, 0, 0)
    monkeypatch.setattr(cls, "traits", replace(cls.traits, pair_cost=cost))


LEARNERS = ["LMNN", "NCA", "MCML", "DNE", "LFDA", "SCML"]


@pytest.mark.parametrize("name", LEARNERS)
def test_a_default_fit_learns_from_a_part_and_says_so(name, points, monkeypatch):
    X, y = points
    cls = getattr(gm, name)
    limit(monkeypatch, cls, 60)
    learner, sentences = said(lambda: cls(random_state=0).fit(X, y))
    assert [s for s in sentences if s.startswith(f"{name}: learns from ") and "of the 150 points" in s]
    rng = np.random.RandomState(0)
    rows = many.some(Labels.from_array(y, name).by_appearance(), 60, rng, many.by_content(X))
    limit(monkeypatch, cls, None)
    alone, _ = said(lambda: cls(random_state=rng).fit(X[rows], y[rows]))
    np.testing.assert_allclose(learner.metric_.matrix, alone.metric_.matrix, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_number_for_the_anchor_learns_from_all(name, points, monkeypatch):
    X, y = points
    cls = getattr(gm, name)
    options = {"max_iter": 3} if "max_iter" in cls().get_params() else {}
    whole, _ = said(lambda: cls(anchor=0.3, random_state=0, **options).fit(X, y))
    limit(monkeypatch, cls, 60)
    again, sentences = said(lambda: cls(anchor=0.3, random_state=0, **options).fit(X, y))
    assert not [s for s in sentences if "learns from" in s]
    assert np.array_equal(whole.metric_.matrix, again.metric_.matrix)


@pytest.mark.parametrize("cls", [gm.OnlinePOLA, gm.OnlineVonNeumann])
def test_a_stream_from_many_labels_has_fewer_pairs_and_says_so(cls, points, monkeypatch):
    X, y = points
    monkeypatch.setattr(cls, "_most_pairs", 70)
    learner, sentences = said(lambda: cls(random_state=0).fit(X, y))
    assert learner.n_seen_ == 70 and f"{cls.__name__}: learns from 70 pairs of 150 points" in sentences[0]
    pairs = gm.Pairs.from_labels(y, random_state=0)
    learner, sentences = said(lambda: cls().fit(X, pairs))
    assert learner.n_seen_ == len(pairs) and not sentences


def test_mlkr_draws_points_at_random_unless_told_otherwise(points):
    X, y = points
    _, sentences = said(lambda: gm.MLKR(max_points=50, max_iter=2, random_state=0).fit(X, X[:, 0]))
    assert sentences[0].startswith("MLKR: learns from 50 of the 150 points, drawn at random")
    _, sentences = said(lambda: gm.MLKR(max_points=None, max_iter=2).fit(X, X[:, 0]))
    assert not sentences


def test_kernel_features_of_many_points_say_what_share_they_hold(points, monkeypatch):
    X, _ = points
    monkeypatch.setattr(kernel_features, "MANY", 100)
    monkeypatch.setattr(kernel_features, "FEW", 10)
    features, sentences = said(lambda: gm.KernelFeatures(gm.Gaussian(2.0)).fit(X))
    K, Z = gm.Gaussian(2.0)(X), features.transform(X)
    share = float((Z**2).sum() / np.trace(K))
    assert Z.shape == (150, 10) and f"hold {share:.3f} of the trace" in sentences[0]
    for options in ({"rank": 12}, {"tol": 1e-3}, {"basis": "all"}):
        assert not said(lambda options=options: gm.KernelFeatures(gm.Gaussian(2.0), **options).fit(X))[1]


@pytest.mark.parametrize(
    ("cls", "settings"),
    [
        (gm.MultipleCauseVQ, {}),
        (gm.DecorrelatedKMeans, {}),
        (gm.ConvolutionalEM, {}),
        (gm.ConvolutionalEM, {"covariance": "full"}),
    ],
)
def test_starts_are_compared_on_a_part_and_the_best_goes_on_with_all(cls, settings, points, monkeypatch):
    X, _ = points
    monkeypatch.setattr(cls, "_most_points", 50)
    model, sentences = said(lambda: cls((2, 2), n_init=3, random_state=0, **settings).fit(X))
    assert model.labels_.shape == (150, 2) and "compares its 3 starts on 50 of the 150 points" in sentences[0]
    again, _ = said(lambda: cls((2, 2), init=model.labels_, random_state=0, **settings).fit(X))
    assert np.mean(again.labels_ == model.labels_) > 0.9  # what it ended with is where all points stay


@pytest.mark.parametrize("cls", [gm.DecorrelatedKMeans, gm.ConvolutionalEM])
def test_a_penalty_weighs_the_same_for_a_part_of_the_points(cls, monkeypatch):
    data = gm.datasets.two_views(300, 4, random_state=0)
    whole = cls((3, 3), random_state=0).fit(data.X)
    monkeypatch.setattr(cls, "_most_points", 150)
    part, _ = said(lambda: cls((3, 3), random_state=0).fit(data.X))
    assert part.penalty_ == whole.penalty_
    assert part.objective_ <= whole.objective_ + 0.01 * abs(whole.objective_)


def test_auto_metric_leaves_out_what_grows_with_the_square(points, monkeypatch):
    X, y = points
    for cls in (gm.LMNN, gm.NCA):
        limit(monkeypatch, cls, 100)
    auto, sentences = said(lambda: gm.AutoMetric(random_state=0).fit(X, y))
    assert any("leaves out LMNN and NCA" in s for s in sentences)
    assert not any("LMNN" in row["candidate"] for row in auto.report_)


def test_many_labels_have_one_fold_and_few_questions(points, monkeypatch):
    X, y = points
    monkeypatch.setattr(voting, "MANY", 100)
    monkeypatch.setattr(voting, "ENOUGH", 10)
    folds = list(voting.Evidence(y, X, None, 1, 0).folds())
    assert len(folds) == 1 and len(folds[0][1]) == 10
    monkeypatch.setattr(alternation, "MOST_PAIRS", 40)
    assert len(alternation.pairs_of_labels(y, None, 0)) <= 41


def test_what_cannot_fit_is_refused_before_the_work_begins(monkeypatch):
    from gramian import _memory

    monkeypatch.setattr(_memory, "available", lambda: 1e9)
    wide = np.zeros((3, 20_000))
    for learner in (gm.LEGO(), gm.RCA(), gm.ITML(), gm.OnlinePOLA(), gm.NCA()):
        with pytest.raises(ValueError, match=f"{type(learner).__name__}: .*(GB are free|at most 10000 features)"):
            learner.fit(wide + np.arange(3)[:, None], [0, 0, 1])
    many_points = np.zeros((20_000, 2)) + np.arange(20_000)[:, None]
    with pytest.raises(ValueError, match=r"SubsetDistance: .* GB, 1 GB are free"):
        gm.SubsetDistance(gm.Gaussian(2.0), m=3).fit(many_points)
    with pytest.raises(ValueError, match=r"Gaussian: 20,000 × 20,000 values take about 3.2 GB"):
        gm.Gaussian(2.0)(many_points)
    with pytest.raises(ValueError, match="give a smaller n"):
        gm.datasets.moons(10**9)


def test_what_is_left_of_memory_is_known():
    from gramian import _memory

    assert 0 < _memory.available() < 1e15
