"""Print how heavy the code is: ``python tools/measures.py [PACKAGE…]``.

Counts come from the syntax trees alone. *Nodes* are AST nodes of the body of a function without its docstring; a
*private helper* is a function or method with one leading underscore; *code lines* are those with code on them.
"""

import ast
import sys
import tokenize
from pathlib import Path
from statistics import median

ROOMS = ("learners", "kernelized", "search", "metrics", "online")
"""Rooms whose lines are counted together (in older trees ``kernelized`` was a room of its own)."""
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


def functions(tree):
    """All functions and methods of a file."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def own_nodes(function):
    """AST nodes of the body of a function, without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return sum(1 for statement in body for _ in ast.walk(statement))


def code_lines(path):
    """Lines with code on them: no comments, blank lines or docstrings."""
    lines = set()
    with open(path, "rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type not in NO_CODE and token.type != tokenize.ENDMARKER:
                lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, node.end_lineno + 1))
    return len(lines)


def private(name):
    """Whether a name has one leading underscore."""
    return name.startswith("_") and not name.startswith("__")


def room(path, package):
    """The first part of a path inside of the package."""
    return path.relative_to(package).parts[0].removesuffix(".py")


def percentile(values, share):
    """The value below which a share of them lies."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def measure(package):
    """Print the measures of one package folder."""
    paths = sorted(package.rglob("*.py"))
    trees = {path: ast.parse(path.read_text()) for path in paths}
    lines = {path: code_lines(path) for path in paths}
    total = sum(lines.values())
    defined = [function for tree in trees.values() for function in functions(tree)]
    nodes = [own_nodes(function) for function in defined]
    helpers = sum(private(function.name) for function in defined)
    classes = {}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                count = sum(isinstance(item, ast.FunctionDef) for item in node.body)
                classes[f"{node.name} ({path.relative_to(package)})"] = count
    heavy = sorted(((count, name) for name, count in classes.items() if count > 15), reverse=True)
    rooms = {name: sum(n for path, n in lines.items() if room(path, package) == name) for name in ROOMS}

    print(f"{package}: {len(paths)} files, {total} code lines")
    print(f"  AST nodes per function: median {median(nodes):g}, p90 {percentile(nodes, 0.9)}, max {max(nodes)}")
    print(f"  private helpers: {helpers}, {1000 * helpers / total:.1f} per 1,000 code lines")
    print(f"  code lines of {', '.join(f'{name} {n}' for name, n in rooms.items() if n)}: {sum(rooms.values())}")
    print(f"  classes of more than 15 methods: {', '.join(f'{name} {count}' for count, name in heavy) or 'none'}")


if __name__ == "__main__":
    for folder in sys.argv[1:] or [Path(__file__).parents[1] / "src" / "gramian"]:
        measure(Path(folder))
