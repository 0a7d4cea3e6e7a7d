"""What every public distance between objects promises; each one enrolls by having ``pairwise``."""

import copy
import dataclasses
import inspect
import pickle

import numpy as np
import pytest

import gramian as gm

RNG = np.random.default_rng(3)
OBJECTS = {
    "Hamming": (gm.Hamming(0.3), list(RNG.random((7, 9)))),
    "TangentDistance": (gm.TangentDistance((6, 6), sides=2), list(RNG.random((7, 6, 6)))),
    "Correspondence": (gm.Correspondence(n_places=2), [RNG.random((k, 3)) for k in (1, 4, 2, 3, 5)]),
}
"""A distance and some objects for it, by class; a new public distance needs a line here."""

PUBLIC = [name for name in gm._registry.HOME if inspect.isclass(cls := getattr(gm, name)) and hasattr(cls, "pairwise")]
EACH = pytest.mark.parametrize("name", OBJECTS)


def test_every_public_distance_is_enrolled():
    assert set(PUBLIC) == set(OBJECTS)


@EACH
def test_all_pairs_are_the_single_ones(name):
    distance, objects = OBJECTS[name]
    D = distance.pairwise(objects, objects)
    one_by_one = [[distance(a, b) for b in objects] for a in objects]
    np.testing.assert_allclose(D, one_by_one, atol=1e-7)


@EACH
def test_it_is_symmetric_and_zero_for_a_copy(name):
    distance, objects = OBJECTS[name]
    D = distance.pairwise(objects, objects)
    assert (D >= 0).all()
    np.testing.assert_allclose(D, D.T, atol=1e-7)
    np.testing.assert_allclose(np.diag(D), 0, atol=1e-6)


@EACH
def test_it_is_a_frozen_value_that_can_be_stored(name, tmp_path):
    distance, objects = OBJECTS[name]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(distance, dataclasses.fields(distance)[0].name, 1)
    gm.save(distance, tmp_path / "distance.gram")
    expected = distance.pairwise(objects, objects)
    for again in (gm.load(tmp_path / "distance.gram"), pickle.loads(pickle.dumps(distance)), copy.deepcopy(distance)):
        np.testing.assert_array_equal(again.pairwise(objects, objects), expected)


@EACH
def test_objects_are_not_written_to(name):
    distance, objects = OBJECTS[name]
    kept = copy.deepcopy(objects)
    distance.pairwise(objects, objects)
    assert all(np.array_equal(a, b) for a, b in zip(objects, kept))
