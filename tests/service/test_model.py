"""Random operations on a space against a naive model. ``GRAMIAN_MODEL_STEPS=200000`` takes it as far, with -m slow."""

import os

import pytest

from gramian.service import upkeep
from tests.service.model import Play

CASES = [
    ["put_free"] * 3 + ["remove_last", "copy", "put_free"],  # an imported space handed out ids of removed items
    ["put"] * 4 + ["remove", "compact", "put", "compact", "query"],
]
"""Beginnings that failed once."""


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Limits that are reached by few items, so that all ways are walked."""
    monkeypatch.setattr(upkeep, "SETTLE_BYTES", 600)
    monkeypatch.setattr(upkeep, "PAUSE", 0.001)
    monkeypatch.setattr("gramian.service.changes.LARGE_BATCH", 500)
    monkeypatch.setattr("gramian.service.snapshot.MOST_HIDDEN", 5)


def played(place, seed, steps, first=()):
    play = Play(place, seed)
    try:
        for name in [*first, *[None] * steps]:
            play.step(name)
        play.check()
        play.restart()
    except BaseException as error:
        error.add_note(f"seed {seed}, {len(play.trace)} operations, the last: {play.trace[-40:]}")
        raise
    finally:
        play.space.close()


@pytest.mark.parametrize("seed", range(3))
def test_a_space_is_what_a_naive_one_is(tmp_path, seed):
    played(tmp_path, seed, 150)


@pytest.mark.parametrize("case", CASES)
def test_what_failed_once(tmp_path, case):
    played(tmp_path, 0, 0, case)


@pytest.mark.slow
def test_a_space_is_what_a_naive_one_is_for_long(tmp_path):
    left, seed = int(os.environ.get("GRAMIAN_MODEL_STEPS", "5000")), 1000
    while left > 0:
        played(tmp_path / str(seed), seed, min(left, 500))
        left, seed = left - 500, seed + 1
