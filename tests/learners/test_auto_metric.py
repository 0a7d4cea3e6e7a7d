"""AutoMetric: what it chooses, that it says so, and that it does not choose by luck."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier

import gramian as gm
from gramian.learners.anchored import WEIGHTS
from gramian.learners.beside_classes import BesideClasses
from gramian.learners.candidates import MeanOf, default_candidates
from gramian.learners.starts import AsTheyAre
from gramian.learners.trials import MOST, PLAIN, Standing, Trial, winner

FAST = ["RCA", gm.PLDA(0.5, 0.1), gm.GMML]


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def test_wine_is_scaled_and_learned(wine):
    X, y = wine
    auto = gm.AutoMetric(candidates=FAST, random_state=0).fit(X[::2], y[::2])
    best = next(row for row in auto.report_ if row["note"] == "chosen")
    assert auto.chosen_ == best["candidate"] and best["gain"] > best["gain_error"]
    ids, _ = gm.ExactIndex(auto.metric_).add(X[::2]).query(X[1::2], k=1)
    assert np.mean(y[::2][ids[:, 0]] == y[1::2]) > 0.93
    assert auto.estimate_[0] > 2 * auto.estimate_[1]


@pytest.mark.parametrize("seed", range(3))
def test_random_labels_leave_the_points_as_they_are(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(90, 30)), np.arange(90) % 5
    auto = gm.AutoMetric(candidates=FAST, random_state=seed).fit(X, y)
    assert abs(auto.estimate_[0]) < 3 * max(auto.estimate_[1], 0.01)


def test_the_start_wins_unless_a_candidate_is_better_by_more_than_its_error(wine):
    X, y = wine
    auto = gm.AutoMetric(candidates=[gm.RCA()], random_state=0).fit(X, np.random.default_rng(0).permutation(y))
    starts = [row for row in auto.report_ if row["seconds"] == 0.0]
    assert len(starts) == 2 and auto.report_[0]["gain"] == 0.0
    if auto.chosen_ == "features as they are":
        np.testing.assert_array_equal(auto.metric_.matrix, np.eye(X.shape[1]))
        assert all(row["gain"] <= row["gain_error"] for row in auto.report_)


def test_rows_of_length_one_are_compared_by_their_angle(rng, tmp_path):
    direction = rng.normal(size=(6, 12))
    y = np.arange(120) % 6
    X = (direction[y] + 0.3 * rng.normal(size=(120, 12))) * rng.uniform(0.01, 100, size=(120, 1))
    auto = gm.AutoMetric(candidates=FAST, random_state=0).fit(X, y)
    metric = auto.metric_
    np.testing.assert_allclose(metric.sqdist(X[:5], X), metric.sqdist(7 * X[:5], X), atol=1e-9)
    np.testing.assert_allclose(auto.transform(3 * X), metric.transform(X), atol=1e-9)
    metric.save(tmp_path / "angle.gram")
    assert np.array_equal(gm.load(tmp_path / "angle.gram").sqdist(X), metric.sqdist(X))
    plain = gm.AutoMetric(candidates=FAST, normalize=False, random_state=0).fit(X, y)
    assert isinstance(plain.metric_, gm.Mahalanobis)
    assert auto.estimate_[0] > plain.estimate_[0]


def test_lengths_are_kept_of_points_to_one_side_of_the_origin(rng):
    """Four classes along one ray: angles say nothing, and three that were seen could not tell."""
    y = np.arange(160) % 4
    X = (1 + y)[:, None] * np.ones(5) + 0.2 * rng.normal(size=(160, 5))
    auto = gm.AutoMetric(candidates=FAST, random_state=0).fit(X, y)
    assert all("length one" not in row["candidate"] for row in auto.report_)
    centered = gm.AutoMetric(candidates=FAST, random_state=0).fit(X - X.mean(axis=0), y)
    assert any("length one" in row["candidate"] for row in centered.report_)
    forced = gm.AutoMetric(candidates=FAST, normalize=True, random_state=0).fit(X, y)
    assert forced.chosen_.endswith(("length one", "by angle", "angles around the mean"))


def test_pairs_and_triplets_have_scores_of_their_own(wine):
    X, y = wine
    X = X / X.std(axis=0)
    pairs = gm.Pairs.from_labels(y, random_state=0)
    auto = gm.AutoMetric(candidates=[gm.GMML(), gm.RCA()], random_state=0).fit(X, pairs)
    assert auto.report_[-1]["note"].startswith("RCA: takes labels or Chunklets, got Pairs")
    tuples = X[np.stack([np.arange(60), (np.arange(60) * 7) % 178], axis=1)]
    signs = np.where(y[np.arange(60)] == y[(np.arange(60) * 7) % 178], 1, -1)
    assert gm.AutoMetric(candidates=[gm.GMML()], random_state=0).fit(tuples, signs).metric_.n_features == 13


def test_a_spent_budget_keeps_the_best_so_far(wine):
    X, y = wine
    auto = gm.AutoMetric(candidates=FAST, budget_s=0.0, random_state=0).fit(X, y)
    assert any(row["note"].startswith("not tried") for row in auto.report_)
    assert auto.metric_.n_features == 13


def test_the_same_seed_gives_the_same_metric(wine):
    X, y = wine
    one, two = (gm.AutoMetric(candidates=FAST, random_state=1).fit(X, y) for _ in range(2))
    assert one.chosen_ == two.chosen_ and np.array_equal(one.metric_.matrix, two.metric_.matrix)


def test_the_report_is_a_table_and_a_picture(wine):
    X, y = wine
    auto = gm.AutoMetric(candidates={"mine": gm.RCA()}, random_state=0).fit(X, y)
    frame = auto.report_.to_frame()
    assert list(frame["candidate"][:2]) == ["features as they are", "scaled features"]
    assert set(frame["candidate"][2:]) <= {"mine", "mine, scaled"}
    assert "mine, scaled" in str(auto.report_)
    assert len(gm.plotting.gains(auto.report_).get_yticklabels()) == len(frame)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"scoring": "accuracy"}, "AutoMetric: scoring must be 'precision@k'"),
        ({"candidates": [3]}, "AutoMetric: candidates must be learners with an anchor"),
        ({"candidates": ["NoSuch"]}, "AutoMetric: candidates must be learners with an anchor"),
        ({"cv": 1}, "AutoMetric: cv must be an integer"),
        ({"normalize": "maybe"}, "AutoMetric: normalize must be 'auto' or True or False"),
    ],
)
def test_bad_parameters_are_one_sentence(wine, options, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        gm.AutoMetric(**options).fit(*wine)


def test_kernels_are_tried_where_they_are_allowed(rng, tmp_path):
    """Rings in the plane: what a Gaussian kernel tells apart, and no linear map does."""
    y = np.arange(240) % 3
    angle = rng.uniform(0, 2 * np.pi, size=240)
    X = (1 + y)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.25 * rng.normal(size=(240, 2))
    auto = gm.AutoMetric(candidates={"kernel": gm.Kernelized(gm.RCA()), "RCA": gm.RCA()}, random_state=0).fit(X, y)
    rows = {row["candidate"]: row for row in auto.report_}
    assert rows["kernel"]["gain"] > rows["RCA"]["gain"]
    assert not any(name.startswith("kernel,") for name in rows), "only on the points as they are"
    assert auto.chosen_ == "kernel" and isinstance(auto.metric_, gm.KernelMetric)
    assert auto.metric_.alpha == rows["kernel"]["weight"] == auto.anchor_
    auto.metric_.save(tmp_path / "auto.gram")
    assert np.array_equal(gm.load(tmp_path / "auto.gram").sqdist(X), auto.metric_.sqdist(X))
    given = gm.AutoMetric(candidates=[gm.Kernelized(gm.RCA(), gm.Gaussian(1.0))], random_state=0).fit(X, y)
    assert given.report_[-1]["note"].startswith("Kernelized: is near the features only")


def test_strangers_are_among_the_pairs_that_a_metric_is_judged_by(rng):
    from gramian.learners.held_out import held_out

    left, right = rng.integers(60, size=(2, 90))
    side = gm.Pairs(left, right, np.arange(90) % 2 == 0)
    for fold in held_out(side, np.random.RandomState(0)):
        held = fold.held["tuples"]
        far = int((~held.similar).sum())
        assert far % 2 == 0 and set(held.left[-far // 2 :]) <= set(held.left[held.similar])


def trial(gains, place=0, **options):
    """A trial with the gains of clusters at one weight, mean and error by hand; a mean of learners where it says so."""
    scores = np.zeros((len(gains), len(WEIGHTS)))
    scores[:, place] = gains
    return Trial("", AsTheyAre(2), scores=((0, "seen", scores),), **options)


BASE = trial([0.0, 0.0, 0.0, 0.0])
UNSURE = [1.0, 1.0, 1.0, -1.0]  # mean 0.5, error 0.5
LIKELY = [1.0, 1.0, 1.0, -0.7]  # mean 0.575, error 0.425: 1.35 errors
SURE = [1.0, 1.0, 1.0, 0.0]  # mean 0.75, error 0.25
MEAN = MeanOf((gm.PLDA(), gm.RCA()))


def stands(*trials):
    """Which of the trials stands in the end, None for the start, and the place of its weight."""
    stand = winner([BASE, *trials], BASE)
    return (None if stand.trial is BASE else trials.index(stand.trial)), stand.place


def test_the_reference_needs_one_error_and_all_others_two():
    assert stands(trial(LIKELY, reference=True), trial(LIKELY)) == (0, 0)
    assert stands(trial(LIKELY)) == (None, PLAIN)
    assert stands(trial(UNSURE, reference=True)) == (None, PLAIN)
    assert stands(trial(SURE)) == (0, 0)


def test_the_reference_is_what_others_must_be_better_than():
    reference = trial(LIKELY, reference=True)
    # Over the features it gains 0.75 ± 0.25, over the reference 0.175 ± 0.175 only.
    assert stands(reference, trial(SURE)) == (0, 0)
    assert stands(reference, trial([1.3, 1.4, 1.3, -0.2])) == (1, 0), "0.375 ± 0.05 over the reference"


def test_a_mean_of_learners_is_the_reference_at_a_small_weight_of_its_own():
    assert WEIGHTS[MOST] == 0.3
    assert stands(trial(LIKELY, MOST, learner=MEAN, reference=True)) == (0, MOST)
    assert stands(trial(LIKELY, MOST + 1, learner=MEAN, reference=True)) == (None, PLAIN), "more of the start than 0.3"
    assert stands(trial(SURE, MOST + 1, learner=MEAN, reference=True)) == (0, MOST + 1), "as one of many"


def test_the_largest_weight_within_half_an_error_of_the_best():
    scores = np.array(SURE)[:, None] * np.linspace(1, 0, len(WEIGHTS))  # 0.75 (1 − p/13), error 0.25 at the best
    other = replace(trial(SURE), scores=((0, "seen", scores),))
    assert stands(other) == (0, 2), "0.75 · 2/13 is below 0.125, 0.75 · 3/13 is not"


def test_classes_without_labels_do_not_pay_for_what_others_gain():
    fading = np.linspace(1, 0, len(WEIGHTS))

    def place(loss):
        seen, new = np.add(SURE, 1.0)[:, None] * fading, np.array(loss)[:, None] * fading**2
        tried = replace(trial(SURE), scores=((0, "seen", seen), (0, "new", new)))
        base = replace(BASE, scores=(*BASE.scores, (0, "new", np.zeros((4, len(WEIGHTS))))))
        return winner([base, tried], base).place

    assert place([0.1, 0.1, -0.1, -0.1]) == 0
    assert place([-0.1, 0.0, 0.0, 0.0]) == 0, "0.025 on average"
    assert place([-0.1] * 4) == 6, "0.1 (1 − p/13)² is below 0.03 from 6 on"
    assert place([-1e6] * 4) == PLAIN, "the start itself loses nothing"


@pytest.mark.parametrize("y", [np.zeros(30), np.arange(30)], ids=["one class", "singletons"])
def test_where_nothing_can_be_compared_a_sentence_says_so(rng, y):
    X = rng.normal(size=(30, 4))
    with pytest.warns(UserWarning, match="AutoMetric: nothing could be compared"):
        auto = gm.AutoMetric(random_state=0).fit(X, y)
    assert auto.chosen_ == "features as they are" and auto.estimate_ == (0.0, 0.0)
    np.testing.assert_allclose(auto.metric_.matrix, np.eye(4))
    assert "nan" not in str(auto.report_) and "not compared" in str(auto.report_)


def test_many_labels_lower_the_penalty_of_contrastive():
    from gramian.constraints import Labels

    def penalty(n):
        return default_candidates(Labels(np.arange(n) % 2, np.arange(2)))["Contrastive"].reg

    assert penalty(20) == penalty(200) == default_candidates()["Contrastive"].reg
    assert penalty(1000) == pytest.approx(penalty(200) / 5)
    groups = gm.Chunklets(np.where(np.arange(1000) < 400, np.arange(1000) % 2, -1))
    assert default_candidates(groups)["Contrastive"].reg == pytest.approx(penalty(200) / 2), "points in groups count"


def test_only_learners_that_take_what_is_given_are_tried():
    X, y = gm.datasets.load("iris", return_X_y=True)
    pairs = gm.Pairs.from_labels(y, n_pairs=300, random_state=0)
    tried = {row["candidate"] for row in gm.AutoMetric(random_state=0).fit(X, pairs).report_}
    assert {"GMML", "ITML"} <= tried
    assert not {"PLDA", "RCA", "LMNN", "NCA", "Contrastive"} & tried
    groups = {row["candidate"] for row in gm.AutoMetric(random_state=0).fit(X, gm.Chunklets(y)).report_}
    assert {"PLDA", "RCA", "Contrastive"} <= groups


def rings(rng, n=240):
    """Three rings in the plane: a forest tells them apart, and no linear map does."""
    y, angle = np.arange(n) % 3, rng.uniform(0, 2 * np.pi, size=n)
    return (1 + y)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.25 * rng.normal(size=(n, 2)), y


def test_class_probabilities_stand_beside_what_is_best_without_them(rng):
    X, y = rings(rng)
    auto = gm.AutoMetric(candidates=["RCA", "Posteriors"], random_state=0).fit(X, y)
    row = auto.report_[-1]
    assert row["note"] == "chosen" and row["candidate"].endswith("beside Posteriors()")
    assert row["gain"] > 2 * row["gain_error"] and 0 < row["weight"] < 1
    space, weight = auto.metric_.coordinates, row["weight"]
    assert isinstance(auto.posteriors_, gm.Posteriors)
    alone = gm.AutoMetric(candidates=["RCA"], random_state=0).fit(X, y)
    assert auto.chosen_.startswith(alone.chosen_) and alone.posteriors_ is None
    below, roots = alone.metric_.sqdist(X), np.sqrt(space.model.of(X))
    unit = below.mean() / 2  # mean |x − μ|² is half of mean |x − y|²
    expected = weight * below + (1 - weight) * unit * gm.linalg.sqdist(roots)
    np.testing.assert_allclose(auto.metric_.sqdist(X), expected, atol=1e-9)
    new, known = rings(rng)
    ids, _ = gm.ExactIndex(auto.metric_).add(X).query(new, k=10)
    plain, _ = gm.ExactIndex(alone.metric_).add(X).query(new, k=10)
    assert np.mean(y[ids] == known[:, None]) > np.mean(y[plain] == known[:, None]) + 0.02


def test_labeled_points_get_probabilities_of_models_that_did_not_see_them(rng):
    X, y = rings(rng)
    auto = gm.AutoMetric(candidates=["Posteriors"], random_state=0)
    crossed, plain = auto.fit_transform(X, y), auto.transform(X)
    width = len(auto.metric_.coordinates.classes)
    np.testing.assert_array_equal(crossed[:, :-width], plain[:, :-width])
    assert np.abs(crossed - plain)[:, -width:].max() > 0.01
    none = gm.AutoMetric(candidates=["RCA"], random_state=0)
    np.testing.assert_array_equal(none.fit_transform(X, y), none.transform(X))


def test_scaled_columns_reach_the_distance_and_not_the_classifier(rng):
    X, y = rings(rng)
    X = np.column_stack([X, 1e3 * rng.normal(size=len(X))])
    auto = gm.AutoMetric(candidates=["Posteriors"], normalize=False, random_state=0).fit(X, y)
    other = gm.AutoMetric(candidates=["Posteriors"], normalize=False, random_state=0).fit(X[::-1], y[::-1])
    assert auto.chosen_ == "scaled features, beside Posteriors()" == other.chosen_
    np.testing.assert_allclose(auto.metric_.sqdist(X[:9]), other.metric_.sqdist(X[:9]), rtol=1e-6)


def test_a_classifier_learns_from_as_many_points_as_its_work_allows(rng, monkeypatch):
    from gramian.constraints import Labels
    from gramian.learners import beside_classes

    monkeypatch.setitem(beside_classes.WORK, "forest", 2 * 100)
    X, y = rings(rng)
    points, labels = beside_classes.affordable(gm.Posteriors(), X, Labels(y, np.arange(3)), 0)
    assert list(np.bincount(labels.codes)) == [33, 33, 33] and len(points) == 99
    mine = gm.Posteriors(KNeighborsClassifier())
    assert beside_classes.affordable(mine, X, Labels(y, np.arange(3)), 0)[0] is X


def test_closed_classes_are_not_held_out(rng):
    from gramian.constraints import Labels
    from gramian.learners.held_out import held_out

    labels = Labels(np.arange(90) % 6, np.arange(6))
    for fold in held_out(labels, np.random.RandomState(0), closed=True):
        assert set(fold.held) == {"seen"} and len(np.unique(labels.codes[fold.rows])) == 6
    assert all(set(fold.held) == {"seen", "new"} for fold in held_out(labels, np.random.RandomState(0)))
    X = rng.normal(size=(90, 3)) + np.arange(6)[np.arange(90) % 6, None]
    auto = gm.AutoMetric(candidates=FAST, classes="closed", random_state=0).fit(X, labels.codes)
    assert np.isfinite(auto.estimate_).all()


def test_a_class_probability_trial_is_measured_against_the_start_it_grew_from():
    """What classes lose by what stands counts too: 0.02 by that, 0.02 by the probabilities."""

    def scored(values):
        return (
            (0, "seen", np.broadcast_to(values[0], (4, len(WEIGHTS)))),
            (0, "new", np.broadcast_to(values[1], (4, len(WEIGHTS)))),
        )

    fading = np.linspace(1, 0, len(WEIGHTS))
    base = replace(BASE, scores=scored((np.zeros(1), np.zeros(1))))
    under = replace(trial(SURE), scores=scored((fading, -0.02 * fading)))
    beside = Trial(
        "",
        BASE.start,
        BesideClasses(Standing(under, 0), gm.Posteriors(), 0),
        scores=scored((1 + fading, -0.02 - 0.02 * fading)),
    )
    stand = winner([base, under, beside], base)
    assert stand.trial is beside and stand.place == 7, "0.02 + 0.02 (1 − p/13) is at most 0.03 from 7 on"


def test_similar_pairs_alone_are_groups(rng):
    """Five columns tell classes, and five of the same spread do not; pairs join points of a class."""
    y = np.arange(240) % 8
    X = np.column_stack([rng.normal(size=(8, 5))[y] + 0.5 * rng.normal(size=(240, 5)), 1.2 * rng.normal(size=(240, 5))])
    left = rng.permutation(240)[:100]
    right = np.array([rng.choice(np.setdiff1d(np.flatnonzero(y == y[i]), i)) for i in left])
    pairs = gm.Pairs(left, right, np.ones(100, dtype=bool))
    auto = gm.AutoMetric(random_state=0).fit(X, pairs)
    groups = gm.AutoMetric(random_state=0).fit(X, gm.Chunklets.from_pairs(pairs, 240))
    assert auto.estimate_[0] > 2 * auto.estimate_[1] and np.isfinite(auto.report_[0]["score"])
    np.testing.assert_array_equal(auto.metric_.sqdist(X), groups.metric_.sqdist(X))


@pytest.mark.parametrize("width", [10, 70])
def test_a_start_that_is_surely_behind_is_left_out_of_many_columns(rng, width):
    """Columns of noise have a tenth of the spread, which scaling makes whole."""
    y = np.arange(120) % 4
    X = np.column_stack([np.eye(4)[y] + 0.3 * rng.normal(size=(120, 4)), 0.03 * rng.normal(size=(120, width - 4))])
    auto = gm.AutoMetric(candidates=["RCA"], random_state=0).fit(X, y)
    assert auto.report_[1]["gain"] < -2 * auto.report_[1]["gain_error"] < 0
    behind = auto.report_[1]["gain"] < -0.1
    assert any(row["candidate"].endswith("scaled") for row in auto.report_) == (width < 64 and not behind)


def test_directions_are_shared_and_the_same(rng):
    from gramian.learners.anchored import SharedDirections, leading_directions, root_of

    for shape in ((30, 8), (8, 30)):
        V = rng.normal(size=shape)
        V -= V.mean(axis=0)
        shared = SharedDirections()
        for most in (3, 100, 5):
            np.testing.assert_allclose(shared(V, most), leading_directions(V, most), atol=1e-12)
    for M in (V.T @ V, np.eye(4), V @ V.T):
        np.testing.assert_allclose(root_of(M) @ root_of(M).T, M, atol=1e-10)
