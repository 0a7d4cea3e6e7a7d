"""What all constraints share: the sparse form, checks, several kinds in one value."""

import numpy as np
import pytest

import gramian as gm
from tests.solvers.problems import CONSTRAINTS, constraints, points


def written_out(kind, X, cons):
    """C_i as dense matrices, straight from the definitions."""
    n, E = len(X), np.eye(len(X))

    def pair(i, j):
        return np.outer(E[i] - E[j], E[i] - E[j])

    if kind == "pairs":
        return [(1 if s else -1) * pair(i, j) for i, j, s in zip(cons.left, cons.right, cons.similar)]
    if kind == "triplets":
        return [pair(a, b) - pair(a, c) for a, b, c in zip(cons.anchor, cons.near, cons.far)]
    if kind == "similarities":
        return [(-1 if s else 1) * (np.outer(E[i], E[j]) + np.outer(E[j], E[i])) / 2
                for i, j, s in zip(cons.left, cons.right, cons.similar)]  # fmt: skip
    if kind == "relative similarities":
        pick = [np.outer(E[a], E[c] - E[b]) for a, b, c in zip(cons.anchor, cons.near, cons.far)]
        return [(C + C.T) / 2 for C in pick]
    if kind == "probabilities":
        out = []
        for i, c, p, least in zip(cons.point, cons.target, cons.level, cons.at_least):
            w = (1 if least else -1) * (p * np.ones(n) - (cons.codes == c)) / n
            out.append((np.outer(E[i], w) + np.outer(w, E[i])) / 2)
        return out
    if kind == "mixed":
        kinds = ["pairs", "triplets", "chunklets"]
        return [C for name, part in zip(kinds, cons.parts) for C in written_out(name, X, part)]
    C = np.zeros((n, n))
    for chunk in np.unique(cons.ids[cons.ids >= 0]):
        inside = (cons.ids == chunk).astype(float)
        C += np.diag(inside) - np.outer(inside, inside) / inside.sum()
    return [C / (cons.ids >= 0).sum()]


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_sparse_form_is_the_definition(kind, rng):
    X, y = points()
    cons = constraints(kind, X, y)
    C = written_out(kind, X, cons)
    lam = rng.random(len(cons))
    np.testing.assert_allclose(cons.matrix(lam, len(X)).toarray(), np.tensordot(lam, C, 1), atol=1e-12)
    B = rng.normal(size=(3, 3))
    metric = gm.Mahalanobis.from_matrix(B @ B.T)
    K = X @ B @ B.T @ X.T
    np.testing.assert_allclose(cons.values(metric, X), [np.sum(Ci * K) for Ci in C], atol=1e-9)
    np.testing.assert_allclose(cons.violation(metric, X), np.maximum(cons.values(metric, X) - cons.bound, 0))
    sub = cons[np.arange(len(cons))]
    np.testing.assert_array_equal(sub.bound, cons.bound)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: gm.Pairs([0, 1], [1], [True]), "one length"),
        (lambda: gm.Pairs([0.5], [1], [True]), "integer indices"),
        (lambda: gm.Pairs([-1], [1], [True]), "nonnegative"),
        (lambda: gm.Pairs([0], [1], [7]), "bool, or ±1"),
        (lambda: gm.Pairs([0], [1], [True], bounds=(-1.0, 2.0)), "nonnegative"),
        (lambda: gm.Pairs([0], [1], [True], bounds=(1.0, np.nan)), "finite"),
        (lambda: gm.Pairs.from_labels([3]), "two labeled points"),
        (lambda: gm.Pairs.from_labels([[1, 2]]), "1-D"),
        (lambda: gm.Pairs.from_labels([1.0, np.nan]), "NaN"),
        (lambda: gm.Pairs.from_labels(np.linspace(0, 1, 50)), "50 different numbers .* use Pairs.from_targets"),
        (lambda: gm.Pairs.from_targets([1.0, 2.0]), "at least three points"),
        (lambda: gm.Triplets.from_targets(np.ones(9)), "no targets apart by threshold = 0"),
        (lambda: gm.Pairs.from_targets([0.0, 1.0, np.inf]), "finite numbers"),
        (lambda: gm.RelativeSimilarities([0], [1], [2], margin=-1), "nonnegative"),
        (lambda: gm.Triplets([0], [1], [2], margin=-1), "nonnegative"),
        (lambda: gm.Triplets.from_labels([0, 0, 0]), "two classes"),
        (lambda: gm.Probabilities([0], [0], [0, 1], level=2.0), "0, 1"),
        (lambda: gm.Chunklets([0.5]), "integer"),
    ],
)
def test_bad_input_is_one_clear_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_constraints_out_of_range_are_caught(rng):
    with pytest.raises(ValueError, match="point 9, but X has 3 points"):
        gm.ITML(anchor=0).fit(rng.normal(size=(3, 2)), gm.Pairs([0], [9], [True]))


def test_points_may_be_a_frame_or_a_list(rng):
    pandas = pytest.importorskip("pandas")
    X, y, metric = rng.normal(size=(12, 2)), np.arange(12) % 2, gm.Mahalanobis.euclidean(2)
    frame = pandas.DataFrame(X, index=np.arange(12) + 5)
    for kind in (gm.Pairs, gm.Similarities):
        want = kind.from_labels(y, X=X, random_state=0)
        for given_points in (frame, X.tolist()):
            drawn = kind.from_labels(y, X=given_points, random_state=0)
            assert np.array_equal(drawn.bound, want.bound)
            assert np.array_equal(drawn.violation(metric, given_points), want.violation(metric, X))
    triplets = gm.Triplets.from_labels(y, random_state=0)
    assert np.array_equal(triplets.violation(metric, frame), triplets.violation(metric, X))
    with pytest.raises(ValueError, match=r"Pairs: X must have shape \(n, d\)"):
        gm.Pairs.from_labels(y, X=X[:, 0])


def test_constraints_that_do_not_fit_the_points_are_named(rng):
    X, metric = rng.normal(size=(4, 2)), gm.Mahalanobis.euclidean(2)
    with pytest.raises(ValueError, match="Pairs: the constraints refer to point 9, but X has 4 points"):
        gm.Pairs([0], [9], [True], bounds=(1.0, 2.0)).violation(metric, X)
    with pytest.raises(ValueError, match=r"RCA: ids of Chunklets must have one entry per point \(4\), got 3"):
        gm.RCA(anchor=0).fit(X, gm.Chunklets([0, 0, 1]))


def test_several_kinds_are_one_value(rng):
    X, y = points()
    pairs, triplets = constraints("pairs", X, y), constraints("triplets", X, y)
    both = pairs + triplets
    metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 0.3]))
    assert len(both) == len(pairs) + len(triplets) and len(both.parts) == 2
    assert np.array_equal(both.violation(metric, X), [*pairs.violation(metric, X), *triplets.violation(metric, X)])
    assert len((both + pairs).parts) == 3
    some = both[np.arange(len(both)) % 2 == 0]
    assert np.array_equal(some.bound, both.bound[::2])
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = pairs + 1
