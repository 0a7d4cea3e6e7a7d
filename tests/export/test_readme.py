"""The README beside an export has a query of five lines that runs and finds our neighbors."""

import json
import os
import sys
import types

import numpy as np
import pytest

import gramian as gm
from tests.export.problems import (
    BY_ANGLE,
    CURVED,
    linear,
    neighbors,
    on_angles,
    place,
    points,
    queries,
    sections,
    write,
)

METRICS = {"linear": linear, "angles": on_angles, "angles and a factor behind": BY_ANGLE["angles and a factor behind"]}
LIGHT = ["faiss", "usearch", "duckdb", "parquet", "qdrant"]
MODELS = ["onnx", "npz", "sklearn"]
X, x = points(200), queries(1)[0]


def run(folder, name, monkeypatch, **space):
    monkeypatch.chdir(folder)
    code = sections(folder / "README.md")[name]
    assert len(code.strip().splitlines()) == 5
    space = {"x": x, **space}
    exec(code, space)
    return space


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("target", LIGHT)
def test_the_query_of_a_readme_finds_our_neighbors(target, name, tmp_path, monkeypatch):
    metric = METRICS[name]()
    (tmp_path / "metrics").mkdir()
    metric.save(tmp_path / "metrics" / "m.gram")
    path = write(target, place(target, tmp_path), tmp_path / "metrics" / "m.gram", X)
    found = run(tmp_path, path.name, monkeypatch)["ids"]
    assert [int(i) for i in np.ravel(found)] == neighbors(metric, X, x[None])[0].tolist()


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("target", ["duckdb", "parquet", "qdrant"])
def test_the_query_of_the_query_form_finds_our_neighbors(target, name, tmp_path, monkeypatch):
    metric = METRICS[name]()
    metric.save(tmp_path / "metric.gram")
    path = write(target, place(target, tmp_path), metric, X[:100], form="query")
    found = run(tmp_path, path.name, monkeypatch)["ids"]
    assert [int(i) for i in found] == neighbors(metric, X[:100], x[None])[0].tolist()


@pytest.mark.parametrize("target", ["faiss", "parquet"])
def test_the_query_of_a_kernel_metric_transforms_first(target, tmp_path, monkeypatch):
    metric = CURVED["Gaussian"]()
    metric.save(tmp_path / "metric.gram")
    path = write(target, place(target, tmp_path), metric, X)
    found = run(tmp_path, path.name, monkeypatch)["ids"]
    assert [int(i) for i in np.ravel(found)] == neighbors(metric, X, x[None])[0].tolist()


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("target", MODELS)
def test_the_lines_of_a_model_give_our_coordinates(target, name, tmp_path, monkeypatch):
    metric = METRICS[name]()
    path = write(target, place(target, tmp_path), metric, None)
    z = run(tmp_path, path.name, monkeypatch)["z"]
    np.testing.assert_allclose(np.ravel(z), metric.transform(x[None])[0], rtol=1e-5, atol=1e-6)


class Elastic:
    """Answers as Elasticsearch documents it, from the documents of a bulk file."""

    def __init__(self, url):
        lines = [json.loads(line) for line in Elastic.path.read_text().splitlines()]
        self.rows = {name: np.array([line[name] for line in lines[1::2]]) for name in lines[1]}

    def search(self, index, knn=None, query=None, body=None):
        if knn is None and body is None:
            script = query["script_score"]["script"]
            assert script["source"].count("params.q") == 1 and "doc['norm'].value" in script["source"]
            q, c, n = (np.array(script["params"][name]) for name in "qcn")
            products = self.rows["original"] @ q
            if "doc['size'].value" in script["source"]:
                products = (products + c) / self.rows["size"]
            score = 1 / (1 + np.maximum(0, self.rows["norm"] - 2 * products + n))
        else:
            vector = knn["query_vector"] if body is None else body["query"]["knn"]["learned"]["vector"]
            score = -((self.rows["learned"] - np.array(vector)) ** 2).sum(axis=1)
        best = self.rows["id"][np.argsort(-score, kind="stable")[:10]]
        return {"hits": {"hits": [{"_source": {"id": int(i)}} for i in best]}}


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize(
    "target, form", [("elasticsearch", "vector"), ("elasticsearch", "query"), ("opensearch", "vector")]
)
def test_the_queries_for_search_engines_ask_for_our_neighbors(target, form, name, tmp_path, monkeypatch):
    """No server is at hand: a stand-in reads the file and the request, and ranks by the documented meaning."""
    metric = METRICS[name]()
    metric.save(tmp_path / "metric.gram")
    options = {"form": form} if target == "elasticsearch" else {}
    Elastic.path = write(target, place(target, tmp_path, form), metric, X, **options)
    monkeypatch.setitem(sys.modules, "elasticsearch", types.SimpleNamespace(Elasticsearch=Elastic))
    monkeypatch.setitem(sys.modules, "opensearchpy", types.SimpleNamespace(OpenSearch=Elastic))
    found = run(tmp_path, Elastic.path.name, monkeypatch)["ids"]
    assert found == neighbors(metric, X, x[None])[0].tolist()


def test_exports_share_a_readme_and_replace_their_own_section(tmp_path):
    gm.export.to_npz(linear(), tmp_path / "a.npz")
    gm.export.to_onnx(linear(), tmp_path / "b.onnx")
    before = (tmp_path / "README.md").read_text()
    gm.export.to_npz(linear(), tmp_path / "a.npz")
    assert (tmp_path / "README.md").read_text() == before and set(sections(tmp_path / "README.md")) == {
        "a.npz",
        "b.onnx",
    }


def test_a_readme_of_someone_else_is_left_alone(tmp_path):
    (tmp_path / "README.md").write_text("# My project\n")
    gm.export.to_npz(linear(), tmp_path / "a.npz")
    assert (tmp_path / "README.md").read_text() == "# My project\n"
    assert "a.npz" in sections(tmp_path / "a.npz.README.md")


def test_a_folder_carries_its_own_readme(tmp_path, monkeypatch):
    linear().save(tmp_path / "metric.gram")
    gm.export.to_qdrant(linear(), X, tmp_path / "a")
    code = sections(tmp_path / "a" / "README.md")["a"]
    assert 'path="."' in code and os.path.exists(tmp_path / "README.md")
