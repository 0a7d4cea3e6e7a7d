"""Arrays of other libraries on the CPU: array-api-strict, which takes nothing beyond the standard, and torch."""

from dataclasses import replace

import numpy as np
import pytest

import gramian as gm
from gramian import _arrays
from gramian._arrays import asarray, put, to_numpy
from gramian.learners import base
from gramian.learners.nca import batch_nca_loss, nca_loss
from gramian.learners.task import BUDGET
from tests.arrays import cases
from tests.arrays.libraries import MAKERS, single, strict

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
def test_what_runs_on_the_cpu_says_so_and_names_the_remedy(make):
    cases.refuses_the_rest(make)


def test_a_device_without_double_precision_is_refused():
    cases.needs_double(single)


@library
def test_arrays_cross_in_two_places_alone(make):
    there = make(cases.X)
    assert type(to_numpy(there)) is np.ndarray
    found = asarray(cases.NEW.astype(np.float32), there)
    cases.same_place(found, there)
    assert asarray(None, there) is None
    assert asarray(cases.X, cases.X) is cases.X is to_numpy(cases.X)
    assert "int64" in str(asarray(cases.Y, there).dtype)


@library
def test_rows_and_entries_are_set_where_the_array_is(make):
    host, there = np.arange(12.0).reshape(4, 3), make(np.arange(12.0).reshape(4, 3))
    rows, columns = np.array([3, 0]), np.array([1, 2])
    for places, values in (((rows, columns), np.array([-1.0, -2.0])), ((rows,), np.ones((2, 3))), ((columns,), 7.0)):
        put(host, places, values)
        put(there, places, values)
        np.testing.assert_array_equal(to_numpy(there), host)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["NCA", "Contrastive", "LMNN", "MCML"])
def test_on_a_device_a_default_fit_learns_from_all_points_that_fit_there(name, monkeypatch, recwarn):
    rng, cls, sizes = np.random.default_rng(0), getattr(gm, name), []
    y = rng.integers(3, size=90)
    X, solve = rng.normal(size=(90, 4)) + 2 * np.eye(3, 4)[y], cls.solve
    monkeypatch.setattr(cls, "solve", lambda self, task: sizes.append(task.Z.shape[0]) or solve(self, task))
    monkeypatch.setattr(cls, "traits", replace(cls.traits, pair_cost=(1e9 * BUDGET / 930, 0, 0)))  # of a processor
    learner = cls(max_iter=3, random_state=0)
    assert _arrays.free_bytes(X) is _arrays.free_bytes(strict(X, "CPU_DEVICE")) is None
    learner.fit(strict(X), y)
    assert sizes[-1] == 90 and not [w for w in recwarn if "learns from" in str(w.message)]

    room = 60 * 8 * base.HELD * 4 + 60**2 * base.PAIR + 1  # for 60 points
    monkeypatch.setattr(_arrays, "_memory", lambda x: (room, 1 << 30))
    with pytest.warns(UserWarning, match=rf"{name}: learns from 6\d of the 90 .* no more fit into the memory of the"):
        learner.fit(strict(X), y)
    with pytest.warns(UserWarning, match=rf"{name}: learns from 30 of the 90 .* its work grows with n²"):
        learner.fit(X, y)
    assert sizes[-1] == 30
