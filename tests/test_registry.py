"""The public table of contents is whole: every name resolves, is documented, and carries an example."""

import inspect

import pytest

import gramian


@pytest.mark.parametrize("name", gramian.__all__)
def test_public_name_resolves_and_is_documented(name):
    value = getattr(gramian, name)
    doc = inspect.getdoc(value)
    assert doc and len(doc) > 20, f"gramian.{name} has no docstring"
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__module__.startswith("gramian.")
        assert value.__name__ == name
