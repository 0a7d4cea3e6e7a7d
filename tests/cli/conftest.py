"""Fixtures that several tests of this room take."""

import pytest

import gramian as gm
from gramian.cli import formats, main


@pytest.fixture
def wine(tmp_path):
    data = gm.datasets.load("wine")
    path = tmp_path / "wine.csv"
    formats.write(path, [str(n) for n in data.feature_names], data.X, "kind", data.class_names[data.y])
    return path


@pytest.fixture
def gramian(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run
