"""Shared fixtures: seeded generators and the optional data folder."""

import os
import pathlib
import sys
from importlib.metadata import version

import numpy as np
import pytest
from hypothesis import settings

if version("scikit-learn").startswith("1.6."):
    os.environ.setdefault("SCIPY_ARRAY_API", "1")  # its checks of estimators ask for it when they are imported
settings.register_profile("gramian", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("gramian")


@pytest.fixture(autouse=True)
def figures_end_with_their_test():
    """matplotlib warns of many open figures, whichever test comes last."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data_folder():
    """Folder of the real data sets: GRAMIAN_DATA, or the sibling folder shared/data."""
    candidates = [os.environ.get("GRAMIAN_DATA"), pathlib.Path(__file__).parents[2] / "shared" / "data"]
    for folder in candidates:
        if folder and pathlib.Path(folder).is_dir():
            return pathlib.Path(folder)
    pytest.skip("real data sets not found: set GRAMIAN_DATA")
