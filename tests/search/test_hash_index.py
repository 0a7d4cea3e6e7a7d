"""Hashed search: collision probabilities, the recall guarantee, the two searchers, the two modes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm
from gramian.search import codes
from gramian.search.columns import Tiles
from tests.search.frequencies import collision_probability, hamming


def _metric(rng, d, rank=None):
    A = rng.normal(size=(rank or d, d))
    return gm.Mahalanobis.from_matrix(A.T @ A)


def _clustered(rng, n, d, n_clusters, spread=2.0):
    centers = spread * rng.normal(size=(n_clusters, d))
    return centers[rng.integers(n_clusters, size=n)] + rng.normal(size=(n, d))


def recall(found, true):
    return np.mean([len(np.intersect1d(a, b)) / len(b) for a, b in zip(found, true)])


@pytest.mark.parametrize("mode", ["similarity", "distance"])
def test_bits_collide_as_the_angle_says(rng, mode):
    d, b, z = 5, 4096, []
    metric, X = _metric(rng, d), rng.normal(size=(12, d)) + 1.0
    V = X - (X.mean(axis=0) if mode == "distance" else 0)
    K = V @ metric.matrix @ V.T
    p = collision_probability(K / np.sqrt(np.outer(np.diag(K), np.diag(K))))[np.triu_indices(12, 1)]
    for seed in range(8):
        packed = gm.HashIndex(metric, n_bits=b, mode=mode, random_state=seed).add(X).hash(X)
        frequency = 1 - hamming(packed, packed)[np.triu_indices(12, 1)] / b
        z.append((frequency - p) / np.sqrt(p * (1 - p) / b))
    assert np.abs(z).max() < 4.5
    # The pairs of one seed share directions: the mean square of a seed scatters by about 0.32 around one.
    assert abs(np.mean(np.square(z)) - 1) < 4 * 0.32 / np.sqrt(8)


def test_each_bit_alone_is_fair_over_seeds(rng):
    x, y = np.array([[1.0, 0.2, 0.0]]), np.array([[0.3, 1.0, 0.5]])
    metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 3.0, 0.5]))
    p = collision_probability(metric.kernel(x, y) / np.sqrt(metric.kernel(x, x) * metric.kernel(y, y)))[0, 0]
    agree = np.zeros(16)
    for seed in range(2000):
        index = gm.HashIndex(metric, n_bits=16, mode="similarity", random_state=seed)
        bits = np.unpackbits(index.hash(np.vstack([x, y])), axis=1)
        agree += bits[0] == bits[1]
    assert np.abs((agree / 2000 - p) / np.sqrt(p * (1 - p) / 2000)).max() < 4.5


def test_directions_are_standard_normal_and_independent_of_the_request():
    R = codes.directions(7, np.arange(2000), 64)
    assert abs(R.mean()) < 4 / np.sqrt(R.size) and abs(R.var() - 1) < 4 * np.sqrt(2 / R.size)
    assert abs((R**4).mean() - 3) < 4 * np.sqrt(96 / R.size)
    C = np.corrcoef(R.T) - np.eye(64)
    assert np.abs(C).max() < 5 / np.sqrt(2000)
    some = np.array([1999, 5, 10**9])
    assert np.array_equal(codes.directions(7, some, 64)[:2], R[[1999, 5]])
    assert np.array_equal(codes.directions(7, some, 32), codes.directions(7, some, 64)[:, :32])
    assert not np.allclose(codes.directions(8, some, 64), codes.directions(7, some, 64))


def test_the_root_is_symmetric_so_bits_follow_the_metric(rng):
    M = np.diag([1.0, 2.0, 3.0])
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    X = rng.normal(size=(50, 3))
    one = gm.HashIndex(gm.Mahalanobis.from_matrix(M), random_state=0).add(X)
    two = one.with_metric(gm.Mahalanobis(rotation @ np.sqrt(M)))
    assert np.mean(np.unpackbits(one.hash(X) ^ two.hash(X))) < 1e-3
    near = one.with_metric(gm.Mahalanobis.from_matrix(M + 1e-3))
    assert np.mean(np.unpackbits(one.hash(X) ^ near.hash(X))) < 0.01


@pytest.mark.parametrize("shape", [(4000, 32, 200, 2.0), (4000, 16, 20, 1.0), (3000, 64, 3000, 1.0)])
def test_the_recall_asked_for_is_reached(rng, shape):
    X = _clustered(rng, shape[0] + 100, *shape[1:])
    metric = _metric(rng, shape[1])
    X, Q = X[:-100], X[-100:]
    true = gm.ExactIndex(metric).add(X).query(Q, k=10)[0]
    found = gm.HashIndex(metric, random_state=0).add(X).query(Q, k=10)[0]
    # 1000 neighbors, each compared with probability 0.99 at least: three standard errors below.
    assert recall(found, true) >= 0.99 - 3 * np.sqrt(0.01 * 0.99 / 1000)


SHAPES = [(100, 32, 2.0), (100, 96, 1.0), (1000, 32, 2.0), (1000, 96, 1.0), (1000, 48, 0.5)]


def _default_recall(X, Q, seeds=3):
    """Recall@10 of the index with no settings, over draws of the directions."""
    metric = gm.Mahalanobis.euclidean(X.shape[1])
    true = gm.ExactIndex(metric).add(X).query(Q, 10)[0]
    return np.mean([recall(gm.HashIndex(metric, random_state=s).add(X).query(Q)[0], true) for s in range(seeds)])


@pytest.mark.parametrize("n_clusters, d, spread", SHAPES)
def test_the_default_finds_99_of_100_neighbors_in_clusters(rng, n_clusters, d, spread):
    X = _clustered(rng, 5100, d, n_clusters, spread).astype(np.float32)
    assert _default_recall(X[:5000], X[5000:]) >= 0.99


def test_the_default_finds_99_of_100_neighbors_among_digits(rng):
    from sklearn.datasets import load_digits

    X = load_digits().data[rng.permutation(1797)]
    assert _default_recall(X[:1600], X[1600:]) >= 0.99


def test_the_default_finds_99_of_100_neighbors_among_images_of_784_pixels(rng, data_folder):
    with np.load(data_folder / "mnist.npz") as data:
        X = data["X"][rng.permutation(len(data["X"]))[:5100]].astype(np.float32)
    assert _default_recall(X[:5000], X[5000:]) >= 0.99


def test_the_guarantee_holds_per_neighbor_over_draws(rng):
    """With a low recall asked for, few bits and a hard case, the share found stays above it."""
    X, Q = rng.normal(size=(3000, 24)), rng.normal(size=(20, 24))
    metric = gm.Mahalanobis.euclidean(24)
    true = gm.ExactIndex(metric).add(X).query(Q, k=5)[0]
    for share in (0.3, 0.7):
        found = [
            recall(gm.HashIndex(metric, 64, recall=share, random_state=s).add(X).query(Q, k=5)[0], true)
            for s in range(10)
        ]
        assert np.mean(found) > share


def test_clusters_are_searched_by_few_comparisons(rng):
    X = _clustered(rng, 20000, 32, 400, spread=3.0)
    index = gm.HashIndex(gm.Mahalanobis.euclidean(32), random_state=0).add(X)
    assert index.compared(X[:50], k=10).mean() < 400


def test_limits_are_binomial_quantiles():
    from scipy.stats import binom

    limits = codes.angle_limits(64, 0.9)
    for h in (1, 5, 30, 64):
        p = np.arccos(limits[h]) / np.pi
        assert binom.sf(h - 1, 64, p) == pytest.approx(0.1)
    assert limits[0] == 1.0 and (np.diff(limits) < 0).all()


def test_answers_of_sorted_orders_do_not_depend_on_what_was_asked_before(rng, tmp_path):
    X, metric = rng.standard_normal((300, 8)), gm.Mahalanobis.euclidean(8)
    indexes = [gm.HashIndex(metric, 64, searcher="orders", random_state=0).add(X) for _ in range(3)]
    for index, k in zip(indexes, (1, 5, 100)):
        index.query(X[:1], k)
    indexes[0].save(tmp_path / "index.gram")
    answers = [index.query(X, 5) for index in (*indexes, gm.load(tmp_path / "index.gram"))]
    for ids, sqdist in answers[1:]:
        np.testing.assert_array_equal(ids, answers[0][0])
        np.testing.assert_array_equal(sqdist, answers[0][1])


@pytest.mark.parametrize("epsilon", [0.2, 1.5])
def test_sorted_orders_search_the_thesis_s_number_of_candidates(rng, epsilon):
    X = _clustered(rng, 3000, 16, 100)
    metric = _metric(rng, 16)
    index = gm.HashIndex(metric, searcher="orders", epsilon=epsilon, random_state=0).add(X)
    M = int(np.ceil(2 * 3000 ** (1 / (1 + epsilon))))
    compared = index.compared(X[:50], k=1)
    assert (compared >= M).all() and (compared <= M + 32).all()
    assert recall(index.query(X[:200], k=1)[0], np.arange(200)[:, None]) == 1.0
    true = gm.ExactIndex(metric).add(X).query(X[:50], k=5)[0]
    assert recall(index.query(X[:50], k=5)[0], true) > (0.95 if epsilon < 1 else 0.5)


def test_short_keys_collide_and_all_that_collide_are_compared(rng):
    X = rng.normal(size=(2000, 4))
    coarse = gm.HashIndex(gm.Mahalanobis.euclidean(4), 8, searcher="orders", n_orders=1, random_state=0).add(X)
    fine = gm.HashIndex(gm.Mahalanobis.euclidean(4), 256, searcher="orders", n_orders=1, random_state=0).add(X)
    assert coarse.compared(X[:50], k=1).mean() > fine.compared(X[:50], k=1).mean()
    packed = coarse.hash(X)
    same = (hamming(packed[:50], packed) == 0).sum(axis=1)
    assert (coarse.compared(X[:50], k=1) >= same).all()


def test_a_budget_takes_the_nearest_codes(rng):
    X = rng.normal(size=(900, 8))
    index = gm.HashIndex(gm.Mahalanobis.euclidean(8), 64, epsilon=1.0, random_state=0).add(X)
    assert (index.compared(X[:5], k=3) == 60).all()
    Q = rng.normal(size=(5, 8))
    h = hamming(index.hash(Q), index.hash(X))
    D = index.metric.sqdist(Q, X)
    for i, ids in enumerate(index.query(Q, k=3)[0]):
        nearest = np.lexsort((np.arange(900), h[i]))[:60]
        assert set(ids) == set(nearest[np.argsort(D[i, nearest])[:3]])


def test_similarity_mode_ranks_by_the_learned_cosine(rng):
    metric, X, Q = _metric(rng, 6), rng.normal(size=(500, 6)) + 0.5, rng.normal(size=(10, 6))
    X[0] = 0
    K = metric.kernel(Q, X)
    norms = np.sqrt(np.maximum(np.diag(metric.kernel(X)), 1e-300))
    cosine = K / np.sqrt(np.diag(metric.kernel(Q)))[:, None] / norms
    cosine[:, 0] = 0
    ids, sqdist = gm.HashIndex(metric, mode="similarity", random_state=0).add(X).query(Q, k=8)
    np.testing.assert_allclose(sqdist, 2 - 2 * -np.sort(-cosine, axis=1)[:, :8], atol=1e-9)
    assert np.array_equal(ids, np.argsort(-cosine, axis=1)[:, :8])


def test_more_words_than_one_vector_and_odd_bits(rng):
    X = _clustered(rng, 700, 10, 20)
    true = gm.ExactIndex(gm.Mahalanobis.euclidean(10)).add(X).query(X[:40], k=5)[0]
    for bits in (8, 24, 64, 200, 320, 712):
        index = gm.HashIndex(gm.Mahalanobis.euclidean(10), bits, random_state=1).add(X)
        assert index.hash(X).shape == (700, bits // 8) and index.hash(X).dtype == np.uint8
        assert recall(index.query(X[:40], k=5)[0], true) >= 0.98


@given(st.integers(1, 200), st.integers(1, 3), st.integers(0, 2**32 - 1), st.data())
def test_tiles_hold_what_rows_hold(n, n_words, seed, data):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2**63, size=(n, n_words)).astype(np.uint64)
    tiles, start = Tiles.of(rows[:0]), 0
    while start < n:
        step = data.draw(st.integers(1, n - start))
        tiles, start = tiles.append(Tiles.of(rows[start : start + step])), start + step
    assert np.array_equal(tiles.rows, rows)
    kept = np.flatnonzero(rng.random(n) < 0.5)
    assert np.array_equal(tiles.take(kept).rows, rows[kept])
    first = data.draw(st.integers(0, (n - 1) // 64)) * 64
    assert np.array_equal(tiles.part(first, n).rows, rows[first:])
    written = Tiles.zeros(n, n_words).put(first, rows[first:]).put(0, rows[:first])
    assert np.array_equal(written.rows, rows)
    one, two = tiles.append(Tiles.of(rows[:1])), tiles.append(Tiles.of(~rows[:1]))
    assert np.array_equal(one.rows[-1], rows[0]) and np.array_equal(two.rows[-1], ~rows[0])
    assert np.array_equal(one.rows[:n], rows) and np.array_equal(two.rows[:n], rows)


def test_hamming_scan_equals_a_bit_count(rng):
    from gramian._jit.hamming import hamming_tiles

    for n, n_words in ((130, 1), (64, 4), (77, 6), (200, 9)):
        rows = rng.integers(0, 2**63, size=(n, n_words)).astype(np.uint64)
        tiles = Tiles.of(rows)
        distances = np.empty((3, len(tiles.tiles) * 64), np.uint16)
        least = np.empty((3, len(tiles.tiles)), np.uint16)
        hamming_tiles(tiles.tiles, n, np.zeros(0, np.uint64), rows[:3], distances, least)
        want = hamming(rows[:3].view(np.uint8), rows.view(np.uint8))
        assert np.array_equal(distances[:, :n], want)
        assert np.array_equal(least[:, 0], want[:, :64].min(axis=1))


def test_items_are_chosen_by_their_distances_and_classes(rng):
    from gramian._jit.hamming import beyond, class_masks, level_of, within
    from gramian._jit.scan import nearest_codes

    n = 300
    h = np.full(320, 65535, np.uint16)
    h[:n] = rng.integers(0, 60, size=n)
    least, chosen = h.reshape(-1, 64).min(axis=1), np.empty(320, np.int64)
    for count in (1, 17, 300):
        level = level_of(h, count, 64)
        assert (h <= level).sum() >= count and (level == 0 or (h <= level - 1).sum() < count)
        nearest_codes(h, least, 64, count, chosen)
        assert np.array_equal(chosen[:count], np.sort(np.lexsort((np.arange(n), h[:n]))[:count]))
    assert np.array_equal(chosen[: within(h, least, 20, chosen)], np.flatnonzero(h <= 20))
    values = rng.normal(size=n) ** 2
    edges = np.quantile(values, [0, 0.2, 0.7, 1])
    masks, kind = class_masks(values, edges), np.maximum(np.searchsorted(edges, values) - 1, 0)
    levels = np.array([30, 5, 12])
    want = np.flatnonzero((h[:n] > 3) & (h[:n] <= levels[kind]))
    assert np.array_equal(chosen[: beyond(h, least, 3, levels, masks, chosen)], want)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_are_those_of_the_differences(rng, dtype):
    """Items far from the origin and close together: an expanded square would have no digit left."""
    metric = _metric(rng, 7, rank=5)
    X = (1000 + 1e-2 * rng.normal(size=(600, 7))).astype(dtype)
    ids, sqdist = gm.HashIndex(metric, random_state=0).add(X).query(X[:20], k=5)
    V = X[ids].astype(float) - X[:20, None].astype(float)
    np.testing.assert_allclose(sqdist, np.einsum("qkd,de,qke->qk", V, metric.matrix, V), rtol=1e-4, atol=1e-300)
    assert np.array_equal(ids[:, 0], np.arange(20)) and (sqdist[:, 0] == 0).all()


def test_wrong_settings_are_named():
    metric = gm.Mahalanobis.euclidean(3)
    for settings in ({"n_bits": 7}, {"n_bits": 12}, {"mode": "cosine"}, {"searcher": "tree"}, {"recall": 1.0}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            gm.HashIndex(metric, **settings)
    with pytest.raises(TypeError, match="'n_bit'"):
        gm.HashIndex(metric, n_bit=64)
    with pytest.raises(TypeError, match="Metric"):
        gm.ExactIndex(np.eye(3))
    with pytest.raises(ValueError, match="3 features, got 4"):
        gm.HashIndex(metric).with_metric(gm.Mahalanobis.euclidean(4))


def test_seeds(rng):
    metric, X = gm.Mahalanobis.euclidean(3), rng.normal(size=(5, 3))
    one, two, other = gm.HashIndex(metric), gm.HashIndex(metric), gm.HashIndex(metric, random_state=1)
    assert np.array_equal(one.hash(X), two.hash(X))
    assert not np.array_equal(one.hash(X), other.hash(X))
    for state in (4, np.int64(4)):
        assert gm.HashIndex(metric, random_state=state).seed == 4
    same = [gm.HashIndex(metric, random_state=np.random.RandomState(1)).seed for _ in range(2)]
    assert same[0] == same[1]


@given(st.integers(1, 60), st.integers(1, 5), st.integers(1, 30), st.integers(0, 2**32 - 1), st.booleans())
def test_the_walk_meets_items_by_common_prefix(n, l, budget, seed, filtered):
    """Beside the definition: all items by their longest common prefix with the query in any order."""
    from gramian._jit.orders import walk

    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**5, size=(l, n)).astype(np.uint64)
    query = rng.integers(0, 2**5, size=l).astype(np.uint64)
    free = rng.random(64) < 0.6 if filtered else np.ones(64, bool)
    allowed = codes.words(np.packbits(free, bitorder="little")[None])[0] if filtered else np.zeros(0, np.uint64)
    parts = np.array_split(np.arange(n), [n // 3])  # those that came late, and the others
    order = [part[np.argsort(keys[:, part], axis=1)].astype(np.int32) for part in parts]  # (l, m)
    runs = tuple(np.ascontiguousarray(np.take_along_axis(keys, own, axis=1)) for own in order)
    met = walk(runs, tuple(order), query, budget, 0, n, allowed)
    whole = np.argsort(keys, axis=1).astype(np.int32)
    none = np.zeros((l, 0), np.uint64), np.zeros((l, 0), np.int32)
    again = walk((np.take_along_axis(keys, whole, axis=1), none[0]), (whole, none[1]), query, budget, 0, n, allowed)
    assert set(again) == set(met)
    gaps = (keys ^ query[:, None]).min(axis=0)  # (n,)
    inside = np.flatnonzero(free[:n])
    assert len(set(met.tolist())) == len(met) and set(met) <= set(inside)
    bits = np.ceil(np.log2(gaps + 1.0))  # (n,): those behind the common prefix
    assert len(met) >= min(budget, len(inside))
    furthest = bits[met].max(initial=-1)
    assert set(inside[bits[inside] < furthest]) <= set(met)
    assert (bits[met] < furthest).sum() < budget
