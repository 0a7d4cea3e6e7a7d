"""Compiled selection of the smallest, against stable sorts."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gramian import neighbors


@given(st.integers(1, 12), st.integers(1, 30), st.integers(1, 30), st.integers(0, 10**6))
@settings(deadline=None)
def test_smallest_is_a_stable_sort(n, m, k, seed):
    rng = np.random.default_rng(seed)
    D, k = rng.integers(0, 4, size=(n, m)).astype(float), min(k, m)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    ids, values = neighbors.smallest(D, k)
    assert np.array_equal(ids, order) and np.array_equal(values, np.take_along_axis(D, order, 1))
    names = np.array([rng.permutation(100)[:m] for _ in range(n)])
    want = [sorted(zip(row, line))[:k] for row, line in zip(D.tolist(), names.tolist())]
    assert [list(zip(v, i)) for v, i in zip(*(part.tolist() for part in neighbors.smallest(D, k, names)[::-1]))] == want


def test_smallest_leaves_out_names_infinity_and_nan():
    D = np.array([[3.0, np.nan, 1.0, np.inf], [2.0, 2.0, 2.0, 2.0]])
    ids, values = neighbors.smallest(D, 3, skip=np.array([2, 0]))
    assert ids.tolist() == [[0, -1, -1], [1, 2, 3]] and values[0].tolist() == [3.0, np.inf, np.inf]


@given(st.integers(129, 300), st.integers(1, 900), st.integers(1, 40), st.integers(0, 10**6))
@settings(deadline=None)
def test_many_smallest_are_a_stable_sort(k, m, different, seed):
    draw = np.random.default_rng(seed)
    D = draw.integers(different, size=(3, m)).astype(float)
    D[draw.random((3, m)) < 0.1] = np.inf
    D[draw.random((3, m)) < 0.1] = np.nan
    names, skip = np.array([draw.permutation(1000)[:m] for _ in range(3)]), draw.integers(1000, size=3)
    found, values = neighbors.smallest(D, k, names, skip)
    for i in range(3):
        want = sorted((d, name) for d, name in zip(D[i], names[i]) if d < np.inf and name != skip[i])[:k]
        assert list(zip(values[i], found[i])) == want + [(np.inf, -1)] * (k - len(want))


@given(st.integers(1, 400), st.integers(1, 12), st.integers(0, 10**6))
@settings(deadline=None)
def test_a_value_of_a_rank_is_that_of_the_sorted_values(n, different, seed):
    from gramian._jit.selection import ranked

    values = np.random.default_rng(seed).integers(different, size=n).astype(np.float32)
    k = seed % n
    assert ranked(values.copy(), k) == np.sort(values)[k]
