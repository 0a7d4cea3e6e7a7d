"""Sums that can forget are exact: compared with fractions, in any order, after any history."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gramian.service.sums import BITS, PairSums

pairs = st.lists(st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=2, max_size=2), min_size=1, max_size=8)


def exact(V):
    """The same sums in whole numbers of Python."""
    steps = []
    for column in V.T:
        largest = max((np.frexp(v)[1] for v in column if v != 0), default=None)
        steps.append(None if largest is None else Fraction(2) ** (int(largest) - BITS))
    total = [[Fraction(0)] * V.shape[1] for _ in range(V.shape[1])]
    for v in V:
        whole = [0 if step is None else int(np.rint(x / float(step))) for x, step in zip(v, steps)]
        for i, a in enumerate(whole):
            for j, b in enumerate(whole):
                total[i][j] += a * b * (steps[i] or 0) * (steps[j] or 0)
    return np.array([[float(x / len(V)) for x in row] for row in total])


@given(pairs)
def test_the_mean_is_that_of_fractions(values):
    V = np.array(values)
    assert np.allclose(PairSums.of(V).mean, exact(V), rtol=1e-15, atol=0)


@given(pairs, pairs, st.randoms())
def test_what_was_forgotten_leaves_no_trace(kept, gone, order):
    kept, gone = np.array(kept), np.array(gone)
    mixed = np.concatenate([kept, gone])
    sums = PairSums.of(mixed[order.sample(range(len(mixed)), len(mixed))])
    alone = PairSums.of(kept)
    if sums.forget(gone):
        assert np.array_equal(sums.mean, alone.mean) and sums.n == alone.n
    else:
        assert (alone.exponents < sums.exponents).any()


@given(pairs, pairs)
def test_pairs_may_come_one_by_one(first, more):
    first, more = np.array(first), np.array(more)
    sums = PairSums.of(first)
    for v in more:
        if not sums.add(v[None]):
            assert (np.frexp(np.abs(v))[1] > sums.exponents).any()
            return
    assert np.array_equal(sums.mean, PairSums.of(np.concatenate([first, more])).mean)


def test_many_pairs_are_still_exact():
    rng = np.random.default_rng(0)
    V = rng.standard_normal((20_000, 3))
    there, back = PairSums.of(V), PairSums.of(V[::-1])
    assert np.array_equal(there.mean, back.mean)
    assert np.allclose(there.mean, V.T @ V / len(V), rtol=1e-5, atol=1e-5)


def test_no_pairs():
    sums = PairSums.of(np.zeros((0, 2)))
    assert sums.n == 0 and not sums.mean.any()
    sums = PairSums.of(np.zeros((3, 2)))
    assert sums.n == 3 and not sums.mean.any() and sums.forget(np.zeros((3, 2))) and sums.n == 0
