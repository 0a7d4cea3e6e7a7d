"""A metric becomes one map, whose plain distances are the metric's own; what has no such map is named."""

import numpy as np
import pytest

import gramian as gm
from gramian.export.maps import isometry
from tests.export.problems import CURVED, LINEAR, D, in_kernel, linear, points


@pytest.mark.parametrize("name", [*LINEAR, *CURVED])
def test_distances_of_the_coordinates_are_those_of_the_metric(name):
    metric = (LINEAR | CURVED)[name]()
    X = points(60)
    E = isometry(metric, "test")
    Z = E(X)
    assert Z.shape == (60, E.width) and Z.dtype == np.float64
    direct = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(direct, metric.sqdist(X), atol=1e-9 * direct.max())


@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_metric_is_its_matrix_and_offset(name):
    X = points(30)
    E = isometry(LINEAR[name](), "test")
    assert E.is_linear and E.components.shape == (E.width, D)
    np.testing.assert_allclose(X @ E.components.T + E.offset, E(X), atol=1e-10 * np.abs(E(X)).max())
    V = X[:10] - X[10:20]
    by_matrix = np.einsum("ij,jk,ik->i", V, E.matrix, V)
    np.testing.assert_allclose(by_matrix, E.source.pair_sqdist(X[:10], X[10:20]), rtol=1e-9)


@pytest.mark.parametrize("name", CURVED)
def test_a_curved_metric_has_no_matrix(name):
    E = isometry(CURVED[name](), "to_torch")
    assert not E.is_linear
    with pytest.raises(TypeError, match="to_torch: the map of a .* is not linear"):
        _ = E.components


def test_a_cosine_kernel_with_a_rest_has_coordinates():
    metric = in_kernel(gm.Cosine(), alpha=0.3, rank=5)
    X = points(40)
    Z = isometry(metric, "test")(X)
    direct = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(direct, metric.sqdist(X), atol=1e-9 * direct.max())


def test_a_metric_may_be_a_learner_features_or_a_file(tmp_path):
    X, y = gm.datasets.load("iris", return_X_y=True)
    learner = gm.RCA().fit(X, y)
    learner.metric_.save(tmp_path / "iris.gram")
    by_file = isometry(tmp_path / "iris.gram", "test")
    assert by_file.file == tmp_path / "iris.gram"
    assert np.array_equal(isometry(learner, "test")(X), by_file(X))
    features = gm.KernelFeatures(gm.Gaussian(1.0), rank=5).fit(X)
    assert np.array_equal(isometry(features, "test")(X), features.transform(X))


@pytest.mark.parametrize(
    "metric, sentence",
    [
        (
            lambda: in_kernel(gm.Gaussian(2.0), alpha=0.5),
            "no finite coordinates outside of its basis .*KernelHashIndex",
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
