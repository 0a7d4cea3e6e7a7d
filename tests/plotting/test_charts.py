"""Charts: margins, curves, shares."""

import numpy as np
import pytest

import gramian as gm

matplotlib = pytest.importorskip("matplotlib")


matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_margins_counts_what_holds():
    X = np.array([[0.0], [1.0], [3.0]])
    pairs = gm.Pairs([0, 0], [1, 2], [True, False], bounds=(2.0, 4.0))
    ax = gm.plotting.margins(pairs, X, gm.Mahalanobis([[2.0]]))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["before: 100% hold", "after: 50% hold"]


def test_margins_take_any_constraints(rng):
    X = rng.normal(size=(6, 2))
    triplets = gm.Triplets([0, 1], [1, 2], [3, 4])
    figure = matplotlib.figure.Figure()
    ax = figure.subplots()
    assert gm.plotting.margins(triplets, X, gm.Mahalanobis.euclidean(2), ax=ax) is ax


def test_curves_have_a_legend_when_there_are_several():
    ax = gm.plotting.curves({"a": ([1, 2], [3, 4])}, "x", "y")
    assert ax.get_legend() is None and (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")
    ax = gm.plotting.curves({"a": ([1, 2], [3, 4]), "b": ([1], [2])}, "x", "y", ax=ax, log="xy")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "a", "b"]
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_shares_show_the_largest_features_and_all_others_in_one_bar():
    ax = gm.plotting.shares({"a": 1.0, "b": -3.0, "c": 2.0, "d": 0.5}, most=2)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["2 others", "c", "b"]
    assert [bar.get_width() for bar in ax.patches] == [1.5, 2.0, -3.0]
    assert ax.get_xlabel().endswith(" 0.5")
