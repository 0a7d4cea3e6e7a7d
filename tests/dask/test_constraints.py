"""Constraints that workers keep answer as those in memory do, mapped or not."""

import numpy as np
import pytest

import gramian as gm
from gramian.dask import constraints
from gramian.dask.constraints import SpreadRows
from gramian.dask.engine import Here
from gramian.solvers.rows import Rows

M, D = 30, 4


def _both(kind, mapped):
    """The same constraints in memory and in three parts."""
    rng = np.random.default_rng(0)
    t = 2 if kind == "triplets" else 1
    left = rng.normal(size=(M * t, D))
    right = rng.normal(size=(M * t, D)) if kind == "products" else None
    whole = Rows(left, rng.uniform(0.5, 2, size=(M, t)), right)
    ends = np.array([7, 8, M])
    cuts = [np.arange(M) < 7, np.arange(M) == 7, np.arange(M) > 7]
    spread = SpreadRows(Here(), tuple(whole.take(cut) for cut in cuts), ends, whole.rank, np.eye(D))
    V = rng.normal(size=(D, 3))
    return (whole.mapped(V), spread.mapped(V)) if mapped else (whole, spread)


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("kind", ["pairs", "triplets", "products"])
def test_words(kind, mapped):
    whole, spread = _both(kind, mapped)
    rng = np.random.default_rng(1)
    S = rng.normal(size=(whole.left.shape[1],) * 2)
    S = S @ S.T
    lam = rng.normal(size=M)
    asked = {"linear": [S], "size": [S], "adjoint": [lam], "normal": [S], "positive": [], "moment": []}
    for word, args in [*asked.items(), ("size", []), ("form", [gm.LogDet().hessian(-S)])]:
        np.testing.assert_allclose(getattr(spread, word)(*args), getattr(whole, word)(*args), rtol=1e-10, err_msg=word)
    assert (len(spread), spread.rank) == (len(whole), whole.rank)
    if kind != "triplets":
        vectors, signs = spread.squares()
        np.testing.assert_allclose(np.einsum("is,isa,isb->ab", signs, vectors, vectors), whole.adjoint(np.ones(M)))


@pytest.mark.parametrize("most", [0, 1 << 20])
@pytest.mark.parametrize("mapped", [False, True])
def test_some_of_them_stay_where_they_are_or_come_into_memory(mapped, most, monkeypatch):
    monkeypatch.setattr(constraints, "PART_BYTES", most)
    whole, spread = _both("triplets", mapped)
    keep = np.random.default_rng(2).uniform(size=M) < 0.4
    factor = np.linspace(1, 2, keep.sum())
    found = spread.take(keep)
    assert isinstance(found, Rows if most else SpreadRows)
    S = np.eye(whole.left.shape[1])
    expected = whole.take(keep).scaled(factor)
    np.testing.assert_allclose(found.scaled(factor).linear(S), expected.linear(S), rtol=1e-10)
    np.testing.assert_allclose(found.scaled(factor).moment(), expected.moment(), rtol=1e-10)
