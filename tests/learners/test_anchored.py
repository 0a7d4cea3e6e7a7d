"""Anchored learning: the blend by hand, the prior where nothing is known, and choices on what was held out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import gramian as gm
from gramian._jit.path import precisions
from gramian.constraints import Labels
from gramian.learners.anchored import WEIGHTS, gain_and_error, leading_directions
from gramian.learners.held_out import Fold, held_out, path_scores
from gramian.learners.path import Path, precision_path
from tests.learners.problems import labeled_points

LEARNERS = [gm.RCA, gm.GMML, gm.ITML, gm.MMC, gm.LMNN, gm.NCA, gm.MCML, gm.DNE, gm.PLDA, gm.Contrastive, gm.Framework]


def by_hand(M, X, weight):
    """(1 − w) M + w I, with M in the unit in which the spread of X is the plain one."""
    V = X - X.mean(axis=0)
    return (1 - weight) * M * (V**2).sum() / np.einsum("ij,jk,ik->", V, M, V) + weight * np.eye(len(M))


@pytest.mark.parametrize("weight", [0.2, 0.9])
@pytest.mark.parametrize("learner", [gm.RCA, gm.PLDA], ids=lambda cls: cls.__name__)
def test_a_given_weight_blends_the_optimum_with_the_identity(learner, weight):
    X, y = labeled_points()
    plain, blend = learner(anchor=0).fit(X, y), learner(anchor=weight).fit(X, y)
    np.testing.assert_allclose(blend.metric_.matrix, by_hand(plain.metric_.matrix, X, weight), rtol=1e-8, atol=1e-10)
    assert blend.anchor_ == weight


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda cls: cls.__name__)
def test_outside_of_the_points_the_metric_is_the_prior(learner):
    rng = np.random.default_rng(1)
    X = np.zeros((30, 50))
    X[:, :6] = rng.normal(size=(30, 6))
    metric = learner(random_state=0).fit(X, np.arange(30) % 3).metric_
    V = np.zeros((4, 50))
    V[:, 6:] = rng.normal(size=(4, 44))
    np.testing.assert_allclose(metric.sqdist(V, np.zeros((1, 50)))[:, 0], (V**2).sum(axis=1))


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda cls: cls.__name__)
def test_a_weight_of_one_is_the_prior_itself(learner):
    X, y = labeled_points()
    M0 = np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5
    np.testing.assert_allclose(learner(anchor=1.0).fit(X, y).metric_.matrix, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(learner(anchor=1.0, prior=M0).fit(X, y).metric_.matrix, M0, atol=1e-9)


@pytest.mark.parametrize("learner", [gm.RCA, gm.GMML, gm.ITML], ids=lambda cls: cls.__name__)
def test_learning_near_a_prior_is_learning_near_the_identity_in_its_coordinates(learner):
    X, y = labeled_points()
    M0 = np.diag([1.0, 0.2, 3.0, 0.5]) + 0.1
    G = gm.linalg.psd_sqrt(M0)
    y = gm.Pairs.from_labels(y) if learner is gm.ITML else y  # drawn from labels they would follow the coordinates
    near = learner(prior=M0, anchor=0.3, random_state=0).fit(X, y).metric_.sqdist(X[:20])
    there = learner(anchor=0.3, random_state=0).fit(X @ G, y).metric_.sqdist(X[:20] @ G)
    np.testing.assert_allclose(near, there, rtol=1e-6, atol=1e-8 * there.max())


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda cls: cls.__name__)
def test_the_choice_depends_on_the_seed_alone_and_units_change_nothing(learner):
    X, y = labeled_points(90)
    one, again, large = (learner(random_state=3).fit(s * X, y) for s in (1.0, 1.0, 1024.0))
    assert np.array_equal(one.metric_.matrix, again.metric_.matrix) and one.anchor_ in WEIGHTS
    order = np.argsort(one.metric_.sqdist(X[:10], X), axis=1)[:, :5]
    assert np.mean(order == np.argsort(large.metric_.sqdist(1024 * X[:10], 1024 * X), axis=1)[:, :5]) > 0.95


@pytest.mark.parametrize("learner", [gm.RCA, gm.LMNN, gm.MMC, gm.MCML, gm.PLDA, gm.SCML], ids=lambda cls: cls.__name__)
def test_labels_that_mean_nothing_do_no_harm(learner):
    """More columns than rows and random labels: the plain optimum is far from the features, the anchored one is not."""
    rng = np.random.default_rng(5)
    centers = 3 * rng.normal(size=(8, 60))
    truth = np.arange(480) % 8
    X = centers[truth] + rng.normal(size=(480, 60)) * 2
    metric = learner(random_state=0).fit(X[:80], rng.integers(4, size=80)).metric_

    def share(metric):
        D = metric.sqdist(X[80:])
        np.fill_diagonal(D, np.inf)
        return np.mean(truth[80:][np.argsort(D, axis=1)[:, :10]] == truth[80:, None])

    assert share(metric) > share(gm.Mahalanobis.euclidean(60)) - 0.02


def test_pairs_triplets_and_chunklets_choose_a_weight_too():
    X, y = labeled_points(120)
    pairs = gm.Pairs.from_labels(y, 300, random_state=0)
    assert gm.GMML(random_state=0).fit(X, pairs).anchor_ in WEIGHTS
    chunks = gm.Chunklets.from_labels(y)
    assert gm.RCA(random_state=0).fit(X, chunks).anchor_ in WEIGHTS
    few = gm.Pairs([0, 1], [4, 2], [True, False])
    assert gm.GMML(random_state=0).fit(X, few).anchor_ == 0.5


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(12, 60))
def test_folds_keep_apart_what_is_learned_from_and_what_is_held_out(seed, classes, n):
    rng = np.random.RandomState(seed)
    labels = Labels.from_array(rng.randint(classes, size=n), "test")
    for fold in held_out(labels, rng):
        assert np.array_equal(fold.side.classes[fold.side.codes], labels.classes[labels.codes[fold.rows]])
        for kind, (rows, codes) in fold.held.items():
            assert not set(rows) & set(fold.rows)
            assert np.array_equal(codes, labels.codes[rows])
            known = np.isin(codes, labels.codes[fold.rows])
            assert known.all() if kind == "seen" else not known.any()


def test_a_class_that_was_never_seen_is_told_from_those_that_were(rng):
    """Six points of a new class among twelve of seen ones, by a plain loop; alone it would be found at once."""
    X, codes = rng.normal(size=(18, 2)), np.repeat([0, 1, 2], 6)
    held = {"seen": (np.arange(12), codes[:12]), "new": (np.arange(12, 18), codes[12:])}
    fold = Fold(np.arange(18), Labels.from_array(codes, "test"), held)
    learned = np.diag([2.0, 0.1])
    for weight in (0.0, 0.3, 1.0):
        D = (1 - weight) * gm.linalg.sqdist(X @ learned) + weight * gm.linalg.sqdist(X)
        np.fill_diagonal(D, np.inf)
        share = (codes[np.argsort(D, axis=1)[:, :5]] == codes[:, None]).mean(axis=1)
        found = dict(path_scores(fold, X, Path(np.eye(2), learned), np.array([weight])))
        np.testing.assert_allclose(found["seen"][:, 0], [share[:6].mean(), share[6:12].mean()])
        np.testing.assert_allclose(found["new"][:, 0], [share[12:].mean()])


@pytest.mark.parametrize("most", [1, 10, 200])
@pytest.mark.parametrize("angle", [False, True])
@pytest.mark.parametrize("copies", [False, True])
def test_precision_is_the_share_of_the_nearest_others_in_the_class(rng, most, angle, copies):
    """Along the whole path, beside sorting under each weight; ties by place."""
    X, codes = rng.normal(size=(60, 4)), rng.integers(3, size=60)
    codes[7] = 9  # alone: nothing can be asked of it
    X = np.round(X) if copies else X
    path = Path(np.eye(4)[:, :2], np.diag([3.0, 0.1]), center=X.mean(axis=0) if angle else None)
    found = precision_path(X, codes, path, WEIGHTS, most)
    for weight, scores in zip(WEIGHTS, found.T):
        D = path.among(X, weight).round(12)
        for i in range(60):
            near = [j for j in np.argsort(D[i], kind="stable") if j != i]
            k = min((codes == codes[i]).sum() - 1, most)
            if k == 0:
                assert np.isnan(scores[i])
            elif not copies:
                assert scores[i] == (codes[near[:k]] == codes[i]).mean()
            else:  # the last of equal distances may be any of them
                level = D[i][near[k - 1]]
                sure = sum(codes[j] == codes[i] for j in near if D[i, j] < level)
                tied = [codes[j] == codes[i] for j in near if D[i, j] == level]
                room = k - sum(D[i, j] < level for j in near)
                low, high = sure + max(0, room - tied.count(False)), sure + min(room, tied.count(True))
                assert low <= round(scores[i] * k) <= high


def test_equal_distances_go_by_place_and_what_is_infinite_is_near_to_nothing():
    learned = np.array([[0.0, 2, 1, 1, np.inf, np.nan]] * 6)
    codes = np.array([0, 0, 1, 0, 0, 0])
    none = np.empty((0, 6))
    for k, share in ((1, 0.0), (2, 0.5), (3, 2 / 3), (4, 0.5), (5, 0.4)):
        found = precisions(learned, 0 * learned, none, codes, np.array([0]), np.array([k]), np.array([0.0, 1.0]))
        np.testing.assert_allclose(found, share)


def test_the_error_is_that_of_the_mean_over_clusters(rng):
    seen, new = rng.normal(size=(30, 1)), rng.normal(size=(12, 1))
    mean, error = gain_and_error([("seen", seen[:10]), ("new", new), ("seen", seen[10:])])
    assert mean[0] == pytest.approx((seen.mean() + new.mean()) / 2)
    assert error[0] == pytest.approx(np.sqrt(seen.var(ddof=1) / 30 + new.var(ddof=1) / 12) / 2)
    mean, error = gain_and_error([("seen", seen), ("new", new)], {"seen": 3.0})
    assert mean[0] == pytest.approx(0.75 * seen.mean() + 0.25 * new.mean())
    assert error[0] == pytest.approx(np.sqrt(0.75**2 * seen.var(ddof=1) / 30 + 0.25**2 * new.var(ddof=1) / 12))


def test_a_prior_that_nothing_is_anchored_to_is_named():
    X, y = labeled_points()
    with pytest.raises(ValueError, match="RCA: prior must be 'identity' where the metric is not anchored"):
        gm.RCA(anchor=0, prior=np.eye(4)).fit(X, y)
    with pytest.raises(ValueError, match="NCA: anchor must be 'auto' or a number in"):
        gm.NCA(anchor=2).fit(X, y)


def test_the_threshold_of_a_blend_tells_pairs_apart_under_the_blend():
    """The threshold of the problem itself is in another unit; the best one beats every other on the pairs."""
    X, y = load_iris(return_X_y=True)
    pairs = gm.Pairs.from_labels(y, random_state=0)
    pola = gm.POLA(anchor=0.5, random_state=0).fit(X, pairs)
    near = pola.metric_.pair_sqdist(X[pairs.left], X[pairs.right])
    right = np.mean((near <= pola.threshold_) == pairs.similar)
    assert right == max(np.mean((near <= cut) == pairs.similar) for cut in near)


def test_a_fit_that_early_stopping_leaves_far_from_its_optimum_goes_on():
    """With 20,000 pairs ITML takes more steps than an anchored fit is given at first, and nothing is known before."""
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=2000)
    X = rng.standard_normal((2000, 16)) + 2 * rng.standard_normal((5, 16))[y]
    left, right = rng.integers(2000, size=(2, 20_000))
    apart = left != right
    pairs = gm.Pairs(left[apart], right[apart], (y[left] == y[right])[apart])
    short = gm.ITML(max_iter=5, anchor=0.5)
    with pytest.warns(ConvergenceWarning, match="after 5 iterations"):
        assert not short.fit(X, pairs).converged_
    learner = gm.ITML(anchor=0.5).fit(X, pairs)
    assert learner.converged_
    assert learner.solution_.residual <= learner.solution_.tol


@pytest.mark.parametrize(
    "prior", ["identity", np.diag([4.0, 1.0, 0.25, 1.0, 1.0, 1.0, 1.0, 1.0])], ids=["plain", "prior"]
)
@pytest.mark.parametrize("learner", [gm.NCA, gm.LMNN, gm.MCML], ids=lambda cls: cls.__name__)
def test_a_start_given_as_an_array_is_one_for_all_columns(learner, prior, rng):
    """Fewer directions than columns: the start is seen from there, and that of the plain distance is the default's."""
    X, y = rng.normal(size=(30, 8)), np.arange(30) % 3
    learner(init=rng.normal(size=(8, 8)), prior=prior, random_state=0).fit(X, y)
    one = learner(init=np.eye(8), anchor=0.3, random_state=0).fit(X, y).metric_.matrix
    again = learner(init=np.linalg.qr(rng.normal(size=(8, 8)))[0], anchor=0.3, random_state=0).fit(X, y).metric_.matrix
    np.testing.assert_allclose(one, again, rtol=1e-2, atol=1e-3)
    with pytest.raises(ValueError, match=r"init must be a finite array \(8, 8\), got shape \(3, 3\)"):
        learner(init=np.eye(3), prior=prior).fit(X, y)


def test_bases_of_scml_are_for_all_columns(rng):
    """A basis is as good as its part in the leading directions, where the fit works."""
    X, y = rng.normal(size=(60, 20)) * np.linspace(3, 1, 20), np.arange(60) % 3
    B = rng.normal(size=(25, 20))
    U = leading_directions(X - X.mean(axis=0), 12)
    given, inside = (gm.SCML(bases=b, anchor=0.3, random_state=0).fit(X, y).metric_.matrix for b in (B, B @ U @ U.T))
    np.testing.assert_allclose(given, inside, atol=1e-6)
    assert abs(given - np.eye(20)).max() > 0.05
    with pytest.raises(ValueError, match=r"SCML: bases must be a finite array \(K, 20\), got shape \(25, 12\)"):
        gm.SCML(bases=B[:, :12]).fit(X, y)


def test_of_many_classes_some_are_held_out(rng):
    """All that a fold holds out is compared with all of it: no n × n of a thousand classes."""
    labels = Labels.from_array(rng.permutation(np.repeat(np.arange(1000), 12)), "test")
    for fold in held_out(labels, np.random.RandomState(0)):
        known = labels.codes[fold.rows]
        for kind, (rows, codes) in fold.held.items():
            assert 1400 < len(rows) <= 1500 and not set(rows) & set(fold.rows)
            assert np.array_equal(codes, labels.codes[rows]) and np.bincount(codes)[np.unique(codes)].min() >= 4
            assert np.isin(codes, known).all() if kind == "seen" else not np.isin(codes, known).any()


def test_targets_are_rows_of_the_caller_where_the_weight_is_chosen_on_folds(rng):
    y = rng.permutation(np.repeat([0, 1, 2], 10))
    X = rng.normal(size=(30, 4)) + 5 * y[:, None]
    targets = gm.LMNN(n_neighbors=2, random_state=0).fit(X, y).targets_
    assert (y[targets] == y[:, None]).all() and (targets != np.arange(30)[:, None]).all()
