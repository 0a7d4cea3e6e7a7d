"""Indexes in a pickle: what queries have computed stays behind."""

import pickle

import numpy as np

import gramian as gm


def test_an_index_that_was_asked_is_pickled_without_what_it_computed(rng):
    X = rng.normal(size=(200, 3))
    metric = gm.KernelMetric(gm.KernelFeatures(gm.Gaussian(4.0), rank=9).fit(X[:99]), np.eye(9), alpha=0.5)
    for index in (gm.HashIndex(metric, random_state=0), gm.ExactIndex(metric)):
        answer = index.add(X).query(X[:5])
        again = pickle.loads(pickle.dumps(index))
        assert not again._items.cache
        for own, other in zip(answer, again.query(X[:5])):
            np.testing.assert_array_equal(own, other)
