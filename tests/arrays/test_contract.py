"""Arrays of other libraries on the CPU: array-api-strict, which takes nothing beyond the standard, and torch."""

import numpy as np
import pytest

import gramian as gm
from gramian import _device
from tests.arrays import cases

strict = pytest.importorskip("array_api_strict")
pytest.importorskip("array_api_compat")


def _torch(x):
    return pytest.importorskip("torch").tensor(np.asarray(x))


MAKERS = {"strict": lambda x: strict.asarray(np.asarray(x)), "torch": _torch}
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
def test_automatic_choice_alignment_graphs_clusters_and_codes_are_those_of_numpy(make):
    from gramian.manifold import NeighborGraph

    X, there = cases.X, make(cases.X)
    candidates = [gm.RCA(), gm.GMML(random_state=0)]
    here, found = (gm.AutoMetric(candidates=candidates, random_state=0).fit(A, cases.Y) for A in (X, there))
    assert found.chosen_ == here.chosen_
    np.testing.assert_allclose(found.metric_.matrix, here.metric_.matrix, rtol=1e-6, atol=1e-9)
    kernels = [gm.Gaussian(0.5), gm.Gaussian(2.0), gm.Linear()]
    weights = [gm.align(kernels, A, cases.Y, warn=False).weights for A in (X, there)]
    np.testing.assert_allclose(*weights, rtol=1e-8)
    assert abs(NeighborGraph(3)(X) - NeighborGraph(3)(there)).max() == 0
    labels = [gm.DecorrelatedKMeans((2, 2), n_init=1, random_state=0).fit(A).labels_ for A in (X, there)]
    np.testing.assert_array_equal(*labels)
    codes = [gm.HashIndex(cases.METRICS["Mahalanobis"], random_state=0).add(A) for A in (X, there)]
    np.testing.assert_array_equal(codes[0].query(cases.NEW, 3)[0], cases.host(codes[1].query(make(cases.NEW), 3)[0]))


class Counting:
    """How often data cross between host and device."""

    def __init__(self, monkeypatch):
        self.up = self.down = 0
        to_device, to_host = _device.array.to_device, _device.array.to_host

        def counted_up(host, like):
            self.up += 1
            return to_device(host, like)

        def counted_down(x):
            self.down += isinstance(x, _device.DeviceArray)
            return to_host(x)

        for module in _modules():
            for name, counted in (("to_device", counted_up), ("to_host", counted_down)):
                if hasattr(module, name):
                    monkeypatch.setattr(module, name, counted)


def _modules():
    import sys

    return [module for name, module in list(sys.modules.items()) if name.startswith("gramian")]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "learner",
    [
        gm.NCA(2, anchor=0, tol=0),
        gm.MCML(anchor=0, reg=1.0, tol=0),
        gm.ITML(anchor=0, n_pairs=60, tol=0, random_state=0),
    ],
    ids=["NCA", "MCML", "ITML"],
)
def test_steps_copy_nothing_between_host_and_device(learner, monkeypatch):
    make, counts = MAKERS["strict"], []
    for steps in (2, 6):
        with monkeypatch.context() as patch:
            counting = Counting(patch)
            fitted = learner.set_params(max_iter=steps).fit(make(cases.X), cases.Y)
            counts.append((counting.up, counting.down))
        assert fitted.n_iter_ == steps
    assert counts[0] == counts[1]


@library
@pytest.mark.parametrize("call", [np.fft.fft, np.asarray, np.gradient])
def test_numpy_never_copies_an_array_from_a_device_silently(make, call):
    with pytest.raises(TypeError, match="NumPy arrays"):
        call(_device.inside(make(cases.X)))
