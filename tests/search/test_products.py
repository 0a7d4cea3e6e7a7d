"""Queries that are not binarized: the law of the products, the promise that rests on it, the pass over the codes."""

import numpy as np
import pytest

import gramian as gm
from gramian.search import codes
from gramian.search.products import ProductLaw, aligned_classes
from tests.search.frequencies import collision_probability


def _clustered(rng, n, d, n_clusters, spread=2.0):
    centers = spread * rng.normal(size=(n_clusters, d))
    return centers[rng.integers(n_clusters, size=n)] + rng.normal(size=(n, d))


def recall(found, true):
    return np.mean([len(np.intersect1d(a, b)) / len(b) for a, b in zip(found, true)])


@pytest.mark.parametrize("d, b", [(40, 16), (16, 16), (16, 64)])
def test_directions_are_orthonormal_and_each_bit_collides_as_the_angle_says(d, b):
    R = codes.orthonormal_directions(3, d, b)
    gram = R.T @ R if b <= d else R @ R.T
    np.testing.assert_allclose(gram, np.eye(min(d, b)), atol=1e-12)
    x, y = np.eye(d)[0], np.full(d, 1.0) / np.sqrt(d)
    draws = np.array([codes.orthonormal_directions(seed, d, b) for seed in range(400)])
    agree = ((x @ draws >= 0) == (y @ draws >= 0)).mean()
    p = collision_probability(x @ y)
    assert abs(agree - p) < 4.5 * np.sqrt(p * (1 - p) / 400)


@pytest.mark.parametrize("d, b", [(24, 8), (12, 32)])
def test_products_of_codes_follow_the_law_of_a_coordinate_on_a_sphere(d, b):
    """ε = (⟨ō, q⟩ − cx) / √((1 − c²)(1 − x²)) over rotations, against points drawn on the sphere."""
    from scipy.stats import ks_2samp

    rng, D = np.random.default_rng(0), max(d, b)
    o, q = rng.normal(size=(2, d))
    o, q = o / np.linalg.norm(o), q / np.linalg.norm(q)
    x, found = o @ q, []
    for seed in range(1500):
        R = codes.orthonormal_directions(seed, d, b)
        signs = np.where(o @ R >= 0, 1, -1)
        c, y = np.abs(o @ R).sum() / np.sqrt(b), signs @ (q @ R) / np.sqrt(b)
        found.append((y - c * x) / np.sqrt((1 - c**2) * (1 - x**2)))
    drawn = rng.normal(size=(100_000, D - 1))
    drawn = drawn[:, 0] / np.linalg.norm(drawn, axis=1)
    assert ks_2samp(found, drawn).pvalue > 1e-4
    for tail in (0.3, 0.02):
        z = codes.sphere_quantile(D - 1, tail)
        assert (drawn > z).mean() == pytest.approx(tail, abs=4 * np.sqrt(tail / 100_000))


def test_rounded_weights_are_right_on_average_and_their_errors_stay_within_the_slack():
    rng = np.random.default_rng(0)
    T = np.abs(rng.normal(size=(1, 64))).astype(np.float32)
    sums, errors, signs = np.zeros(64), [], rng.choice([-1, 1], size=64)
    for seed in range(2000):
        law = ProductLaw(64, 64, 0.9, seed)
        planes, units = law.rounded(T)
        bits = np.unpackbits(planes.view(np.uint8).reshape(law.planes, 8), axis=1, bitorder="little")
        A = (bits * 2 ** np.arange(law.planes)[::-1, None]).sum(axis=0)
        assert A.sum() == units[0, 1] and A.max() <= 15
        sums += A * units[0, 0]
        errors.append(signs @ (A - T[0] / units[0, 0]))
    np.testing.assert_allclose(sums / 2000, T[0], atol=4.5 * units[0, 0] / 2 / np.sqrt(2000))
    assert (np.array(errors) > law.limits[1]).mean() <= 0.01


def test_weighted_scan_equals_a_sum_over_bits(rng):
    from gramian._jit.hamming import weighted_tiles
    from gramian.search.columns import Tiles

    for n, n_bits in ((130, 64), (77, 320)):
        bits, asked = rng.integers(0, 2, size=(n, n_bits)), rng.integers(0, 2, size=(2, n_bits))
        A = rng.integers(0, 16, size=(2, n_bits))
        pack = lambda B: codes.words(np.packbits(B.astype(np.uint8), axis=1, bitorder="little"))  # noqa: E731
        planes = np.concatenate([pack((A >> t) & 1) for t in (3, 2, 1, 0)], axis=1)
        tiles = Tiles.of(pack(bits)).tiles
        distances, least = np.empty((2, len(tiles) * 64), np.uint16), np.empty((2, len(tiles)), np.uint16)
        weighted_tiles(tiles, n, np.zeros(0, np.uint64), pack(asked), planes, distances, least)
        want = ((bits[None] != asked[:, None]) * A[:, None]).sum(axis=2)
        assert np.array_equal(distances[:, :n], want) and (distances[:, n:] == 65535).all()
        assert np.array_equal(least[:, 0], want[:, :64].min(axis=1))


def test_classes_hold_every_item_once_with_bounds_that_hold(rng):
    sqnorms, align = rng.gamma(3, size=500), rng.uniform(0.6, 0.9, size=500).astype(np.float32)
    low, high, least, masks = aligned_classes(sqnorms, align)
    bits = np.stack([np.unpackbits(m.view(np.uint8), bitorder="little")[:500] for m in masks.T.copy()]).astype(bool)
    assert (bits.sum(axis=0) == 1).all()
    for g, own in enumerate(bits):
        assert (sqnorms[own] >= low[g]).all() and (sqnorms[own] <= high[g]).all() and (align[own] >= least[g]).all()


@pytest.mark.parametrize("n_bits, d", [(64, 24), (64, 96), (256, 32)])
def test_the_promise_holds_per_neighbor_over_draws(rng, n_bits, d):
    X, Q = rng.normal(size=(3000, d)), rng.normal(size=(20, d))
    metric = gm.Mahalanobis.from_matrix(np.diag(np.linspace(0.5, 2, d)))
    true = gm.ExactIndex(metric).add(X).query(Q, k=5)[0]
    for share in (0.6, 0.9):
        settings = {"estimate": "products", "recall": share}
        found = [gm.HashIndex(metric, n_bits, random_state=s, **settings).add(X).query(Q, k=5)[0] for s in range(8)]
        assert np.mean([recall(ids, true) for ids in found]) > share


@pytest.mark.parametrize("mode", ["distance", "similarity"])
def test_what_is_found_is_ranked_exactly_and_less_is_compared(rng, mode):
    X = _clustered(rng, 6050, 200, 60, 1.0).astype(np.float32)
    X, Q = X[:6000], X[6000:]
    metric = gm.Mahalanobis.from_matrix(np.diag(np.linspace(0.5, 2, 200)))
    both = [
        gm.HashIndex(metric, mode=mode, estimate=estimate, random_state=0).add(X)
        for estimate in ("collisions", "products")
    ]
    ids, sqdist = both[1].query(Q, k=10)
    if mode == "distance":
        true, values = gm.ExactIndex(metric).add(X).query(Q, k=10)
    else:
        L = np.sqrt(np.diag(metric.matrix))
        unit = [V * L / np.linalg.norm(V * L, axis=1, keepdims=True) for V in (X.astype(float), Q.astype(float))]
        true, values = gm.ExactIndex(gm.Mahalanobis.euclidean(200)).add(unit[0]).query(unit[1], k=10)
    assert recall(ids, true) > 0.985
    hit = (ids == true).all(axis=1)
    np.testing.assert_allclose(sqdist[hit], values[hit], rtol=1e-5, atol=1e-6)
    assert both[1].compared(Q).mean() < both[0].compared(Q).mean()


def test_axes_of_the_largest_spread_are_taken_where_little_is_left(rng):
    flat = rng.normal(size=(3000, 30)) @ rng.normal(size=(30, 200)) + 0.01 * rng.normal(size=(3000, 200))
    round_ = rng.normal(size=(3000, 200))
    for X, taken in ((flat, True), (round_, False)):
        index = gm.HashIndex(gm.Mahalanobis.euclidean(200), 64, estimate="products", random_state=0).add(X)
        assert (index._items.settled["axes"] is not None) is taken
        true = gm.ExactIndex(index.metric).add(X).query(X[:40] + 0.1, k=5)[0]
        assert recall(index.query(X[:40] + 0.1, k=5)[0], true) >= 0.98


def test_copies_of_items_are_found_at_distance_zero_and_zeros_do_no_harm(rng):
    X = rng.normal(size=(500, 40))
    X[3] = X.mean(axis=0)
    for mode in ("distance", "similarity"):
        index = gm.HashIndex(gm.Mahalanobis.euclidean(40), 64, mode=mode, estimate="products", random_state=0)
        ids, sqdist = index.add(X).query(X[:50], k=1)
        assert np.array_equal(ids[:, 0], np.arange(50)) and np.abs(sqdist).max() < 1e-9
        assert index.query(X.mean(axis=0)[None] * (mode == "distance"), k=3)[0].shape == (1, 3)


def test_radius_and_masks_and_files_work_alike(rng, tmp_path):
    X = _clustered(rng, 3000, 30, 40)
    index = gm.HashIndex(gm.Mahalanobis.euclidean(30), 64, estimate="products", recall=1 - 1e-9, random_state=0).add(X)
    exact = gm.ExactIndex(index.metric).add(X)
    mask = rng.random(3000) < 0.5
    for one, two in zip(index.query(X[:9], 7, within=mask), exact.query(X[:9], 7, within=mask)):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)
    for one, two in zip(index.query_radius(X[:9], 6.0)[0], exact.query_radius(X[:9], 6.0)[0]):
        assert np.array_equal(one, two)
    index.save(tmp_path / "i.gram")
    again = gm.load(tmp_path / "i.gram")
    assert np.array_equal(again.add(X[:5] + 1).query(X[:9], 7)[0], index.add(X[:5] + 1).query(X[:9], 7)[0])


def test_sparse_points_have_no_rotation(rng):
    from scipy import sparse

    X = sparse.random(50, 200, 0.1, format="csr", random_state=0)
    metric = gm.ITML(rank=5, n_pairs=50, max_iter=5, random_state=0).fit(X, np.arange(50) % 2).metric_
    with pytest.raises(ValueError, match="estimate must be 'collisions'"):
        gm.HashIndex(metric, estimate="products").add(X)


def test_the_bits_that_pay_grow_with_the_width_of_points_and_the_promise_stays(rng):
    chosen = []
    for d in (16, 1024):
        X = _clustered(rng, 4000, d, 400, 1.0).astype(np.float32)
        index = gm.HashIndex(gm.Mahalanobis.euclidean(d), "auto", random_state=0)
        assert index.hash(X[:2]).shape == (2, 32)
        index.add(X[:3900])
        chosen.append(index.n_bits_)
        assert index.hash(X[:2]).shape == (2, index.n_bits_ // 8)
        true = gm.ExactIndex(index.metric).add(X[:3900]).query(X[3900:], k=5)[0]
        assert recall(index.query(X[3900:], k=5)[0], true) >= 0.98
        assert index.with_metric(index.metric).n_bits_ == index.n_bits_
    assert chosen[0] < chosen[1]


@pytest.mark.parametrize("estimate", ["collisions", "products"])
def test_the_expected_comparisons_are_those_that_are_made(rng, estimate):
    from gramian.search import budget

    X = _clustered(rng, 6000, 48, 100, 1.0)
    index = gm.HashIndex(gm.Mahalanobis.euclidean(48), estimate=estimate, random_state=0).add(X)
    form = index._encoder(index._items).form
    cosines, least = budget._sampled(form, X)
    for b in (64, 128):
        made = gm.HashIndex(index.metric, b, estimate=estimate, random_state=0).add(X).compared(X[::250], 10).mean()
        assert 0.3 < budget._compared(cosines, least, b, form, 0.99, estimate) / made < 3
