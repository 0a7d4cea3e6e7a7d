"""Class probabilities beside the features in models and databases: the same neighbors from raw queries."""

import functools

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier

import gramian as gm
from tests.export.problems import place, sections, write

LEARNERS = {
    "logistic": lambda: gm.Posteriors("logistic", gm.PLDA(anchor=0.2), random_state=0),
    "forest": lambda: gm.Posteriors("forest", gm.PLDA(anchor=0.2), random_state=0),
    "forest of a rest": lambda: gm.Posteriors("forest", gm.ITML(rank=2, anchor=0.2), random_state=0),
    "votes": lambda: gm.Posteriors("votes", gm.PLDA(anchor=0.2), random_state=0),
    "votes of a rest": lambda: gm.Posteriors("soft votes", gm.ITML(rank=2, anchor=0.2), random_state=0),
    "votes by angle": lambda: gm.Posteriors("votes", gm.AutoMetric(candidates=["RCA"], normalize=True)),
    "logistic by angle": lambda: gm.Posteriors("logistic", gm.AutoMetric(candidates=["RCA"], normalize=True)),
}


@functools.cache
def learned(name):
    X, y = gm.datasets.load("wine", return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return LEARNERS[name]().fit(X[::2], y[::2]).metric_, X


@pytest.mark.parametrize("target", ["onnx", "npz", "sklearn", "parquet", "usearch"])
@pytest.mark.parametrize("name", LEARNERS)
def test_queries_have_our_neighbors(name, target, tmp_path):
    metric, X = learned(name)
    if target in ("npz", "sklearn") and "logistic" not in name:
        with pytest.raises(TypeError, match="have no (NumPy|scikit-learn) form"):
            write(target, place(target, tmp_path), metric, X)
        return
    path = write(target, place(target, tmp_path), metric, X)
    report = gm.export.check(metric, target, path, X)
    assert report.recall >= 0.99 if target == "usearch" else report.same


@pytest.mark.parametrize(("name", "target"), [("logistic", "npz"), ("logistic by angle", "npz"), ("forest", "onnx")])
def test_the_lines_of_the_readme_take_a_raw_point(name, target, tmp_path, monkeypatch):
    metric, X = learned(name)
    metric.save(tmp_path / "metric.gram")
    path = write(target, place(target, tmp_path), tmp_path / "metric.gram", X)
    monkeypatch.chdir(tmp_path)
    space = {"x": X[7]}
    exec(sections(tmp_path / "README.md")[path.name], space)
    np.testing.assert_allclose(np.ravel(space["z"]), metric.transform(X[7:8])[0], atol=1e-5)


@pytest.mark.parametrize("target", ["onnx", "npz", "sklearn"])
def test_what_has_no_formula_is_refused_in_a_sentence(target, tmp_path):
    X, y = gm.datasets.load("wine", return_X_y=True)
    metric = gm.Posteriors(GradientBoostingClassifier(n_estimators=2)).fit(X, y).metric_
    with pytest.raises((TypeError, ValueError), match=f"to_{target}: "):
        write(target, place(target, tmp_path), metric, X)
