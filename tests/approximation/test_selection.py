"""select_subset against the written criteria, the exhaustive optimum, and its own shortcuts."""

from itertools import combinations

import numpy as np
import pytest

import gramian as gm
from gramian.approximation.selection import CRITERIA, _basis, _greedy


def written_out(K, R, criterion):
    """Criteria (24) and (27) with explicit projections; both as something to minimize."""
    P = np.linalg.pinv(K[R]) @ K[R]
    N = np.eye(len(K)) - P
    return np.trace(N @ K) if criterion == "trace" else np.abs(N @ K).sum()


@pytest.fixture(params=["gaussian", "hamming", "indefinite"])
def K(request, rng):
    if request.param == "gaussian":
        return gm.Gaussian(1.5)(rng.normal(size=(20, 3)))
    X = rng.random((20, 60))
    if request.param == "hamming":
        return gm.DistanceKernel(gm.Hamming(root=True), constant=15.0)(X)
    return gm.DistanceKernel(lambda a, b: np.abs(a - b).sum() ** 1.5, constant=1e4)(X)


@pytest.mark.parametrize("criterion", ["trace", "l1"])
def test_losses_are_the_written_criteria(K, criterion, rng):
    problem = CRITERIA[criterion](K)
    for m in (1, 3, 6):
        R = rng.choice(20, m, replace=False)
        assert problem.loss(_basis(problem, R)) == pytest.approx(written_out(K, R, criterion), rel=1e-6)


def test_each_greedy_step_is_the_best_one(K):
    R = gm.select_subset(K, 4, method="greedy")
    for k in range(4):
        losses = [written_out(K, [*R[:k], i], "trace") for i in range(20) if i not in R[:k]]
        assert written_out(K, R[: k + 1], "trace") <= min(losses) + 1e-8 * abs(np.trace(K))


@pytest.mark.parametrize("criterion", ["trace", "l1"])
def test_exchange_is_within_one_percent_of_the_exhaustive_optimum(K, criterion):
    m = 3 if criterion == "trace" else 2
    best = min(written_out(K, list(R), criterion) for R in combinations(range(20), m))
    exhaustive = gm.select_subset(K, m, criterion=criterion, method="exhaustive")
    assert written_out(K, exhaustive, criterion) == pytest.approx(best, rel=1e-8)
    found = written_out(K, gm.select_subset(K, m, criterion=criterion, method="exchange"), criterion)
    if criterion == "trace":  # the criterion as printed is the kept trace
        assert np.trace(K) - found >= 0.99 * (np.trace(K) - best)
    assert found <= written_out(K, gm.select_subset(K, m, criterion=criterion, method="greedy"), criterion) + 1e-9
    assert found <= 1.01 * best


def test_lazy_gains_find_what_full_evaluation_finds(K):
    problem = CRITERIA["l1"](K)
    lazy = _greedy(problem, [], 4)
    full = []
    for _ in range(4):
        losses = [written_out(K, [*full, i], "l1") if i not in full else np.inf for i in range(20)]
        full.append(int(np.argmin(losses)))
    assert written_out(K, lazy, "l1") <= 1.05 * written_out(K, full, "l1")


def test_duplicates_and_low_rank_still_give_m_distinct_members():
    X = np.repeat(np.eye(3), 4, axis=0)
    for method in ("greedy", "exchange", "cholesky"):
        R = gm.select_subset(gm.Linear()(X), 6, method=method)
        assert len(set(R.tolist())) == 6
        assert set((R[:3] // 4).tolist()) == {0, 1, 2}
    assert len(gm.select_subset(np.zeros((4, 4)), 2)) == 2


def test_arguments_are_checked(rng):
    K = gm.Gaussian(1.0)(rng.normal(size=(40, 2)))
    for bad, message in [
        ({"m": 0}, "m must be an integer"),
        ({"m": 41}, "m must be an integer"),
        ({"m": 2, "method": "best"}, "method must be one of"),
        ({"m": 2, "criterion": "l2"}, "criterion must be one of"),
        ({"m": 20, "method": "exhaustive"}, "use 'exchange'"),
    ]:
        with pytest.raises(ValueError, match=message):
            gm.select_subset(K, **bad)
    with pytest.raises(ValueError, match="square and symmetric"):
        gm.select_subset(K[:3], 2)
