"""The contracts again with points of other libraries: array-api-strict on a device of its own, and torch.

A test of :data:`AGAIN` runs once in NumPy and once for each library that is installed. There every public call of a
central type gets its points as arrays of that library, and must answer in it; the test itself sees NumPy. What runs on
the CPU must say so in one sentence, and then gets NumPy after all.
"""

import functools
import inspect

import numpy as np
import pytest

import gramian as gm
from gramian.kernels import Kernel
from gramian.learners.base import Learner
from gramian.metrics import Metric
from gramian.search import Index
from tests.arrays import libraries

CALLS = {
    Metric: ("sqdist", "distance", "kernel", "transform", "pair_sqdist"),
    Kernel: ("__call__", "diag", "pairs", "sqdist"),
    Learner: ("fit", "transform"),
    gm.AutoMetric: ("fit",),
    gm.KernelFeatures: ("fit", "fit_transform", "transform", "residual"),
    Index: ("add", "query", "query_radius"),
}
"""Public calls whose points are carried over."""
ANSWERS = {"sqdist", "distance", "kernel", "transform", "pair_sqdist", "__call__", "diag", "pairs", "residual", "query"}
"""Those that answer with arrays, which must be of the library."""
AGAIN = ("metrics", "kernels", "features", "index", "learners")
"""Contracts that run again."""


def pytest_generate_tests(metafunc):
    module = metafunc.module.__name__.rpartition("test_")[2]
    if module in AGAIN and "scikit_learn" not in metafunc.function.__name__:
        metafunc.fixturenames.append("library")
        metafunc.parametrize("library", ["numpy", *libraries.INSTALLED], indirect=True)


def pytest_collection_modifyitems(config, items):
    """Leave out what runs on the CPU, and what is the work of scikit-learn."""
    idle = [item for item in items if _is_idle(item.name, getattr(item, "callspec", None))]
    if idle:
        config.hook.pytest_deselected(items=idle)
        items[:] = [item for item in items if item not in set(idle)]


def _is_idle(name, spec):
    if spec is None or spec.params.get("library", "numpy") == "numpy":
        return False
    if "pipeline" in name or "AutoMetric" in name and "repeatable" not in name:
        return True
    tested = spec.params.get("learner", spec.params.get("cls"))
    return not devices_of(tested) or "Online" in spec.id or "orders" in spec.id


def devices_of(tested):
    """Whether an estimator runs where its points are."""
    traits = getattr(tested, "traits", None)
    return getattr(tested, "_devices", True) if traits is None else traits.devices


@pytest.fixture
def library(request, monkeypatch):
    """Carry the points of public calls over to a library."""
    if request.param == "numpy":
        return
    make = libraries.MAKERS[request.param]
    carrier = Carrier(make, apart=request.param == "strict")
    for cls, names in CALLS.items():
        for name in names:
            if hasattr(cls, name):
                monkeypatch.setattr(cls, name, carrier.around(inspect.getattr_static(cls, name)))


class Carrier:
    """Gives the outermost public call its points as arrays of a library, and the test its answer in NumPy."""

    def __init__(self, make, apart):
        self.make = make
        self.apart = apart  # whether NumPy cannot read its arrays, so that nothing is taken to the host unsaid
        self.inside = False

    def around(self, method):
        @functools.wraps(method)
        def call(owner, *args, **kwargs):
            if self.inside or not self._takes(owner):
                return method(owner, *args, **kwargs)
            self.inside = True
            try:
                return self._carried(method, owner, args, kwargs)
            finally:
                self.inside = False

        return call

    def _takes(self, owner):
        """Points must be where the items of an index are."""
        return not isinstance(owner, Index) or len(owner) == 0 or libraries.foreign(owner.points)

    def _carried(self, method, owner, args, kwargs):
        there = [self._there(x) for x in args]
        others = {name: self._there(x) for name, x in kwargs.items()}
        try:
            found = method(owner, *there, **others)
        except TypeError as error:
            if "runs on the CPU" not in str(error):
                raise
            assert "NumPy arrays" in str(error) or ".cpu().numpy()" in str(error)
            return method(owner, *args, **kwargs)
        carried = any(map(libraries.foreign, there))
        if carried and self.apart and method.__name__ in ANSWERS:
            parts = found if isinstance(found, tuple) else (found,)
            assert all(map(libraries.foreign, parts)), f"{type(owner).__name__}.{method.__name__} answers in NumPy"
        return self._back(found)

    def _there(self, x):
        points = isinstance(x, np.ndarray) and x.dtype == np.float64 and x.ndim >= 2
        return self.make(x) if points else x

    def _back(self, found):
        if isinstance(found, tuple | list):
            return type(found)(self._back(x) for x in found)
        return libraries.host(found) if libraries.foreign(found) else found
