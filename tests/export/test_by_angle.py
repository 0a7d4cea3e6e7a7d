"""A metric of AutoMetric that compares by the angle: every target finds its neighbors from raw queries."""

import functools

import numpy as np
import pytest

import gramian as gm
from tests.export.problems import neighbors, place, sections, write

LIGHT = ["faiss", "usearch", "duckdb", "parquet", "qdrant", "elasticsearch", "weaviate", "onnx", "npz", "sklearn"]
HEAVY = ["hnswlib", "lancedb", "milvus", "chroma", "pgvector", "torch", "sentence-transformers"]
GRAPHS = ["usearch", "hnswlib", "chroma"]
SERVERS = ["elasticsearch", "opensearch", "weaviate", "pgvector", "sentence-transformers"]
"""Their queries ask a server, or an encoder; other tests have a stand-in for it."""


def marked(names):
    return [pytest.param(name, marks=[] if name in LIGHT else pytest.mark.engines) for name in names]


@functools.cache
def learned():
    """Directions tell the classes, lengths do not."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 6
    X = (rng.normal(size=(6, 8))[y] + 0.6 * rng.normal(size=(300, 8))) * rng.lognormal(0, 1, size=(300, 1))
    metric = gm.AutoMetric(candidates=["RCA"], random_state=0).fit(X[:200], y[:200]).metric_
    assert metric.view(X).affine.by_angle
    return metric, X


@pytest.mark.parametrize("target", marked([*LIGHT, *HEAVY, "opensearch"]))
def test_a_hundred_queries_have_our_neighbors(target, tmp_path):
    metric, X = learned()
    path = write(target, place(target, tmp_path), metric, X)
    report = gm.export.check(metric, target, path, X)
    assert report.recall >= 0.99 if target in GRAPHS else report.same


@pytest.mark.parametrize("form", ["vector", "query"])
@pytest.mark.parametrize("target", marked(name for name in [*LIGHT, *HEAVY] if name not in SERVERS))
def test_the_lines_of_the_readme_take_a_raw_point(target, form, tmp_path, monkeypatch):
    kind = gm.export.TARGETS[target]
    if form == "query" and not kind.forms:
        pytest.skip("it has one form")
    metric, X = learned()
    metric.save(tmp_path / "metric.gram")
    path = write(target, place(target, tmp_path), tmp_path / "metric.gram", X, **({"form": form} if kind.forms else {}))
    monkeypatch.chdir(tmp_path)
    code = sections(tmp_path / "README.md")[path.name]
    x = 0.9 * X[7] + 0.1 * X[8]
    space = {"x": x}
    exec(code, space)
    if kind.takes_data:
        assert [int(i) for i in np.ravel(space["ids"])] == neighbors(metric, X, x[None])[0].tolist()
    else:
        z = space["z"].detach().numpy() if hasattr(space["z"], "detach") else space["z"]
        np.testing.assert_allclose(np.ravel(z), metric.transform(x[None])[0], atol=1e-5)
