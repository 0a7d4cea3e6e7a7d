"""``gramian adapt``, and evaluate and export of what it makes, from outside."""

import json

import numpy as np
import pytest

import gramian as gm
from gramian.cli import main


@pytest.fixture
def gramian(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    D = rng.normal(size=(200, 8))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    Q = D @ (np.eye(8) + 0.5 * rng.normal(size=(8, 8))) + 0.1 * rng.normal(size=(200, 8))
    np.save("q.npy", Q / np.linalg.norm(Q, axis=1, keepdims=True))
    np.save("d.npy", D)

    def run(*arguments):
        code = main([*map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_an_adapter_is_learned_saved_and_exported(gramian):
    code, out, err = gramian("adapt", "q.npy", "d.npy", "-o", "a.gram")
    assert code == 0 and "held-out MRR" in out and "saved a.gram" in out, err
    adapter, Q = gm.load("a.gram"), np.load("q.npy")
    assert adapter.weight_ < 1
    code, out, err = gramian("export", "a.gram", "--to", "json", "--check")
    assert code == 0, err
    with open("a.json") as stream:
        numbers = json.load(stream)
    U = Q @ np.array(numbers["inner"]).T + np.array(numbers["offset"])
    U = U / np.linalg.norm(U, axis=1, keepdims=True) @ np.array(numbers["components"]).T
    np.testing.assert_allclose(U, adapter.transform_queries(Q), atol=1e-9)


def test_both_sides_are_exported_one_by_one(gramian):
    assert gramian("adapt", "q.npy", "d.npy", "--side", "both")[0] == 0
    code, out, err = gramian("export", "adapter.gram", "--to", "npz", "--documents", "-o", "d.npz")
    assert code == 0, err
    a, D = np.load("d.npz"), np.load("d.npy")
    U = D @ a["inner"].T + a["offset"]
    U = U / np.linalg.norm(U, axis=1, keepdims=True) @ a["components"].T
    np.testing.assert_allclose(U, gm.load("adapter.gram").transform(D), atol=1e-7)
    gm.Mahalanobis.from_matrix(np.eye(2)).save("m.gram")
    assert "--documents is for adapters" in gramian("export", "m.gram", "--to", "npz", "--documents")[2]


def test_matches_may_have_a_head_and_weights(gramian):
    with open("pairs.csv", "w") as stream:
        stream.write("query,document,weight\n" + "".join(f"{i},{i},{1 + i % 3}\n" for i in range(150)))
    assert gramian("adapt", "q.npy", "d.npy", "--matches", "pairs.csv")[0] == 0
    code, out, err = gramian("evaluate", "q.npy", "d.npy", "--matches", "pairs.csv", "--json")
    judged = json.loads(out)
    assert code == 0 and list(judged) == ["plain cosine", "linear adapter, tuned", "QueryAdapter"], err
    assert judged["plain cosine"]["gain"] == 0 and judged["QueryAdapter"]["queries"] == 30
    assert judged["QueryAdapter"]["MRR"] > judged["plain cosine"]["MRR"]
    assert (
        "30 queries that none" in gramian("evaluate", "q.npy", "d.npy", "--matches", "pairs.csv", "--side", "both")[1]
    )


@pytest.mark.parametrize("text, words", [
    ("", "holds no matches"),
    ("query,document\n", "holds no matches"),
    ("0,0\n1,x\n", "line 2 must be a row of queries"),
    ("0\n", "line 1 must be a row of queries"),
    ("0,900\n", "rows of documents from 0 to 199, got 900"),
])  # fmt: skip
def test_a_wrong_file_of_matches_is_one_sentence(gramian, text, words):
    with open("pairs.csv", "w") as stream:
        stream.write(text)
    code, _, err = gramian("adapt", "q.npy", "d.npy", "--matches", "pairs.csv")
    assert code == 2 and words in " ".join(err.split()) and len(err.strip().splitlines()) <= 3


def test_wrong_files_and_options(gramian):
    assert "no such file" in gramian("adapt", "none.npy", "d.npy")[2]
    with open("q.csv", "w") as stream:
        stream.write("1,2\n")
    assert "must be an .npy file" in gramian("adapt", "q.csv", "d.npy")[2]
    assert "--matches is for two files" in gramian("evaluate", "q.npy", "--matches", "q.csv", "--label", "0")[2]
    np.save("few.npy", np.load("q.npy")[:4])
    assert "too few" in gramian("evaluate", "few.npy", "few.npy")[2]
