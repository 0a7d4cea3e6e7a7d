"""The functions that people call: signatures of the targets, which say what is checked, docstrings from a template."""

from collections.abc import Callable
from inspect import Signature, cleandoc, signature
from os import PathLike
from typing import Annotated, Any

from gramian._settings import Rule, checked
from gramian.export.base import Map, Target

WORDS = {
    "metric": (
        "Metric with finite coordinates, KernelFeatures, fitted learner, or the file of a metric",
        "What maps the points.",
    ),
    "X": ("array (n, d), or an iterator of blocks (ids, X)", "The points. A memory map stays on disk."),
    "path": ("path", "The file, with a README.md beside it."),
    "ids": ("integers or words (n,), optional", "0 … n − 1 when not given."),
    "table": ("str", "Its name."),
    "form": (
        '{"vector", "query"}',
        """``learned``; or ``original`` = x and ``norm`` = |E(x)|², to be searched with q′ = Mq: norm − 2 q′ᵀx is d² but
        for a constant of the query. By the angle of L(x − c) its length ``size`` is stored too, and d² is
        norm − 2 (q′ᵀx + c′) / size; ``metric.view([q]).affine.query([q])`` gives q′ and c′.""",
    ),
    "original": ("bool", "Store x beside ``learned``."),
    "center": ("array (d,), optional", "c of E(x) = L(x − c), zero when not given; linear metrics only."),
    "n_links": ("int, optional", "Links of a point; 16 up to 128 coordinates, 32 above, when not given."),
    "ef_construction": ("int, optional", "Beam of the construction; 200 up to 128 coordinates, 400 above."),
    "random_state": ("int", "The seed of the engine."),
    "verbose": ("bool", "Show a progress bar."),
    "callback": ("callable, optional", "``callback(rows, total)`` after each block."),
    "column": ("str, optional", "The column of vectors; the only one when not given."),
    "id": ("str, optional", "The column of ids; ``id`` where there is one, otherwise rows are numbered."),
    "block": ("int", "Vectors at a time."),
}
"""What arguments are, by their names: type and sentence."""
SKELETON = """{about}

Parameters
----------
{parameters}

Returns
-------
{returns}

See Also
--------
{also}

Examples
--------
>>> import numpy as np, gramian as gm
>>> metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 4.0]))
{example}
"""


def to_function(target: Target) -> Callable[..., Any]:
    """``to_NAME`` of a target."""
    owner, shape = f"to_{target.module}", signature(target.write)
    items = [
        item.replace(default=target.defaults.get(name, item.default))
        for name, item in shape.parameters.items()
        if name not in target.without
    ]
    items[0] = items[0].replace(name="metric", annotation=Any)
    shape = shape.replace(parameters=items)

    def export(*args: Any, **kwargs: Any) -> Any:
        call = shape.bind(*args, **kwargs)
        call.apply_defaults()
        if target.package:
            target.needs(owner, target.package)
        return target.write(Map.of(call.args[0], owner), *call.args[1:], **call.kwargs)

    export.__doc__ = documented(type(target), shape, target.words, target.returns, target.also, target.example)
    return named(export, owner, shape)


def from_function(target: Any) -> Callable[..., Any]:
    """``from_NAME`` of a target that gives vectors back."""
    shape = signature(target.read)
    path, *options = shape.parameters.values()
    shape = shape.replace(parameters=[path.replace(annotation=opened(target)), *options])

    def read(*args: Any, **kwargs: Any) -> Any:
        yield from target.read(*args, **kwargs)

    returns, also = "iterator of blocks (ids, X)", "gramian.export.fill : Adds the blocks to an index."
    example = f">>> blocks = gm.export.from_{target.module}({target.reads})  # doctest: +SKIP"
    read.__doc__ = documented(target.read, shape, target.words, returns, also, example)
    return named(read, f"from_{target.module}", shape)


def named(function: Any, name: str, shape: Signature) -> Callable[..., Any]:
    """A function under a name of this package, whose arguments are what their annotations say."""
    function.__name__ = function.__qualname__ = name
    function.__module__, function.__signature__ = "gramian.export", shape
    function.__annotations__ = {item.name: item.annotation for item in shape.parameters.values()}
    return checked(function)


def documented(about: Any, shape: Signature, words: dict[str, tuple[str, str]], *rest: str) -> str:
    """The docstring: what it is about, its arguments, what it returns, what else to see, an example."""
    entries = []
    for name, item in shape.parameters.items():
        kind, sentence = {**WORDS, **words}[name]
        stars = "**" if item.kind is item.VAR_KEYWORD else ""
        entries.append(f"{stars}{name} : {kind}\n{indented(cleandoc(sentence))}")
    returns, also, example = rest
    parts = {"about": cleandoc(about.__doc__), "parameters": "\n".join(entries), "returns": returns, "also": also}
    return SKELETON.format(**parts, example=cleandoc(example))


def indented(text: str) -> str:
    """Lines, each four columns further right."""
    return "\n".join(f"    {line}" for line in text.split("\n"))


def opened(target: Target) -> Any:
    """A path or an address, or what is open already."""

    def holds(value: Any) -> bool:
        return isinstance(value, str | PathLike) or (bool(target.handle) and hasattr(value, target.handle))

    return Annotated[Any, Rule("a path or what is open already", holds)]
