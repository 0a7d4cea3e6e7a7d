"""What arrays of any library must give: the same as NumPy's, as arrays of that library."""

import numpy as np
import pytest
from sklearn.base import clone

import gramian as gm
from tests.arrays.libraries import foreign, host

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], 20)
CENTERS = np.array([[0.0, 0, 0, 0], [1.5, 0, 0, 0], [0, 1.5, 0, 0]])
X = CENTERS[Y] + RNG.normal(size=(60, 4)) * [0.5, 0.5, 1.0, 1.0]
NEW = RNG.normal(size=(9, 4))

CONVEX = {
    "RCA": gm.RCA(random_state=0),
    "RCA, anchor=0": gm.RCA(anchor=0),
    "RCA, two components": gm.RCA(2, anchor=0),
    "GMML": gm.GMML(random_state=0),
    "GMML, covariance prior": gm.GMML(anchor=0, prior="covariance", random_state=0),
    "ITML": gm.ITML(anchor=0, n_pairs=60, random_state=0),
    "ITML, rank 2": gm.ITML(anchor=0, rank=2, n_pairs=60, random_state=0),
    "Framework, von Neumann": gm.Framework(gm.VonNeumann(), anchor=0, slack=1.0, random_state=0, tol=1e-5),
    "Framework, Frobenius": gm.Framework(gm.Frobenius(), anchor=0, slack=1.0, random_state=0, tol=1e-10),
    "MMC, diagonal": gm.MMC(True, anchor=0, n_pairs=60, random_state=0),
    "MCML": gm.MCML(anchor=0, reg=1.0, tol=1e-9),
    "Kernelized RCA": gm.Kernelized(gm.RCA(anchor=0, reg=0.1), gm.Gaussian(2.0), rank=10),
    "Kernelized ITML": gm.Kernelized(gm.ITML(anchor=0, n_pairs=60, random_state=0), gm.Polynomial(2)),
    "Kernelized GMML": gm.Kernelized(gm.GMML(anchor=0, random_state=0), gm.Gaussian(2.0), rank=6),
    "Kernelized MCML": gm.Kernelized(gm.MCML(anchor=0, reg=1.0, tol=1e-9), gm.Gaussian(2.0), rank=6),
    "PLDA": gm.PLDA(random_state=0),
}
"""Learners whose answer is one: metrics must agree."""
DESCENTS = {
    "NCA": gm.NCA(2, anchor=0),
    "Contrastive": gm.Contrastive(anchor=0),
    "Contrastive, anchored": gm.Contrastive(random_state=0),
    "NCA, stochastic": gm.NCA(anchor=0, batch_size=20, max_iter=5, random_state=0),
    "NCA, anchored": gm.NCA(random_state=0),
    "LMNN": gm.LMNN(anchor=0, reg="pull"),
    "LMNN, anchored": gm.LMNN(random_state=0),
    "MMC": gm.MMC(anchor=0, n_pairs=60, random_state=0),
    "ITML, anchored": gm.ITML(n_pairs=60, random_state=0),
    "Kernelized NCA": gm.Kernelized(gm.NCA(2, anchor=0, max_iter=30), gm.Gaussian(2.0), rank=6),
    "Kernelized LMNN": gm.Kernelized(gm.LMNN(anchor=0, reg="pull", max_iter=60), gm.Gaussian(2.0), rank=6),
    "Kernelized MMC": gm.Kernelized(gm.MMC(anchor=0, n_pairs=60, random_state=0), gm.Gaussian(2.0), rank=6),
}
"""Learners that stop at a tolerance, on another path: objectives must agree."""
METRICS = {
    "Mahalanobis": gm.Mahalanobis.from_matrix(np.cov(RNG.normal(size=(20, 4)).T)),
    "SubspaceMahalanobis": gm.SubspaceMahalanobis(np.eye(4)[:, :2], np.diag([2.0, 3.0]), 0.5),
    "KernelMetric": gm.KernelMetric(gm.KernelFeatures(gm.Gaussian(2.0), rank=10).fit(X), np.eye(10)),
    "KernelMetric, alpha": gm.KernelMetric(gm.KernelFeatures(gm.Gaussian(2.0), rank=5).fit(X), np.eye(5), 0.5),
}
KERNELS = {
    "Linear": gm.Linear(),
    "Polynomial": gm.Polynomial(2),
    "Gaussian": gm.Gaussian(1.5),
    "Gaussian of a metric": gm.Gaussian(1.5, METRICS["Mahalanobis"]),
    "Laplacian": gm.Laplacian(2.0),
    "Cosine": gm.Cosine(),
    "ChiSquared": gm.ChiSquared(),
    "Intersection": gm.Intersection(),
    "combination": gm.Linear() + 2 * gm.Gaussian() * gm.Cosine() + 1,
}


def same_place(answer, given):
    """Whether an answer is of the library, on the device, in the precision of what was given."""
    assert type(answer) is type(given)
    assert answer.device == given.device
    assert answer.dtype == given.dtype


def metric_answers(make, metric, dtype, tol):
    """Every distance of a metric, as NumPy has it."""
    A, B = make(X.astype(dtype)), make(NEW.astype(dtype))
    pairs = make(X[:9].astype(dtype))
    for name, given in (
        ("sqdist", (A, B)),
        ("sqdist", (A,)),
        ("distance", (A, B)),
        ("kernel", (A, B)),
        ("kernel", (A,)),
    ):
        found = getattr(metric, name)(*given)
        same_place(found, A)
        np.testing.assert_allclose(host(found), getattr(metric, name)(*map(host, given)), atol=tol, rtol=tol)
    for name, given in (("transform", (A,)), ("pair_sqdist", (pairs, B))):
        found = getattr(metric, name)(*given)
        same_place(found, A)
        np.testing.assert_allclose(host(found), getattr(metric, name)(*map(host, given)), atol=tol, rtol=tol)


def kernel_answers(make, kernel):
    """A Gram matrix, its diagonal, pairs and distances."""
    A, B = np.abs(X), np.abs(NEW)
    for name, given in (
        ("__call__", (A, B)),
        ("__call__", (A,)),
        ("diag", (A,)),
        ("pairs", (A[:9], B)),
        ("sqdist", (A,)),
    ):
        found = getattr(kernel, name)(*map(make, given))
        same_place(found, make(A))
        np.testing.assert_allclose(host(found), getattr(kernel, name)(*given), rtol=1e-9, atol=1e-9)


def same_metric(make, learner, tol=1e-5):
    """A fit finds what it finds in NumPy, keeps plain NumPy, and answers where the data are."""
    here, there = clone(learner).fit(X, Y), clone(learner).fit(make(X), Y)
    plain(there)
    np.testing.assert_allclose(there.metric_.sqdist(X), here.metric_.sqdist(X), rtol=tol, atol=tol)
    same_place(there.transform(make(X)), make(X))


def same_objective(make, learner, rtol=2e-2):
    """A fit ends as well as it does in NumPy, keeps plain NumPy, and answers where the data are."""
    here, there = clone(learner).fit(X, Y), clone(learner).fit(make(X), make(Y))
    plain(there)
    assert reached(there) <= reached(here) + rtol * abs(reached(here))
    same_place(there.transform(make(X)), make(X))


def reached(learner):
    """The objective of a fit, or of what was blended."""
    return (learner.solution_.learned or learner.solution_).objective


def plain(learner):
    """Whether all that a fit leaves is plain."""
    assert type(learner.metric_.components) is np.ndarray
    solution = learner.solution_
    for one in (solution, solution.learned or solution):
        for name in ("M", "factor", "dual"):
            assert getattr(one, name) is None or type(getattr(one, name)) is np.ndarray, name
        for name, value in one.extra.items():
            assert type(value).__module__.startswith(("numpy", "builtins", "gramian")), name
    for value in vars(learner.metric_.coordinates).values():
        assert not foreign(value)


def same_neighbors(make, metric):
    """Exact search answers as it does in NumPy: neighbors, some items only, radius, and from a file."""
    here, there = gm.ExactIndex(metric).add(X), gm.ExactIndex(metric).add(make(X[:25])).add(make(X[25:]))
    some = np.arange(0, 60, 3)
    for options in ({}, {"within": some}):
        ids, sqdist = here.query(NEW, 5, **options)
        found = there.query(make(NEW), 5, **options)
        same_place(found[1], make(NEW))
        np.testing.assert_array_equal(host(found[0]), ids)
        np.testing.assert_allclose(host(found[1]), sqdist, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(there.query(NEW, 5)[0], here.query(NEW, 5)[0])
    ids, found = here.query_radius(NEW, 1.0)[0], there.query_radius(make(NEW), 1.0)[0]
    for one, other in zip(ids, found):
        np.testing.assert_array_equal(host(other), one)


def same_features(make, features):
    """Coordinates have the same inner products."""
    here, there = clone(features), clone(features)
    found = there.fit_transform(make(X))
    Z = here.fit_transform(X)
    np.testing.assert_allclose(host(found) @ host(found).T, Z @ Z.T, atol=1e-8)
    np.testing.assert_allclose(host(there.residual(make(NEW))), here.residual(NEW), atol=1e-8)
    assert type(there.basis_) is type(there.map_) is np.ndarray


def refuses_mixed(make):
    """Two places in one call are one sentence."""
    with pytest.raises(ValueError, match="must be on one device, got .* move one of them"):
        METRICS["Mahalanobis"].sqdist(make(X), X)
    with pytest.raises(ValueError, match="must be on one device"):
        gm.ExactIndex(METRICS["Mahalanobis"]).add(X).query(make(X))


def same_choice(make):
    """AutoMetric chooses the same, with labels on either side."""
    candidates = [gm.RCA(), gm.GMML(random_state=0), gm.LMNN(random_state=0)]
    auto = gm.AutoMetric(candidates=candidates, random_state=0)
    here, found = clone(auto).fit(X, Y), clone(auto).fit(make(X), make(Y))
    assert found.chosen_ == here.chosen_
    np.testing.assert_allclose(found.metric_.matrix, here.metric_.matrix, rtol=1e-5, atol=1e-8)


def refuses_the_rest(make):
    """What runs on the CPU alone says so, with the remedy, where it cannot read the points; elsewhere it reads them."""
    there, metric = make(X), METRICS["Mahalanobis"]
    calls = [
        lambda: gm.SDML().fit(there, Y),
        lambda: gm.LEGO().fit(there, Y),
        lambda: gm.DNE(3).fit(there, Y),
        lambda: gm.Kernelized(gm.DNE(3), gm.Gaussian(2.0)).fit(there, Y),
        lambda: gm.GeometryAwareKernel().fit(there, Y),
        lambda: gm.LaplacianEigenmaps(2, n_neighbors=8).fit(there),
        lambda: gm.TDL(2, 1.0, n_neighbors=8).fit(there, Y),
        lambda: gm.manifold.NeighborGraph(3)(there),
        lambda: gm.align([gm.Gaussian(0.5), gm.Linear()], there, Y),
        lambda: gm.CooperativeVQ((2, 2)).fit(there),
        lambda: gm.DecorrelatedKMeans((2, 2)).fit(there),
        lambda: gm.HashIndex(metric).add(there),
        lambda: gm.NCA(n_neighbors=8, anchor=0).fit(there, Y),
        lambda: gm.Framework(solver="bregman", slack=1.0, anchor=0).fit(there, Y),
        lambda: gm.ExactIndex(METRICS["KernelMetric, alpha"]).add(there),
    ]
    for number, call in enumerate(calls):
        try:
            call()
            assert number < 12 and "cpu" in str(there.device).lower(), number
        except TypeError as error:
            assert "CPU" in str(error) and ("NumPy array" in str(error) or ".cpu().numpy()" in str(error)), error


def needs_double(single):
    """A device without double precision is refused in one sentence."""
    for call in (METRICS["Mahalanobis"].sqdist, gm.NCA().fit, gm.Gaussian(), gm.ExactIndex(METRICS["Mahalanobis"]).add):
        with pytest.raises(TypeError, match="device without double precision"):
            call(single(X), *([Y] if getattr(call, "__name__", "") == "fit" else []))
