"""Colors, and the extra that is missing."""

import sys

import numpy as np
import pytest

import gramian as gm
from gramian.plotting import canvas

matplotlib = pytest.importorskip("matplotlib")


matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_colors_differ_in_lightness_where_they_say_right_and_wrong():
    """A person who sees neither red nor green tells right from wrong by lightness or blue."""
    rgb = np.array([matplotlib.colors.to_rgb(c) for c in (canvas.RIGHT, canvas.WRONG)])
    assert abs(rgb[0, 2] - rgb[1, 2]) > 0.5 and len(set(canvas.COLORS)) == 10


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'gramian\[plot\]'"):
        gm.plotting.matrix(gm.Mahalanobis.euclidean(2))
