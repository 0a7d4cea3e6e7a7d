"""What trials from outside found, each with the sentence that it gets now."""

import os
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import gramian as gm

X = np.random.default_rng(0).normal(size=(24, 3))
Y = np.arange(24) % 3


@pytest.mark.parametrize("name", ["n_components", "n_chunklets"])
def test_a_span_of_time_is_no_number(name):
    """NumPy says that it is an integer."""
    with pytest.raises(ValueError, match=f": {name} must be "):
        gm.RCA(**{name: np.timedelta64(3, "D")}).fit(X, Y)


def test_draws_that_do_not_fit_are_refused_before_the_first():
    for draw in (
        lambda: gm.Triplets.from_targets(X[:, 0], n_triplets=2**40),
        lambda: gm.Triplets.from_labels(Y, 2**40),
        lambda: gm.Quadruplets.from_labels(Y, 2**40),
    ):
        with pytest.raises(ValueError, match=r"1,099,511,627,776 draws take about .* give a smaller n_"):
            draw()


@pytest.mark.parametrize("path", ["x" * 3000, "a\0b"])
def test_a_name_that_no_file_can_have(path):
    with pytest.raises(FileNotFoundError, match="load: no file at"):
        gm.load(path)


@pytest.mark.parametrize("kind", ["bsr", "dia", "coo", "lil", "csc"])
def test_any_sparse_points_are_exported(kind, tmp_path):
    metric = gm.Mahalanobis.euclidean(3)
    points = getattr(sparse, f"{kind}_array")(X)
    gm.export.to_elasticsearch(metric, points, path=tmp_path / "a.ndjson")
    gm.export.to_elasticsearch(metric, X, path=tmp_path / "b.ndjson")
    assert (tmp_path / "a.ndjson").read_bytes() == (tmp_path / "b.ndjson").read_bytes()


def test_sparse_points_are_no_blocks():
    with pytest.raises(TypeError, match="X must be an array, a dask array"):
        gm.dask.fit(None, gm.RCA(), sparse.dia_matrix(X), Y)


def test_a_sparse_number_of_clusters():
    with pytest.raises(ValueError, match="CooperativeVQ: n_clusters must be "):
        gm.CooperativeVQ(sparse.bsr_matrix(np.eye(3))).fit(X)


def test_ids_of_an_array_are_ids_of_a_space(tmp_path):
    """An id that is no integer of Python would be stored as bytes."""
    with gm.service.Space(tmp_path / "space", learning=False) as space:
        space.create("a", 3)
        for n in (2, 2000):  # short lists of ids are part of the event
            ids = np.arange(n) + 10 * n
            assert space.add("a", np.ones((n, 3)), ids)["added"] == n
            assert space.add("a", np.zeros((n, 3)), ids, upsert=ids)["updated"] == n
            assert space.add("a", np.zeros((n, 3)), list(ids), upsert=np.bool_(True))["updated"] == n
            with pytest.raises(ValueError, match="ids must be new"):
                space.add("a", np.zeros((n, 3)), ids, upsert=ids[1:])
        assert space.feedback("a", np.int64(20), np.int32(21), np.bool_(True))["seq"] > 0
        assert space.remove("a", np.int64(20)) and len(space.events(np.int64(1), limit=np.int8(3))) == 3
        with pytest.raises(ValueError, match="ids must be"):
            space.add("a", np.ones((1, 3)), np.array([2**63 + 5], dtype=np.uint64))
    with gm.service.Space(tmp_path / "space", learning=False) as again:
        assert again.query("a", x=[0.0, 0.0, 0.0], k=1) and again.item("a", 21)["id"] == 21


def test_a_path_that_no_file_can_have():
    with pytest.raises(ValueError, match="save: path must be the name of a file"):
        gm.save(gm.Mahalanobis.euclidean(2), "a\0b")


def test_single_values_where_there_should_be_several():
    one = np.array(3)
    with pytest.raises(ValueError, match="feature_names must be 3 names"):
        gm.Mahalanobis.euclidean(3).with_names(len)
    with pytest.raises(ValueError, match=r"Pairs: bounds must be \(u, l\)"):
        gm.Pairs([0], [1], [True], bounds=one)
    with pytest.raises(ValueError, match="Feedback: disliked must be indices"):
        gm.Feedback(0, [1, 2], one)


@pytest.mark.parametrize("name", ["bsr", "dia", "coo", "csr"])
def test_weights_to_choose_from_are_a_list(name):
    for model in (gm.GeometryAwareKernel(gamma=getattr(sparse, f"{name}_array")(np.eye(3))), gm.TDL(lam=[[1.0], [2]])):
        with pytest.raises(ValueError, match=r": (gamma|lam) must be "):
            model.fit(X, Y)
    with pytest.raises(ValueError, match=r"gamma must be 'auto', a number in .*, a list, each a number in .*, got"):
        gm.GeometryAwareKernel(gamma=sparse.coo_array(np.ones(3))).fit(X, Y)


def test_a_weight_given_twice_is_one_weight():
    """A grid of equal weights took as long as one of different weights."""
    twice, once = (gm.TDL(lam=lam, anchor=0.5).fit(X, Y) for lam in ([2.0] * 24, 2.0))
    np.testing.assert_array_equal(twice.embedding_, once.embedding_)


def test_a_table_is_no_metric():
    """It has a method ``transform`` of its own."""
    for given in (pd.DataFrame(X), pd.Series(Y), gm.RCA):
        with pytest.raises(TypeError, match=r"dask.transform: metric must be a metric, or a fitted learner"):
            gm.dask.transform(None, given, X)


def test_masked_entries_are_not_numbers():
    """``np.asarray`` gives the numbers behind the mask."""
    masked, hidden = np.ma.masked_greater(X, 1.0), np.ma.masked_equal(Y, 2)
    metric = gm.Mahalanobis.euclidean(3)
    for call in (
        lambda: metric.sqdist(masked),
        lambda: gm.RCA().fit(masked, Y),
        lambda: gm.RCA().fit(X, hidden),
        lambda: gm.ITML().fit(X, hidden),
        lambda: gm.RCA().fit(X, Y).transform(masked),
        lambda: gm.Gaussian(1.0)(masked),
        lambda: gm.DecorrelatedKMeans((2, 2)).fit(masked),
        lambda: gm.Pairs.from_labels(hidden),
        lambda: gm.Mahalanobis.from_matrix(np.ma.masked_equal(np.eye(3), 0)),
    ):
        with pytest.raises(ValueError, match=r"^\w+: \w+ must hold no masked entries, got \d+; fill them"):
            call()
    np.testing.assert_array_equal(metric.sqdist(np.ma.array(X, mask=False)), metric.sqdist(X))


def test_a_new_file_in_the_place_of_a_mapped_one_changes_no_index(tmp_path):
    np.save(tmp_path / "points.npy", X)
    index = gm.ExactIndex(gm.Mahalanobis.euclidean(3)).add(np.load(tmp_path / "points.npy", mmap_mode="r"))
    np.save(tmp_path / "new.npy", X + 1)
    (tmp_path / "new.npy").replace(tmp_path / "points.npy")
    ids, sqdist = index.query(X, 1)
    assert ids[:, 0].tolist() == list(range(24)) and not sqdist.any()


def rewritten(path):
    """Write into a file, a while later: times on a disk are no finer than some milliseconds."""
    content = path.read_bytes()
    path.write_bytes(content[:-8] + bytes(8))
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 10**7))


@pytest.mark.parametrize("kind", [gm.ExactIndex, gm.HashIndex])
def test_a_mapped_file_that_is_written_into_is_noticed(tmp_path, kind):
    """Its distances were neither old nor new."""
    np.save(tmp_path / "points.npy", X)
    index = kind(gm.Mahalanobis.euclidean(3)).add(np.load(tmp_path / "points.npy", mmap_mode="r"))
    other = index.with_metric(gm.Mahalanobis(np.diag([1.0, 2.0, 3.0])))
    copied = [pickle.loads(pickle.dumps(index)), kind(gm.Mahalanobis.euclidean(3)).add(np.array(index.points))]
    index.save(tmp_path / "index.gram")
    loaded = gm.load(tmp_path / "index.gram", mmap=True)
    assert (index.query(X, 1)[0] == loaded.query(X, 1)[0]).all()
    rewritten(tmp_path / "points.npy")
    for one in (index, other):
        with pytest.raises(ValueError, match="the file of its points must stay as it is"):
            one.query(X, 1)
        with pytest.raises(ValueError, match="the file of its points must stay as it is"):
            one.query_radius(X, 1.0)
    assert not any(one.query(X, 1)[1].any() for one in copied) and not loaded.query(X, 1)[1].any()
    rewritten(tmp_path / "index.gram")
    with pytest.raises(ValueError, match="index.gram"):
        loaded.query(X, 1)


def test_triplets_beyond_the_points_are_one_sentence():
    with pytest.raises(ValueError, match="refer to point 99, but X has 24 points"):
        gm.SCML().fit(X, gm.Triplets([0, 1], [1, 2], [2, 99]))


def test_a_file_cannot_ask_for_a_thousand_million_orders(tmp_path):
    index = gm.HashIndex(gm.Mahalanobis.euclidean(3), searcher="orders", n_orders=7).add(X)
    index.save(tmp_path / "a.gram")
    with zipfile.ZipFile(tmp_path / "a.gram") as before, zipfile.ZipFile(tmp_path / "b.gram", "w") as after:
        for name in before.namelist():
            after.writestr(name, before.read(name).replace(b'"n_orders": 7', b'"n_orders": 1000000000'))
    with pytest.raises(gm.persist.PersistError, match="n_orders must be"):
        gm.load(tmp_path / "b.gram")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: gm.DNE(n_components=4).fit(X, Y),
            "DNE: n_components must be at most the number of features 3, got 4.",
        ),
        (
            lambda: gm.TDL(n_neighbors=24).fit(X, Y),
            "TDL: n_neighbors must be less than the number of points 24, got 24.",
        ),
        (lambda: gm.RCA().fit(sparse.coo_array(X[:, 0]), Y), r"RCA: X must have shape (n, d), got shape (24,)."),
        (
            lambda: gm.RCA().fit(X, Y).transform(sparse.coo_array(X[0])),
            "RCA: X must have shape (n, d), got shape (3,).",
        ),
        (lambda: gm.Pairs([0, 1], [1, 2], [[1.0], [1.0, 2.0]]), "Pairs: similar must be a 1-D array, got"),
        (lambda: gm.solvers.Hinge([[1.0], [1.0, 2.0]]), "slack: C must be a 1-D array, got"),
        (
            lambda: gm.Posteriors(weight=1e300).fit(X, Y),
            "Posteriors: weight must be a number in [0, 1e+150], got 1e+300.",
        ),
        (lambda: gm.export.to_npz(gm.Mahalanobis.euclidean(3), np.timedelta64(3, "D")), "to_npz: path must be"),
        (lambda: gm.export.check(gm.Mahalanobis.euclidean(3), "npz", "nothing"), "check: nothing at 'nothing'"),
        (lambda: list(gm.export.from_parquet("nothing")), "from_parquet: no file at 'nothing'."),
        (lambda: gm.export.fill(pd.DataFrame(X), []), "fill: index must be an index, got"),
        (lambda: gm.dask.fit(None, gm.RCA(), X, Y, verbose=X), "dask.fit: verbose must be True or False, got"),
        (
            lambda: gm.dask.fit(None, gm.RCA(), X[None], Y),
            "dask.fit: X must have 2 dimension(s), got shape (1, 24, 3).",
        ),
        (lambda: gm.manifold.neighbors(X, 2, distance=lambda a, b: None), "neighbors: distance must give a number for"),
        (lambda: gm.manifold.neighbors(X, 2, index=pd.DataFrame(X)), "neighbors: index must be an index without items"),
        (lambda: gm.datasets.load("iris", dtype=pd.Series(["a", "b"])), "load: dtype must be"),
    ],
)
def test_what_passed_or_was_obscure_is_one_sentence(call, sentence):
    with pytest.raises((ValueError, TypeError, OSError)) as caught:
        call()
    assert str(caught.value).startswith(sentence) and "\n" not in str(caught.value)


def test_clicks_may_be_columns_of_a_table():
    learner = gm.LEGO().start(3)
    learner.feedback(X[0], pd.Series(X[1]), pd.Series(X[2]))
    other = gm.LEGO().start(3)
    other.feedback(X[0], X[1], X[2])
    np.testing.assert_array_equal(learner.metric_.matrix, other.metric_.matrix)
