"""Queries and their documents: what is learned, what stays, and what is refused."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import binomtest, norm

import gramian as gm
from gramian.learners import retrieval, retrieval_trials
from gramian.learners.two_sided import TwoSided
from gramian.learners.wrong_pairs import WrongPairs
from tests.arrays.libraries import MAKERS, foreign, host

SIDES = pytest.mark.parametrize("side", ["query", "both"])


def pairs(n=160, d=12, turn=0.5, noise=0.4, seed=0):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(n, d))
    T = np.eye(d) + turn * np.random.default_rng(99).normal(size=(d, d))
    return D @ T + noise * rng.normal(size=(n, d)), D


def mrr(adapter, Q, D, first, last):
    U, V = adapter.transform_queries(Q[first:last]), adapter.transform(D)
    S = U @ (V / np.linalg.norm(V, axis=1, keepdims=True)).T
    own = S[np.arange(last - first), np.arange(first, last)]
    return np.mean(1 / (1 + (own[:, None] < S).sum(axis=1)))


@SIDES
def test_new_queries_find_their_documents(side):
    Q, D = pairs(400)
    adapter = gm.QueryAdapter(side).fit(Q[:250], D[:250])
    plain = mrr(gm.QueryAdapter(side, 1.0).fit(Q[:250], D[:250]), Q, D, 250, 400)
    assert mrr(adapter, Q, D, 250, 400) > plain + 0.1
    assert adapter.weight_ < 1 and adapter.chosen_ != "as they are"
    gain, error = adapter.estimate_
    assert 0 < error < gain
    after, before = adapter.report_.after, adapter.report_.before
    assert after["MRR"] - before["MRR"] == pytest.approx(after["gain"])
    assert {"MRR", "recall@10", "nDCG@10", "gain_error", "weight"} <= set(after)
    assert len(adapter.report_.to_frame()) == len(adapter.report_) and "chosen" in str(adapter.report_)


def test_documents_stay_bit_for_bit():
    Q, D = pairs()
    adapter = gm.QueryAdapter().fit(Q, D)
    for X in (D, D.astype(np.float32), D.astype(np.float16)):
        assert adapter.transform(X) is X
    np.testing.assert_allclose(np.linalg.norm(adapter.transform_queries(Q), axis=1), 1)


@SIDES
def test_noise_teaches_nothing(side):
    rng = np.random.default_rng(1)
    Q, D = rng.normal(size=(200, 8)), rng.normal(size=(200, 8))
    adapter = gm.QueryAdapter(side).fit(Q, D)
    if adapter.weight_ == 1:
        assert adapter.transform_queries(Q) is Q and adapter.transform(D) is D
    assert adapter.estimate_[0] < 3 * max(adapter.estimate_[1], 0.01)


@SIDES
def test_the_same_call_gives_the_same_answer_and_the_order_of_rows_does_not_matter(side):
    Q, D = pairs()
    first, again = (gm.QueryAdapter(side, random_state=3).fit(Q, D) for _ in range(2))
    np.testing.assert_array_equal(first.map_.A, again.map_.A)
    order = np.random.default_rng(0).permutation(len(Q))
    other = gm.QueryAdapter(side, random_state=3).fit(Q[order], D[order])
    np.testing.assert_allclose(first.map_.A, other.map_.A, atol=1e-6)


def test_only_directions_count():
    Q, D = pairs()
    sizes = np.exp2(np.random.default_rng(0).integers(-3, 4, size=(2, len(Q), 1)))
    adapter, other = gm.QueryAdapter().fit(Q, D), gm.QueryAdapter().fit(Q * sizes[0], D * sizes[1])
    np.testing.assert_allclose(adapter.map_.A, other.map_.A, atol=1e-6)


def test_rows_and_their_matches_are_one():
    Q, D = pairs()
    rows = np.arange(len(Q))
    order = np.random.default_rng(0).permutation(len(Q))
    adapter = gm.QueryAdapter().fit(Q, D)
    matched = gm.QueryAdapter().fit(Q, D[order], np.column_stack([rows, np.argsort(order)]))
    np.testing.assert_allclose(adapter.map_.A, matched.map_.A, atol=1e-6)
    twice = gm.QueryAdapter().fit(Q, np.vstack([D, D]), np.column_stack([rows, rows + len(D)]))  # copies are one text
    np.testing.assert_allclose(adapter.map_.A, twice.map_.A, atol=1e-6)


def test_weights_grades_and_hard_negatives_matter():
    Q, D = pairs()
    rows = np.arange(len(Q))
    adapter = gm.QueryAdapter(anchor=0.0).fit(Q, D)
    grades = np.where(rows < 80, 5.0, 1.0)
    assert not np.allclose(gm.QueryAdapter(anchor=0.0).fit(Q, D, weight=grades).map_.A, adapter.map_.A)
    hard = np.column_stack([rows, (rows + 1) % len(Q)])
    assert not np.allclose(gm.QueryAdapter(anchor=0.0).fit(Q, D, hard=hard).map_.A, adapter.map_.A)
    none = gm.QueryAdapter().fit(Q, D, weight=np.where(rows < 100, 1.0, 0.0))
    few = gm.QueryAdapter().fit(Q[:100], D, np.column_stack([rows[:100]] * 2))
    np.testing.assert_allclose(none.map_.A, few.map_.A, atol=1e-6)


def test_a_given_anchor_is_kept():
    Q, D = pairs()
    assert gm.QueryAdapter(anchor=0.3).fit(Q, D).weight_ == 0.3
    still = gm.QueryAdapter(anchor=1).fit(Q, D)
    assert still.weight_ == 1 and still.transform_queries(Q) is Q


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@SIDES
def test_arrays_of_other_libraries_give_the_same_answers_in_theirs(make, side):
    Q, D = pairs()
    adapter, other = gm.QueryAdapter(side, 0.2).fit(Q, D), gm.QueryAdapter(side, 0.2).fit(make(Q), make(D))
    np.testing.assert_array_equal(other.map_.A, adapter.map_.A)
    far = make(D)
    U, V = other.transform_queries(make(Q)), other.transform(far)
    assert foreign(U) and (V is far) == (other.map_.B is None)
    np.testing.assert_allclose(host(U), adapter.transform_queries(Q), atol=1e-12)
    mapped = TwoSided(adapter.map_.A, adapter.map_.A)  # whichever side was better here
    np.testing.assert_allclose(host(mapped.documents(make(D))), mapped.documents(D), atol=1e-12)


def test_with_both_sides_documents_are_mapped_where_that_is_better():
    rng = np.random.default_rng(0)
    signal, noise = rng.normal(size=(60, 4)), 3 * rng.normal(size=(2, 60, 2))
    Q, D = np.hstack([signal + 0.3 * rng.normal(size=(60, 4)), noise[0]]), np.hstack([signal, noise[1]]) + 1
    adapter = gm.QueryAdapter("both", random_state=0).fit(Q, D)
    np.testing.assert_allclose(np.linalg.norm(adapter.transform(D), axis=1), 1)
    assert mrr(adapter, Q, D, 0, 60) > mrr(gm.QueryAdapter(anchor=1).fit(Q, D), Q, D, 0, 60) + 0.1


@SIDES
def test_saved_and_loaded(tmp_path, side):
    Q, D = pairs()
    adapter = gm.QueryAdapter(side).fit(Q, D)
    adapter.save(tmp_path / "a.gram")
    other = gm.load(tmp_path / "a.gram")
    np.testing.assert_array_equal(other.transform_queries(Q), adapter.transform_queries(Q))
    np.testing.assert_array_equal(other.transform(D), adapter.transform(D))
    assert (other.report_, other.estimate_, other.weight_) == (adapter.report_, adapter.estimate_, adapter.weight_)
    assert other.threshold(0.05) == adapter.threshold(0.05) and repr(other) == repr(adapter)


@SIDES
def test_the_metrics_are_the_maps_of_rows_of_length_one(side):
    Q, D = (X / np.linalg.norm(X, axis=1, keepdims=True) for X in pairs())
    adapter = gm.QueryAdapter(side, anchor=0.2).fit(Q, D)
    np.testing.assert_allclose(adapter.metric_.transform(Q), adapter.transform_queries(Q), atol=1e-7)
    np.testing.assert_allclose(adapter.document_metric_.transform(D), adapter.transform(D), atol=1e-7)
    numbers = gm.export.to_json(adapter)
    Z = Q @ np.array(numbers["inner"]).T + np.array(numbers["offset"])
    np.testing.assert_allclose(Z / np.linalg.norm(Z, axis=1, keepdims=True), adapter.transform_queries(Q), atol=1e-6)


@pytest.mark.parametrize("spread", [(0.0, 0.0), (0.7, 0.4)])
def test_the_promise_holds_as_often_as_it_says(spread):
    """Cosines with a part of the query and a part of the document, whose distribution is known."""
    rng = np.random.default_rng(0)
    wrong = np.arange(80)[:, None] != np.arange(80)
    size, holds = np.sqrt(1 + np.sum(np.square(spread))), []
    for _ in range(60):
        S = spread[0] * rng.normal(size=(80, 1)) + spread[1] * rng.normal(size=80) + rng.normal(size=(80, 80))
        threshold = WrongPairs.of([(S[:40], wrong[:40]), (S[40:], wrong[40:])]).threshold(0.05, 0.95)
        holds.append(norm.sf(threshold / size) <= 0.05)
    assert binomtest(sum(holds), 60, 0.95, "less").pvalue > 0.01 and np.isfinite(threshold)


def test_the_threshold_holds_for_new_queries():
    new, others = pairs(1500, d=6, seed=1000)
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    adapter = gm.QueryAdapter(anchor=0.0).fit(*pairs(150, d=6))
    S = adapter.transform_queries(new) @ others.T
    assert 0.001 < np.mean(S[~np.eye(1500, dtype=bool)] >= adapter.threshold(0.02)) <= 0.02
    assert adapter.threshold(0.5) < adapter.threshold(0.1) <= adapter.threshold(0.02)
    assert adapter.threshold(1e-9) == np.inf
    assert adapter.threshold(0.1, confidence=0.5) <= adapter.threshold(0.1, confidence=0.99)


def test_explain_says_which_directions_move():
    Q, D = pairs()
    adapter = gm.QueryAdapter(anchor=0.0).fit(Q, D)
    moved = adapter.explain(20)
    assert len(moved) == 12 and sum(row["share"] for row in moved) == pytest.approx(1)
    A = np.eye(12) + sum(
        np.sqrt(row["share"]) * np.linalg.norm(adapter.map_.A - np.eye(12)) * np.outer(row["toward"], row["direction"])
        for row in moved
    )
    np.testing.assert_allclose(A, adapter.map_.A, atol=1e-10)


@pytest.mark.parametrize("make, words", [
    (lambda Q, D: (Q[:1], D[:1]), "all queries are alike"),
    (lambda Q, D: (np.ones((30, 3)), D[:30, :3]), "all queries are alike"),
    (lambda Q, D: (Q[:30], np.ones((30, 12))), "all documents are alike"),
    (lambda Q, D: (Q[:5], D[:5]), "too few to hold some of them out"),
    (lambda Q, D: (np.repeat(Q[:4], 10, axis=0), D[:40]), "4 different queries are too few"),
    (lambda Q, D: (Q[:40], np.repeat(D[:1], 40, axis=0)), "all documents are alike"),
])  # fmt: skip
def test_where_nothing_can_be_learned_queries_stay_and_a_warning_says_why(make, words):
    Q, D = make(*pairs())
    with pytest.warns(UserWarning, match=words):
        adapter = gm.QueryAdapter().fit(Q, D)
    assert adapter.weight_ == 1 and adapter.transform_queries(Q) is Q
    with pytest.raises(ValueError, match="threshold needs queries"):
        adapter.threshold()


@pytest.mark.parametrize("call, words", [
    (lambda Q, D: (Q[:9], D), "same number of rows, got 9 and 160; give matches"),
    (lambda Q, D: (Q[:, :5], D), "same number of columns, got 5 and 12; vectors of two models are joined by Mod"),
    (lambda Q, D: (np.where(np.arange(160)[:, None] == 7, 0, Q), D), "queries must have no rows of zeros.*got row 7"),
    (lambda Q, D: (Q, D, [[0, 160]]), "matches must be rows of documents from 0 to 159, got 160"),
    (lambda Q, D: (Q, D, [[-1, 0]]), "matches must be rows of queries from 0 to 159, got -1"),
    (lambda Q, D: (Q, D, [0, 1]), r"matches must be pairs \(k, 2\)"),
    (lambda Q, D: (Q, D, np.empty((0, 2), int)), r"matches must be pairs \(k, 2\)"),
    (lambda Q, D: (np.where(Q > 2, np.nan, Q), D), "NaN or infinity"),
    (lambda Q, D: (Q[:0], D[:0]), "at least 1 "),
    (lambda Q, D: (Q[:, :0], D[:, :0]), "at least "),
    (lambda Q, D: (Q, D, [[0.5, 1.0]]), r"matches must be pairs \(k, 2\) of rows.*float64"),
    (lambda Q, D: ([["a", "b"]], D), "queries"),
])  # fmt: skip
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(ValueError, match=f"QueryAdapter: .*{words}"):
        gm.QueryAdapter().fit(*call(*pairs()))


def test_sparse_rows_are_refused():
    Q, D = pairs()
    with pytest.raises(TypeError, match="QueryAdapter: queries must be dense, got a sparse matrix"):
        gm.QueryAdapter().fit(csr_array(Q), D)


def test_bad_weights_and_hard_negatives():
    Q, D = pairs()
    for options, words in (
        ({"weight": -np.ones(160)}, "weight must be at least 0"),
        ({"weight": np.zeros(160)}, "above 0 for some match"),
        ({"weight": np.ones(3)}, "weight must be 160 numbers"),
        ({"hard": [[2, 2]]}, "hard must hold no match"),
        ({"hard": [[0, 400]]}, "hard must be rows of documents"),
    ):
        with pytest.raises(ValueError, match=words):
            gm.QueryAdapter().fit(Q, D, **options)
    with pytest.raises(ValueError, match="side must be one of"):
        gm.QueryAdapter("documents").fit(Q, D)
    with pytest.raises(Exception, match="not fitted yet"):
        gm.QueryAdapter().transform_queries(Q)
    with pytest.raises(ValueError, match="Q must have 12 features, got 3"):
        gm.QueryAdapter().fit(Q, D).transform_queries(Q[:, :3])


def test_automatic_metrics_point_here_where_similar_pairs_have_two_kinds():
    Q, D = pairs(40)
    rows = np.arange(40)
    with pytest.warns(UserWarning, match="QueryAdapter"):
        gm.AutoMetric().fit(np.vstack([Q, D]), gm.Pairs(rows, rows + 40, np.ones(40, bool)))
    with warnings.catch_warnings(record=True) as seen:
        gm.AutoMetric().fit(np.vstack([Q, D]), gm.Pairs(rows, np.roll(rows, 1), np.ones(40, bool)))
    assert not any("QueryAdapter" in str(one.message) for one in seen)


def test_a_failed_fit_changes_nothing():
    Q, D = pairs()
    adapter = gm.QueryAdapter().fit(Q, D)
    before = adapter.map_
    with pytest.raises(ValueError):
        adapter.fit(Q, D[:5])
    assert adapter.map_ is before


def test_of_many_queries_some_are_learned_from(monkeypatch):
    Q, D = pairs(300)
    monkeypatch.setattr(retrieval, "MOST", 120)
    monkeypatch.setattr(retrieval_trials, "SEARCHED", 80)
    adapter = gm.QueryAdapter().fit(Q, D, hard=[[0, 1], [299, 298]])
    assert mrr(adapter, Q, D, 0, 300) > mrr(gm.QueryAdapter(anchor=1).fit(Q, D), Q, D, 0, 300)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6), st.integers(10, 24), st.integers(2, 24), st.booleans())
def test_any_matches_give_a_finite_answer(seed, n, m, both):
    rng = np.random.default_rng(seed)
    Q, D = rng.normal(size=(n, 3)).round(1) + 0.01, rng.normal(size=(m, 3)).round(1) + 0.01
    matches = np.column_stack([rng.integers(0, n, 2 * n), rng.integers(0, m, 2 * n)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        adapter = gm.QueryAdapter("both" if both else "query").fit(Q, D, matches, weight=rng.random(2 * n) + 0.1)
    assert np.isfinite(adapter.transform_queries(Q)).all() and np.isfinite(adapter.transform(D)).all()
    assert 0 <= adapter.weight_ <= 1
