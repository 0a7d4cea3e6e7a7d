"""Constraints: drawing, checks, and the sparse form against dense matrices written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm
from gramian.constraints import Labels
from gramian.constraints.comparisons import MARGIN
from tests.solvers.problems import CONSTRAINTS, constraints, points

label_lists = st.lists(st.integers(-1, 4), min_size=2, max_size=40)


@given(label_lists, st.integers(0, 5), st.integers(1, 200))
def test_pairs_from_labels_are_right_and_distinct(y, seed, count):
    y = np.array(y)
    pairs = gm.Pairs.from_labels(y, count, random_state=seed)
    assert np.array_equal(y[pairs.left] == y[pairs.right], pairs.similar)
    assert (pairs.left != pairs.right).all()
    keys = {frozenset(p) for p in zip(pairs.left.tolist(), pairs.right.tolist())}
    assert len(keys) == len(pairs)


@given(label_lists, st.integers(0, 5))
def test_every_class_is_drawn(y, seed):
    """Also the last one, and classes with a negative name."""
    y = np.array(y)
    pairs = gm.Pairs.from_labels(y, random_state=seed)
    classes, sizes = np.unique(y, return_counts=True)
    drawn = set(y[pairs.left[pairs.similar]])
    assert drawn == set(classes[sizes > 1])
    if len(classes) > 1:
        apart = ~pairs.similar
        assert set(y[pairs.left[apart]]) | set(y[pairs.right[apart]]) == set(classes)


@given(label_lists, st.integers(0, 5))
def test_unknown_labels_are_left_out(y, seed):
    y = np.array(y)
    if (y != -1).sum() < 2:
        return
    pairs = gm.Pairs.from_labels(y, unknown=-1, random_state=seed)
    assert (y[pairs.left] != -1).all() and (y[pairs.right] != -1).all()


def test_counts_grow_with_n():
    sizes = [len(gm.Pairs.from_labels(np.arange(n) % 3, random_state=0)) for n in (50, 500, 5000)]
    assert sizes[0] >= 250 and sizes[1] >= 2500 and sizes[2] >= 25000
    assert len(gm.Triplets.from_labels(np.arange(500) % 3, random_state=0)) >= 2000


@given(label_lists, st.integers(0, 5))
def test_triplets_from_labels(y, seed):
    y = np.array(y)
    classes, sizes = np.unique(y, return_counts=True)
    if len(classes) < 2 or sizes.max() < 2:
        with pytest.raises(ValueError, match="two classes"):
            gm.Triplets.from_labels(y, random_state=seed)
        return
    t = gm.Triplets.from_labels(y, random_state=seed)
    assert (y[t.anchor] == y[t.near]).all() and (y[t.anchor] != y[t.far]).all() and (t.anchor != t.near).all()
    assert set(y[t.anchor]) == set(classes[sizes > 1])


def test_chunklets_reach_the_last_class():
    y = np.repeat([0, 1, 2], 10)
    ids = gm.Chunklets.from_labels(y, n_chunklets=9, size=3, random_state=0).ids
    assert set(y[ids >= 0]) == {0, 1, 2}
    for chunk in range(9):
        assert len(set(y[ids == chunk])) == 1 and (ids == chunk).sum() == 3
    with pytest.raises(ValueError, match="at most 9"):
        gm.Chunklets.from_labels(y, n_chunklets=10, size=3, random_state=0)


def test_similar_pairs_are_groups():
    pairs = gm.Pairs([0, 1, 5, 2, 3], [1, 4, 6, 3, 6], [True, True, True, False, False])
    ids = gm.Chunklets.from_pairs(pairs, 9).ids
    assert ids[0] == ids[1] == ids[4] >= 0 and ids[5] == ids[6] >= 0 and ids[0] != ids[5]
    assert (ids[[2, 3, 7, 8]] == -1).all()
    assert gm.Chunklets.from_pairs(pairs).n_points == 7
    with pytest.raises(TypeError, match="Chunklets: pairs must be Pairs, got 3"):
        gm.Chunklets.from_pairs(3)


def test_string_labels():
    y = np.array(["cat", "dog", "cat", "dog", "owl"])
    pairs = gm.Pairs.from_labels(y, random_state=0)
    assert np.array_equal(y[pairs.left] == y[pairs.right], pairs.similar)


def test_bounds_are_percentiles_of_squared_distances(rng):
    X = rng.normal(size=(60, 3))
    D = ((X[:, None] - X[None]) ** 2).sum(-1)[np.triu_indices(60, 1)]
    pairs = gm.Pairs([0], [1], [True]).with_bounds(X)
    np.testing.assert_allclose([b[0] for b in pairs.bounds], np.percentile(D, (5, 95)))
    scaled = gm.Pairs([0], [1], [True]).with_bounds(10 * X)
    np.testing.assert_allclose([b[0] for b in scaled.bounds], 100 * np.percentile(D, (5, 95)))


def test_bounds_of_duplicated_and_constant_data():
    X = np.zeros((6, 2))
    u, l = gm.Pairs([0], [1], [True]).with_bounds(X).bounds
    assert 0 < u[0] < l[0]


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


def test_signs_of_similar_are_accepted():
    for form in ([True, False], [1, -1], [1, 0], np.array([1.0, -1.0])):
        assert gm.Pairs([0, 1], [1, 2], form).similar.tolist() == [True, False]


def test_labels_groups():
    labels = Labels.from_array(["b", "a", "?", "b"], "test", unknown="?")
    assert [g.tolist() for g in labels.groups()] == [[1], [0, 3]]
    assert labels.codes.tolist() == [1, 0, -1, 1]


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


def test_missing_labels_may_be_nan():
    pairs = gm.Pairs.from_labels([np.nan, 0.0, 1.0, 0.0, np.nan], unknown=np.nan, random_state=0)
    assert sorted({*pairs.left.tolist(), *pairs.right.tolist()}) == [1, 2, 3]


def test_copies_do_not_set_the_bounds_where_rounding_parts_them(rng):
    X, kernel = rng.normal(size=(20, 3)), gm.Gaussian(1.0)
    repeated = np.repeat(X, 4, axis=0)  # a twentieth of the pairs are copies, and more
    pairs = gm.Pairs([0], [1], [True])
    least = kernel.sqdist(X)[np.triu_indices(20, 1)].min()
    Z = gm.KernelFeatures(kernel).fit_transform(repeated)
    assert pairs.with_bounds(Z).bounds[0][0] > 0.5 * least
    noisy = pairs.with_bounds(Z, sqdist=lambda rows: kernel.sqdist(repeated[rows], repeated[rows] + 0.0))
    assert noisy.bounds[0][0] > 0.5 * least


def test_tuples_may_be_lists_and_their_shape_is_checked():
    X, pairs = gm.Pairs.from_tuples([[[0.0], [1.0]], [[2.0], [5.0]]], [1, -1])
    assert X.ravel().tolist() == [0, 2, 1, 5] and pairs.right.tolist() == [2, 3]
    X, triplets = gm.Triplets.from_tuples([[[0.0], [1.0], [9.0]]])
    assert X.ravel().tolist() == [0, 1, 9] and triplets.far.tolist() == [2]
    with pytest.raises(ValueError, match=r"Pairs: tuples must have shape \(m, 2, d\), got \(1, 3, 1\)"):
        gm.Pairs.from_tuples([[[0.0], [1.0], [9.0]]], [1])
    with pytest.raises(ValueError, match="Chunklets: limit must be a number in"):
        gm.Chunklets([0, 0], limit=np.nan)


def test_constraints_that_do_not_fit_the_points_are_named(rng):
    X, metric = rng.normal(size=(4, 2)), gm.Mahalanobis.euclidean(2)
    with pytest.raises(ValueError, match="Pairs: the constraints refer to point 9, but X has 4 points"):
        gm.Pairs([0], [9], [True], bounds=(1.0, 2.0)).violation(metric, X)
    with pytest.raises(ValueError, match=r"RCA: ids of Chunklets must have one entry per point \(4\), got 3"):
        gm.RCA(anchor=0).fit(X, gm.Chunklets([0, 0, 1]))


def test_whole_numbers_and_few_fractions_are_classes():
    for y in (np.arange(50.0), np.repeat([0.5, 1.0, 1.5], 20)):
        assert len(gm.Pairs.from_labels(y, random_state=0))


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


def test_pairs_and_pairs_are_pairs():
    one, two = gm.Pairs([0], [1], [True], bounds=(1.0, 2.0)), gm.Pairs([1, 2], [3, 3], [False, True], bounds=(3.0, 4.0))
    both = one + two
    assert isinstance(both, gm.Pairs)
    assert both.bound.tolist() == [*one.bound, *two.bound] and both.right.tolist() == [1, 3, 3]
    assert (gm.Pairs([0], [1], [True]) + gm.Pairs([1], [2], [False])).bounds is None


@given(st.integers(0, 50), st.integers(1, 12), st.sampled_from([None, 0.3]))
def test_pairs_from_targets_are_near_and_far_in_the_target(seed, n_near, threshold):
    rng = np.random.default_rng(seed)
    Y = rng.random((30, 2))
    Y[rng.integers(0, 30, 3)] = np.nan
    pairs = gm.Pairs.from_targets(Y, n_near, threshold=threshold, random_state=seed)
    D = np.sqrt(((Y[:, None] - Y[None]) ** 2).sum(-1))
    known = ~np.isnan(Y[:, 0])
    limit = np.median(D[np.ix_(known, known)][np.triu_indices(known.sum(), 1)]) if threshold is None else threshold
    rank = np.argsort(np.argsort(np.where(np.isnan(D) | np.eye(30, dtype=bool), np.inf, D), axis=1), axis=1)
    gap = D[pairs.left, pairs.right]
    assert known[pairs.left].all() and known[pairs.right].all() and (pairs.left != pairs.right).all()
    assert (rank[pairs.left, pairs.right][pairs.similar] < n_near).all()
    assert (gap[~pairs.similar] >= limit * (1 - 1e-12)).all()
    assert pairs.similar.any() and not pairs.similar.all()
    keys = {(frozenset(p), s) for *p, s in zip(pairs.left.tolist(), pairs.right.tolist(), pairs.similar.tolist())}
    assert len(keys) == len(pairs)


def test_triplets_from_targets(rng):
    y = rng.random(60)
    triplets = gm.Triplets.from_targets(y, 5, n_triplets=200, random_state=0)
    near, far = abs(y[triplets.anchor] - y[triplets.near]), abs(y[triplets.anchor] - y[triplets.far])
    assert len(triplets) == 200 and (near < far).all()
    assert len({*zip(triplets.anchor, triplets.near, triplets.far)}) == 200
    assert set(triplets.anchor) == set(range(60))


def test_continuous_targets_teach_a_metric(rng):
    """Only the first column says anything about the target."""
    X = rng.normal(size=(150, 4))
    pairs = gm.Pairs.from_targets(X[:, 0], n_near=5, X=X, random_state=0)
    M = gm.ITML(random_state=0, anchor=0).fit(X, pairs).metric_.matrix
    assert M[0, 0] > 3 * M.diagonal()[1:].max()


def test_copies_among_targets_never_pair_a_point_with_itself():
    pairs = gm.Pairs.from_targets(np.repeat([0.0, 5.0], 15), n_near=3, random_state=0)
    assert (pairs.left != pairs.right).all()


def test_a_ceiling_bounds_the_probability_of_other_classes():
    """The linear form holds just where the Parzen estimate is at most the ceiling."""
    X, y = points()
    X = abs(X)  # so that the denominator is positive
    wishes = gm.Probabilities.from_labels(y, level=0.3, ceiling=0.45)
    metric = gm.Mahalanobis.euclidean(3)
    K = metric.kernel(X)
    share = np.stack([K[:, y == c].sum(axis=1) / K.sum(axis=1) for c in (0, 1)], axis=1)
    p = share[wishes.point, wishes.target]
    holds = np.where(wishes.at_least, p >= wishes.level, p <= wishes.level)
    assert np.array_equal(wishes.violation(metric, X) == 0, holds) and holds.any() and not holds.all()


def test_a_margin_that_was_left_open_follows_the_unit_of_the_data(rng):
    X = rng.normal(size=(40, 3))
    triplets = gm.Triplets([0, 1], [2, 3], [4, 5], margin=None)
    D = ((X[:, None] - X[None]) ** 2).sum(-1)[np.triu_indices(40, 1)]
    assert triplets.bound.tolist() == [-1, -1]
    filled, scaled = triplets.with_bounds(X), triplets.with_bounds(10 * X)
    assert filled.margin == pytest.approx(MARGIN * np.median(D) * np.ones(2))
    assert scaled.margin == pytest.approx(100 * filled.margin)
    assert gm.Triplets([0], [1], [2], margin=2.0).with_bounds(X).margin.tolist() == [2.0]


def test_the_number_of_pairs_does_not_grow_with_the_square_of_many_classes():
    few, many = (len(gm.Pairs.from_labels(np.repeat(np.arange(C), 3), random_state=0)) for C in (20, 400))
    assert few == 20 * 3 + 20 * 19 * 9 // 2 and 50_000 < many <= 100_000
