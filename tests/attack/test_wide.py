"""A few sparse points of ten million columns: everything ends within 20 CPU seconds and 4 GB, or says why not."""

import numpy as np
import pytest
from scipy import sparse

import gramian as gm
from tests.attack.test_callables import one_sentence
from tests.attack.wide import asked, names

CLUSTERINGS = (gm.DecorrelatedKMeans, gm.ConvolutionalEM, gm.CooperativeVQ)


def fair(line):
    """Whether a line is an answer, or one sentence of ours."""
    return line["cpu_s"] is not None and (line["outcome"] == "done" or one_sentence(line["outcome"]))


@pytest.mark.parametrize("name", ["DecorrelatedKMeans", "ITML:rank", "Kernelized"])
def test_ten_million_columns_end(name):
    line = asked(name, "few")
    assert fair(line), line


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["empty", "one", "few"])
@pytest.mark.parametrize("name", names())
def test_ten_million_columns_end_everywhere(name, kind):
    line = asked(name, kind)
    assert fair(line), line


def spread_out(X, d, seed=0):
    """The columns of X among empty ones: sparse, and as an array."""
    columns = np.sort(np.random.default_rng(seed).choice(d, X.shape[1], replace=False))
    dense = np.zeros((len(X), d))
    dense[:, columns] = X
    return sparse.csr_array(dense), dense


@pytest.mark.parametrize("cls", CLUSTERINGS)
@pytest.mark.parametrize("center", [True, False])
def test_clusterings_of_sparse_points_with_empty_columns_are_those_of_the_array(cls, center):
    data = gm.datasets.two_views(120, 5, n_clusters=2, family="sum", random_state=0)
    thin, dense = spread_out(data.X, 40)
    found, true = (cls((2, 2), n_init=2, center=center, random_state=0).fit(given) for given in (thin, dense))
    np.testing.assert_array_equal(found.labels_, true.labels_)
    np.testing.assert_allclose(found.objective_, true.objective_, rtol=1e-9)
    for name in ("cluster_centers_", "weights_", "variance_"):  # the variance is that of all columns
        if hasattr(true, name):
            for a, b in zip(np.atleast_1d(getattr(found, name)), np.atleast_1d(getattr(true, name))):
                np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
    other = thin[::-1].tocsr()[:, np.random.default_rng(1).permutation(40)]
    np.testing.assert_array_equal(found.predict(other), true.predict(other.toarray()))


@pytest.mark.parametrize("settings", [{"rank": 3}, {"rank": 3, "subspace": "landmarks"}])
def test_subspaces_of_sparse_points_with_empty_columns_are_those_of_the_array(settings):
    rng = np.random.default_rng(0)
    thin, dense = spread_out(rng.normal(size=(60, 6)), 30)
    y = (dense.sum(axis=1) > 0).astype(int)
    found, true = (gm.ITML(random_state=0, **settings).fit(given, y).metric_ for given in (thin, dense))
    np.testing.assert_allclose(found.sqdist(thin), true.sqdist(dense), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("cls", [gm.ITML, gm.Framework])
def test_points_without_an_entry_span_nothing(cls, form):
    with pytest.raises(ValueError, match=rf"{cls.__name__}: .+"):
        cls(rank=2).fit(form(np.zeros((12, 5))), np.arange(12) % 2)


@pytest.mark.parametrize("cls", [gm.LEGO, gm.OnlineITML])
def test_online_learners_of_a_rank_need_no_room_for_a_matrix_of_all_features(cls):
    rng = np.random.default_rng(0)
    X = sparse.random_array((20, 300_000), density=1e-4, random_state=rng, format="csr")
    assert cls(rank=3).fit(X, np.arange(20) % 2).metric_.coordinates.size <= 3
    with pytest.raises(ValueError, match=r"X must have at most .* features without rank"):
        cls().fit(np.ones((4, 20_000)), [0, 0, 1, 1])


def test_centers_that_do_not_fit_are_refused_before_the_first_step():
    X = sparse.csr_array((24, 2 * 10**9))
    with pytest.raises(ValueError, match=r"DecorrelatedKMeans: 4 centers of 2,000,000,000 features take about 256 GB"):
        gm.DecorrelatedKMeans((2, 2)).fit(X)


def test_coordinates_that_do_not_fit_are_refused():
    X = sparse.csr_array((np.ones(6), (np.arange(6), np.arange(6))), shape=(6, 10**6))
    metric = gm.ITML(rank=2).fit(X, [0, 0, 0, 1, 1, 1]).metric_
    many = sparse.vstack([X] * 20_000, format="csr")
    with pytest.raises(ValueError, match=r"SubspaceMahalanobis: 120,000 × 1,000,000 coordinates take about"):
        metric.transform(many)
