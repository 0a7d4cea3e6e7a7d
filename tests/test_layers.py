"""Imports point from high layers to low ones only, and optional packages are imported on use."""

import ast
import pathlib
import re
import subprocess
import sys

import gramian
from gramian import _registry

ROOT = pathlib.Path(gramian.__file__).parent
LAYERS = [
    {"_settings"},
    {"_memory"},
    {"_registry", "_arrays", "_jit"},
    {"_validate", "linalg"},
    {"persist", "_threads"},
    {"lower_bounds", "device_scan"},
    {"neighbors"},
    {"coordinates"},
    {"metrics"},
    {"kernels"},
    {"features"},
    {"constraints", "divergences"},
    {"solvers"},
    {"learners"},
    {"online", "manifold", "rankmin", "approximation", "clustering"},
    {"search"},
    {"datasets", "plotting", "export", "compat"},
    {"dask"},
    {"service"},
    {"beside"},
    {"cli"},
]
"""Rooms from low to high; those of one layer do not know each other."""
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
OPTIONAL = {"faiss", "hnswlib", "matplotlib", "torch", "pandas", "typer", "rich", "cvxpy", "numba"}
OPTIONAL |= {"onnx", "onnxruntime", "safetensors", "sentence_transformers", "usearch", "psycopg", "pgserver"}
OPTIONAL |= {"qdrant_client", "lancedb", "pymilvus", "chromadb", "duckdb", "pyarrow", "fastapi", "uvicorn"}
OPTIONAL |= {"dask", "distributed", "zarr", "mcp", "mcp_types", "jsonschema", "anyio"}
OPTIONAL |= {"langchain_core", "llama_index"}


BY_STRING = {
    "_registry.py": "the table itself",
    "export/base.py": "packages of others",
    "beside/engine.py": "packages of others",
}
"""Files that import what a variable names."""


def files():
    """Paths inside of the package, their rooms and their syntax trees."""
    for path in ROOT.rglob("*.py"):
        inside = path.relative_to(ROOT)
        yield inside.as_posix(), inside.parts[0].removesuffix(".py"), ast.parse(path.read_text())


def imported(tree):
    """Full names of what a file imports, in whichever way it is written."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            own = node.module == "gramian"
            yield from [f"gramian.{alias.name}" for alias in node.names] if own else [node.module]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("gm", "gramian")
        ):
            yield f"gramian.{node.attr}"


def room(name):
    """The room of an imported name, None for other packages and for the whole package."""
    parts = name.split(".")
    if parts[0] != "gramian" or len(parts) == 1 or parts[1] in ("__version__", "__all__"):
        return None
    return _registry.HOME.get(parts[1], parts[1])


def test_imports_form_layers():
    for path, here, tree in files():
        if here in ("__init__", "__main__"):
            continue
        assert here in LEVEL, f"{path}: give {here!r} a layer"
        for name in imported(tree):
            there = room(name)
            if there not in (None, here):
                assert LEVEL[there] < LEVEL[here], f"{path} ({here}) imports {name}, which is not in a lower layer"


def test_the_map_in_the_documentation_has_every_room_in_its_order():
    page = (ROOT.parents[1] / "docs" / "built.md").read_text(encoding="utf-8")
    table = page.split("| layer | what is in it |")[1].split("\n\n")[0]
    named = re.findall(r"`([a-z_]+)`", table)
    rooms = {here for _, here, _ in files()} - {"__init__", "__main__"}
    assert len(named) == len(set(named)) and set(named) == rooms
    levels = [LEVEL[name] for name in named]
    assert levels == sorted(levels)


def test_the_picture_for_contributors_has_a_line_for_each_layer():
    page = (ROOT.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    picture = page.split("```text\n")[1].split("```")[0]
    assert [set(line[20:].split()) for line in picture.splitlines()][::-1] == LAYERS


def test_no_room_reaches_another_by_a_string():
    for path, here, tree in files():
        for node in ast.walk(tree):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called.split(".")[-1] in ("import_module", "__import__") and path not in BY_STRING:
                own = f"f'gramian.{here}.", "f'{__name__}."
                assert ast.unparse(node.args[0]).startswith(own), f"{path}: {ast.unparse(node)}"


def test_the_table_names_rooms_and_is_read_by_two():
    assert {home.split(".")[0] for home in [*_registry.HOME.values(), *_registry.STORED.values()]} <= set(LEVEL)
    readers = {path for path, _, tree in files() if any(room(name) == "_registry" for name in imported(tree))}
    assert readers == {"__init__.py", "persist.py"}


def test_optional_packages_are_imported_on_use():
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).parts
        if parts[0].removesuffix(".py") in ("_jit", "cli") or parts[:2] == ("service", "http"):
            continue
        for node in ast.parse(path.read_text()).body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            bad = {name.split(".")[0] for name in names} & OPTIONAL
            assert not bad, f"{path} imports {bad} at module level"


def test_import_is_light():
    code = "import sys, gramian; assert not {'numba', 'sklearn', 'scipy', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(ROOT.parent)})
