"""Data cross between host and device before and after the steps of a learner, never between them.

array-api-strict stands for the device: what makes an array of its library from one of NumPy's, and what reads one, is
counted where it happens. Single numbers, which decide when to stop, are no copies.
"""

import numpy as np
import pytest
from sklearn.base import clone

import gramian as gm
from tests.arrays import cases
from tests.arrays.libraries import strict as make

xp = pytest.importorskip("array_api_strict")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::UserWarning")

ONE = {"anchor": 0, "tol": 0, "random_state": 0}
STEPPING = {
    "NCA": gm.NCA(2, **ONE),
    "MCML": gm.MCML(reg=1.0, **ONE),
    "LMNN": gm.LMNN(**ONE),
    "MMC": gm.MMC(n_pairs=60, **ONE),
    "MMC, diagonal": gm.MMC(True, n_pairs=60, **ONE),
    "ITML": gm.ITML(n_pairs=60, **ONE),
    "Framework, von Neumann": gm.Framework(gm.VonNeumann(), slack=1.0, **ONE),
    "Framework, Frobenius": gm.Framework(gm.Frobenius(), slack=1.0, **ONE),
    "Kernelized NCA": gm.Kernelized(gm.NCA(**ONE), gm.Gaussian(2.0), rank=6),
}
"""Learners that go in steps, none of which ends by itself."""


class Counted:
    """Counts arrays of more than one entry that cross, at the library itself."""

    def __init__(self, patch):
        self.up = self.down = 0
        asarray, from_dlpack = xp.asarray, np.from_dlpack

        def counted_up(x, *args, **kwargs):
            self.up += isinstance(x, np.ndarray | list | tuple) and np.size(x) > 1
            return asarray(x, *args, **kwargs)

        def counted_down(x, *args, **kwargs):
            self.down += x.size > 1
            return from_dlpack(x, *args, **kwargs)

        patch.setattr(xp, "asarray", counted_up)
        patch.setattr(np, "from_dlpack", counted_down)


def copies(monkeypatch, call):
    """Arrays that cross to the device and back while something is called."""
    with monkeypatch.context() as patch:
        counted = Counted(patch)
        call()
    return counted.up, counted.down


def test_crossings_are_seen(monkeypatch):
    there = make(cases.X)
    assert copies(monkeypatch, lambda: make(cases.X)) == (1, 0)
    assert copies(monkeypatch, lambda: gm.RCA(anchor=0).fit(there, cases.Y)) > (0, 0)
    up, down = copies(monkeypatch, lambda: cases.METRICS["Mahalanobis"].sqdist(there))
    assert (up, down) == (1, 0)  # the components


@pytest.mark.parametrize("name", STEPPING)
def test_steps_copy_nothing_between_host_and_device(name, monkeypatch):
    there, counts = make(cases.X), []
    for steps in (2, 12):
        learner = clone(STEPPING[name])
        learner.set_params(**{"learner__max_iter" if "Kernelized" in name else "max_iter": steps})
        counts.append(copies(monkeypatch, lambda: learner.fit(there, cases.Y)))  # noqa: B023
        assert steps == 2 or learner.n_iter_ > 2
    assert counts[0] == counts[1]


@pytest.mark.parametrize("n", [60, 300])
def test_searches_copy_the_queries_answer_at_most(n, monkeypatch):
    rng = np.random.default_rng(0)
    X, Q = make(rng.normal(size=(n, 4))), make(rng.normal(size=(n // 2, 4)))
    index = gm.ExactIndex(cases.METRICS["Mahalanobis"])
    index.add(X).query(Q, 3)
    up, down = copies(monkeypatch, lambda: index.query(Q, 3))
    assert up <= 4 and down <= 1, (up, down)
