"""Every example runs in its small form, with the data folder and without it, and ends in one titled picture."""

import pathlib
import re
import runpy

import pytest

pyplot = pytest.importorskip("matplotlib.pyplot")

FOLDER = pathlib.Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(FOLDER.glob("plot_*.py"))
WITH_DATA = [path for path in SCRIPTS if "GRAMIAN_DATA" in path.read_text(encoding="utf-8")]


@pytest.fixture(autouse=True)
def stage(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAMIAN_EXAMPLES_SMALL", "1")
    monkeypatch.setattr(pyplot, "show", lambda: None)
    monkeypatch.chdir(tmp_path)
    pyplot.switch_backend("Agg")
    pyplot.close("all")
    yield
    pyplot.close("all")


def run(path):
    """The figure that an example leaves."""
    runpy.run_path(str(path), run_name="__main__")
    (number,) = pyplot.get_fignums()
    return pyplot.figure(number)


def said(figure):
    """All words in a figure that are no ticks."""
    words = [text for ax in figure.axes for text in (ax.get_title(), ax.get_xlabel(), ax.get_ylabel())]
    return " ".join([*words, *(text.get_text() for ax in figure.axes for text in ax.texts)]).strip()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_runs_without_the_data_folder(path, monkeypatch, capsys):
    monkeypatch.delenv("GRAMIAN_DATA", raising=False)
    figure = run(path)
    assert said(figure), "a picture needs words"
    if path in WITH_DATA:
        assert "GRAMIAN_DATA is not set" in capsys.readouterr().out


@pytest.mark.parametrize("path", WITH_DATA, ids=lambda path: path.stem)
def test_runs_with_the_data_folder(path, data_folder, monkeypatch, capsys):
    monkeypatch.setenv("GRAMIAN_DATA", str(data_folder))
    assert said(run(path))
    assert "not set" not in capsys.readouterr().out


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_is_a_page_of_the_gallery(path):
    """A title, a paragraph, blocks with a comment each, 25 to 60 lines."""
    text = path.read_text(encoding="utf-8")
    title, line, *rest = text.split('"""')[1].strip().split("\n")
    assert line == "=" * len(title) and 3 <= len([r for r in rest if r]) <= 8
    assert text.count("\n# %%\n# ") >= 2 and text.endswith("plt.show()\n") and 25 <= len(text.splitlines()) <= 60


def test_the_caption_of_the_first_picture_is_right(monkeypatch, capsys):
    monkeypatch.delenv("GRAMIAN_EXAMPLES_SMALL")
    run(FOLDER / "plot_learned_neighbors.py")
    shares = re.findall(r"([\d.]+)% of the eight nearest", capsys.readouterr().out)
    text = (FOLDER.parent / "docs" / "index.md").read_text(encoding="utf-8")
    caption = text.split("learned_neighbors.png)")[1].split("##")[0]
    assert [f"{float(share):.0f}" for share in shares] == re.findall(r"(\d+)%", caption)


def test_pictures_are_saved_without_a_screen(tmp_path, monkeypatch, capsys):
    from benchmarks import gallery

    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr("sys.argv", ["gallery", "mahalanobis_heat_map", "--out", str(tmp_path / "out")])
    gallery.main()
    assert (tmp_path / "out" / "mahalanobis_heat_map.png").stat().st_size > 10_000
    assert "saved" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["gallery", "nothing"])
    with pytest.raises(SystemExit, match="2"):
        gallery.main()
