"""Imports point from high layers to low ones only, and optional packages are imported on use."""

import ast
import pathlib
import subprocess
import sys

import gramian

ROOT = pathlib.Path(gramian.__file__).parent
LAYERS = [
    {"_checks", "_array", "_device", "_jit", "linalg", "persist", "votes"},
    {"_threads", "scans", "neighbors"},
    {"coordinates"},
    {"metrics"},
    {"kernels"},
    {"features"},
    {"constraints", "divergences"},
    {"solvers"},
    {"learners", "online", "manifold", "rankmin", "approximation", "clustering"},
    {"search"},
    {"datasets", "plotting", "export", "compat"},
    {"service"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
OPTIONAL = {"faiss", "hnswlib", "matplotlib", "torch", "pandas", "typer", "rich", "cvxpy", "numba"}
OPTIONAL |= {"onnx", "onnxruntime", "safetensors", "sentence_transformers", "usearch", "psycopg", "pgserver"}
OPTIONAL |= {"qdrant_client", "lancedb", "pymilvus", "duckdb", "pyarrow", "fastapi", "uvicorn"}


def _imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield from ([f"gramian.{a.name}" for a in node.names] if node.module == "gramian" else [node.module])
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_imports_form_layers():
    for path in ROOT.rglob("*.py"):
        here = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if here in ("__init__", "__main__"):
            continue
        assert here in LEVEL, f"{path}: give {here!r} a layer"
        for name in _imports(ast.parse(path.read_text())):
            parts = name.split(".")
            if parts[0] == "gramian" and len(parts) > 1 and parts[1] in LEVEL:
                assert LEVEL[parts[1]] <= LEVEL[here], f"{path} ({here}) imports {name} from a higher layer"


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
