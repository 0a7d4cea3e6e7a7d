"""What verbose fits show where rich is not installed."""

import sys

import pytest
from sklearn.datasets import load_iris

import gramian as gm
from gramian.learners.progress import progress


@pytest.fixture
def no_rich(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)


def test_a_verbose_fit_prints_lines_without_rich(no_rich, capsys):
    heard = []
    X, y = load_iris(return_X_y=True)
    gm.NCA(anchor=0, verbose=True, callback=lambda *state: heard.append(state)).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert lines and all(line.startswith("NCA: step ") for line in lines)
    assert f"step {heard[-1][0]} " in lines[-1]


def test_many_steps_are_few_lines(no_rich, capsys):
    with progress("Learner", True, 1000) as report:
        for step in range(1000):
            report(step, 1.0, 0.5)
    assert len(capsys.readouterr().out.splitlines()) < 10
