"""A folder as BEIR has it, ``queries.jsonl``, ``corpus.jsonl`` and ``qrels/*.tsv``: plain, the usual adapter, ours.

Embeddings lie beside as ``queries.npy`` and ``corpus.npy``, rows in the order of the two files; an encoder makes them
where there are none. What is known to match comes from ``train.tsv`` or ``dev.tsv``; where there is neither, half of
the queries of ``test.tsv`` teach and the other half ask.
"""

import csv
import json
from pathlib import Path

import numpy as np
from scipy import sparse

import gramian as gm
from benchmarks.retrieval import rivals
from gramian.learners.retrieval import MEASURES, scores
from gramian.service.models import TextEncoder

Judged = tuple[np.ndarray, np.ndarray]
"""Rows of queries and of documents (k, 2), and grades above 0 (k,)."""


def texts(path: Path) -> dict[str, str]:
    """Title and text of each ``_id``."""
    with open(path, encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream if line.strip()]
    return {str(row["_id"]): f"{row.get('title') or ''} {row['text']}".strip() for row in rows}


def vectors(path: Path, rows: list[str], encoder: str | None) -> np.ndarray:
    """Embeddings of length one beside the texts, made by an encoder where there are none."""
    if not path.is_file():
        if encoder is None:
            raise FileNotFoundError(f"beir: no {path}; make it, or name what makes it with --encoder module:function.")
        np.save(path, TextEncoder.load(encoder).encode(rows).astype(np.float32))
    X = rivals.unit(np.load(path).astype(np.float32))
    if len(X) != len(rows):
        raise ValueError(f"beir: {path} must have a row for each of {len(rows)} texts, got {len(X)}; remove it.")
    return X


def judged(path: Path, queries: dict[str, int], corpus: dict[str, int]) -> Judged:
    """What a file of judgments says of queries and documents that are there."""
    with open(path, newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream, delimiter="\t"))[1:]
    good = [(queries[q], corpus[d], float(g)) for q, d, g in rows if float(g) > 0 and q in queries and d in corpus]
    if not good:
        raise ValueError(f"beir: {path} must name a query and a document of the folder with a score above 0.")
    return np.array([row[:2] for row in good], dtype=int), np.array([row[2] for row in good])


def taught_and_asked(folder: Path, queries: dict[str, int], corpus: dict[str, int]) -> tuple[Judged, Judged]:
    """Matches to learn from, and those of queries that ask; no query is in both."""
    pairs, grades = judged(folder / "test.tsv", queries, corpus)
    other = next((folder / name for name in ("train.tsv", "dev.tsv") if (folder / name).is_file()), None)
    if other is not None:
        learn, weight = judged(other, queries, corpus)
        new = ~np.isin(learn[:, 0], pairs[:, 0])
        return (learn[new], weight[new]), (pairs, grades)
    asked = np.unique(pairs[:, 0])
    half = np.isin(pairs[:, 0], np.random.default_rng(0).permutation(asked)[: len(asked) // 2])
    return (pairs[half], grades[half]), (pairs[~half], grades[~half])


def report(folder: Path, encoder: str | None = None) -> str:
    """MRR, recall@10, nDCG@10 and the gain in MRR of queries that nothing learned from, as a table in Markdown."""
    asks, holds = texts(folder / "queries.jsonl"), texts(folder / "corpus.jsonl")
    queries, corpus = ({name: i for i, name in enumerate(side)} for side in (asks, holds))
    Q = vectors(folder / "queries.npy", list(asks.values()), encoder)
    D = vectors(folder / "corpus.npy", list(holds.values()), encoder)
    (learn, weight), (ask, grades) = taught_and_asked(folder / "qrels", queries, corpus)
    rows, of_query = np.unique(ask[:, 0], return_inverse=True)
    answers = sparse.csr_array((grades, (of_query, ask[:, 1])), shape=(len(rows), len(D)))
    answers.sort_indices()
    lines = [f"| method | side | {' | '.join(MEASURES)} | gain in MRR |", "| --- " * 6 + "|"]
    plain = scores(Q[rows], D, answers)

    def line(name: str, side: str, U: np.ndarray, V: np.ndarray) -> None:
        table = scores(U.astype(np.float32), V.astype(np.float32), answers)
        gains = table[:, 0] - plain[:, 0]
        error = gains.std() / np.sqrt(len(gains))
        means = " | ".join(f"{value:.4f}" for value in table.mean(axis=0))
        lines.append(f"| {name} | {side} | {means} | {gains.mean():+.4f} ± {error:.4f} |")

    line("plain", "", Q[rows], D)
    for side in ("query", "both"):
        W = rivals.tuned(Q[learn[:, 0]], D[learn[:, 1]], side == "both", 0)
        line("adapter, tuned", side, *rivals.mapped(W, Q[rows], D, side == "both"))
        adapter = gm.QueryAdapter(side, random_state=0).fit(Q, D, learn, weight=weight)
        line("QueryAdapter", side, adapter.transform_queries(Q[rows]), adapter.transform(D))
    n = len(np.unique(learn[:, 0]))
    return "\n".join([*lines, "", f"{n} queries taught, {len(rows)} others asked, among {len(D)} documents."])
