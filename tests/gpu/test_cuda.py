"""The contract of arrays on a CUDA device; run with ``make gpu`` where there is one."""

import numpy as np
import pytest

import gramian as gm
from tests.arrays import cases

pytestmark = pytest.mark.gpu


def _torch(x):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    return torch.as_tensor(np.asarray(x), device="cuda")


def _cupy(x):
    return pytest.importorskip("cupy").asarray(np.asarray(x))


MAKERS = {"torch": _torch, "cupy": _cupy}
library = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@library
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-8), (np.float32, 2e-3)])
@pytest.mark.parametrize("name", cases.METRICS)
def test_a_metric_answers_on_the_device(make, name, dtype, tol):
    cases.metric_answers(make, cases.METRICS[name], dtype, tol)


@library
@pytest.mark.parametrize("name", cases.KERNELS)
def test_a_kernel_answers_on_the_device(make, name):
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
def test_the_automatic_choice_is_that_of_numpy(make):
    cases.same_choice(make)


@library
def test_what_runs_on_the_cpu_says_so_and_names_the_remedy(make):
    cases.refuses_the_rest(make)


@library
@pytest.mark.parametrize("learner", [gm.NCA(2, anchor=0), gm.LMNN(anchor=0), gm.ITML(anchor=0, random_state=0)])
def test_single_precision_on_the_device_ends_as_well(make, learner):
    def single(x):
        x = np.asarray(x)
        return make(x.astype(np.float32) if x.dtype.kind == "f" else x)

    cases.same_objective(single, learner)


def test_products_in_tf32_leave_neighbors_exact():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(5000, 64)), rng.normal(size=(50, 64))
    exact = gm.ExactIndex(gm.Mahalanobis.euclidean(64)).add(X).query(Q, 10)[0]
    index = gm.ExactIndex(gm.Mahalanobis.euclidean(64)).add(_torch(X))
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("high")  # the one switch
        found = index.query(_torch(Q), 10)[0]
    finally:
        torch.set_float32_matmul_precision(before)
    np.testing.assert_array_equal(cases.host(found), exact)
