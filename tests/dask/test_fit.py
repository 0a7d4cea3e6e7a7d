"""A fit over blocks is the fit of all points at once, however they are cut."""

import functools
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

import gramian as gm
from gramian.dask import automatic, constraints, fit, margins, pairs, passes, references, transform
from gramian.dask.learners import IN_MEMORY

N, D = 120, 4


@functools.cache
def data():
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=N)
    X = (rng.normal(size=(N, D)) + 2 * rng.normal(size=(3, D))[y]) * np.array([1.0, 5.0, 0.2, 1.0]) + 3
    return X, y


def _side(kind):
    y = data()[1]
    if kind == "labels":
        return y
    if kind == "pairs":
        return gm.Pairs.from_labels(y, 80, random_state=2)
    return gm.Triplets.from_labels(y, 60, random_state=2)


EXACT = {
    "RCA": (lambda a: gm.RCA(anchor=a, random_state=0), "labels"),
    "RCA of chunklets": (lambda a: gm.RCA(anchor=a, n_chunklets=20, random_state=0), "labels"),
    "RCA below": (lambda a: gm.RCA(2, anchor=0), "labels"),
    "PLDA": (lambda a: gm.PLDA(anchor=a, random_state=0), "labels"),
    "GMML": (lambda a: gm.GMML(anchor=a, random_state=0), "labels"),
    "GMML of pairs": (lambda a: gm.GMML(anchor=a, prior="covariance", random_state=0), "pairs"),
    "MMC": (lambda a: gm.MMC(anchor=a, n_pairs=100, random_state=0), "labels"),
    "DNE": (lambda a: gm.DNE(2, anchor=a, random_state=0), "labels"),
    "LFDA": (lambda a: gm.LFDA(anchor=a, random_state=0), "labels"),
    "LSML": (lambda a: gm.LSML(anchor=a, random_state=0), "triplets"),
    "POLA": (lambda a: gm.POLA(anchor=a, n_pairs=80, random_state=0), "labels"),
    "POLA of pairs": (lambda a: gm.POLA(anchor=a, random_state=0), "pairs"),
    "POLA, threshold given": (lambda a: gm.POLA(2.0, anchor=a, random_state=0), "pairs"),
}
AT_ZERO = {
    "ITML": (lambda a: gm.ITML(anchor=0, n_pairs=80, random_state=0), "labels"),
    "ITML of pairs": (lambda a: gm.ITML(anchor=0, random_state=0), "pairs"),
    "Framework": (lambda a: gm.Framework(anchor=0, slack=1.0, max_iter=200), "triplets"),
    "SDML": (lambda a: gm.SDML(anchor=0, random_state=0), "pairs"),
    "Covariance": (lambda a: gm.Covariance(), None),
}
BY_VALUES = {"MMC"}
"""Learners that go down until the values of their objective no longer fall.

A minimum that is found by its values has half of their digits: to an error e of the place belongs one of e² of the
value. So their answers differ by a few √eps, wherever the last digits of the moments come from.
"""


@functools.cache
def at_once(name, anchor):
    make, kind = {**EXACT, **AT_ZERO}[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(anchor).fit(data()[0], None if kind is None else _side(kind))


@st.composite
def cuts(draw):
    return np.sort(draw(st.lists(st.integers(0, N), max_size=6)))


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=40)
@example(name="MMC", anchor="auto", places=[17, 90])
@example(name="MMC", anchor="auto", places=[40])
@given(name=st.sampled_from([*EXACT, *AT_ZERO]), anchor=st.sampled_from([0, 0.3, "auto"]), places=cuts())
def test_any_blocks_give_the_fit_of_all_points(name, anchor, places):
    _compare(name, anchor, places)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*EXACT, *AT_ZERO])
def test_each_learner_over_three_blocks_gives_the_fit_of_all_points(name):
    _compare(name, 0, [17, 90])


def _compare(name, anchor, places):
    make, kind = {**EXACT, **AT_ZERO}[name]
    blocks = np.split(data()[0], places)
    learner = fit(None, make(anchor), blocks, None if kind is None else _side(kind))
    local = at_once(name, anchor)
    M = local.metric_.matrix
    rounding = 10 * np.finfo(float).eps ** 0.5 if name in BY_VALUES else 1e-8
    np.testing.assert_allclose(learner.metric_.matrix, M, rtol=0, atol=rounding * np.abs(M).max())
    assert type(learner) is type(local)
    assert vars(learner).keys() == vars(local).keys()


@settings(max_examples=10)
@given(places=cuts(), size=st.integers(1, 40))
def test_pairs_travel_in_batches_of_any_size(places, size):
    X, y = data()
    side = _side("pairs")
    before = pairs.BATCH_BYTES, passes.HELD_BYTES
    pairs.BATCH_BYTES, passes.HELD_BYTES = 16 * D * size, 0
    try:
        learner = fit(None, gm.GMML(anchor=0), np.split(X, places), side)
    finally:
        pairs.BATCH_BYTES, passes.HELD_BYTES = before
    np.testing.assert_allclose(learner.metric_.matrix, gm.GMML(anchor=0).fit(X, side).metric_.matrix, rtol=1e-9)
    assert learner.threshold_ == pytest.approx(gm.GMML(anchor=0).fit(X, side).threshold_)


@pytest.mark.parametrize("anchor", [0.3, "auto"])
def test_anchored_iterations_agree_to_their_tolerance(anchor):
    X, _ = data()
    local = gm.ITML(anchor=anchor, random_state=0).fit(X, _side("pairs"))
    learner = fit(None, gm.ITML(anchor=anchor, random_state=0), np.split(X, [17, 90]), _side("pairs"))
    assert learner.anchor_ == local.anchor_
    np.testing.assert_allclose(
        learner.metric_.matrix, local.metric_.matrix, rtol=0, atol=1e-2 * local.metric_.matrix.max()
    )


def test_the_ends_of_pairs_are_read_once_for_all_passes(monkeypatch):
    X, _ = data()
    seen = []
    monkeypatch.setattr(passes, "laid", lambda X, function, laid=passes.laid: seen.append(1) or laid(X, function))
    monkeypatch.setattr(pairs, "_exchanged", None)
    side = _side("pairs").with_bounds(X)
    learner = fit(None, gm.ITML(anchor=0), np.split(X.astype(np.float32), [17, 90]), side)
    assert len(seen) == 1
    local = gm.ITML(anchor=0).fit(X.astype(np.float32), side)
    np.testing.assert_allclose(learner.metric_.matrix, local.metric_.matrix, rtol=1e-8)
    assert learner.threshold_ == pytest.approx(local.threshold_)


def test_points_far_from_the_origin_keep_their_digits():
    X, y = data()
    X = X + 1e7
    M = gm.RCA(anchor=0).fit(X, y).metric_.matrix
    np.testing.assert_allclose(fit(None, gm.RCA(anchor=0), np.split(X, [30, 31]), y).metric_.matrix, M, rtol=1e-5)


def test_unknown_labels_and_text_labels():
    X, y = data()
    names = np.array(["ab", "c", "dee"])[y]
    names[::7] = "?"
    local = gm.RCA(anchor=0).fit(X, names, unknown="?")
    found = fit(None, gm.RCA(anchor=0), np.split(X, [50]), names, unknown="?")
    np.testing.assert_allclose(found.metric_.matrix, local.metric_.matrix, rtol=1e-9)


def _paths(folder, kind, X, y):
    import pyarrow as pa
    import pyarrow.parquet as pq

    if kind == "npy":
        np.save(folder / "a.npy", X[:50].astype(np.float32))
        np.save(folder / "b.npy", X[50:].astype(np.float32))
        np.save(folder / "y.npy", y)
        return [folder / "a.npy", folder / "b.npy"], folder / "y.npy"
    if kind == "parquet":
        table = pa.table({f"f{j}": X[:, j].astype(np.float32) for j in range(D)})
        pq.write_table(table, folder / "x.parquet", row_group_size=33)
        pq.write_table(pa.table({"y": y}), folder / "y.parquet", row_group_size=50)
        return folder / "x.parquet", folder / "y.parquet"
    zarr = pytest.importorskip("zarr")
    zarr.save(str(folder / "x.zarr"), X.astype(np.float32))
    np.save(folder / "y.npy", y)
    return str(folder / "x.zarr"), np.load(folder / "y.npy", mmap_mode="r")


@pytest.mark.parametrize("kind", ["npy", "parquet", "zarr"])
def test_parts_in_files(tmp_path, kind):
    X, y = data()
    paths, labels = _paths(tmp_path, kind, X, y)
    local = gm.RCA(anchor=0).fit(X.astype(np.float32), y)
    found = fit(None, gm.RCA(anchor=0), paths, labels, block_rows=20)
    np.testing.assert_allclose(found.metric_.matrix, local.metric_.matrix, rtol=1e-8)


def test_memory_maps_raw_maps_iterators_functions_and_dask_arrays(tmp_path):
    da = pytest.importorskip("dask.array")
    X, y = data()
    np.save(tmp_path / "x.npy", X)
    X.tofile(tmp_path / "x.raw")
    raw = np.memmap(tmp_path / "x.raw", np.float64, "r", shape=X.shape)
    whole = np.load(tmp_path / "x.npy", mmap_mode="r")
    many = [whole, whole[:], raw, (part for part in np.split(X, [9, 60])), lambda: iter([X[:70], X[70:]])]
    local = gm.RCA(anchor=0).fit(X, y).metric_.matrix
    for given_points in [*many, da.from_array(X, chunks=(31, 2)), [X]]:
        found = fit(None, gm.RCA(anchor=0), given_points, y, block_rows=25)
        np.testing.assert_allclose(found.metric_.matrix, local, rtol=1e-8)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), X)


def test_labels_of_a_dask_array_are_cut_in_their_own_way():
    da = pytest.importorskip("dask.array")
    X, y = data()
    found = fit(None, gm.RCA(anchor=0), da.from_array(X, chunks=(50, 4)), da.from_array(y, chunks=33))
    np.testing.assert_allclose(found.metric_.matrix, gm.RCA(anchor=0).fit(X, y).metric_.matrix, rtol=1e-8)


@pytest.mark.parametrize("basis", ["cholesky", "random-cholesky", "uniform"])
@pytest.mark.parametrize("tol", [None, 0.2])
def test_kernel_features_have_the_same_pivots(basis, tol):
    X, _ = data()
    options = {"rank": 25, "tol": tol, "basis": basis, "center": True, "random_state": 0}
    local = gm.KernelFeatures(gm.Gaussian(4.0), **options).fit(X)
    found = fit(None, gm.KernelFeatures(gm.Gaussian(4.0), **options), np.split(X, [3, 70]))
    np.testing.assert_array_equal(found.basis_, local.basis_)
    np.testing.assert_allclose(found.eigenvalues_, local.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(abs(found.transform(X)), abs(local.transform(X)), atol=1e-6)
    assert found.explained_variance_ratio_ == pytest.approx(local.explained_variance_ratio_)


@pytest.mark.parametrize("learner", [gm.NCA, gm.MCML])
def test_a_reference_of_all_points_is_the_exact_problem(learner, monkeypatch):
    X, y = data()
    L = np.random.default_rng(0).normal(size=(2, D)) / 3
    labels = np.column_stack([y, np.arange(N)])
    reference = references.Reference(X, y, np.arange(N), learner is gm.MCML)
    from gramian.dask.views import View
    from gramian.learners.mcml import mcml_loss
    from gramian.learners.nca import nca_loss

    value, gradient = references.loss_of(X, None, View(D), labels, L, reference)
    expected = (mcml_loss if learner is gm.MCML else nca_loss)(L, X, y)
    assert value == pytest.approx(expected[0])
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-8, atol=1e-8 * np.abs(expected[1]).max())


@pytest.mark.parametrize("learner", [gm.NCA, gm.MCML])
@pytest.mark.filterwarnings("ignore")
def test_a_reference_states_its_error(learner, monkeypatch):
    X, y = data()
    local = learner(anchor=0).fit(X, y)
    np.testing.assert_array_equal(fit(None, learner(anchor=0), np.split(X, [60]), y).components_, local.components_)
    monkeypatch.setattr(references, "REFERENCE", 60)
    found = fit(None, learner(anchor=0, max_iter=60, random_state=0), np.split(X, [60]), y)
    assert 0 < found.reference_error_ < 1
    assert found.score(X, y) > local.score(X, y) - 0.1


def test_two_references_share_no_point():
    labels = gm.constraints.Labels.from_array(data()[1], "test")
    first, second = references.drawn(labels, 50, np.random.RandomState(0))
    assert len(np.intersect1d(first, second)) == 0
    assert set(labels.codes[first]) == set(labels.codes[second]) == {0, 1, 2}


@pytest.mark.parametrize("anchors", [1000, 50])
def test_lmnn_by_batches_and_the_sharded_index(anchors, monkeypatch):
    X, y = data()
    monkeypatch.setattr(margins, "IMPOSTORS", N)
    monkeypatch.setattr(margins, "ANCHORS", anchors)
    local = gm.LMNN(anchor=0).fit(X, y)
    found = fit(None, gm.LMNN(anchor=0), np.split(X, [33, 34]), y)
    np.testing.assert_array_equal(found.targets_, local.targets_)
    np.testing.assert_allclose(
        found.metric_.matrix, local.metric_.matrix, rtol=0, atol=1e-6 * local.metric_.matrix.max()
    )
    assert found.converged_


def test_decorrelated_kmeans():
    X, _ = data()
    local = gm.DecorrelatedKMeans((2, 3), n_init=2, random_state=0).fit(X)
    found = fit(None, gm.DecorrelatedKMeans((2, 3), n_init=2, random_state=0), np.split(X, [11, 40]))
    assert found.objective_ == pytest.approx(local.objective_)
    for own, labels in zip(found.labels_.T, local.labels_.T):
        assert adjusted_rand_score(own, labels) == 1  # the names of the clusters may differ
    assert found.predict(X).shape == local.labels_.shape


def test_auto_metric_chooses_on_a_sample_and_learns_from_all(monkeypatch):
    X, y = data()
    make = functools.partial(gm.AutoMetric, candidates=["RCA", "PLDA"], random_state=0)
    local, found = make().fit(X, y), fit(None, make(), np.split(X, [60]), y)
    assert found.chosen_ == local.chosen_
    np.testing.assert_allclose(found.metric_.matrix, local.metric_.matrix, rtol=1e-8, atol=1e-10)
    with pytest.raises(TypeError, match="SCML needs all points in memory"):
        fit(None, gm.AutoMetric(candidates=["RCA", "SCML"]), [X], y)
    monkeypatch.setattr(automatic, "SAMPLE", 80)
    assert fit(None, make(), np.split(X, [60]), y).score(X, y) > 0.8
    side = gm.Pairs.from_labels(y, 300, random_state=0)
    assert np.isfinite(fit(None, make(candidates=["GMML"]), np.split(X, [60]), side).metric_.matrix).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["labels", "triplets"])
def test_auto_metric_by_default_leaves_out_what_needs_all_points_in_memory(kind):
    X, _ = data()
    found = fit(None, gm.AutoMetric(random_state=0), np.split(X, [60]), _side(kind))
    names = {row["candidate"].split(",")[0] for row in found.report_}
    assert names & {"PLDA", "LSML"}
    assert not names & {"Contrastive", "SCML"}


LEARNERS = {"NCA", "MCML", "LMNN", "AutoMetric"}
"""Those that have tests of their own below."""


def test_every_learner_is_compared_with_the_local_fit_or_refused():
    tried = {type(make(0)).__name__ for make, _ in {**EXACT, **AT_ZERO}.values()} | LEARNERS
    refused = {learner.__name__ for learner in IN_MEMORY}
    assert not tried & refused
    assert tried | refused | {"Learner"} == set(gm.learners.__all__)


def test_constraints_of_some_rows_speak_of_the_same_points():
    X, _ = data()
    side = _side("triplets")[:20]
    rows, found = automatic.renumbered(side)
    assert len(rows) < N
    np.testing.assert_array_equal(X[rows][found.far], X[side.far])
    np.testing.assert_array_equal(X[rows][found.anchor], X[side.anchor])


def test_transform_is_lazy_and_that_of_the_metric():
    X, y = data()
    learner = gm.RCA(anchor=0).fit(X, y)
    seen = []

    def blocks():
        for part in np.split(X, [10, 55]):
            seen.append(len(part))
            yield part

    found = transform(None, learner, np.split(X, [10, 55]))
    np.testing.assert_allclose(np.concatenate(list(found)), learner.transform(X))
    assert next(iter(transform(None, learner.metric_, blocks))).shape == (10, D)
    assert seen == [10]


def test_errors_are_sentences():
    X, y = data()
    for learner in (gm.Kernelized(), gm.Contrastive(), gm.MLKR(), gm.SCML()):
        with pytest.raises(TypeError, match=f"{type(learner).__name__} needs all points in memory; fit it on a sample"):
            fit(None, learner, [X], y)
    with pytest.raises(TypeError, match="learner must be"):
        fit(None, object(), [X], y)
    with pytest.raises(TypeError, match="client must be"):
        fit("tcp://nowhere", gm.RCA(), [X], y)
    with pytest.raises(ValueError, match="same number of features"):
        fit(None, gm.RCA(), [X, X[:, :2]], np.concatenate([y, y]))
    with pytest.raises(ValueError, match="labels must have one entry per point"):
        fit(None, gm.RCA(), [X], y[:-1])
    with pytest.raises(ValueError, match="requires y"):
        fit(None, gm.RCA(), [X])
    with pytest.raises(FileNotFoundError, match="no file"):
        fit(None, gm.RCA(), "not-there.npy", y)
    with pytest.raises(ValueError, match="NaN or infinity"):
        fit(None, gm.RCA(anchor=0), [X, np.full((1, D), np.nan)], np.append(y, 0))
    learner = gm.RCA(anchor=0).fit(X, y)
    before = dict(vars(learner))
    with pytest.raises(ValueError, match="NaN"):
        fit(None, learner, [X, np.full((1, D), np.nan)], np.append(y, 0))
    assert vars(learner) == before


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_constraints_that_stay_with_the_workers_give_the_same_metric(kind, monkeypatch):
    X, _ = data()
    local = gm.Framework(anchor=0, slack=1.0).fit(X, _side(kind))
    monkeypatch.setattr(constraints, "MEMORY_BYTES", 0)
    monkeypatch.setattr(constraints, "PART_BYTES", 900)
    monkeypatch.setattr(passes, "HELD_BYTES", 0)
    found = fit(None, gm.Framework(anchor=0, slack=1.0), np.split(X, [33, 100]), _side(kind))
    np.testing.assert_allclose(
        found.metric_.matrix, local.metric_.matrix, rtol=0, atol=1e-6 * local.metric_.matrix.max()
    )
    assert found.objective_ == pytest.approx(local.objective_, rel=1e-6)
    itml = fit(None, gm.ITML(anchor=0), np.split(X, [33, 100]), _side(kind))
    expected = gm.ITML(anchor=0).fit(X, _side(kind))
    np.testing.assert_allclose(itml.metric_.matrix, expected.metric_.matrix, rtol=1e-6, atol=1e-8)
    by_projections = fit(None, gm.ITML(anchor=0, solver="bregman"), np.split(X, [33]), _side("pairs"))
    expected = gm.ITML(anchor=0, solver="bregman").fit(X, _side("pairs"))
    np.testing.assert_allclose(by_projections.metric_.matrix, expected.metric_.matrix, rtol=1e-6, atol=1e-9)
