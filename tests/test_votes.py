"""Votes of neighbors: counts by hand, and one rule for ties everywhere."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm
from gramian.manifold.transductive import vote
from gramian.neighbors import tally, winners
from gramian.search import knn_classify


@given(st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=8))
def test_votes_are_counted_and_ties_go_to_the_nearest_voter(rows):
    codes = np.array(rows)
    votes = tally(codes, 5)
    for row, found, winner in zip(rows, votes, winners(codes, 5)):
        count = Counter(row)
        assert [count[c] for c in range(5)] == found.tolist()
        most = max(count.values())
        assert winner == next(c for c in row if count[c] == most)


def test_weights_decide_before_nearness():
    assert winners(np.array([[0, 1, 1]]), 2, np.array([[1.0, 0.4, 0.5]])).tolist() == [0]
    assert winners(np.array([[1, 0, 0]]), 2, np.array([[1.0, 0.5, 0.5]])).tolist() == [1]  # a tie


def test_every_room_has_the_same_rule():
    X, y = np.array([[0.0], [3.0], [1.0], [2.5]]), np.array([1, 1, 0, 0])
    index = gm.ExactIndex(gm.Mahalanobis.euclidean(1)).add(X)
    queries = np.array([[0.2], [2.9], [1.4]])
    assert np.array_equal(knn_classify(index, y, queries, k=4), vote(X, y, queries, 4))
