"""What a benchmark computes, as a short code: its modules, less comments, docstrings, title and notes."""

import ast
import hashlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

WORDS = ("TITLE", "NOTES")
"""What a module says of itself, which no number depends on."""


def fingerprint(module: str, package: str) -> str:
    """Code of a module and of all modules of its package that it imports; words are left out.

    Two runs with one code differ by the library, the harness and the machine at most.
    """
    found: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = None if name in found else _file(name)
        if path is not None:
            tree = _bare(ast.parse(path.read_text(encoding="utf-8")))
            found[name] = ast.unparse(tree)
            waiting += [other for other in _imports(tree) if other.startswith(f"{package}.")]
    text = "\n".join(found[name] for name in sorted(found))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _file(name: str) -> Path | None:
    """The file of a module; None for names that are none, such as functions."""
    try:
        spec = find_spec(name)
    except (ModuleNotFoundError, ValueError):  # no such module, or one that was made without a file
        return None
    return Path(spec.origin) if spec is not None and spec.origin is not None else None


def _imports(tree: ast.AST) -> Iterator[str]:
    """Names that may be modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _bare(tree: ast.Module) -> ast.Module:
    """A module without docstrings, title and notes."""
    tree.body = [node for node in tree.body if not _is_words(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def _is_words(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) and t.id in WORDS for t in node.targets)
