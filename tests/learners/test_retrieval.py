"""The loss of queries and documents, and the measures of a ranking, against plain computations."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from gramian.learners import two_sided
from gramian.learners.retrieval import Retrieval, measures, places, scores
from gramian.learners.two_sided import TwoSided, contrast, contrasted, crowds, low_rank, ridge, whitened


def task(seed=0, n=12, m=9, d=5):
    rng = np.random.default_rng(seed)
    Q, D = (X / np.linalg.norm(X, axis=1, keepdims=True) for X in (rng.normal(size=(n, d)), rng.normal(size=(m, d))))
    grades = np.where(rng.random((n, m)) < 0.2, rng.integers(1, 4, (n, m)), 0).astype(float)
    grades[np.arange(n), np.arange(n) % m] = 1.0
    hard = (rng.random((n, m)) < 0.2) & (grades == 0)
    return Retrieval(Q, D, sparse.csr_array(grades), sparse.csr_array(hard.astype(float)))


def plain_loss(one, U, V, temperature):
    """The formula, term by term."""
    grades, hard = one.answers.toarray(), one.hard.toarray()
    value = 0.0
    for i, weight in enumerate(one.weights / len(U)):
        e = np.exp(U[i] @ V.T / temperature) * np.where(hard[i] > 0, 4.0, 1.0)
        value += weight * np.log(e.sum() / (grades[i] / grades[i].max() * e).sum())
    return value


@pytest.mark.parametrize("block", [3, 5, 100])
def test_the_loss_is_its_formula_and_has_its_gradient(block, monkeypatch):
    monkeypatch.setattr(two_sided, "BLOCK", block)
    one = task()
    U, V = one.queries, one.documents
    value, dU, dV = contrast(one, U, V, 0.3)
    assert value == pytest.approx(plain_loss(one, U, V, 0.3), rel=1e-10)
    step = 1e-6
    for slope, X, other in ((dU, U, lambda Z: (Z, V)), (dV, V, lambda Z: (U, Z))):
        for place in ((0, 0), (3, 2), (8, 4)):
            up, down = X.copy(), X.copy()
            up[place] += step
            down[place] -= step
            change = (plain_loss(one, *other(up), 0.3) - plain_loss(one, *other(down), 0.3)) / (2 * step)
            assert slope[place] == pytest.approx(change, abs=1e-7)


def test_a_crowd_holds_what_is_needed(monkeypatch):
    monkeypatch.setattr(two_sided, "CROWD", 4)
    monkeypatch.setattr(two_sided, "BLOCK", 3)
    one = task()
    for rows, columns in crowds(one):
        needed = set(one.answers[rows].indices) | set(one.hard[rows].indices)
        assert needed <= set(columns.tolist()) and len(columns) == max(4, len(needed)) == len(set(columns.tolist()))


def test_places_and_measures_are_those_of_sorted_lists():
    one = task(1, n=7, m=30)
    S = one.queries @ one.documents.T
    found = places(one.queries, one.documents, one.answers)
    rows, columns, grades = one.pairs()
    for i in range(7):
        order = list(np.argsort(-S[i]))
        mine = [order.index(j) + 1 for j in columns[rows == i]]
        assert found[rows == i].tolist() == mine
        g = grades[rows == i]
        table = measures(found, one.answers)[i]
        ideal = sum(v / np.log2(2 + k) for k, v in enumerate(sorted(g, reverse=True)[:10]))
        assert table[0] == 1 / min(mine)
        assert table[1] == np.mean([rank <= 10 for rank in mine])
        assert table[2] == pytest.approx(sum(v / np.log2(1 + r) for v, r in zip(g, mine) if r <= 10) / ideal)


def test_documents_that_are_all_alike_are_no_first_place():
    alike = np.ones((4, 2)) / np.sqrt(2)
    assert scores(alike, alike, sparse.csr_array(np.eye(4)))[:, 0].tolist() == [0.4] * 4


def test_a_part_has_no_documents_that_answer_other_queries_alone():
    one = task(2)
    few = one.of(np.array([0, 4, 5]))
    answered, elsewhere = one.answers.toarray()[[0, 4, 5]] > 0, np.delete(one.answers.toarray(), [0, 4, 5], axis=0) > 0
    columns = answered.any(axis=0) | ~elsewhere.any(axis=0)
    np.testing.assert_array_equal(few.documents, one.documents[columns])
    np.testing.assert_array_equal(few.answers.toarray(), one.answers.toarray()[[0, 4, 5]][:, columns])


def test_ridge_is_the_optimum_of_its_problem():
    one = task(3, n=40)
    rows, columns, _ = one.pairs()
    Q, D, lam = one.queries[rows], one.documents[columns], 2.0 * len(rows) / 5

    def f(A):
        return np.sum((Q @ A.T - D) ** 2) + lam * np.sum((A - np.eye(5)) ** 2)

    A = ridge(one, 2.0).A
    lengths = np.sqrt(np.mean(np.sum((one.queries @ A.T) ** 2, axis=1)))
    assert lengths == pytest.approx(1)
    best = minimize(lambda a: f(a.reshape(5, 5)), np.eye(5).ravel(), options={"gtol": 1e-9}).x.reshape(5, 5)
    np.testing.assert_allclose(A / np.linalg.norm(A), best / np.linalg.norm(best), atol=1e-5)


def test_whitened_queries_are_those_of_both_sides_whitened_by_half():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(4000, 6)) * [5, 3, 2, 1, 1, 1]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    one = Retrieval(X[::2], X[1::2], sparse.csr_array(sparse.eye(2000)), sparse.csr_array((2000, 2000)))
    A = whitened(one, 1.0).A
    half = np.linalg.cholesky(A).T  # A = halfᵀ half: the cosine of A q and d is that of half q and half d up to lengths
    spread = [np.linalg.cond(np.cov((X @ M.T).T)) for M in (np.eye(6), half)]
    assert spread[1] < spread[0] / 3
    within = whitened(one, 1.0, True).A
    differences = (one.queries - one.queries.mean(axis=0)) - (one.documents - one.documents.mean(axis=0))
    values = np.linalg.eigvalsh(differences.T @ differences)
    expected, ours = 1 / (values / values.mean() + 0.1 + 6 / 2000), np.linalg.eigvalsh(within)[::-1]
    np.testing.assert_allclose(ours / np.linalg.norm(ours), expected / np.linalg.norm(expected), rtol=1e-6)


def test_descent_lowers_the_contrast_and_keeps_near_with_a_large_penalty():
    one = task(5, n=40, m=40)
    start = TwoSided(np.eye(5))
    for tied in (False, True):
        m = contrasted(one, start, tied, 0.1, 1e-3, 20)
        before = plain_loss(one, one.queries, one.documents, 0.1)
        assert plain_loss(one, m.queries(one.queries), m.documents(one.documents), 0.1) < before
        held = contrasted(one, start, tied, 0.1, 1e6, 20)
        np.testing.assert_allclose(held.A, np.eye(5), atol=1e-4)
        assert (m.B is None) != tied
    assert np.linalg.matrix_rank(low_rank(m, 2).A - np.eye(5)) == 2
