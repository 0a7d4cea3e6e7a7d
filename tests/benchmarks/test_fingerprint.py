"""A benchmark's fingerprint follows its code, and not its words."""

import sys

import pytest
from benchmarks import asked, papers, report, runner
from benchmarks import fingerprint as fingerprints
from benchmarks.fingerprint import fingerprint

TABLE = '''"""What it is."""

from bench.doc.shared import value

TITLE = "A table"
NOTES = """Words."""


def run(quick=False):
    """Rows."""
    return [{"ours": value()}]  # a remark
'''
SHARED = '''"""Shared."""


def value():
    """A number."""
    return 1.0
'''


@pytest.fixture
def of(tmp_path, monkeypatch):
    """The fingerprint of bench.doc.table after one text in one of its files was put in place of another."""
    folder = tmp_path / "bench" / "doc"
    folder.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.split(".")[0] == "bench"]:
        monkeypatch.delitem(sys.modules, name)

    def write(file="table", old="", new=""):
        for name, text in {"table": TABLE, "shared": SHARED, "other": "x = 1\n"}.items():
            (folder / f"{name}.py").write_text(text.replace(old, new) if name == file and old else text)
        return fingerprint("bench.doc.table", "bench")

    return write


@pytest.mark.parametrize(
    "change",
    [
        ("table", "Words.", "Other words,\non two lines."),
        ("table", "A table", "Another title"),
        ("table", '"""Rows."""', '"""What comes out."""'),
        ("table", "# a remark", "# another"),
        ("shared", '    """A number."""\n', ""),
        ("other", "x = 1", "x = 2"),
    ],
)
def test_words_and_strangers_change_nothing(of, change):
    before = of()
    assert of(*change) == before


@pytest.mark.parametrize("change", [("table", "quick=False", "quick=True"), ("shared", "1.0", "2.0")])
def test_code_of_the_module_and_of_what_it_imports_counts(of, change):
    before = of()
    assert of(*change) != before


def test_a_record_of_other_code_or_of_none_is_older():
    name = "tdl.figure1"
    module = runner.discover(papers)[name]
    fields = {"title": "", "command": f"python -m benchmarks.papers {name}", "cpu_s": 1.0, "rows": []}
    notes = runner.import_module(module).NOTES.strip()
    code = fingerprint(module, papers.__name__)
    told = {"now": (notes, code), "code": (notes, "0" * 12), "none": (notes, ""), "words": ("Other.", code)}
    for case, (words, stamp) in told.items():
        record = report.Report(name, notes=words, code=stamp, **fields)
        assert asked.older({name: record}) == (set() if case == "now" else {name}), case


@pytest.mark.parametrize(
    "file, counts", [("rca.py", True), ("itml.py", False), ("linalg.py", True), ("lego.py", False)]
)
def test_code_of_the_library_counts_where_it_is_used(of, monkeypatch, file, counts):
    used = ("table", "from bench.doc.shared import value", "import gramian as gm\n\nvalue = gm.RCA().fit")
    before, read = of(*used), fingerprints._read
    changed = lambda path, time: (read(path, time)[0] + "#" * (path.name == file), read(path, time)[1])  # noqa: E731
    monkeypatch.setattr(fingerprints, "_read", changed)
    assert (of(*used) != before) is counts
