"""Matching and scores against enumeration; as many clusterings are found as were drawn."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm
from gramian.clustering import accuracy, match, redundancy, select_clusterings, table


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4))
def test_accuracy_is_the_best_relabeling(seed, a, b):
    rng = np.random.default_rng(seed)
    found, truth = rng.integers(a, size=12), rng.integers(b, size=12)
    k = max(a, b)
    best = max(np.mean(np.array(p)[found] == truth) for p in permutations(range(k)))
    assert accuracy(found, truth) == pytest.approx(best)


@pytest.mark.parametrize("score", ["nmi", "ari", "accuracy"])
def test_matching_is_the_best_pairing(score, rng):
    truth = rng.integers(3, size=(60, 3))
    found = np.where(rng.uniform(size=(60, 3)) < 0.3, rng.integers(3, size=(60, 3)), truth)[:, [2, 0, 1]]
    values = table(found, truth, score=score)
    best = max(sum(values[p[j], j] for j in range(3)) for p in permutations(range(3)))
    m = match(found, truth, score=score)
    assert m.scores.sum() == pytest.approx(best) and m.found.tolist() == [1, 2, 0] and m.truth.tolist() == [0, 1, 2]


def test_labels_of_any_type_and_number(rng):
    truth = np.array([["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]])
    m = match([5, 5, 7, 7], truth)
    assert m.found.tolist() == [0] and m.truth.tolist() == [0] and m.scores.tolist() == [1.0]
    assert redundancy(truth) == pytest.approx(0, abs=1e-12) and redundancy(truth[:, 0]) == 0
    with pytest.raises(ValueError, match="same points"):
        match([0, 1], truth)
    with pytest.raises(ValueError, match="score must be one of"):
        match(truth, truth, score="f1")


@pytest.mark.parametrize("views", [1, 2, 3])
def test_as_many_as_were_drawn(views):
    rng = np.random.default_rng(views)
    y = rng.integers(2, size=(300, views))
    X = sum(2 * rng.normal(size=(2, 15))[y[:, t]] for t in range(views)) + rng.normal(size=(300, 15))
    chosen = select_clusterings(X, (2,) * (views + 1), n_splits=2, n_init=2, random_state=0)
    assert chosen.n_clusterings == views and chosen.stability[views - 1] > 0.9 > 0.5 > chosen.stability[views]


def test_two_equal_views_of_three_clusters_are_two():
    two = gm.datasets.two_views(300, 15, n_clusters=3, family="sum", random_state=1)
    assert select_clusterings(two.X, (3, 3, 3), n_splits=2, n_init=2, random_state=0).n_clusterings == 2


def test_arguments_of_the_selection_are_checked(rng):
    with pytest.raises(ValueError, match="select_clusterings: X must hold at least 4"):
        select_clusterings(rng.normal(size=(3, 2)))
    with pytest.raises(ValueError, match="select_clusterings: threshold"):
        select_clusterings(rng.normal(size=(30, 2)), threshold=2)
