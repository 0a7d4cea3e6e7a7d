"""A metric becomes one map, whose plain distances are the metric's own; what has no such map is named."""

import numpy as np
import pytest

import gramian as gm
from gramian.export.base import Map
from tests.export.problems import CURVED, FORMULAS, LINEAR, D, in_kernel, linear, points


@pytest.mark.parametrize("name", [*FORMULAS, *CURVED])
def test_distances_of_the_coordinates_are_those_of_the_metric(name):
    metric = (FORMULAS | CURVED)[name]()
    X = points(60)
    E = Map.of(metric, "test")
    Z = E(X)
    assert Z.shape == (60, E.width) and Z.dtype == np.float64
    direct = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(direct, metric.sqdist(X), atol=1e-9 * direct.max())


@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_metric_is_its_matrix_and_offset(name):
    X = points(30)
    E = Map.of(LINEAR[name](), "test")
    L, b = E.formula.L, E.formula.b
    assert L.shape == (E.width, D) and not E.formula.by_angle and E.formula.C is None
    np.testing.assert_allclose(X @ L.T + (0 if b is None else b), E(X), atol=1e-10 * np.abs(E(X)).max())
    V = X[:10] - X[10:20]
    by_matrix = np.einsum("ij,jk,ik->i", V, L.T @ L, V)
    np.testing.assert_allclose(by_matrix, E.metric.pair_sqdist(X[:10], X[10:20]), rtol=1e-9)


@pytest.mark.parametrize("name", FORMULAS)
def test_one_query_and_two_numbers_a_point_rank_as_the_metric_does(name):
    """norm(x) − 2 (q′ᵀx + c) / size(x) is d² but for a constant of the query."""
    metric, X, Q = FORMULAS[name](), points(60), points(7, seed=3)
    X[0] = 0  # it has no angle
    formula = Map.of(metric, "test").formula
    (norm, size), (q, c) = formula.sizes(X), formula.query(Q)
    score = norm - 2 * (q @ X.T + c[:, None]) / size
    D2 = metric.sqdist(Q, X)
    apart = (score - D2) - (score - D2).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(apart, 0, atol=1e-11 * max(np.abs(score).max(), 1))


@pytest.mark.parametrize("name", CURVED)
def test_a_curved_metric_has_no_matrix(name):
    E = Map.of(CURVED[name](), "to_torch")
    assert E.affine is None
    with pytest.raises(TypeError, match="to_torch: the map of a .* is not linear"):
        _ = E.formula


def test_a_cosine_kernel_with_a_rest_has_coordinates():
    metric = in_kernel(gm.Cosine(), alpha=0.3, rank=5)
    X = points(40)
    Z = Map.of(metric, "test")(X)
    direct = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(direct, metric.sqdist(X), atol=1e-9 * direct.max())


def test_a_metric_may_be_a_learner_features_or_a_file(tmp_path):
    X, y = gm.datasets.load("iris", return_X_y=True)
    learner = gm.RCA().fit(X, y)
    learner.metric_.save(tmp_path / "iris.gram")
    by_file = Map.of(tmp_path / "iris.gram", "test")
    assert by_file.file == tmp_path / "iris.gram"
    assert np.array_equal(Map.of(learner, "test")(X), by_file(X))
    features = gm.KernelFeatures(gm.Gaussian(1.0), rank=5).fit(X)
    assert np.array_equal(Map.of(features, "test")(X), features.transform(X))


@pytest.mark.parametrize(
    "metric, sentence",
    [
        (
            lambda: in_kernel(gm.Gaussian(2.0), alpha=0.5),
            "no finite coordinates outside of its basis .*search it with HashIndex",
        ),
        (lambda: in_kernel(gm.Laplacian(2.0), alpha=0.5), "no finite coordinates"),
        (lambda: gm.Gaussian(1.0), "must be a learned metric, fitted KernelFeatures, or a file of one"),
        (lambda: gm.KernelFeatures(gm.Gaussian(1.0)), "must be a learned metric, fitted KernelFeatures"),
        (lambda: np.eye(3), "must be a learned metric"),
    ],
)
@pytest.mark.parametrize("target", ["to_npz", "to_parquet", "to_faiss"])
def test_what_has_no_finite_map_is_refused_in_one_sentence(metric, sentence, target, tmp_path):
    function = getattr(gm.export, target)
    arguments = () if target == "to_npz" else (points(20),)
    with pytest.raises(TypeError, match=f"^{target}: .*{sentence}") as caught:
        function(metric(), *arguments, path=tmp_path / "out")
    assert "\n" not in str(caught.value) and not list(tmp_path.iterdir())


def test_coordinates_too_large_for_single_precision_are_named(tmp_path):
    with pytest.raises(ValueError, match="to_parquet: coordinates must fit into float32"):
        gm.export.to_parquet(linear(), points(5) * 1e60, tmp_path / "x.parquet")
    assert not list(tmp_path.iterdir())
