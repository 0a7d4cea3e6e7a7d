"""The pyramid match against its definition by histograms, and its explicit embedding."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.frequencies import collision_probability, hamming

import gramian as gm


def matches(A, B, side, n_levels):
    """Σ_i 2^{-i} N_i with N_i the new matches at level i, from dictionaries of bins."""
    total, before = 0.0, 0
    for level in range(n_levels):
        bins = [Counter(map(tuple, np.floor(S / (side * 2.0**level)).astype(int).tolist())) for S in (A, B)]
        now = sum(min(count, bins[1][cell]) for cell, count in bins[0].items())
        total += 0.5**level * (now - before)
        before = now
    return total


@given(st.integers(1, 3), st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_kernel_is_the_weighted_number_of_new_matches(d, n_levels, seed):
    rng = np.random.default_rng(seed)
    sets = [rng.normal(size=(size, d)).round(1) for size in rng.integers(1, 9, size=5)]
    kernel = gm.PyramidMatch(0.2, n_levels, n_dims=2**31 - 1, normalize=False)
    want = [[matches(A, B, 0.2, n_levels) for B in sets] for A in sets]
    np.testing.assert_allclose(kernel(sets), want, rtol=1e-12, atol=1e-12)


def test_embedding_is_sparse_high_dimensional_and_normalized(rng):
    sets = [rng.uniform(0, 100, size=(40, 3)) for _ in range(30)]
    phi = gm.PyramidMatch(side=0.5, n_levels=9).embed(sets)
    assert phi.shape == (30, 2**20) and phi.nnz <= 30 * 40 * 9
    np.testing.assert_allclose(gm.linalg.row_norms(phi), 1.0)
    # A vector shares no fine bin with another, as a rule: most coordinates stand apart.
    assert phi.nnz > 0.5 * 30 * 40 * 9


def test_a_shifted_set_matches_less_the_farther_it_is(rng):
    A = rng.uniform(0, 10, size=(50, 2))
    kernel = gm.PyramidMatch(side=0.05, n_levels=10, n_grids=8)
    values = kernel([A], [A + t for t in (0, 0.05, 0.4, 3.0)])[0]
    assert values[0] == pytest.approx(1) and (np.diff(values) < 0).all()


def test_order_and_seed(rng):
    A, B = rng.normal(size=(9, 2)), rng.normal(size=(5, 2))
    kernel = gm.PyramidMatch(0.3, 4)
    assert kernel([A[::-1]], [B])[0, 0] == pytest.approx(kernel([A], [B])[0, 0])
    one, two = (gm.PyramidMatch(0.3, 4, n_grids=2, random_state=s) for s in (0, 1))
    assert one([A], [B])[0, 0] != two([A], [B])[0, 0]


def test_wrong_sets_are_named(rng):
    for bad, words in (
        ([np.ones((2, 2)), np.ones((1, 3))], "one length"),
        ([np.full((1, 2), np.nan)], "NaN"),
        ([np.ones(3)], "shape"),
    ):
        with pytest.raises(ValueError, match=words):
            gm.PyramidMatch()(bad)
    with pytest.raises(ValueError, match="wider"):
        gm.PyramidMatch(side=1e-12)([np.full((1, 1), 1e9)])
    with pytest.raises(ValueError, match="side"):
        gm.PyramidMatch(side=0)
    assert gm.PyramidMatch()([np.zeros((0, 2))], [np.ones((1, 2))])[0, 0] == 0


@pytest.fixture(scope="module")
def shapes():
    """Sets drawn around one of three patterns, with points of clutter."""
    rng = np.random.default_rng(0)
    patterns = [rng.uniform(0, 10, size=(12, 2)) for _ in range(3)]
    y = np.arange(90) % 3
    sets = [np.vstack([patterns[c] + 0.15 * rng.normal(size=(12, 2)), rng.uniform(0, 10, size=(9, 2))]) for c in y]
    return sets, y


def test_sets_are_learned_hashed_and_searched_without_a_dense_vector(shapes):
    sets, y = shapes
    kernel = gm.PyramidMatch(side=0.25, n_levels=6, n_dims=2**20)
    learner = gm.Kernelized(gm.ITML(random_state=0, n_pairs=150, anchor=0), kernel, rank=20, random_state=0)
    metric = learner.fit(sets[:60], y[:60]).metric_
    assert metric.alpha == 1.0
    index = gm.KernelHashIndex(metric, n_bits=512, random_state=0).add(sets[:60])
    phi = index._items["outside"]
    assert phi.shape == (60, 2**20) and phi.nnz < 60 * 21 * 6 + 1
    true, values = gm.ExactIndex(metric).add(sets[:60]).query(sets[60:], k=3)
    found, sqdist = index.query(sets[60:], k=3)
    assert np.mean(found == true) > 0.97
    np.testing.assert_allclose(sqdist[found == true], values[found == true], rtol=1e-8, atol=1e-10)
    plain = gm.ExactIndex(gm.KernelMetric(metric.features, np.eye(len(metric.core)), alpha=1.0)).add(sets[:60])
    error = np.mean(y[found[:, 0]] != y[60:])
    assert error <= np.mean(y[plain.query(sets[60:], k=1)[0][:, 0]] != y[60:])


def test_bits_of_sets_collide_as_the_learned_angle_says(shapes):
    sets, _ = shapes
    features = gm.KernelFeatures(gm.PyramidMatch(side=0.5, n_levels=6), basis=sets[:8]).fit(sets[:8])
    metric = gm.KernelMetric(features, np.diag(np.linspace(0.5, 4, 8)), alpha=1.0)
    K = metric.kernel(sets[:16])
    p = collision_probability(K / np.sqrt(np.outer(np.diag(K), np.diag(K))))[np.triu_indices(16, 1)]
    packed = gm.KernelHashIndex(metric, 8192, mode="similarity", random_state=1).hash(sets[:16])
    frequency = 1 - hamming(packed, packed)[np.triu_indices(16, 1)] / 8192
    assert np.abs((frequency - p) / np.sqrt(p * (1 - p) / 8192)).max() < 4.5


def test_an_index_of_sets_is_saved(shapes, tmp_path):
    sets, _ = shapes
    features = gm.KernelFeatures(gm.PyramidMatch(side=0.5), rank=6).fit(sets)
    index = gm.KernelHashIndex(gm.KernelMetric(features, np.eye(6), alpha=1.0), random_state=0).add(sets).remove([4])
    index.save(tmp_path / "sets.gram")
    for one, two in zip(index.query(sets[:5], k=4), gm.load(tmp_path / "sets.gram").query(sets[:5], k=4)):
        assert np.array_equal(one, two)
