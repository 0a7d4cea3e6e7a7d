"""What a benchmark computes, as a short code: its modules and those of the library that it uses, less all words."""

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

WORDS = ("TITLE", "NOTES")
"""What a module says of itself, which no number depends on."""
LIBRARY = "gramian"


def fingerprint(module: str, package: str) -> str:
    """Code of a module, and of all modules of its package and of the library that it uses, near or far.

    Words are left out. Two runs with one code differ by the harness, by other libraries and by the machine at most.
    """
    texts: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in texts or not name.startswith((module, f"{package}.", f"{LIBRARY}.")):
            continue
        path = _file(name)
        if path is None or (path.name == "__init__.py" and name.startswith(LIBRARY)):
            waiting += _homes(name)
            continue
        texts[name], uses = _read(path, path.stat().st_mtime_ns)
        waiting += uses
    text = "\n".join(texts[name] for name in sorted(texts))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def code(names: Iterable[str]) -> str:
    """Code of some modules alone, less all words."""
    texts = [_read(path, path.stat().st_mtime_ns)[0] for path in map(_file, names) if path is not None]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def _file(name: str) -> Path | None:
    """The file of a module; None for names that are none, such as functions."""
    try:
        spec = find_spec(name)
    except (ModuleNotFoundError, ValueError):  # no such module, or one that was made without a file
        return None
    return Path(spec.origin) if spec is not None and spec.origin is not None else None


@cache
def _homes(name: str) -> list[str]:
    """The module of a name that a package only passes on, as ``gramian.ITML`` is of gramian.learners.itml."""
    room, _, word = name.rpartition(".")
    if room == LIBRARY:
        from gramian import _registry

        return [f"{LIBRARY}.{_registry.HOME[word]}.{word}"] if word in _registry.HOME else []
    path = _file(room) if room.startswith(f"{LIBRARY}.") else None
    if path is None or path.name != "__init__.py":
        return [room] if path else []  # a function of a module
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return [f"{node.module}.{word}" for node in imports if word in {alias.asname or alias.name for alias in node.names}]


@cache
def _read(path: Path, _time: int) -> tuple[str, tuple[str, ...]]:
    """The code of a file without words, and names that it uses."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if not _is_words(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree), tuple(_uses(tree))


def _uses(tree: ast.AST) -> Iterator[str]:
    """Names that may be modules, or be in one."""
    short = {LIBRARY: LIBRARY}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            short |= {alias.asname: alias.name for alias in node.names if alias.asname}
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            first, _, rest = ast.unparse(node).partition(".")
            if short.get(first, "").startswith(LIBRARY):
                yield f"{short[first]}.{rest}"


def _is_words(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) and t.id in WORDS for t in node.targets)
