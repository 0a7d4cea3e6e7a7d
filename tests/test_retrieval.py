"""The benchmark of queries and documents: a folder of BEIR from end to end, and what its refusals say."""

import json
import sys

import numpy as np
import pytest
from benchmarks.retrieval import __main__ as program
from benchmarks.retrieval import beir

WORDS = [f"{a}{b}" for a in "bdfgkl" for b in ("amp", "olt", "irk", "usk", "end")]
ENCODER = """
import numpy as np
WORDS = {words!r}
turn = np.eye({n}) + 0.3 * np.random.default_rng(0).normal(size=({n}, {n}))

def encode(texts):
    counts = np.array([[text.replace("ask ", "").split().count(word) for word in WORDS] for text in texts]) + 0.01
    return np.where([[text.startswith("ask ")] for text in texts], counts @ turn, counts).tolist()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Texts of five words, and queries of three of them, in another tongue than the documents."""
    rng = np.random.default_rng(0)
    texts = [rng.choice(WORDS, 5, replace=False) for _ in range(120)]
    folder = tmp_path / "tiny"
    (folder / "qrels").mkdir(parents=True)
    corpus = [{"_id": f"d{i}", "title": row[0], "text": " ".join(row[1:])} for i, row in enumerate(texts)]
    queries = [{"_id": f"q{i}", "text": "ask " + " ".join(row[:3])} for i, row in enumerate(texts[:100])]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write(folder, "test", range(100))
    (tmp_path / "words_of_a_test.py").write_text(ENCODER.format(words=WORDS, n=len(WORDS)))
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def write(folder, name, rows):
    lines = "".join(f"q{i}\td{i}\t1\nq{i}\td{(i + 1) % 120}\t0\nq{i}\tgone\t2\n" for i in rows)
    (folder / "qrels" / f"{name}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{lines}")


def test_a_folder_of_beir_from_texts_to_a_table(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["x", "beir", str(folder), "--encoder", "words_of_a_test:encode"])
    program.main()
    out = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in out.splitlines() if line.startswith("|")]
    assert [row[0] for row in rows[2:]] == ["plain", *["adapter, tuned", "QueryAdapter"] * 2]
    assert "50 queries taught, 50 others asked, among 120 documents." in out
    plain, ours = float(rows[2][2]), float(rows[4][2])
    assert 0 < plain < ours and rows[4][5] == f"{ours - plain:+.4f} ± {rows[4][5].split()[-1]}"
    assert np.load(folder / "corpus.npy").shape == (120, len(WORDS))
    write(folder, "train", range(70))
    write(folder, "test", range(60, 100))  # what is asked does not teach
    assert "60 queries taught, 40 others asked" in beir.report(folder)  # the embeddings that are there


def test_what_is_missing_is_named(folder):
    with pytest.raises(FileNotFoundError, match="--encoder module:function"):
        beir.report(folder)
    np.save(folder / "queries.npy", np.ones((3, 2)))
    with pytest.raises(ValueError, match="a row for each of 100 texts, got 3"):
        beir.report(folder)
    with pytest.raises(ValueError, match="must name a query and a document"):
        beir.judged(folder / "qrels" / "test.tsv", {}, {})
