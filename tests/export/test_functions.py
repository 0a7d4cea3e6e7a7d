"""The functions come from one table: their arguments, and examples that run."""

import doctest
import inspect

import numpy as np
import pytest

import gramian as gm
from tests.export.problems import linear, points

LIGHT = ["onnx", "sklearn", "npz", "faiss", "usearch", "duckdb", "parquet", "qdrant", "elasticsearch", "opensearch"]
LIGHT += ["weaviate"]
CASES = [pytest.param(t, marks=[] if t in LIGHT else pytest.mark.engines) for t in gm.export.TARGETS]
READERS = ("faiss", "hnswlib", "pgvector", "qdrant", "lancedb", "parquet")


@pytest.mark.parametrize("target", CASES)
def test_the_example_of_a_docstring_runs(target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function = getattr(gm.export, f"to_{gm.export.TARGETS[target].module}")
    case = doctest.DocTestParser().get_doctest(function.__doc__, {}, target, None, None)
    said = []
    assert len(case.examples) > 2
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(case, out=said.append).failed == 0, "".join(said)


@pytest.mark.parametrize("name", [n for n in gm.export.__all__ if n.startswith(("to_", "from_"))])
def test_every_argument_is_described_and_no_other(name):
    function = getattr(gm.export, name)
    said = inspect.getdoc(function).split("----------\n")[1].split("\n\nReturns")[0]
    described = [line.split(" : ")[0].lstrip("*") for line in said.splitlines() if line and line[0] != " "]
    assert described == list(inspect.signature(function).parameters)
    assert function.__name__ == name and function.__module__ == "gramian.export"


def test_the_table_and_the_functions_are_one():
    writers = {f"to_{target.module}" for target in gm.export.TARGETS.values()}
    assert writers == {name for name in gm.export.__all__ if name.startswith("to_")}
    assert {f"from_{name}" for name in READERS} == {name for name in gm.export.__all__ if name.startswith("from_")}


def test_arguments_are_checked_by_their_names(tmp_path):
    with pytest.raises(ValueError, match="to_parquet: original must be True or False, got 'no'"):
        gm.export.to_parquet(linear(), points(3), tmp_path / "a.parquet", original="no")
    with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
        gm.export.to_parquet(linear(), points(3), out=tmp_path / "a.parquet")
    with pytest.raises(TypeError, match="unexpected keyword argument 'form'"):
        gm.export.to_lancedb(linear(), points(3), tmp_path / "a", form="query")
    path = gm.export.to_usearch(linear(), points(50), tmp_path / "a.usearch", n_links=np.int64(8))
    assert gm.export.check(linear(), "usearch", path, points(50)).same
