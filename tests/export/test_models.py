"""Exported models compute our coordinates, in their own runtime."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import gramian as gm
from gramian.export.base import Map
from tests.export.problems import CURVED, FORMULAS, in_kernel, linear, points, sections

X = points(50)


def run_onnx(model, X):
    import onnxruntime

    source = model if isinstance(model, bytes) else str(model)
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    return session.run(["learned"], {"x": X.astype(np.float32)})[0]


def close(found, expected, tolerance=1e-5):
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


@pytest.mark.parametrize("name", [*FORMULAS, *CURVED])
def test_onnx_gives_our_coordinates(name, tmp_path):
    metric = (FORMULAS | CURVED)[name]()
    path = gm.export.to_onnx(metric, tmp_path / "metric.onnx")
    assert path == tmp_path / "metric.onnx" and (tmp_path / "README.md").exists()
    found = run_onnx(path, X)
    assert found.dtype == np.float32
    close(found, Map.of(metric, "test")(X.astype(np.float32)))


@pytest.mark.parametrize("kernel", [gm.Gaussian(1.5), gm.Polynomial(3), gm.Linear()])
@pytest.mark.parametrize("center", [False, True])
def test_kernel_features_go_to_onnx(kernel, center, tmp_path):
    features = gm.KernelFeatures(kernel, rank=8, center=center).fit(X)
    close(run_onnx(gm.export.to_onnx(features, tmp_path / "z.onnx"), X), features.transform(X.astype(np.float32)))


def test_many_features_of_a_smooth_kernel_keep_their_digits_in_onnx(tmp_path):
    """The last coordinates are so much smaller than the first that T has large entries."""
    features = gm.KernelFeatures(gm.Gaussian(60.0)).fit(X)
    assert np.abs(features.map_).max() > 1e3
    new = points(30, seed=5).astype(np.float32)
    close(run_onnx(gm.export.to_onnx(features, tmp_path / "z.onnx"), new), features.transform(new))


def test_a_linear_metric_is_two_nodes():
    model = gm.export.to_onnx(linear())
    assert [node.op_type for node in model.graph.node] == ["Sub", "MatMul"]
    close(run_onnx(model.SerializeToString(), X), linear().transform(X))


def test_a_center_is_subtracted_first(tmp_path):
    center = X.mean(axis=0)
    expected = (X - center) @ linear().components.T
    far = X + 1e4
    found = run_onnx(gm.export.to_onnx(linear(), tmp_path / "m.onnx", center=center + 1e4), far)
    close(found, expected, 1e-3)  # float32 holds X itself to 1e-3 there
    arrays = gm.export.to_npz(linear(), center=center)
    close((X - arrays["center"]) @ arrays["components"].T, expected, 1e-12)
    with pytest.raises(ValueError, match="to_onnx: center must be 8 numbers"):
        gm.export.to_onnx(linear(), center=[1.0])
    with pytest.raises(ValueError, match="to_onnx: center must be None for a map that is not linear"):
        gm.export.to_onnx(CURVED["Gaussian"](), center=center)


@pytest.mark.parametrize("target", ["npz", "json"])
@pytest.mark.parametrize("name", [*FORMULAS, "Gaussian", "centered Gaussian", "polynomial"])
def test_the_numbers_of_npz_and_json_are_enough(name, target, tmp_path):
    metric, file = (FORMULAS | CURVED)[name](), f"metric.{target}"
    getattr(gm.export, f"to_{target}")(metric, path=tmp_path / file)
    x = X[3]
    space = {"x": x}
    code = sections(tmp_path / "README.md")[file].replace(file, str(tmp_path / file))
    exec(code, space)
    close(space["z"], Map.of(metric, "test")(x[None]), 1e-12)
    assert "gramian" not in code


def test_npz_holds_the_matrix():
    arrays = gm.export.to_npz(linear())
    np.testing.assert_allclose(arrays["matrix"], linear().matrix)


@pytest.mark.parametrize("name", [*FORMULAS, "Gaussian", "centered Gaussian", "polynomial", "cosine"])
def test_a_scikit_learn_transformer_stays_as_it_is(name):
    metric = (FORMULAS | CURVED)[name]()
    learned = gm.export.to_sklearn(metric)
    expected = Map.of(metric, "test")(X)
    close(learned.transform(X), expected, 1e-9)
    y = (X[:, 0] > 0.5).astype(int)
    pipeline = make_pipeline(learned, KNeighborsClassifier(3)).fit(X[:30], y[:30])
    ours = KNeighborsClassifier(3).fit(expected[:30], y[:30])
    assert np.array_equal(pipeline.predict(X[30:]), ours.predict(expected[30:]))
    close(pipeline[0].transform(X), expected, 1e-9)


def test_a_scikit_learn_export_is_a_metric_of_neighbors():
    y = (X[:, 0] > 0.5).astype(int)
    by_export = KNeighborsClassifier(3, metric=gm.export.to_sklearn(linear())).fit(X, y)
    by_metric = KNeighborsClassifier(3, metric=linear()).fit(X, y)
    assert np.array_equal(by_export.kneighbors(X[:9])[1], by_metric.kneighbors(X[:9])[1])
    assert gm.export.to_sklearn(linear())(X[0], X[1]) == pytest.approx(linear()(X[0], X[1]))


def test_the_scikit_learn_file_needs_nothing_of_ours(tmp_path):
    path = gm.export.to_sklearn(linear(), tmp_path / "metric.pkl")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import joblib, pickle, sys, numpy as np; sys.modules['gramian'] = None; "
        f"learned = joblib.load({str(path)!r}); pickle.load(open({str(path)!r}, 'rb')); "
        f"np.save({str(tmp_path / 'Z.npy')!r}, learned.transform(np.load({str(tmp_path / 'X.npy')!r})))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    close(np.load(tmp_path / "Z.npy"), linear().transform(X), 1e-12)


def test_the_check_of_a_pickle_runs_nothing_foreign(tmp_path):
    class Evil:
        def __reduce__(self):
            return print, ("run",)

    (tmp_path / "evil.pkl").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(pickle.UnpicklingError, match="does not belong into this file"):
        gm.export.check(linear(), "sklearn", tmp_path / "evil.pkl")


@pytest.mark.parametrize("target", ["onnx", "npz", "sklearn"])
def test_models_are_checked_without_and_with_points(target, tmp_path):
    path = getattr(gm.export, f"to_{target}")(linear(), tmp_path / "model")
    for some in (None, points(500)):
        report = gm.export.check(linear(), target, path, some)
        assert report.same and report.queries == 100 and report.error < 1e-5
    with pytest.raises(ValueError, match="belongs to another metric, export again"):
        gm.export.check(linear(seed=2), target, path)
    with pytest.raises(ValueError, match="must map to 3 coordinates, it maps to 5"):
        gm.export.check(linear(3), target, path)


@pytest.mark.parametrize(
    "target, kernel, sentence",
    [
        ("onnx", gm.Laplacian(2.0), "has no ONNX form; linear, polynomial, Gaussian and cosine"),
        ("npz", gm.Laplacian(2.0), "has no NumPy form; export it as onnx"),
        ("sklearn", gm.Laplacian(2.0), "has no scikit-learn form"),
        ("npz", gm.Gaussian(1.0, metric=linear()), "has no NumPy form"),
    ],
)
def test_kernels_without_a_form_are_refused(target, kernel, sentence):
    with pytest.raises(TypeError, match=f"^to_{target}: the kernel .*{sentence}"):
        getattr(gm.export, f"to_{target}")(in_kernel(kernel))


def test_kernels_of_other_objects_have_no_model():
    kernel = gm.FunctionKernel(lambda a, b: float(len(set(a) & set(b))))
    words = ["abc", "bcd", "xyz", "ayz"]
    metric = gm.KernelMetric(gm.KernelFeatures(kernel).fit(words), np.eye(4))
    with pytest.raises(TypeError, match="to_onnx: points must be vectors"):
        gm.export.to_onnx(metric)


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"to_onnx needs onnx: pip install 'gramian\[onnx\]'"):
        gm.export.to_onnx(linear(), tmp_path / "m.onnx")


def test_a_place_exists(tmp_path):
    with pytest.raises(FileNotFoundError, match="to_npz: no folder at"):
        gm.export.to_npz(linear(), tmp_path / "no" / "a.npz")
    with pytest.raises(IsADirectoryError, match="to_npz: path must be a file"):
        gm.export.to_npz(linear(), tmp_path)
