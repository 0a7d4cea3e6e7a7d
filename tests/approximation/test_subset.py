"""SubsetDistance: exact at R, m evaluations, the family of projections, and honest estimates."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.approximation.problems import Vectors, euclidean, faces

import gramian as gm
from gramian.kernels.distance import negative_share


class Counted:
    """Euclidean distance that counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, a, b):
        self.calls += 1
        return float(np.linalg.norm(np.asarray(a) - np.asarray(b)))


class Euclidean:
    """A distance whose name, unlike a function's, is the same in every process."""

    def __repr__(self):
        return "Euclidean()"

    def __call__(self, a, b):
        return euclidean(a, b)


@parametrize_with_checks([gm.SubsetDistance(Euclidean(), 1), gm.SubsetDistance(gm.Gaussian(2.0), 1)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("g", ["constant", "origin"])
@pytest.mark.parametrize("name", ["pinv", "span", "learned"])
def test_distances_to_the_subset_are_exact_from_m_evaluations(name, g, rng):
    Q, new, distance = rng.normal(size=(30, 4)), rng.normal(size=(7, 4)), Counted()
    s = gm.SubsetDistance(distance, m=5, projection=name, g=g).fit(Q)
    assert distance.calls == 30 * 29 // 2
    distance.calls = 0
    D = s.sqdist(new)
    assert distance.calls == 7 * 5 == s.n_evaluations_ and D.shape == (7, 30)
    exact = gm.linalg.sqdist(new, Q[s.subset_])
    np.testing.assert_allclose(D[:, s.subset_], exact, atol=1e-10)
    assert (D >= 0).all()


def test_closeness_of_left_out_members_predicts_that_of_new_objects(rng):
    Q = faces(rng, 40)
    train, new = Q[::2], Q[1::2]
    for name in ("pinv", "learned"):
        s = gm.SubsetDistance(gm.Hamming(root=True), m=6, projection=name).fit(train)
        d = np.sqrt((new[:, None] != train[None]).sum(-1))
        measured = 1 - np.mean(np.abs(np.sqrt(s.sqdist(new)) - d) / d)
        assert s.closeness_ == pytest.approx(measured, abs=0.05)
        assert measured > 0.8


@given(st.integers(0, 10_000))
def test_a_subset_that_spans_gives_exact_distances(seed):
    """Any d + 1 points and an origin span R^d: then nothing is left to estimate."""
    rng = np.random.default_rng(seed)
    Q, new = rng.normal(size=(15, 2)), rng.normal(size=(4, 2))
    for name in ("pinv", "span"):
        s = gm.SubsetDistance(Counted(), m=4, projection=name, g="origin", selection="exchange").fit(Q)
        np.testing.assert_allclose(s.sqdist(new), gm.linalg.sqdist(new, Q), atol=1e-6)


def test_kernels_and_given_subsets(rng):
    Q, new, kernel = rng.normal(size=(25, 3)), rng.normal(size=(4, 3)), gm.Gaussian(2.0)
    s = gm.SubsetDistance(kernel, m=3, selection=[4, 0, 9]).fit(Q)
    assert s.subset_.tolist() == [4, 0, 9]
    D = s.sqdist(new)
    np.testing.assert_allclose(D[:, [4, 0, 9]], kernel.sqdist(new, Q[[4, 0, 9]]), atol=1e-12)
    assert s.n_evaluations_ == 12
    beta = np.linalg.pinv(kernel(Q[[4, 0, 9]], Q)) @ kernel(Q[[4, 0, 9]], new)
    np.testing.assert_allclose(D, np.maximum(2 - 2 * beta.T @ kernel(Q), 0), atol=1e-8)  # (14), (15)


def test_query_and_recheck(rng):
    Q, new, distance = rng.normal(size=(60, 8)), rng.normal(size=(5, 8)), Counted()
    s = gm.SubsetDistance(distance, m=6).fit(Q)
    ids, D = s.query(new, k=3)
    assert ids.shape == (5, 3) and (np.diff(D, axis=1) >= 0).all() and s.n_evaluations_ == 30
    distance.calls = 0
    before = s.n_evaluations_
    ids, D = s.query(new, k=3, recheck=20)
    assert distance.calls == s.n_evaluations_ - before <= 5 * (6 + 20)
    exact = gm.linalg.sqdist(new, Q)
    np.testing.assert_allclose(D, np.take_along_axis(exact, ids, axis=1), atol=1e-9)
    ids, _ = s.query(new, k=60, recheck=60)
    np.testing.assert_array_equal(ids[:, 0], exact.argmin(axis=1))
    with pytest.raises(ValueError, match="recheck must be 0 or at least"):
        s.query(new, k=5, recheck=2)


def test_objects_that_are_not_vectors():
    words = ["metric", "metrics", "kernel", "kernels", "tree", "trees", "trie"]
    s = gm.SubsetDistance(lambda a, b: len(set(a) ^ set(b)) ** 0.5, m=3).fit(words)
    D = s.sqdist(["term", "metric"])
    assert D.shape == (2, 7)
    for i in s.subset_:
        assert D[0, i] == pytest.approx(len(set("term") ^ set(words[i])))


def test_awkward_sets_are_defined(rng):
    X = rng.normal(size=(5, 2))
    for Q in (np.repeat(X, 3, axis=0), np.zeros((6, 2)), X[:1], X[:2]):
        for name in ("pinv", "span", "learned"):
            for g in ("constant", "origin"):
                s = gm.SubsetDistance(Counted(), m=min(4, len(Q)), projection=name, g=g).fit(Q)
                D = s.sqdist(X)
                assert np.isfinite(D).all() and 0 <= s.negative_share_ <= 1 and np.isfinite(s.closeness_)
    assert s.sqdist(X[0]).shape == (1, 2)  # a single object


def test_non_hilbertian_distances_are_reported(rng):
    Q = rng.normal(size=(40, 5))
    with pytest.warns(UserWarning, match="should be Hilbertian"):
        s = gm.SubsetDistance(lambda a, b: np.linalg.norm(a - b) ** 2, m=4).fit(Q)
    assert s.negative_share_ == pytest.approx(negative_share(gm.linalg.sqdist(Q) ** 2), rel=1e-6)


def test_clone_and_checks(rng):
    s = gm.SubsetDistance(Counted(), m=3)
    assert clone(s).get_params()["m"] == 3
    Q = rng.normal(size=(8, 2))
    for bad, message in [
        ({"m": 9}, "m must be an integer"),
        ({"projection": "best"}, "projection must be one of"),
        ({"selection": "best"}, "selection must be one of"),
        ({"selection": [0, 0, 1]}, "distinct indices"),
    ]:
        with pytest.raises(ValueError, match=message):
            clone(s).set_params(**bad).fit(Q)
    with pytest.raises(TypeError, match="distance must be a Kernel or a function"):
        gm.SubsetDistance("euclidean", 2).fit(Q)


def test_a_pandas_column_of_objects():
    pandas = pytest.importorskip("pandas")
    words = ["a", "bb", "ccc", "dddd", "eeeee"]
    column = pandas.Series(words, index=[5, 9, 0, 1, 2])
    fitted = [gm.SubsetDistance(lambda a, b: abs(len(a) - len(b)), m=2, g="origin").fit(Q) for Q in (words, column)]
    want, found = (model.sqdist(Q) for model, Q in zip(fitted, (words[:2], column[:2])))
    assert np.array_equal(found, want)


def test_rounding_of_a_kernel_is_not_taken_for_a_distance_that_is_not_hilbertian(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gm.SubsetDistance(gm.Gaussian(1.0), m=3).fit(1e-8 * rng.normal(size=(20, 3))).negative_share_ == 0


@pytest.mark.parametrize("kind", ["distance", "kernel"])
@pytest.mark.parametrize("name", ["pinv", "span", "learned"])
def test_members_outside_of_the_set(rng, kind, name):
    """(13)–(15) written out with K_RQ and K_RR, for R that has nothing to do with Q."""
    Q, R, new = rng.normal(size=(25, 4)), rng.normal(size=(6, 4)) + 1, rng.normal(size=(5, 4))
    distance = Euclidean() if kind == "distance" else gm.Gaussian(2.0)
    s = gm.SubsetDistance(distance, m=6, projection=name, g="origin", members=R).fit(Q)
    assert len(s.subset_) == 0 and s.n_evaluations_ == 0
    k = s.kernel_
    K, K_RQ, K_RR = k(Q), k(R, Q), k(R)
    B = {"pinv": K @ np.linalg.pinv(K_RQ), "span": K_RQ.T @ np.linalg.pinv(K_RR)}
    if name in B:
        want = k.diag(new)[:, None] + np.diag(K) - 2 * k(new, R) @ B[name].T
        np.testing.assert_allclose(s.sqdist(new), np.maximum(want, 0), atol=1e-8)
    else:
        assert np.isfinite(s.sqdist(new)).all() and s.closeness_ >= 0.5
    assert s.n_evaluations_ == 5 * 6
    ids, sqdist = s.query(new, k=2, recheck=5)
    assert s.n_evaluations_ == 5 * 6 * 2 + 5 * 5 and ids.shape == (5, 2)
    with pytest.raises(ValueError, match="members must hold m=4"):
        gm.SubsetDistance(distance, m=4, members=R).fit(Q)


def test_the_origin_comes_with_the_best_of_the_others(rng):
    """All subsets that hold the medoid, by the criterion written out: no member gives way to it."""
    from itertools import combinations

    Q = rng.normal(size=(12, 4))
    D = gm.linalg.sqdist(Q)
    center = int(D.sum(axis=1).argmin())
    K = (D[center][:, None] + D[center] - D) / 2  # (3) with half the squared distance to the medoid

    def left(R):
        rows = K[list(R)]
        return np.trace(K - np.linalg.pinv(rows) @ rows @ K)

    best = min(left((*R, center)) for R in combinations(np.delete(np.arange(12), center), 3))
    s = gm.SubsetDistance(Vectors(), 4, g="origin").fit(Q)
    assert center in s.subset_ and left(s.subset_) == pytest.approx(best)


def test_members_that_were_chosen_are_kept_with_an_origin(rng):
    Q = rng.normal(size=(12, 4))
    far = np.argsort(gm.linalg.sqdist(Q).sum(axis=1))[-3:]  # the medoid is none of them
    s = gm.SubsetDistance(Vectors(), 3, g="origin", selection=far).fit(Q)
    assert s.subset_.tolist() == far.tolist()
    np.testing.assert_allclose(s.sqdist(Q)[:, far], gm.linalg.sqdist(Q)[:, far], atol=1e-10)


@pytest.mark.parametrize("projection", ["pinv", "affine", "learned"])
@pytest.mark.parametrize("g", ["constant", "origin"])
def test_distances_that_are_known_are_not_measured(rng, g, projection):
    Q, new = rng.normal(size=(25, 4)), rng.normal(size=(5, 4))
    measured = gm.SubsetDistance(euclidean, 4, g=g, projection=projection).fit(Q)
    counted = Counted()
    known = gm.SubsetDistance(counted, 4, g=g, projection=projection)
    known.fit(Q, distances=np.sqrt(gm.linalg.sqdist(Q)))
    assert counted.calls == 0
    np.testing.assert_allclose(known.sqdist(new), measured.sqdist(new), atol=1e-8)
    for bad, message in [(np.zeros((3, 3)), r"of shape \(25, 25\)"), (rng.random((25, 25)), "symmetric")]:
        with pytest.raises(ValueError, match=message):
            known.fit(Q, distances=bad)
    with pytest.raises(ValueError, match="distances must be None"):
        gm.SubsetDistance(gm.Linear(), 2).fit(Q, distances=np.zeros((25, 25)))


@pytest.mark.parametrize("g", ["constant", "origin"])
def test_more_objects_are_measured_once(rng, g):
    """Added objects, or all from the start with the same members: an intercept makes the constant g no matter."""
    Q, new = rng.normal(size=(30, 4)), rng.normal(size=(5, 4))
    counted = Counted()
    grown = gm.SubsetDistance(counted, 4, g=g, projection="affine").fit(Q[:24])
    before = counted.calls
    grown.add(Q[24:])
    assert counted.calls - before == 6 * 24 + 6 * 5 // 2
    options = {"g": g, "projection": "affine", "selection": grown.subset_}
    whole = gm.SubsetDistance(euclidean, 4, **options).fit(Q)
    if g == "constant" or Q[grown.subset_][grown.origin_].tolist() == Q[whole.subset_][whole.origin_].tolist():
        np.testing.assert_allclose(grown.sqdist(new), whole.sqdist(new), atol=1e-8)
    known = gm.SubsetDistance(euclidean, 4, **options).fit(Q[:24])
    known.add(Q[24:], distances=np.sqrt(gm.linalg.sqdist(Q[24:], Q)))
    np.testing.assert_allclose(known.sqdist(new), grown.sqdist(new), atol=1e-8)
    with pytest.raises(ValueError, match="add needs a distance"):
        gm.SubsetDistance(gm.Linear(), 2).fit(Q).add(Q)


@pytest.mark.parametrize("distance", [gm.Hamming(0.5, root=True), gm.Gaussian(2.0)])
def test_what_was_saved_answers_the_same(rng, tmp_path, distance):
    Q, new = rng.normal(size=(20, 6)), rng.normal(size=(4, 6))
    s = gm.SubsetDistance(distance, 4, projection="affine").fit(Q)
    s.save(tmp_path / "near.gram")
    again = gm.load(tmp_path / "near.gram")
    assert np.array_equal(again.sqdist(new), s.sqdist(new)) and np.array_equal(again.bounds(new), s.bounds(new))
    with pytest.raises(TypeError, match="cannot store a function"):
        gm.SubsetDistance(euclidean, 2).fit(Q).save(tmp_path / "no.gram")


def test_calls_are_shared_among_workers(rng):
    import joblib

    Q, new = rng.normal(size=(15, 3)), rng.normal(size=(4, 3))
    alone = gm.SubsetDistance(euclidean, 3).fit(Q).sqdist(new)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert np.array_equal(gm.SubsetDistance(euclidean, 3).fit(Q).sqdist(new), alone)
