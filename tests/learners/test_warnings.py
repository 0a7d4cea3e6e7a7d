"""Sentences that help: data that a learner can take, but that rarely are what was meant; and who takes what."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import gramian as gm
from gramian.learners import Learner
from gramian.learners.base import remedy_of
from gramian.solvers import Result


@pytest.fixture
def iris():
    return gm.datasets.load("iris", return_X_y=True)


@pytest.mark.parametrize("learner", [gm.LMNN, gm.ITML, gm.RCA, gm.NCA])
def test_columns_of_very_different_spread_are_named(learner, iris):
    X, y = iris
    with pytest.warns(UserWarning, match="column 3 has .* and column 1 .*StandardScaler"):
        learner().fit(X * [1, 1, 1, 1e6], y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner().fit(X, y)
        gm.AutoMetric(candidates=["RCA"], random_state=0).fit(X * [1, 1, 1, 1e6], y)  # it tries scaled columns itself


def test_a_constant_column_has_no_spread(iris):
    X, y = iris
    constant = np.full((len(X), 2), [0.1, 1e5 + 0.1])
    assert (constant.std(axis=0) > 0).any(), "by rounding"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gm.RCA().fit(np.hstack([X, constant]), y)
    with pytest.warns(UserWarning, match="column 3 has .* and column 1 "):
        gm.RCA().fit(np.hstack([X * [1, 1, 1, 1e6], constant]), y)


def test_similar_pairs_alone_are_groups_and_gmml_says_so(iris):
    X, _ = iris
    pairs = gm.Pairs(np.arange(20), np.arange(20, 40), np.ones(20, dtype=bool))
    with pytest.raises(ValueError, match=r"GMML: needs both .* Chunklets.from_pairs\(pairs\)"):
        gm.GMML(anchor=0).fit(X, pairs)


def test_minus_one_beside_other_classes_is_doubted(iris):
    X, y = iris
    with pytest.warns(UserWarning, match="labels hold -1 beside 2 others.*unknown=-1"):
        gm.RCA().fit(X, y - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gm.RCA().fit(X, y - 1, unknown=-1)
        gm.RCA().fit(X[:100], 2 * y[:100] - 1)


def test_measurements_as_labels_are_doubted_or_refused(iris, rng):
    X, y = iris
    with pytest.warns(UserWarning, match="labels are 35 different fractions, such as 4.3"):
        gm.RCA().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="labels must be classes"):
        gm.RCA().fit(X, rng.normal(size=150))


def test_few_pairs_for_many_columns_are_doubted(rng):
    X = rng.normal(size=(30, 13))
    with pytest.warns(UserWarning, match="one pair says little about 13 columns"):
        gm.ITML().fit(X, gm.Pairs([0], [20], [False]))
    with pytest.warns(UserWarning, match="3 pairs say little about 13 columns"):
        gm.ITML().fit(X, gm.Pairs([0, 1, 2], [3, 4, 5], [True, False, False]))


def test_columns_that_are_no_numbers_are_named(iris):
    pandas = pytest.importorskip("pandas")
    X, y = iris
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(c="x", d=pandas.to_datetime("2020-01-01"))
    with pytest.raises(ValueError, match="column 'c' holds 'x', column 'd' holds dates; .*TableVectorizer"):
        gm.LMNN().fit(frame, y)
    with pytest.raises((ValueError, TypeError), match="LMNN: .* column 'd' holds dates"):
        gm.LMNN().fit(frame[["a", "d"]], y)
    with pytest.raises(ValueError, match="column 1 holds 'x'"):
        gm.RCA().fit(np.array([[1, "x"], [2, "y"]] * 5, dtype=object), [0, 1] * 5)


def test_dates_alone_are_refused():
    with pytest.raises(ValueError, match="RCA: X must hold real numbers, got dates or times; .*TableVectorizer"):
        gm.RCA().fit(np.array([["2020-01-01"], ["2020-01-02"]] * 5, dtype="datetime64[D]"), [0, 1] * 5)


@pytest.mark.parametrize("side", [gm.Triplets([0, 1], [1, 2], [100, 120]), gm.Chunklets(np.arange(150) // 50)])
def test_whoever_does_not_take_a_kind_of_side_information_says_who_does(iris, side):
    X, _ = iris
    kind = type(side).__name__
    learners = [getattr(gm, name) for name in dir(gm) if isinstance(getattr(gm, name), type)]
    refusing = [
        one
        for one in learners
        if issubclass(one, Learner) and one not in (Learner, gm.Kernelized)  # which takes what its learner does
        if one().traits.labels != "none" and not isinstance(side, one().traits.takes)
    ]
    assert gm.POLA in refusing
    for one in refusing:
        with pytest.raises(ValueError, match=f"{one.__name__}: takes labels.*, got {kind}; {kind} are taken by"):
            one().fit(X, side)


def test_those_who_take_triplets_are_named_and_do(iris):
    X, y = iris
    side = gm.Triplets.from_labels(y, 200, random_state=0)
    with pytest.raises(
        ValueError, match="GMML: takes labels or Pairs, got Triplets; Triplets are taken by (.*)\\."
    ) as caught:
        gm.GMML().fit(X, side)
    named = str(caught.value).rstrip(".").split("taken by ")[1].split(", ")
    assert {"AutoMetric", "Framework", "ITML", "LMNN", "LSML", "SCML"} <= set(named)
    for name in named:
        assert getattr(gm, name)().fit(X, side).score(X, side) > 0.9


def test_scores_of_indices_are_those_of_tuples(iris):
    X, y = iris
    learner = gm.LSML().fit(X, gm.Triplets.from_labels(y, 100, random_state=0))
    triplets = gm.Triplets.from_labels(y, 300, random_state=1)
    tuples = np.stack([X[triplets.anchor], X[triplets.near], X[triplets.far]], axis=1)
    assert learner.score(X, triplets) == learner.score(tuples)
    four = gm.Quadruplets.from_labels(y, 300, random_state=1)
    ends = [*four.near_ends, *four.far_ends]
    assert learner.score(X, four) == learner.score(np.stack([X[i] for i in ends], axis=1))
    pairs = gm.Pairs.from_labels(y, 200, random_state=1)
    of_vectors = learner.score(np.stack([X[pairs.left], X[pairs.right]], axis=1), np.where(pairs.similar, 1, -1))
    assert learner.score(X, pairs) == pytest.approx(of_vectors)
    with pytest.raises(ValueError, match="score takes labels, Pairs, Triplets or Quadruplets, got Chunklets"):
        learner.score(X, gm.Chunklets(y))


def test_triplets_that_cannot_all_hold_name_the_soft_margin(iris):
    X, y = iris
    hard = gm.Triplets.from_labels(y, 2000, margin=1.0, random_state=0)
    with pytest.raises(ValueError, match="set slack, or margin=None in the triplets"):
        gm.Framework().fit(X, hard)
    soft = gm.Triplets(hard.anchor, hard.near, hard.far, margin=None)
    one, other = (gm.Framework(random_state=0).fit(scale * X, soft).metric_.matrix for scale in (1.0, 100.0))
    np.testing.assert_allclose(other, one, rtol=1e-3, atol=1e-3)  # the prior has the unit of the points, and no margin


def test_a_list_of_tuples_as_labels_names_pairs(iris):
    with pytest.raises(ValueError, match=r"got shape \(2, 3\).*Pairs\(left, right, similar\)"):
        gm.ITML().fit(iris[0], [(0, 1, 1), (0, 2, -1)])


def test_non_convergence_names_its_reason(iris):
    X, y = iris
    with pytest.warns(ConvergenceWarning, match="stopped after 3 iterations .*; raise max_iter or tol"):
        gm.LMNN(max_iter=3, anchor=0).fit(X, y)
    learner = gm.LMNN(anchor=0)
    stalled = replace(learner.fit(X, y).solution_, result=Result.stalled)
    assert "so more of max_iter would not help" in remedy_of(learner, stalled)


def test_low_rank_lmnn_says_that_nothing_gets_better_where_more_was_asked_for():
    wine = gm.datasets.load("wine")
    X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = gm.LMNN(n_components=2).fit(X, wine.y)
    assert learner.converged_ and learner.solution_.residual <= learner.solution_.tol
    with pytest.warns(ConvergenceWarning, match="tol 1e-07; no further step made it better"):
        learner = gm.LMNN(n_components=2, tol=1e-7).fit(X, wine.y)
    assert not learner.converged_ and learner.solution_.result is Result.stalled


def test_wide_sparse_points_are_sent_to_a_decomposition(rng):
    from scipy import sparse

    X = sparse.random_array((20, 5000), density=0.01, format="csr", random_state=rng)
    with pytest.raises(TypeError, match="5,000 columns.*TruncatedSVD.*Kernelized"):
        gm.LMNN().fit(X, np.arange(20) % 2)
