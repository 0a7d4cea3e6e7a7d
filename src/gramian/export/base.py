"""The contract of an export: one map, a target that stores or computes it, and the functions that people call."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from scipy.linalg import block_diag

from gramian import _validate, linalg, persist
from gramian._settings import Rule
from gramian.coordinates import Hellinger, KernelSpace, Probabilities
from gramian.features import KernelFeatures
from gramian.kernels.base import Kernel
from gramian.metrics import Metric
from gramian.metrics.view import Affine, View
from gramian.persist import replacing

MARK = "<!-- gramian export: {name} -->"
HEAD = "# Exports of a learned metric\n\nWritten by gramian. Run each block in this folder, with `x` one raw point.\n"
LARGEST = 1 << 27
"""Entries of the largest matrix L that is formed, 1 GiB in double precision."""
Place = Annotated[Any, Rule("a path", lambda value: not isinstance(value, str) or value != "")]
"""No empty name, which would be the folder that one happens to be in; the rest is looked at by each target."""
Center = Annotated[Any, Rule("numbers", lambda value: hasattr(value, "__iter__"))]
"""Looked at where the width is known."""


@dataclass(frozen=True, eq=False)
class Map:
    """The one map that every target stores or computes: E(x) with |E(x) − E(y)|² = d²(x, y).

    ``file`` is the file that the metric came from, where it came from one: the README names it.
    """

    metric: Metric
    owner: str
    file: Path | None = None

    @classmethod
    def of(cls, source: Any, owner: str) -> "Map":
        """The map of a metric, of fitted kernel features, of a fitted learner, or of a file that holds one of them."""
        file = Path(source) if isinstance(source, str | os.PathLike) else None
        source = source if file is None else persist.load(file)
        source = getattr(source, "metric_", source)
        if isinstance(source, KernelFeatures) and hasattr(source, "map_"):
            source = Metric.of(KernelSpace(source), np.eye(len(source.map_)))
        if not isinstance(source, Metric):
            raise TypeError(
                f"{owner}: metric must be a learned metric, fitted KernelFeatures, or a file of one, "
                f"got {_validate.shown(source)}."
            )
        map = cls(source, owner, file)
        if not map.view.finite:
            raise TypeError(
                f"{owner}: {map} has no finite coordinates outside of its basis (alpha > 0); learn with "
                "Kernelized(…, alpha=0), or search it with HashIndex."
            )
        return map

    @cached_property
    def _one(self) -> Any:
        """A point that the metric knows how to take."""
        space = self.metric.coordinates
        if not isinstance(space, KernelSpace):
            return np.zeros((1, self.n_features or 0))
        one = linalg.take(space.features.basis_, slice(0, 1))
        return one if self.n_features is None else linalg.dense(one)

    @cached_property
    def view(self) -> View:
        """The metric on dense points."""
        return self.metric.view_of(self._one)

    @property
    def n_features(self) -> int | None:
        """Number of features of a point; None where points are not vectors."""
        return self.metric.n_features

    @cached_property
    def width(self) -> int:
        """Number of coordinates r."""
        return self.view.embed(self._one).shape[1]

    @property
    def inner_width(self) -> int:
        """Number of coordinates of what gets length one."""
        C = self.formula.C
        return self.width if C is None else C.shape[1]

    @cached_property
    def affine(self) -> Affine | None:
        """E as a formula, affine or affine and divided by the length; None for other maps."""
        d = self.n_features or 0
        formed = self.view.linear and not self.view.on_points  # L is computed, and not stored already
        if formed and d * max(d, self.width) > LARGEST:
            raise ValueError(f"{self.owner}: a dense map of {d} features is too large; export the coordinates.")
        return self.view.affine

    @cached_property
    def beside(self) -> tuple["Map", Probabilities, float] | None:
        """E₀, p and w where E(x) = (E₀(x), w √p(x)), as class probabilities beside the features have it."""
        space, L = self.metric.coordinates, self.metric.components
        if not isinstance(space, Hellinger):
            return None
        inside, weight = L[: -len(space.classes), : -len(space.classes)], float(L[-1, -1])
        if not np.array_equal(L, block_diag(inside, weight * np.eye(len(space.classes)))):
            return None
        return Map(Metric.of(space.space, inside, self.metric.alpha), self.owner), space.model, weight

    @property
    def formula(self) -> Affine:
        """The formula, or one sentence that says what to do without it."""
        if self.affine is None:
            raise TypeError(
                f"{self.owner}: the map of {self} is not linear; export it as onnx, npz or sklearn, or its "
                "coordinates with a database."
            )
        return self.affine

    def __call__(self, X: Any) -> np.ndarray:
        """E(x), float64 (n, r)."""
        return np.asarray(self.metric.transform(X), dtype=np.float64)

    def __str__(self) -> str:
        kernel = getattr(getattr(self.metric, "features", None), "kernel_", None)
        name = f"a {type(self.metric).__name__}"
        return name if kernel is None else f"{name} with the kernel {_validate.shown(kernel)}"

    def loading(self, path: Path) -> str:
        """The expression that loads the metric, seen from the folder of an export."""
        file = "metric.gram" if self.file is None else os.path.relpath(self.file, path.parent)
        return f'gm.load("{Path(file).as_posix()}")'


def kernel_map(map: Map) -> tuple[Kernel, np.ndarray, np.ndarray, np.ndarray]:
    """Kernel k, basis B (k, d), weights W (k, q) and offset o (q,) with E(x) = K(x, B) W − o."""
    space = map.metric.coordinates
    if not isinstance(space, KernelSpace) or map.metric.alpha > 0:
        raise TypeError(f"{map.owner}: {map} has no formula to export; export its coordinates.")
    features, L = space.features, map.metric.components  # L (q, r)
    if not features.kernel_.on_vectors:
        raise TypeError(
            f"{map.owner}: the kernel {_validate.shown(features.kernel_)} is not on vectors; export its coordinates."
        )
    basis = linalg.dense(features.basis_).astype(np.float64)  # (k, d)
    return features.kernel_, basis, features.map_.T @ L.T, features.mean_ @ L.T


@dataclass
class Reader:
    """A written export, as the check asks it: ``search(Q, k)`` gives ids, ``fetch(ids)`` what is stored of them.

    ``takes`` says what queries are: "vector" E(q), "raw" q, or "query" rows (q′, c); ``column`` what is stored.
    """

    width: int
    count: int
    search: Callable[[np.ndarray, int], np.ndarray]
    fetch: Callable[[np.ndarray], Any] | None = None
    takes: str = "vector"
    column: str = "learned"
    dtype: str = "float32"
    exact: bool = True
    close: Callable[[], None] = lambda: None


def scanned(ids: np.ndarray, values: np.ndarray, norm: Any = None, size: Any = 1) -> Reader:
    """Values that were read back, to be scanned: no engine is asked but NumPy, in the precision of the values."""
    takes, column = ("vector", "learned") if norm is None else ("query", "original")

    def search(Q: np.ndarray, k: int) -> np.ndarray:
        Q = Q.astype(values.dtype)
        if norm is None:
            scores = (values * values).sum(axis=1) - 2 * Q @ values.T  # |z|² − 2qᵀz, (m, n)
        else:
            scores = norm - 2 * (Q[:, :-1] @ values.T + Q[:, -1:]) / size  # |E(x)|² − 2(q′ᵀx + c)/s
        return ids[np.argsort(scores, axis=1, kind="stable")[:, :k]]

    row = {value: i for i, value in enumerate(ids.tolist())}  # id → its row
    fetch = lambda some: values[[row[value] for value in some.tolist()]]  # noqa: E731
    return Reader(values.shape[1], len(values), search, fetch, takes, column, str(values.dtype))


class Target(ABC):
    """Something that holds a map, or points under it.

    ``write`` and ``read`` become ``to_NAME`` and ``from_NAME``, with the docstrings of the class and of ``read``.
    """

    name: str
    package = ""
    """What ``write`` imports, which the extra of the name installs; the check imports what it needs itself."""
    suffix: str
    takes_data = True
    """Whether it stores points, and not the map alone."""
    forms = False
    """Whether q′ = Mq is a form of it."""
    without: tuple[str, ...] = ()
    """Arguments of the template that it has no use for."""
    defaults: dict[str, Any] = {}
    """Arguments whose defaults are its own."""
    words: dict[str, tuple[str, str]] = {}
    """What it says of its own about arguments of ``write`` and ``read``."""
    handle = ""
    """What an open index or connection has, of which ``read`` takes one."""
    returns = "path"
    also = "gramian.export.check : Asks what was written 100 queries."
    example = ""

    @property
    def module(self) -> str:
        """The name as Python writes it."""
        return self.name.replace("-", "_")

    def needs(self, owner: str, package: str) -> Any:
        """A package of the extra, or one sentence that names it."""
        try:
            return import_module(package)
        except ImportError as error:
            raise ImportError(f"{owner} needs {package.split('.')[0]}: pip install 'gramian[{self.name}]'.") from error

    @abstractmethod
    def write(self, map: Map, *args: Any, **options: Any) -> Any:
        """Write the export."""

    def apply(self, path: Path, X: np.ndarray) -> np.ndarray:
        """Run a written map on points, for the check."""
        raise NotImplementedError

    def open(self, path: Any, map: Map, table: str | None, form: str) -> Reader:
        """Open written points, for the check."""
        raise NotImplementedError


TARGETS: dict[str, Target] = {}
"""Every target by the name that the command line knows."""


def place(path: Any, owner: str, what: str) -> Path:
    """The place that was named, which must be."""
    if path is None:
        raise TypeError(f"{owner}: path must name {what}.")
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{owner}: path must be a path, got {_validate.shown(path)}.")
    return Path(path)


def folder(path: Any, owner: str, what: str) -> Path:
    """A folder, made when absent."""
    target = place(path, owner, what)
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"{owner}: path must be a folder, {str(target)!r} is a file.")
    target.mkdir(parents=True, exist_ok=True)
    return target


def read_file(read: Callable[[str], Any], path: Any, owner: str) -> Any:
    """What another library reads from a file; one sentence where there is none, or it is none of that library's."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{owner}: no file at {str(path)!r}.")
    try:
        return read(str(path))
    except (RuntimeError, OSError, ValueError) as error:
        reason = " ".join(str(error).split())[-120:]
        raise ValueError(f"{owner}: {str(path)!r} cannot be read, it is no file of that kind ({reason}).") from error


def delivered(path: Any, map: Map, save: Callable[[Path], Any], what: str, code: str, **facts: Any) -> Path:
    """Write a file, which appears whole or not at all, and how to query it beside it."""
    target = place(path, map.owner, "a file")
    with replacing(target, map.owner) as temporary:
        save(temporary)
    readme(target, map, what, code.format(name=target.name, metric=map.loading(target), **facts))
    return target


def readme(path: Path, map: Map, what: str, code: str) -> None:
    """Write how to query an export into the README.md beside it, in a section of its own.

    A README.md that is not ours is left alone; the text then goes to ``NAME.README.md``. A folder also holds its own.
    """
    size = f"{map.n_features or 'any'} features → {map.width} coordinates"
    text = f"{str(map).removeprefix('a ')}, {size}: {what}\n\n```python\n{code.strip()}\n```\n"
    if path.is_dir():
        _section(path / "README.md", path.name, text.replace(f'"{path.name}"', '"."'))
    _section(path.parent / "README.md", path.name, text)


def _section(target: Path, name: str, text: str) -> None:
    start, end = MARK.format(name=name), MARK.format(name="end")
    section = f"{start}\n## {name}\n\n{text}{end}\n"
    before = target.read_text(encoding="utf-8") if target.exists() else HEAD
    if not before.startswith(HEAD):
        target, before = target.with_name(f"{name}.README.md"), HEAD
    old = re.search(rf"{re.escape(start)}\n.*?{re.escape(end)}\n", before, re.S)
    after = f"{before}\n{section}" if old is None else before[: old.start()] + section + before[old.end() :]
    with replacing(target, "README") as temporary:
        temporary.write_text(after, encoding="utf-8")
