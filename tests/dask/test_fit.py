"""A fit over blocks is the fit of all points at once, however they are cut, or one of a sample, which is said."""

import functools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gramian as gm
from gramian import linalg
from gramian.constraints import Labels
from gramian.dask import fit, transform
from gramian.dask.blocks import Blocks
from gramian.dask.samples import some_rows
from gramian.learners import Learner

da = pytest.importorskip("dask.array")
import dask  # noqa: E402  # an extra, as above

N, D, MANY = 120, 4, 1500
CUTS = {"one block": (), "three": (17, 90), "seven": (1, 2, 31, 64, 65, 110)}


@functools.cache
def data(n=N):
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=n)
    X = (rng.normal(size=(n, D)) + 2 * rng.normal(size=(3, D))[y]) * np.array([1.0, 5.0, 0.2, 1.0]) + 3
    return X, y


def side(kind, n=N):
    y = data(n)[1]
    if kind == "labels":
        return y
    if kind == "numbers":
        return data(n)[0][:, 1] + 0.1 * np.random.default_rng(0).normal(size=n)
    if kind == "pairs":
        return gm.Pairs.from_labels(y, 80, random_state=2)
    if kind == "chunklets":
        return gm.Chunklets(np.where(np.arange(n) % 5 == 0, -1, y))
    return gm.Triplets.from_labels(y, 60, random_state=2)


def quiet(fitted, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted(*args, **options)


def close(a, b, tol=1e-8):
    np.testing.assert_allclose(a, b, rtol=0, atol=tol * np.abs(b).max())


def matrix_of(learner, X):
    """The distances of a few points, whatever the metric is."""
    return learner.metric_.sqdist(X[:20])


KINDS = {"MLKR": "numbers", "LSML": "triplets", "SCML": "triplets", "Framework": "pairs", "ITML": "pairs"}
QUICK = {"NCA": {"max_iter": 5}, "MCML": {"max_iter": 5}, "AutoMetric": {"candidates": ["RCA", "PLDA"]}}
MADE = sorted(
    set(gm.learners.__all__) - {"Learner", "TupleClassifier", "QueryAdapter", "ModelBridge"}
)  # of one set of points


@pytest.mark.parametrize("places", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("name", MADE)
def test_few_rows_are_the_local_fit(name, places):
    X = data()[0]
    local, (learner, known) = at_once(name), default(name)
    quiet(fit, None, learner, np.split(X, places), known)
    close(matrix_of(learner, X), matrix_of(local, X))
    assert vars(learner).keys() == vars(local).keys()


@functools.cache
def at_once(name):
    learner, known = default(name)
    return quiet(learner.fit, data()[0], known)


def default(name):
    """A learner with its defaults, and what it learns from."""
    learner = getattr(gm, name)(**QUICK.get(name, {}))
    if "random_state" in learner.get_params():
        learner.set_params(random_state=0)
    return learner, None if name == "Covariance" else side(KINDS.get(name, "labels"))


def test_every_learner_is_compared():
    assert {name for name in gm.learners.__all__ if issubclass(getattr(gm.learners, name), Learner)} == {
        *MADE,
        "Learner",
    }


SUMS = {
    "RCA": (lambda a: gm.RCA(anchor=a, random_state=0), "labels"),
    "RCA of drawn groups": (lambda a: gm.RCA(anchor=a, n_chunklets=20, random_state=0), "labels"),
    "RCA of chunklets": (lambda a: gm.RCA(anchor=a), "chunklets"),
    "RCA below": (lambda a: gm.RCA(2, anchor=0), "labels"),
    "RCA, rare classes": (lambda a: gm.RCA(anchor=a, class_weight="balanced"), "labels"),
    "RCA near the covariance": (lambda a: gm.RCA(anchor=a or 0.2, prior="covariance"), "labels"),
    "PLDA": (lambda a: gm.PLDA(anchor=a), "labels"),
    "Covariance": (lambda a: gm.Covariance(), None),
}
TOUCHED = {
    "GMML": (lambda a: gm.GMML(anchor=a, prior="covariance"), "pairs"),
    "ITML": (lambda a: gm.ITML(anchor=a), "pairs"),
    "ITML of triplets": (lambda a: gm.ITML(anchor=a), "triplets"),
    "MMC": (lambda a: gm.MMC(anchor=a, max_iter=20), "pairs"),
    "POLA": (lambda a: gm.POLA(anchor=a), "pairs"),
    "SDML": (lambda a: gm.SDML(anchor=a), "pairs"),
    "LSML": (lambda a: gm.LSML(anchor=a), "triplets"),
    "LMNN of triplets": (lambda a: gm.LMNN(anchor=a), "triplets"),
    "Framework": (lambda a: gm.Framework(anchor=a, slack=1.0), "pairs"),
}


@functools.cache
def of_all(name, anchor):
    make, kind = {**SUMS, **TOUCHED}[name]
    n = N if name in SUMS else MANY
    return quiet(make(anchor).fit, data(n)[0], None if kind is None else side(kind, n))


@pytest.mark.parametrize("anchor", [0, 0.3])
@pytest.mark.parametrize("name", SUMS)
def test_sums_over_blocks_are_those_of_all_rows(name, anchor):
    make, kind = SUMS[name]
    M = of_all(name, anchor).metric_.matrix
    for places in CUTS.values():
        learner = quiet(fit, None, make(anchor), np.split(data()[0], places), kind and side(kind), sample=30)
        close(learner.metric_.matrix, M)
        assert vars(learner).keys() == vars(of_all(name, anchor)).keys()


@settings(max_examples=20, deadline=None)
@given(places=st.lists(st.integers(0, N), max_size=6), shift=st.sampled_from([0.0, 1e7]))
def test_any_blocks_have_the_moments_of_all_rows(places, shift):
    X, y = data()
    groups = gm.Chunklets(np.where(y == 2, -1, y), weight=np.linspace(1, 2, N))
    arrays = da.concatenate([da.from_array(part, chunks=-1) for part in np.split(X + shift, np.sort(places))])
    sums = Blocks(arrays).sums(groups, np.ones(N, dtype=bool))
    sizes, means, scatter = groups.moments(X)
    np.testing.assert_allclose(sums.sizes, sizes, rtol=1e-12)
    close(sums.means - shift, means, 1e-13 * max(shift, 10))
    close(sums.scatter, scatter, 1e-15 * max(shift, 1e3))
    close(sums.covariance, np.cov(X, rowvar=False), 1e-15 * max(shift, 1e3))


@pytest.mark.parametrize("anchor", [0, 0.3])
@pytest.mark.parametrize("name", TOUCHED)
def test_the_rows_of_constraints_are_enough(name, anchor):
    X, (make, kind) = data(MANY)[0], TOUCHED[name]
    local, places = of_all(name, anchor), (10, 700)
    learner = quiet(fit, None, make(anchor), np.split(X, places), side(kind, MANY), sample=50)
    close(learner.metric_.matrix, local.metric_.matrix)
    assert getattr(learner, "threshold_", 0.0) == pytest.approx(getattr(local, "threshold_", 0.0))


def test_constraints_of_some_rows_speak_of_the_same_points():
    X = data(MANY)[0]
    whole = side("triplets", MANY) + side("pairs", MANY)
    rows, part = some_rows(whole, MANY, 10, True, np.random.RandomState(0))
    assert len(rows) < MANY - 100
    np.testing.assert_array_equal(X[rows][part.parts[0].far], X[whole.parts[0].far])
    np.testing.assert_array_equal(X[rows][part.parts[1].left], X[whole.parts[1].left])
    np.testing.assert_array_equal(rows[linalg.spread(len(rows), 1000)], linalg.spread(MANY, 1000))
    filled = part.parts[1].filled(X[rows])
    np.testing.assert_array_equal(filled.bound, whole.parts[1].filled(X).bound)


def test_the_weight_of_the_prior_is_chosen_on_a_sample_and_the_metric_is_of_all_rows():
    X, y = data()
    with pytest.warns(UserWarning, match=r"PLDA: chooses the weight of the prior on 5\d of the 120 rows, give anchor"):
        learner = fit(None, gm.PLDA(random_state=0), np.split(X, [60]), y, sample=60)
    assert learner.anchor_ > 0
    close(learner.metric_.matrix, gm.PLDA(anchor=learner.anchor_).fit(X, y).metric_.matrix)


@pytest.mark.filterwarnings("ignore:.*stopped after")
@pytest.mark.parametrize("learner", [gm.LMNN(max_iter=5), gm.LFDA(), gm.ITML(), gm.Kernelized(gm.RCA())])
def test_others_learn_from_a_sample_by_class_which_is_said(learner):
    X, y = data(600)
    with pytest.warns(UserWarning, match=r"learns from \d+ of the 600 rows, drawn by class; give a larger sample"):
        found = fit(None, learner.set_params(random_state=0), np.split(X, [100, 101]), y, sample=90)
    assert found.score(X, y) > 0.6
    labels = Labels.from_array(y, "test")
    rows, _ = some_rows(labels, 600, 90, True, np.random.RandomState(0))
    assert 80 < len(rows) <= 90
    assert np.bincount(y[rows]).min() >= 10


@pytest.mark.filterwarnings("ignore:.*stopped after")
def test_numbers_are_drawn_at_random():
    X, _ = data()
    with pytest.warns(UserWarning, match="MLKR: learns from 70 of the 120 rows, drawn at random"):
        fit(None, gm.MLKR(max_iter=3, random_state=0), [X], side("numbers"), sample=70)


def test_mates_of_a_chunklet_stay_together():
    ids = np.repeat(np.arange(60), 2)
    ids[-40:] = -1
    rows, part = some_rows(gm.Chunklets(ids), N, 50, True, np.random.RandomState(0))
    assert len(rows) == len(part.ids) == 50
    sizes = np.bincount(part.ids[part.ids >= 0])
    assert set(sizes) <= {0, 2}
    np.testing.assert_array_equal(part.ids, ids[rows])


def counted(X, sizes, seen):
    """A dask array whose blocks say when they are read."""

    def read(number, rows):
        seen.append(number)
        return X[rows]

    edges = np.cumsum([0, *sizes])
    spans = [slice(a, b) for a, b in zip(edges[:-1], edges[1:])]
    parts = [dask.delayed(read, pure=False)(i, span) for i, span in enumerate(spans)]
    return da.concatenate([da.from_delayed(part, (n, D), float) for part, n in zip(parts, sizes)])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sample", [60, 1000])
@pytest.mark.parametrize("name", MADE)
def test_a_default_fit_reads_each_block_five_times_at_most(name, sample):
    seen = []
    X = counted(data()[0], (50, 30, 40), seen)
    learner, known = default(name)
    fit(None, learner, X, known, sample=sample)
    assert 1 <= np.bincount(seen, minlength=3).min() <= np.bincount(seen).max() <= 2


def test_rows_that_do_not_fit_say_how_many_would(monkeypatch):
    from gramian import _memory

    monkeypatch.setattr(_memory, "MUCH", 0)
    monkeypatch.setattr(_memory, "available", lambda: 64.0 * 30)
    X, y = data()
    with pytest.raises(ValueError, match=r"LMNN: 120 rows of 4 features.*30 rows would fit, so give a smaller sample"):
        fit(None, gm.LMNN(), [X], y)
    with pytest.raises(ValueError, match="30 rows would fit, so give fewer constraints"):
        fit(None, gm.ITML(), [X], side("pairs"), sample=50)


def test_unknown_labels_and_text_labels():
    X, y = data()
    names = np.array(["ab", "c", "dee"])[y]
    names[::7] = "?"
    local = gm.RCA(anchor=0.3).fit(X, names, unknown="?")
    for sample in (30, 110, 1000):
        found = fit(None, gm.RCA(anchor=0.3), np.split(X, [50]), names, unknown="?", sample=sample)
        close(found.metric_.matrix, local.metric_.matrix)


def paths_of(folder, kind, X, y):
    import pyarrow as pa
    import pyarrow.parquet as pq

    if kind == "npy":
        np.save(folder / "a.npy", X[:50].astype(np.float32))
        np.save(folder / "b.npy", X[50:].astype(np.float32))
        np.save(folder / "y.npy", y)
        return [folder / "a.npy", folder / "b.npy"], folder / "y.npy"
    if kind == "parquet":
        columns = {f"x{i}": X[:, i].astype(np.float32) for i in range(D)}
        pq.write_table(pa.table(columns), folder / "x.parquet", row_group_size=40)
        np.save(folder / "y.npy", y)
        frame = pytest.importorskip("dask.dataframe").read_parquet(folder / "x.parquet", blocksize=None)
        return frame, np.load(folder / "y.npy", mmap_mode="r")
    zarr = pytest.importorskip("zarr")
    zarr.save(str(folder / "x.zarr"), X.astype(np.float32))
    np.save(folder / "y.npy", y)
    return da.from_zarr(str(folder / "x.zarr")), folder / "y.npy"


@pytest.mark.parametrize("kind", ["npy", "parquet", "zarr"])
def test_parts_in_files(tmp_path, kind):
    X, y = data()
    paths, labels = paths_of(tmp_path, kind, X, y)
    local = gm.RCA(anchor=0).fit(X.astype(np.float32), y)
    found = fit(None, gm.RCA(anchor=0), paths, labels, block_rows=20, sample=10)
    close(found.metric_.matrix, local.metric_.matrix)


def test_memory_maps_raw_maps_iterators_functions_frames_and_dask_arrays(tmp_path):
    import pandas as pd

    X, y = data()
    np.save(tmp_path / "x.npy", X)
    X.tofile(tmp_path / "x.raw")
    raw = np.memmap(tmp_path / "x.raw", np.float64, "r", shape=X.shape)
    whole = np.load(tmp_path / "x.npy", mmap_mode="r")
    many = [whole, whole[:], raw, (part for part in np.split(X, [9, 60])), lambda: iter([X[:70], X[70:]])]
    array = da.from_array(X, chunks=(31, 2))
    local = gm.RCA(anchor=0).fit(X, y).metric_.matrix
    for points in [*many, array, [array[:50], array[50:]], array[array[:, 0] > -1e9], pd.DataFrame(X), [X]]:
        found = fit(None, gm.RCA(anchor=0), points, y, block_rows=25, sample=20)
        close(found.metric_.matrix, local)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), X)


def test_labels_of_a_dask_array_are_cut_in_their_own_way():
    X, y = data()
    found = fit(None, gm.RCA(anchor=0), da.from_array(X, chunks=(50, 4)), da.from_array(y, chunks=33), sample=20)
    close(found.metric_.matrix, gm.RCA(anchor=0).fit(X, y).metric_.matrix)


def test_features_and_clusterings_are_those_of_few_rows_or_of_a_sample():
    X, _ = data()
    make = functools.partial(gm.KernelFeatures, gm.Gaussian(4.0), rank=10, random_state=0)
    np.testing.assert_array_equal(fit(None, make(), np.split(X, [3])).basis_, make().fit(X).basis_)
    with pytest.warns(UserWarning, match="KernelFeatures: learns from 60 of the 120 rows, drawn at random"):
        features = fit(None, make(), np.split(X, [3]), sample=60)
    assert (features.basis_[:, None] == X).all(axis=2).any(axis=1).all()
    clusters = functools.partial(gm.DecorrelatedKMeans, (2, 3), n_init=2, random_state=0)
    np.testing.assert_array_equal(fit(None, clusters(), np.split(X, [3])).labels_, clusters().fit(X).labels_)
    with pytest.warns(UserWarning, match="DecorrelatedKMeans: learns from 60"):
        found = fit(None, clusters(), np.split(X, [3]), sample=60)
    np.testing.assert_array_equal(found.labels_, found.predict(X))


def test_transform_is_lazy_and_that_of_the_metric():
    X, y = data()
    learner = gm.RCA(2, anchor=0).fit(X, y)
    seen = []
    found = transform(None, learner, counted(X, (10, 45, 65), seen))
    assert (found.chunks, seen) == (((10, 45, 65), (2,)), [])
    np.testing.assert_allclose(found.compute(scheduler="sync"), learner.transform(X))
    assert sorted(seen) == [0, 1, 2]
    np.testing.assert_allclose(
        transform(None, learner.metric_, X, block_rows=7).compute(scheduler="sync"), learner.transform(X)
    )


def test_errors_are_sentences():
    X, y = data()
    with pytest.raises(TypeError, match="learner must be"):
        fit(None, object(), [X], y)
    with pytest.raises(TypeError, match="client must be"):
        fit("tcp://nowhere", gm.RCA(), [X], y)
    with pytest.raises(ValueError, match="same number of features"):
        fit(None, gm.RCA(), [X, X[:, :2]], np.concatenate([y, y]))
    with pytest.raises(FileNotFoundError, match="no file"):
        fit(None, gm.RCA(), "not-there.npy", y)
    with pytest.raises(ValueError, match=r"X must be .npy, got '.*conftest.py'; give other files as"):
        fit(None, gm.RCA(), __file__.replace("test_fit", "conftest"), y)
    with pytest.raises(ValueError, match="sample must be"):
        fit(None, gm.RCA(), [X], y, sample=0)
    with pytest.raises(TypeError, match="X must be an array, a dask array, paths of .npy files"):
        transform(None, gm.RCA(anchor=0).fit(X, y), iter([X]))
    for sample in (30, 1000):
        with pytest.raises(ValueError, match="labels must have one entry per point|inconsistent numbers of samples"):
            fit(None, gm.RCA(), [X], y[:-1], sample=sample)
        with pytest.raises(ValueError, match="requires y"):
            fit(None, gm.RCA(), [X], sample=sample)
        with pytest.raises(ValueError, match="RCA: takes labels or Chunklets, got Pairs"):
            fit(None, gm.RCA(), [X], side("pairs"), sample=sample)
        with pytest.raises(ValueError, match=r"(NaN or infinity|NaN)"):
            fit(None, gm.RCA(anchor=0), [X, np.full((1, D), np.nan)], np.append(y, 0), sample=sample)
        learner = gm.RCA(anchor=0).fit(X, y)
        before = dict(vars(learner))
        with pytest.raises(ValueError, match="NaN"):
            fit(None, learner, [X, np.full((1, D), np.nan)], np.append(y, 0), sample=sample)
        assert vars(learner) == before
