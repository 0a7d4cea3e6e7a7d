"""The public table of contents is whole: every name resolves, is documented, and carries an example."""

import ast
import inspect

import pytest

import gramian
from gramian import _registry

ALIASES = {"KernelHashIndex": "HashIndex"}
"""Second names of one class."""


@pytest.mark.parametrize("name", [*_registry.HOME, *_registry.MODULES])
def test_public_name_resolves_and_is_documented(name):
    value = getattr(gramian, name)
    doc = inspect.getdoc(value)
    assert doc and len(doc) > 20, f"gramian.{name} has no docstring"
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__module__.startswith("gramian.")
        assert value.__name__ == ALIASES.get(name, name)
        assert ">>>" in doc, f"gramian.{name} has no example"


def test_a_module_is_listed_once():
    tree = ast.parse(inspect.getsource(_registry))
    table = next(n.value for n in tree.body if isinstance(n, ast.AnnAssign) and n.target.id == "CONTENTS")
    keys = [key.value for key in table.keys]
    assert sorted(keys) == sorted(set(keys)) and len(_registry.HOME) == sum(len(v) for v in _registry.CONTENTS.values())


def test_the_top_holds_what_most_people_need_and_everything_is_found():
    modules = [name for name in gramian.__all__ if inspect.ismodule(getattr(gramian, name))]
    assert len(modules) == 14 and len(gramian.__all__) - len(modules) <= 66
    assert set(gramian.__all__) <= set(dir(gramian)) and set(_registry.INNER) <= set(dir(gramian))
    for name in _registry.INNER:
        assert getattr(gramian, name) is not None
    space = {}
    exec("from gramian import *", space)
    assert {"AutoMetric", "QueryAdapter", "Learner", "Kernel", "Metric"} <= set(space) and "LogDet" not in space
