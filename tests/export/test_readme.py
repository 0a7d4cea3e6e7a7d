"""The README beside an export has a query of five lines that runs and finds our neighbors."""

import os
import sys
import types

import numpy as np
import pytest

import gramian as gm
from tests.export.problems import CURVED, linear, neighbors, place, points, queries, sections, write

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


@pytest.mark.parametrize("target", LIGHT)
def test_the_query_of_a_readme_finds_our_neighbors(target, tmp_path, monkeypatch):
    (tmp_path / "metrics").mkdir()
    linear().save(tmp_path / "metrics" / "m.gram")
    path = write(target, place(target, tmp_path), tmp_path / "metrics" / "m.gram", X)
    found = run(tmp_path, path.name, monkeypatch)["ids"]
    assert [int(i) for i in np.ravel(found)] == neighbors(linear(), X, x[None])[0].tolist()


@pytest.mark.parametrize("target", ["duckdb", "parquet", "qdrant"])
def test_the_query_of_the_query_form_finds_our_neighbors(target, tmp_path, monkeypatch):
    linear().save(tmp_path / "metric.gram")
    path = write(target, place(target, tmp_path), linear(), X[:100], form="query")
    found = run(tmp_path, path.name, monkeypatch)["ids"]
    assert [int(i) for i in found] == neighbors(linear(), X[:100], x[None])[0].tolist()


@pytest.mark.parametrize("target", ["faiss", "parquet"])
def test_the_query_of_a_kernel_metric_transforms_first(target, tmp_path, monkeypatch):
    metric = CURVED["Gaussian"]()
    metric.save(tmp_path / "metric.gram")
    path = write(target, place(target, tmp_path), metric, X)
    found = run(tmp_path, path.name, monkeypatch)["ids"]
    assert [int(i) for i in np.ravel(found)] == neighbors(metric, X, x[None])[0].tolist()


@pytest.mark.parametrize("target", MODELS)
def test_the_lines_of_a_model_give_our_coordinates(target, tmp_path, monkeypatch):
    path = write(target, place(target, tmp_path), linear(), None)
    z = run(tmp_path, path.name, monkeypatch)["z"]
    np.testing.assert_allclose(np.ravel(z), linear().transform(x[None])[0], rtol=1e-5)


class Elastic:
    """Answers as Elasticsearch documents it, from the documents of a bulk file."""

    def __init__(self, url, path=""):
        from gramian.export.held.files import HeldBulk

        self.form = "vector" if "vector" in Elastic.path.name else "query"
        self.held = HeldBulk(Elastic.path, 5, form=self.form)

    def search(self, index, knn=None, query=None, body=None):
        if knn is None and body is None:
            script = query["script_score"]["script"]
            assert script["source"].count("params.q") == 1 and "doc['norm'].value" in script["source"]
            q, c = np.array(script["params"]["q"]), script["params"]["c"]
            score = 1 / (1 + np.maximum(0, self.held.norm - 2 * self.held.values @ q + c))
        else:
            vector = knn["query_vector"] if body is None else body["query"]["knn"]["learned"]["vector"]
            score = -((self.held.values - np.array(vector)) ** 2).sum(axis=1)
        best = self.held.ids[np.argsort(-score, kind="stable")[:10]]
        return {"hits": {"hits": [{"_source": {"id": int(i)}} for i in best]}}


@pytest.mark.parametrize(
    "target, form", [("elasticsearch", "vector"), ("elasticsearch", "query"), ("opensearch", "vector")]
)
def test_the_queries_for_search_engines_ask_for_our_neighbors(target, form, tmp_path, monkeypatch):
    """No server is at hand: a stand-in reads the file and the request, and ranks by the documented meaning."""
    linear().save(tmp_path / "metric.gram")
    options = {"form": form} if target == "elasticsearch" else {}
    Elastic.path = write(target, place(target, tmp_path, form), linear(), X, **options)
    monkeypatch.setitem(sys.modules, "elasticsearch", types.SimpleNamespace(Elasticsearch=Elastic))
    monkeypatch.setitem(sys.modules, "opensearchpy", types.SimpleNamespace(OpenSearch=Elastic))
    found = run(tmp_path, Elastic.path.name, monkeypatch)["ids"]
    assert found == neighbors(linear(), X, x[None])[0].tolist()


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
