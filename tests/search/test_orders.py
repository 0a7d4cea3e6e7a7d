"""Sorted orders and buckets: updated as items come and go, and what a lookup in them meets."""

from itertools import combinations

import numpy as np
import pytest

import gramian as gm
from gramian.search import online_hash_index, orders, rehash
from gramian.search.orders import SortedOrders, drawn_bits, keys_of


def sets(column):
    """Every order as pairs of key and item."""
    pairs = []
    for p in range(len(column.bits)):
        runs = [(run.keys[p], run.items[p]) for run in (column.main, column.late)]
        assert all((np.diff(keys.astype(object)) >= 0).all() for keys, _ in runs)
        pairs.append({(int(k), int(i)) for keys, items in runs for k, i in zip(keys, items)})
    return pairs


def test_keys_are_the_bits_of_codes_in_the_order_drawn(rng):
    words = rng.integers(0, 2**63, size=(20, 2)).astype(np.uint64)
    bits = drawn_bits(3, 100, 4)
    plain = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")  # (n, 128)
    for p, own in enumerate(bits):
        wanted = [int("".join(map(str, row[own])), 2) for row in plain]
        assert keys_of(words, bits)[p].tolist() == wanted
    short = keys_of(words, drawn_bits(0, 8, 1))[0]
    assert (short & np.uint64(2**56 - 1) == 0).all()


def test_orders_that_are_updated_are_those_that_are_sorted_anew(rng, monkeypatch):
    monkeypatch.setattr(orders, "LATE", 1)
    words, bits = rng.integers(0, 2**63, size=(300, 1)).astype(np.uint64), drawn_bits(0, 64, 3)
    column, stood = SortedOrders.of(words[:50], bits), np.arange(50)
    for start, stop in ((50, 51), (51, 60), (60, 200), (200, 300)):
        column, stood = column.append(SortedOrders.of(words[start:stop], bits)), np.append(stood, range(start, stop))
        left = rng.permutation(len(stood))[: len(stood) - 7]
        column, stood = column.take(left), stood[left]
        assert column.n == len(stood) and sets(column) == sets(SortedOrders.of(words[stood], bits))
    two = SortedOrders.of(words, bits[:1]).append(SortedOrders.of(words[:9], bits[:1]))
    deeper = two.deepened(np.concatenate([words, words[:9]]), bits)
    assert sets(deeper) == sets(SortedOrders.of(np.concatenate([words, words[:9]]), bits[:2]))


def test_adding_sorts_no_order_again(rng, monkeypatch):
    X = rng.normal(size=(600, 4))
    index = gm.HashIndex(gm.Mahalanobis.euclidean(4), 64, searcher="orders", random_state=0).add(X[:500])
    lengths = []
    whole = orders.Run.sorted.__func__
    sort = classmethod(lambda cls, keys, threads=1: lengths.append(keys.shape[1]) or whole(cls, keys, threads))
    monkeypatch.setattr(orders.Run, "sorted", sort)
    for i in range(500, 600):
        index.add(X[i : i + 1])
    assert lengths == [1] * 100
    index.remove(np.arange(0, 600, 7))
    assert len(lengths) == 100


@pytest.mark.parametrize("searcher", ["orders", "buckets"])
def test_answers_do_not_depend_on_how_items_came(rng, searcher, tmp_path, monkeypatch):
    monkeypatch.setattr(orders, "LATE", 1)
    X, metric = rng.normal(size=(700, 6)), gm.Mahalanobis.euclidean(6)
    settings = {"n_bits": 64, "searcher": searcher, "random_state": 0}
    grown = gm.HashIndex(metric, **settings).add(X[:400])
    for start in range(400, 700, 50):
        grown.add(X[start : start + 50])
    grown.remove(np.arange(0, 700, 5))
    grown.save(tmp_path / "index.gram")
    left = np.setdiff1d(np.arange(700), np.arange(0, 700, 5))
    some = rng.random(len(left)) < 0.5
    loaded = gm.load(tmp_path / "index.gram", mmap=True)
    for one in (grown, loaded):
        np.testing.assert_array_equal(one.query(X[:30], 5)[0], grown.query(X[:30], 5)[0])
        np.testing.assert_array_equal(one.query(X[:30], 5, within=some)[0], grown.query(X[:30], 5, within=some)[0])
        assert np.isin(one.query(X[:30], 5, within=some)[0], left[some]).all()
    D = metric.sqdist(X[:30], X[left])
    ids, sqdist = grown.query(X[:30], 5)
    np.testing.assert_allclose(sqdist, np.take_along_axis(D, np.searchsorted(left, ids), axis=1), rtol=1e-9, atol=1e-12)
    assert (sqdist[:, 0] == D.min(axis=1)).mean() > 0.75


def test_buckets_are_met_by_the_number_of_bits_that_differ(rng):
    """Beside the definition: buckets at distance 0, 1, 2, … of all tables, each taken whole, until there are enough."""
    from gramian._jit.orders import collide

    l, n, width, budget = 3, 200, 5, 60
    keys = rng.integers(0, 2**63, size=(l, n)).astype(np.uint64)
    order = np.argsort(keys, axis=1).astype(np.int32)
    none = np.zeros((l, 0), np.uint64), np.zeros((l, 0), np.int32)
    query = rng.integers(0, 2**63, size=l).astype(np.uint64)
    runs = (np.take_along_axis(keys, order, axis=1), none[0]), (order, none[1])
    met = set(collide(*runs, query, width, budget, 0, n, np.zeros(0, np.uint64)).tolist())
    wanted, addresses = set(), keys >> np.uint64(64 - width)
    for radius in range(width + 1):
        for mask in sorted(sum(1 << j for j in chosen) for chosen in combinations(range(width), radius)):
            for p in range(l):
                if len(wanted) < budget:
                    wanted |= set(np.flatnonzero(addresses[p] == ((int(query[p]) >> (64 - width)) ^ mask)).tolist())
    assert met == wanted and len(met) >= budget


@pytest.mark.parametrize("searcher", ["orders", "buckets"])
def test_orders_follow_a_metric_that_learns(rng, searcher, monkeypatch, tmp_path):
    """In the middle of a move, with items that come and go, and at its end: as an index that was made then."""
    monkeypatch.setattr(online_hash_index, "SCAN_BELOW", 0)
    monkeypatch.setattr(rehash, "STEP", (300, 64))
    X = rng.standard_normal((40, 8))[rng.integers(0, 40, 1500)] * 3 + rng.standard_normal((1500, 8))
    settings = {"n_bits": 64, "searcher": searcher, "epsilon": 0.5, "n_orders": 4, "random_state": 0}
    index = gm.OnlineHashIndex(gm.LEGO(eta=1e-3), tol=0.001, **settings).add(X[:1400])
    target = gm.Mahalanobis.from_matrix(np.diag(np.linspace(2, 0.1, 8)))
    for i, j in rng.integers(0, 1400, (30, 2)):
        index.learn_one(X[i], X[j], target.pair_sqdist(X[[i]], X[[j]])[0])
    for step in range(12):
        if step in (2, 6):
            index.add(X[1400 + 10 * step : 1410 + 10 * step])
        if step == 7:
            index.remove(np.arange(0, 90, 9))
        ids, sqdist = index.query(X[:20] + 0.1, 5)
        points = dict(zip(index.ids.tolist(), index.points))
        D = index.metric_.sqdist(X[:20] + 0.1, np.array([points[i] for i in index.ids.tolist()]))
        np.testing.assert_allclose(sqdist[:, 0], D.min(axis=1), rtol=0.3)
    assert index.stats_["moves"] >= 1 and index._items.settled["move"] is None
    index.upkeep(force=True)
    items = index._items
    assert sets(items["orders"]) == sets(SortedOrders.of(items["codes"], items["orders"].bits))
    index.save(tmp_path / "index.gram")
    np.testing.assert_array_equal(gm.load(tmp_path / "index.gram").query(X[:20], 5)[0], index.query(X[:20], 5)[0])
    plain = index.with_metric(index.metric_)
    assert plain.searcher == searcher and len(plain) == len(index)
