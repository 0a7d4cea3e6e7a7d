"""Arrays of other libraries on the CPU: array-api-strict, which takes nothing beyond the standard, and torch."""

import numpy as np
import pytest

import gramian as gm
from gramian import _device
from gramian.learners.nca import batch_nca_loss, nca_loss
from tests.arrays import cases
from tests.arrays.libraries import MAKERS, strict

pytest.importorskip("array_api_strict")
pytest.importorskip("array_api_compat")
library = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@library
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-8), (np.float32, 2e-3)])
@pytest.mark.parametrize("name", cases.METRICS)
def test_a_metric_answers_in_the_library_and_precision_of_its_points(make, name, dtype, tol):
    cases.metric_answers(make, cases.METRICS[name], dtype, tol)


@library
@pytest.mark.parametrize("name", cases.KERNELS)
def test_a_kernel_answers_in_the_library_of_its_points(make, name):
    cases.kernel_answers(make, cases.KERNELS[name])


@library
@pytest.mark.parametrize("name", cases.CONVEX)
def test_a_learner_finds_the_metric_that_it_finds_in_numpy(make, name):
    cases.same_metric(make, cases.CONVEX[name])


@library
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", cases.DESCENTS)
def test_a_descent_ends_as_low_as_in_numpy(make, name):
    cases.same_objective(make, cases.DESCENTS[name])


@library
@pytest.mark.parametrize("name", [name for name in cases.METRICS if "alpha" not in name])
def test_exact_search_finds_what_it_finds_in_numpy(make, name):
    cases.same_neighbors(make, cases.METRICS[name])


@library
@pytest.mark.parametrize("basis", ["cholesky", "random-cholesky", "uniform"])
def test_kernel_features_are_those_of_numpy(make, basis):
    cases.same_features(make, gm.KernelFeatures(gm.Gaussian(2.0), rank=10, basis=basis, random_state=0))


@library
def test_two_places_in_one_call_are_one_sentence(make):
    cases.refuses_mixed(make)


def test_two_devices_of_one_library_are_one_sentence():
    near, far = strict(cases.X), strict(cases.X, "device2")
    with pytest.raises(ValueError, match="must be on one device, got .*device1.* and .*device2.*move one of them"):
        cases.METRICS["Mahalanobis"].sqdist(near, far)


@library
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_by_masks_have_the_loss_of_batches_in_order(make, weighted):
    rng = np.random.default_rng(0)
    L, order = rng.normal(size=(2, 4)), rng.permutation(60)
    X, codes, rows = cases.X[order], cases.Y[order], slice(13, 31)
    weight = rng.uniform(1, 2, size=60) if weighted else None
    value, gradient = nca_loss(L, X, codes, rows, weight)
    there = None if weight is None else make(weight)
    found, slope = batch_nca_loss(make(L), make(X), make(codes), rows, there)
    assert found == pytest.approx(value)
    np.testing.assert_allclose(cases.host(slope), gradient, atol=1e-12)


@library
def test_a_random_order_is_made_on_the_device(make):
    beside = _device.inside(make(cases.X))
    first, second = (_device.permutation(1000, np.random.RandomState(seed), beside) for seed in (0, 1))
    orders = [_device.to_host(order) for order in (first, second)]
    for order in orders:
        assert sorted(order.tolist()) == list(range(1000))
        assert abs(np.corrcoef(order, np.arange(1000))[0, 1]) < 0.1
        assert abs(np.corrcoef(order[1:], order[:-1])[0, 1]) < 0.1
    assert abs(np.corrcoef(*orders)[0, 1]) < 0.1


@library
def test_pairs_of_points_as_tuples_stay_where_they_are(make):
    pairs = np.stack([cases.X[:30], cases.X[30:]], axis=1)
    same = np.where(cases.Y[:30] == cases.Y[30:], 1, -1)
    same[:5] = 1
    here, there = gm.GMML(anchor=0).fit(pairs, same), gm.GMML(anchor=0).fit(make(pairs), same)
    np.testing.assert_allclose(there.metric_.matrix, here.metric_.matrix, rtol=1e-8)


@library
def test_an_index_of_a_device_is_stored_as_one_of_the_host(make, tmp_path):
    index = gm.ExactIndex(cases.METRICS["Mahalanobis"]).add(make(cases.X))
    gm.save(index, tmp_path / "index")
    loaded = gm.load(tmp_path / "index")
    np.testing.assert_array_equal(loaded.query(cases.NEW, 3)[0], index.query(cases.NEW, 3)[0])


@library
def test_the_automatic_choice_is_that_of_numpy(make):
    cases.same_choice(make)


@library
@pytest.mark.filterwarnings("ignore:TDL", "ignore:LaplacianEigenmaps")
def test_graphs_and_embeddings_are_those_of_numpy(make):
    cases.same_graphs(make)


@library
def test_alignment_clusters_and_codes_are_those_of_numpy(make):
    cases.same_weights(make)
    cases.same_clusters(make)
    cases.same_codes(make)


@library
def test_what_runs_on_the_cpu_says_so_and_names_the_remedy(make):
    cases.refuses_the_rest(make)


@library
@pytest.mark.parametrize("call", [np.fft.fft, np.asarray, np.gradient])
def test_numpy_never_copies_an_array_from_a_device_silently(make, call):
    with pytest.raises(TypeError, match="NumPy arrays"):
        call(_device.inside(make(cases.X)))
