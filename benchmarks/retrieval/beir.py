"""A folder as BEIR has it: ``queries.jsonl``, ``corpus.jsonl``, ``qrels/{train,test}.tsv``, and embeddings beside.

Embeddings are ``queries.npy`` and ``corpus.npy``, rows in the order of the two files; any model may have made them.
"""

import csv
import json
from pathlib import Path

import numpy as np
from scipy import sparse

import gramian as gm
from benchmarks.retrieval import rivals
from gramian.learners.retrieval import MEASURES, scores


def places(path: Path) -> dict[str, int]:
    """Row of each ``_id``."""
    with open(path) as stream:
        return {str(json.loads(line)["_id"]): i for i, line in enumerate(stream) if line.strip()}


def judged(path: Path, queries: dict[str, int], corpus: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Rows of queries and documents, (k, 2), and their grades above 0."""
    with open(path, newline="") as stream:
        rows = list(csv.reader(stream, delimiter="\t"))[1:]
    known = [(queries[q], corpus[d], float(g)) for q, d, g in rows if float(g) > 0 and q in queries and d in corpus]
    return np.array([row[:2] for row in known], dtype=int).reshape(-1, 2), np.array([row[2] for row in known])


def report(folder: Path) -> str:
    """MRR, recall@10 and nDCG@10 of the test queries: plain, tuned adapter, ours."""
    queries, corpus = places(folder / "queries.jsonl"), places(folder / "corpus.jsonl")
    Q, D = (rivals.unit(np.load(folder / name).astype(np.float32)) for name in ("queries.npy", "corpus.npy"))
    if len(Q) != len(queries) or len(D) != len(corpus):
        raise ValueError(f"beir: {len(Q)} and {len(D)} vectors for {len(queries)} queries and {len(corpus)} documents.")
    learn, weight = judged(folder / "qrels" / "train.tsv", queries, corpus)
    ask, grades = judged(folder / "qrels" / "test.tsv", queries, corpus)
    rows, of_query = np.unique(ask[:, 0], return_inverse=True)
    answers = sparse.csr_array((grades, (of_query, ask[:, 1])), shape=(len(rows), len(D)))
    answers.sort_indices()
    lines = [f"| method | side | {' | '.join(MEASURES)} |", "| --- | --- | --- | --- | --- |"]

    def line(name: str, side: str, U: np.ndarray, V: np.ndarray) -> None:
        mean = scores(U.astype(np.float32), V.astype(np.float32), answers).mean(axis=0)
        lines.append(f"| {name} | {side} | " + " | ".join(f"{value:.4f}" for value in mean) + " |")

    line("plain", "", Q[rows], D)
    for side in ("query", "both"):
        W = rivals.tuned(Q[learn[:, 0]], D[learn[:, 1]], side == "both", 0)
        line("adapter, tuned", side, *rivals.mapped(W, Q[rows], D, side == "both"))
        adapter = gm.QueryAdapter(side).fit(Q, D, learn, weight=weight)
        line("QueryAdapter", side, adapter.transform_queries(Q[rows]), adapter.transform(D))
    return "\n".join(lines)
