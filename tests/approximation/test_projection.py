"""Every linear guess from distances to a subset, against its definition; bounds that hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.approximation.problems import Vectors, euclidean, faces

import gramian as gm
from gramian.approximation import projection


def within(K, R):
    """What is measured when R is in Q."""
    d = np.diag(K)
    return projection.Measured.within(K, d[:, None] + d - 2 * K, np.asarray(R))


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


def test_learned_never_loses_on_left_out_members(rng):
    for seed in range(5):
        Q = faces(np.random.default_rng(seed))
        for m in (1, 3, 8):
            plain = gm.SubsetDistance(gm.Hamming(root=True), m).fit(Q).closeness_
            assert gm.SubsetDistance(gm.Hamming(root=True), m, projection="learned").fit(Q).closeness_ >= plain - 1e-12


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
