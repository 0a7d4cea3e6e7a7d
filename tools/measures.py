"""Print how heavy the code is: ``python tools/measures.py [--rooms] [--strict] [PACKAGE…]``.

A table of what the design accepts and what the code is now; ``--write`` puts it on the page of how it is built. *Nodes*
are AST nodes of the body of a function without its docstring; a *hook* is a private method that several classes define
under one name; *code lines* are those with code on them; a file is *mirrored* where ``tests/ROOM/test_FILE.py`` exists.
Pairs that repeat each other need the command ``duplicates``, blocks of complexity C or worse the package radon; without
them these rows say so. ``--rooms`` shows each room on a line and the longest functions, ``--strict`` asks mypy too (a
minute).
"""

import argparse
import ast
import re
import shutil
import subprocess
import sys
import tokenize
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "built.md"
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
VAGUE = {
    *("found", "part", "near", "own", "known", "chosen", "given", "seen", "kept", "held", "there", "here"),
    *("made", "taken", "asked", "said", "laid", "few", "some", "others", "both", "first", "other"),
}
"""Names of variables that do not say what is in them."""
LAX = ("_jit", "compat", "cli")
"""Rooms that mypy does not check strictly, and service/http."""


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


def annotations(function):
    """Annotations of the parameters and of the result; None for a parameter without one."""
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    parameters = [argument.annotation for argument in parameters if argument.arg not in ("self", "cls")]
    return parameters + ([function.returns] if function.returns is not None else [])


@dataclass(frozen=True)
class File:
    """A source file and its counts."""

    path: Path

    @cached_property
    def text(self):
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self):
        return ast.parse(self.text)

    @cached_property
    def tokens(self):
        with open(self.path, "rb") as stream:
            return list(tokenize.tokenize(stream.readline))

    @property
    def lines(self):
        return self.text.count("\n")

    @cached_property
    def code(self):
        """Lines with code on them: no comments, blank lines or docstrings."""
        lines = set()
        for token in self.tokens:
            if token.type not in NO_CODE and token.type != tokenize.ENDMARKER:
                lines.update(range(token.start[0], token.end[0] + 1))
        for node in ast.walk(self.tree):
            if is_text(node):
                lines -= set(range(node.lineno, node.end_lineno + 1))
        return len(lines)

    @property
    def comments(self):
        return sum(token.type == tokenize.COMMENT for token in self.tokens)

    @property
    def vague(self):
        """Assignments to names that say nothing."""
        stored = (
            node for node in ast.walk(self.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        return sum(node.id in VAGUE for node in stored)

    @cached_property
    def annotations(self):
        return [annotation for function in functions(self.tree) for annotation in annotations(function)]

    @cached_property
    def nodes(self):
        """Nodes of each function with its name and line."""
        return [(own_nodes(function), function.name, function.lineno) for function in functions(self.tree)]


def percentile(values, share):
    """The value below which a share of them lies."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else 0


def shared_hooks(files):
    """Methods with one leading underscore whose name several classes define."""
    classes = [node for file in files for node in ast.walk(file.tree) if isinstance(node, ast.ClassDef)]
    methods = Counter(item.name for node in classes for item in node.body if isinstance(item, ast.FunctionDef))
    private = {name: count for name, count in methods.items() if name.startswith("_") and not name.startswith("__")}
    return sum(count for count in private.values() if count > 1)


def names_twice(files):
    """File names that several rooms use, but for those of packages and bases."""
    names = Counter(file.path.name for file in files)
    return sum(count > 1 for name, count in names.items() if name not in ("__init__.py", "base.py"))


def mirrored(files, package):
    """The share of files that have a test in their place, and files that have none."""
    missing, total = [], 0
    for file in files:
        inside = file.path.relative_to(package)
        if inside.name not in ("__init__.py", "__main__.py"):
            total += 1
            test = ROOT / "tests" / inside.parent / f"test_{inside.stem.lstrip('_')}.py"
            missing += [] if test.exists() else [inside.as_posix()]
    return 1 - len(missing) / max(total, 1), missing


def any_share(files):
    """The share of annotations that are ``Any`` and no more, and the number of parameters without one."""
    everything = [annotation for file in files for annotation in file.annotations]
    written = [annotation for annotation in everything if annotation is not None]
    anything = sum(isinstance(annotation, ast.Name) and annotation.id == "Any" for annotation in written)
    return anything / max(len(written), 1), len(everything) - len(written)


def output(*command):
    """What a command prints, or None where it is not installed."""
    if shutil.which(command[0]) is None:
        return None
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def repeated(package):
    """Pairs of places that repeat each other."""
    text = output("duplicates", "--repo", str(package), "--most", "1", "--seconds", "300")
    counted = re.search(r"(\d[\d,]*) pairs?", text or "")
    return counted[1] if counted else "not counted"


def complex_blocks(package):
    """Blocks that radon calls C or worse."""
    text = output("radon", "cc", "-n", "C", "-s", str(package))
    return "not counted" if text is None else len(re.findall(r" - [C-F] \(", text))


def strict_errors(package):
    """Errors of ``mypy --strict`` outside of the rooms that are not checked so."""
    text = output(str(Path(sys.executable).with_name("mypy")), "--strict", "--allow-subclassing-any", str(package))
    lax = tuple(f"{package.relative_to(ROOT)}/{room}" for room in (*LAX, "service/http"))
    return sum(": error:" in line and not line.startswith(lax) for line in (text or "").splitlines())


def acceptance(package, files, strict):
    """Rows (measure, before, now, accepted) of the table; *before* is what the review of the design found."""
    nodes = [count for file in files for count, *_ in file.nodes]
    code = sum(file.code for file in files)
    anything, without = any_share(files)
    share, _ = mirrored(files, package)
    rows = [
        ("files", "442", len(files), "≤ 275"),
        ("lines", "53,800", f"{sum(file.lines for file in files):,}", "≤ 39,500"),
        ("code lines", "33,700", f"{code:,}", "≤ 23,500"),
        ("AST nodes in bodies", "321,000", f"{sum(nodes):,}", "≤ 230,000"),
        ("nodes of a function, median", "56", f"{median(nodes):g}", "≤ 45"),
        ("nodes of a function, nine of ten at most", "187", percentile(nodes, 0.9), "≤ 140"),
        ("private methods that several classes define", "360", shared_hooks(files), "≤ 150"),
        ("annotations that are `Any`", "26%", f"{anything:.0%}", "≤ 8%"),
        ("parameters without annotation", "1,030", without, "≤ 40"),
        ("variables with vague names", "954", sum(file.vague for file in files), "≤ 80"),
        ("file names used twice", "60", names_twice(files), "≤ 10"),
        ("comments per 100 code lines", "0.8", f"{100 * sum(file.comments for file in files) / code:.1f}", "≥ 4"),
        ("files with a test in their place", "19%", f"{share:.0%}", "≥ 80%"),
        ("pairs of places that repeat each other", "250", repeated(package), "≤ 90"),
        ("blocks of complexity C or worse (radon)", "71", complex_blocks(package), "0"),
    ]
    if strict:
        rows.append(("errors of `mypy --strict`, but in four rooms", "1,015", strict_errors(package), "0"))
    return rows


def show_rooms(package, files, longest=30):
    """A line for each room, its files without a test, and the longest functions."""
    rooms = {}
    for file in files:
        rooms.setdefault(file.path.relative_to(package).parts[0].removesuffix(".py"), []).append(file)
    print(f"{'room':16s} files lines  code  median  p90   Any  without  vague  mirrored")
    for room, members in rooms.items():
        nodes = [count for file in members for count, *_ in file.nodes] or [0]
        anything, without = any_share(members)
        print(
            f"{room:16s} {len(members):5d} {sum(file.lines for file in members):5d} "
            f"{sum(file.code for file in members):5d} {median(nodes):7g} {percentile(nodes, 0.9):4d} {anything:5.0%} "
            f"{without:8d} {sum(file.vague for file in members):6d} {mirrored(members, package)[0]:9.0%}"
        )
    print("\nWithout a test in their place:", *mirrored(files, package)[1])
    everything = [
        (count, f"{file.path.relative_to(package)}:{line} {name}") for file in files for count, name, line in file.nodes
    ]
    print(
        "\nLongest functions:",
        *(f"  {count:4d} {place}" for count, place in sorted(everything)[: -longest - 1 : -1]),
        sep="\n",
    )


def written(rows):
    """The table as the page has it."""
    lines = ["| measure | at the review | now | wanted |", "| --- | --- | --- | --- |"]
    return "\n".join(lines + [f"| {' | '.join(map(str, row))} |" for row in rows])


def main():
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description="How heavy the code is.")
    parser.add_argument("packages", nargs="*", type=Path, default=[ROOT / "src" / "gramian"])
    parser.add_argument("--rooms", action="store_true", help="a line for each room and the longest functions")
    parser.add_argument("--strict", action="store_true", help="ask mypy too")
    parser.add_argument("--write", action="store_true", help="put the table on the page")
    options = parser.parse_args()
    for package in options.packages:
        files = [File(path) for path in sorted(package.resolve().rglob("*.py"))]
        rows = acceptance(package.resolve(), files, options.strict)
        print(package)
        for measure, before, now, accepted in rows:
            print(f"  {measure:45s} {before:>9s} {now!s:>12s}   {accepted}")
        if options.rooms:
            show_rooms(package.resolve(), files)
        if options.write:
            text = PAGE.read_text(encoding="utf-8")
            before, rest = text.split("<!-- measures -->")
            after = rest.split("<!-- end of measures -->")[1]
            PAGE.write_text(
                f"{before}<!-- measures -->\n{written(rows)}\n<!-- end of measures -->{after}", encoding="utf-8"
            )


if __name__ == "__main__":
    main()
