"""SubsetDistance: exact at R, m evaluations, the family of projections, and honest estimates."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian as gm
from gramian.approximation import projection
from gramian.kernels.distance import negative_share


def euclidean(a, b):
    return float(np.linalg.norm(a - b))


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


def within(K, R):
    """What is measured when R is in Q."""
    d = np.diag(K)
    return projection.Measured.within(K, d[:, None] + d - 2 * K, np.asarray(R))


def faces(rng, n=24, p=120):
    """Binary images of something that turns slowly."""
    t = np.linspace(0, 2, n)[:, None]
    return (np.sin(3 * t + np.linspace(0, 9, p)) + 0.3 * rng.normal(size=(n, p))) > 0


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


@pytest.mark.parametrize("name", ["pinv", "span", "learned"])
def test_every_projection_is_a_member_of_the_family(name, rng):
    """K_RQ β̂ = k_R(q) for β̂ = K⁻¹B k_R(q): (14) with some W in the null space of K_RQ."""
    K = gm.Gaussian(2.0)(rng.normal(size=(15, 3)))
    R = np.array([1, 4, 9])
    B, _ = getattr(projection, name)(within(K, R))
    W = np.linalg.solve(K, B) - np.linalg.pinv(K[R])
    np.testing.assert_allclose(K[R] @ W, 0, atol=1e-7)


def test_w_zero_is_not_the_member_supported_on_the_subset(rng):
    """Equation (30) of the paper identifies them: a counterexample."""
    K = gm.Gaussian(1.0)(rng.normal(size=(12, 2)))
    R = np.array([0, 3, 7])
    a, b = projection.pinv(within(K, R))[0], projection.span(within(K, R))[0]
    assert np.abs(a - b).max() > 0.01
    two_projections = K @ np.linalg.inv(K) @ K[:, R] @ np.linalg.inv(K[np.ix_(R, R)])
    np.testing.assert_allclose(two_projections, b, atol=1e-8)


def test_w_zero_is_the_least_squares_guess_of_the_gram_matrix(rng):
    K, R = gm.Gaussian(1.5)(rng.normal(size=(20, 3))), np.array([2, 5, 11])
    want = np.linalg.lstsq(K[R].T, K.T, rcond=None)[0].T
    np.testing.assert_allclose(projection.pinv(within(K, R))[0], want, atol=1e-9)


def test_left_out_guesses_are_those_of_a_refit_without_the_member(rng):
    K, R = gm.Gaussian(1.5)(rng.normal(size=(18, 3))), np.array([2, 5, 11])
    _, guess = projection.pinv(within(K, R))
    for j in (0, 7, 17):
        keep = np.delete(np.arange(18), j)
        B = projection.pinv(within(K[np.ix_(keep, keep)], np.searchsorted(keep, R)))[0]
        np.testing.assert_allclose(guess[keep, j], B @ K[R, j], atol=1e-8)
    D = 2 - 2 * K
    weights = projection._weights(D, 0.5)
    B, guess = projection._ridge_path(within(K, R), weights)[-1]
    i, j = 4, 13
    left = weights[i].copy()
    left[j] = 0
    whiten = gm.linalg.psd_power(K[np.ix_(R, R)], -0.5)
    Z = whiten @ K[R]
    base = projection.span(within(K, R))[0][i]
    S = (Z * left) @ Z.T + projection.RIDGES[-1] * (Z**2).sum() / 18 * np.eye(3)
    row = base + np.linalg.solve(S, (Z * left) @ (K[i] - base @ K[R])) @ whiten
    np.testing.assert_allclose(guess[i, j], row @ K[R, j], atol=1e-8)


def test_closeness_of_left_out_members_predicts_that_of_new_objects(rng):
    Q = faces(rng, 40)
    train, new = Q[::2], Q[1::2]
    for name in ("pinv", "learned"):
        s = gm.SubsetDistance(gm.Hamming(root=True), m=6, projection=name).fit(train)
        d = np.sqrt((new[:, None] != train[None]).sum(-1))
        measured = 1 - np.mean(np.abs(np.sqrt(s.sqdist(new)) - d) / d)
        assert s.closeness_ == pytest.approx(measured, abs=0.05)
        assert measured > 0.8


def test_learned_never_loses_on_left_out_members(rng):
    for seed in range(5):
        Q = faces(np.random.default_rng(seed))
        for m in (1, 3, 8):
            plain = gm.SubsetDistance(gm.Hamming(root=True), m).fit(Q).closeness_
            assert gm.SubsetDistance(gm.Hamming(root=True), m, projection="learned").fit(Q).closeness_ >= plain - 1e-12


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


def test_a_w_of_ones_own(rng):
    """Every U gives a member of the family: exact at R; U = 0 is the paper's, and a function may make it."""
    Q, new = rng.normal(size=(20, 3)), rng.normal(size=(4, 3))
    options = {"g": "origin", "selection": np.arange(5)}
    plain = gm.SubsetDistance(euclidean, 5, **options).fit(Q)
    zero = gm.SubsetDistance(euclidean, 5, projection=np.zeros((20, 5)), **options).fit(Q)
    np.testing.assert_allclose(zero.sqdist(new), plain.sqdist(new), atol=1e-9)
    U = rng.normal(size=(20, 5))
    own = gm.SubsetDistance(euclidean, 5, projection=U, **options).fit(Q)
    made = gm.SubsetDistance(euclidean, 5, projection=lambda K, K_RQ: U, **options).fit(Q)
    np.testing.assert_array_equal(own.map_, made.map_)
    K_RQ = own.kernel_(Q[own.subset_], Q)
    inverse = np.linalg.pinv(K_RQ)
    W = (np.eye(20) - inverse @ K_RQ) @ U
    np.testing.assert_allclose(own.map_, own.kernel_(Q) @ (inverse + W), atol=1e-8)
    np.testing.assert_allclose(K_RQ @ (inverse + W) @ K_RQ, K_RQ, atol=1e-8)  # so distances to R are exact
    with pytest.raises(ValueError, match=r"projection must be finite of shape \(20, 5\)"):
        gm.SubsetDistance(euclidean, 5, projection=np.zeros((5, 20)), **options).fit(Q)


def test_a_g_of_ones_own(rng):
    """With g = ½‖q − c‖² of a point c that is no member: the kernel of differences from c."""
    Q, new, c = rng.normal(size=(20, 3)), rng.normal(size=(4, 3)), np.ones(3)

    def g(q):
        return ((q - c) ** 2).sum() / 2

    s = gm.SubsetDistance(euclidean, 5, g=g).fit(Q)
    np.testing.assert_allclose(s.kernel_(Q), (Q - c) @ (Q - c).T, atol=1e-9)
    K = (Q - c) @ (Q - c).T
    want = K @ np.linalg.pinv(K[s.subset_]) @ ((Q[s.subset_] - c) @ (new - c).T)
    D = ((new - c) ** 2).sum(axis=1)[:, None] + np.diag(K) - 2 * want.T
    np.testing.assert_allclose(s.sqdist(new), np.maximum(D, 0), atol=1e-8)
    with pytest.raises(ValueError, match="g must be finite and nonnegative"):
        gm.SubsetDistance(euclidean, 5, g=lambda q: -1.0).fit(Q)


class Vectors:
    """Euclidean distance of vectors, in batches."""

    def __call__(self, a, b):
        return euclidean(a, b)

    def pairwise(self, A, B):
        return np.sqrt(gm.linalg.sqdist(np.asarray(A), np.asarray(B)))


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


def test_an_intercept_is_least_squares_on_what_was_measured(rng):
    """d² of each member on the m measured d² and a constant, by plain least squares; exact at R."""
    Q, new = rng.normal(size=(30, 6)), rng.normal(size=(5, 6))
    s = gm.SubsetDistance(Vectors(), 4, projection="affine").fit(Q)
    D, d_R = gm.linalg.sqdist(Q), gm.linalg.sqdist(new, Q[s.subset_])
    design = np.column_stack([D[:, s.subset_], np.ones(30)])
    want = np.column_stack([d_R, np.ones(5)]) @ np.linalg.lstsq(design, D, rcond=None)[0]
    np.testing.assert_allclose(s.sqdist(new), np.maximum(want, 0), atol=1e-8)
    errors = []
    for j in np.setdiff1d(np.arange(30), s.subset_):
        rest = gm.SubsetDistance(Vectors(), 4, projection="affine", selection=s.subset_ - (s.subset_ > j))
        estimate = np.sqrt(rest.fit(np.delete(Q, j, axis=0)).sqdist(Q[j : j + 1])[0])
        d = np.sqrt(np.delete(D[j], j))
        errors.append(np.mean(np.abs(estimate - d) / d))
    assert s.closeness_ == pytest.approx(1 - np.mean(errors), abs=1e-6)


@given(st.integers(0, 10_000))
def test_bounds_hold_and_are_taken(seed):
    """Whatever lies off the span of R: d² is between the bounds, and both are reached by points that exist."""
    rng = np.random.default_rng(seed)
    Q, new = rng.normal(size=(12, 5)), rng.normal(size=(4, 5))
    s = gm.SubsetDistance(Vectors(), int(rng.integers(1, 7)), g="origin").fit(Q)
    low, high = s.bounds(new)
    D = gm.linalg.sqdist(new, Q)
    assert (low <= D + 1e-7).all() and (high + 1e-7 >= D).all()
    if len(s.subset_) == 1:  # the triangle inequality and its reverse
        a, b = (np.sqrt(gm.linalg.sqdist(P, Q[s.subset_])) for P in (new, Q))
        np.testing.assert_allclose(low, (a - b.T) ** 2, atol=1e-7)
        np.testing.assert_allclose(high, (a + b.T) ** 2, atol=1e-7)


def test_bounds_of_a_kernel_are_those_of_its_feature_space(rng):
    Q, new, kernel = rng.normal(size=(20, 3)), rng.normal(size=(6, 3)), gm.Gaussian(1.5)
    low, high = gm.SubsetDistance(kernel, 6).fit(Q).bounds(new)
    D = kernel.sqdist(new, Q)
    assert (low <= D + 1e-9).all() and (high >= D - 1e-9).all() and (high - low).mean() < 2


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
