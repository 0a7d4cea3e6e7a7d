"""Public signatures follow one table of names and one order of parameters."""

import inspect

import pytest

import gramian as gm

LAST = ("verbose", "callback", "random_state")
FORBIDDEN = {
    "regularization": "reg",
    "width": "scale",
    "tolerance": "tol",
    "rtol": "tol",
    "seed": "random_state",
    "rng_seed": "random_state",
    "neighbors": "n_neighbors in estimators, k in queries",
    "n_iter": "max_iter",
    "njobs": "n_jobs",
    "metric_": "metrics_",
}
"""Words of other tables and ours. RankMinimizer's epsilon and the learners' gamma are pinned by their papers."""
MODULES = ("approximation", "clustering", "datasets", "export", "features", "kernels", "manifold", "plotting", "search")
"""Modules whose own lists are for users. Those of solvers, online and rankmin are parts to build with, those of service
follow its routes, and compat speaks the language of another package."""
ALLOWED = {"alpha", "ids", "names", "shown", "path", "X", "disliked", "kind", "sample_weight", "matches"}
"""The parts of a metric ``(basis, core, alpha)``, ``to_parquet(metric, X, path)``, ``check(metric, target, path, X)``,
``feedback(query, liked, disliked)``, ``fit(queries, documents, matches)``, an event
``learn_one(u, v, target, kind)``, and what scikit-learn itself gives by position."""
PROTOCOL = ("check", "of")
"""Methods of Metric that the package calls, in the order of the fields and of ``Coordinates.check``."""


def public():
    """Public functions and classes, each once: what `gramian` lists, and what its modules for users list."""
    found = {name: getattr(gm, name) for name in gm._registry.HOME}
    for module in MODULES:
        listed = getattr(gm, module)
        found.update({f"{module}.{name}": getattr(listed, name) for name in listed.__all__ if name not in found})
    return {name: item for name, item in found.items() if inspect.isclass(item) or inspect.isfunction(item)}


def callables():
    """The public functions, constructors and methods."""
    for name, item in public().items():
        yield name, item
        if inspect.isclass(item):
            for method in dir(item):
                function = getattr(item, method)
                if (
                    not method.startswith("_")
                    and method not in PROTOCOL
                    and inspect.isroutine(function)
                    and _ours(function)
                ):
                    yield f"{name}.{method}", function


def _ours(function):
    return (getattr(function, "__module__", None) or "").startswith("gramian")


CALLABLES = dict(sorted(callables()))


def parameters(item):
    """Parameters by name, less those that stand for any number."""
    many = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    found = inspect.signature(item).parameters.items()
    return {name: value for name, value in found if value.kind not in many and name != "self"}


@pytest.mark.parametrize("name", CALLABLES)
def test_settings_after_the_second_parameter_are_given_by_name(name):
    given = [value for value in parameters(CALLABLES[name]).values() if value.kind is not value.KEYWORD_ONLY]
    late = [value.name for value in given[2:] if value.default is not value.empty and value.name not in ALLOWED]
    assert not late, f"{name}: make {late} keyword-only"


@pytest.mark.parametrize("name", CALLABLES)
def test_verbose_callback_and_random_state_come_in_this_order(name):
    """Constructors take them by name; base classes give their settings first, so that others may follow."""
    item, given = CALLABLES[name], parameters(CALLABLES[name])
    if not hasattr(item, "__dataclass_fields__"):  # of which those of the base come before its own
        assert [word for word in given if word in LAST] == [word for word in LAST if word in given]
    if inspect.isclass(item):
        assert all(given[word].kind is inspect.Parameter.KEYWORD_ONLY for word in LAST if word in given)
    else:
        assert list(given)[len(given) - len(set(LAST) & set(given)) :] == [word for word in LAST if word in given]


@pytest.mark.parametrize("name", CALLABLES)
def test_one_idea_has_one_word(name):
    wrong = {word: FORBIDDEN[word] for word in parameters(CALLABLES[name]) if word in FORBIDDEN}
    assert not wrong, f"{name}: {wrong}"
