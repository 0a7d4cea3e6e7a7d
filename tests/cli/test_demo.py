"""gramian demo, and the commands that it names."""

import sys

import numpy as np


def test_demo_runs_and_its_next_commands_run(gramian, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["gramian", "demo"])
    code, out, err = gramian("demo")
    assert code == 0 and err == "", err
    made = {path.name for path in (tmp_path / "gramian-demo").iterdir()}
    assert made == {"digits.csv", "digits.gram", "kernel.gram", "neighbors.png"}
    rows = [line.split("│")[1:4] for line in out.splitlines() if line.startswith("│")]
    assert [name.strip() for name, *_ in rows] == ["Euclidean", "scaled", "NCA", "NCA, kernel"]
    accuracy, agreement = np.array([[float(cell) for cell in cells] for _, *cells in rows]).T
    assert accuracy[3] > max(accuracy[:2]) and agreement[3] > agreement[2] > max(agreement[:2])
    gains = [line.split() for line in out.splitlines() if "digit by digit" in line]
    assert len(gains) == 2 and all(float(gain) > 5 * float(error) for gain, _, error, *_ in gains)
    following = [line.split()[1:] for line in out.splitlines() if line.startswith("  gramian ")]
    assert len(following) == 3
    for arguments in following:
        code, out, err = gramian(*arguments)
        assert code == 0 and err == ""
