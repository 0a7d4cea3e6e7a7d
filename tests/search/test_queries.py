"""Queries from an iterator, and the reasons for an answer."""

import numpy as np
import pytest

import gramian as gm

MAKE = {
    "ExactIndex": lambda M: gm.ExactIndex(M),
    "HashIndex": lambda M: gm.HashIndex(M, 64, random_state=0),
    "int8": lambda M: gm.HashIndex(M, 64, store="int8", random_state=0),
}


@pytest.mark.parametrize("name", MAKE)
def test_batches_answer_as_one_query_does_and_are_read_one_at_a_time(rng, name):
    X = rng.normal(size=(300, 6))
    index = MAKE[name](gm.Mahalanobis.euclidean(6)).add(X)
    read, seen = [], []

    def batches():
        for start in range(0, 50, 20):
            read.append(start)
            yield X[start : min(start + 20, 50)]

    answers = index.query_batches(batches(), 4, callback=lambda done, total: seen.append((done, total)))
    first = next(answers)
    assert read == [0]
    found = [first, *answers]
    ids, sqdist = index.query(X[:50], 4)
    assert np.array_equal(np.concatenate([a for a, _ in found]), ids)
    np.testing.assert_allclose(np.concatenate([b for _, b in found]), sqdist, atol=1e-9)
    assert seen == [(20, None), (40, None), (50, None)]


def test_a_progress_bar_is_shown_on_demand(rng, capsys):
    pytest.importorskip("rich")
    X = rng.normal(size=(30, 2))
    index = gm.ExactIndex(gm.Mahalanobis.euclidean(2)).add(X)
    assert len(list(index.query_batches([X, X], 1))) == 2
    assert capsys.readouterr().err == ""
    list(index.query_batches([X, X], 1, verbose=True))
    assert capsys.readouterr().err != ""


@pytest.mark.parametrize("name", MAKE)
def test_an_answer_is_explained_by_shares_that_sum_to_its_distance(rng, name):
    X = rng.normal(size=(50, 3))
    index = MAKE[name](gm.Mahalanobis.from_matrix(np.diag([1.0, 4.0, 0.0]))).add(X, np.arange(50) * 10)
    q = rng.normal(size=3)
    ids, sqdist = index.query(q[None], 1)
    shares = index.explain(q, ids[0, 0], names=["a", "b", "c"])
    assert sum(shares.values()) == pytest.approx(sqdist[0, 0]) and shares["c"] == 0
    with pytest.raises(ValueError, match="item must be in the index, got 7"):
        index.explain(q, 7)
