"""Print how heavy the code is: ``python tools/measures.py [PACKAGE…]``.

Counts come from the syntax trees alone. *Nodes* are AST nodes of the body of a function without its docstring; a
*private helper* is a function or method with one leading underscore, and a *hook* one of them that several classes
define under one name; *code lines* are those with code on them.
"""

import ast
import sys
import tokenize
from collections import Counter
from pathlib import Path
from statistics import median

ROOMS = ("learners", "kernelized", "search", "metrics", "online")
"""Rooms that are weighed together too (in older trees ``kernelized`` was a room of its own)."""
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


def functions(tree):
    """All functions and methods of a file."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def own_nodes(function):
    """AST nodes of the body of a function, without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return sum(1 for statement in body for _ in ast.walk(statement))


def is_text(node):
    """Whether a statement is a string that stands alone, such as a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def code_lines(path):
    """Lines with code on them: no comments, blank lines or docstrings."""
    lines = set()
    with open(path, "rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type not in NO_CODE and token.type != tokenize.ENDMARKER:
                lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(path.read_text())):
        if is_text(node):
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


def long_lines(path, tree, most=90):
    """Lines of more columns than that without their indentation; docstrings are not counted."""
    text = {line for node in ast.walk(tree) if is_text(node) for line in range(node.lineno, node.end_lineno + 1)}
    lines = enumerate(path.read_text().splitlines(), 1)
    return sum(len(line.strip()) > most for number, line in lines if number not in text)


def tuple_assignments(path, tree):
    """Statements ``a, b = x, y``."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)]
    return sum(isinstance(node.targets[0], ast.Tuple) for node in found)


def ternaries(path, tree):
    """Expressions ``x if … else y``."""
    return sum(isinstance(node, ast.IfExp) for node in ast.walk(tree))


PACKING = {"lines over 90 columns": long_lines, "a, b = x, y": tuple_assignments, "ternaries": ternaries}


def weigh(paths, trees, lines, shared):
    """Code lines, nodes per function and private helpers of some files."""
    total = sum(lines[path] for path in paths)
    defined = [function for path in paths for function in functions(trees[path])]
    nodes = [own_nodes(function) for function in defined]
    names = [function.name for function in defined if private(function.name)]
    hooks = sum(name in shared for name in names)
    print(f"  code lines: {total} in {len(paths)} files, {len(defined)} functions")
    print(f"  AST nodes per function: median {median(nodes):g}, p90 {percentile(nodes, 0.9)}, max {max(nodes)}")
    print(f"  private helpers: {len(names)}, {1000 * len(names) / total:.1f} per 1,000 code lines", end="; ")
    print(f"{hooks} are hooks, without them {1000 * (len(names) - hooks) / total:.1f}")
    packed = {name: 100 * sum(count(path, trees[path]) for path in paths) / total for name, count in PACKING.items()}
    print("  per 100 code lines:", ", ".join(f"{name} {share:.1f}" for name, share in packed.items()))


def hooks_of(trees):
    """Private names that more than one class defines a method under."""
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    methods = Counter(item.name for node in classes for item in node.body if isinstance(item, ast.FunctionDef))
    return [name for name, count in methods.items() if count > 1 and private(name)]


def many_methods(trees, most=15):
    """Classes with more methods than that, as pairs (number, name)."""
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                count = sum(isinstance(item, ast.FunctionDef) for item in node.body)
                if count > most:
                    yield count, f"{node.name} ({path.name})"


def measure(package):
    """Print the measures of one package folder, and of the rooms that learn and search in it."""
    paths = sorted(package.rglob("*.py"))
    trees = {path: ast.parse(path.read_text()) for path in paths}
    lines = {path: code_lines(path) for path in paths}
    shared = set(hooks_of(trees.values()))
    print(package)
    weigh(paths, trees, lines, shared)
    own = [path for path in paths if room(path, package) in ROOMS]
    if own:
        print(" ", ", ".join(ROOMS))
        weigh(own, trees, lines, shared)
    heavy = sorted(many_methods(trees), reverse=True)
    print(f"  classes of more than 15 methods: {', '.join(f'{name} {count}' for count, name in heavy) or 'none'}")


if __name__ == "__main__":
    for folder in sys.argv[1:] or [Path(__file__).parents[1] / "src" / "gramian"]:
        measure(Path(folder))
