"""The pages tell the truth: their Python runs, and their links lead somewhere."""

import ast
import builtins
import doctest
import re
import shlex
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import gramian
from gramian import _registry

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts),
]


def blocks(page, language="python"):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)


def free_names(tree):
    """Names that a block uses and does not define."""
    nodes = list(ast.walk(tree))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    defined = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    defined |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    defined |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    imported = [a for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for a in node.names]
    defined |= {(a.asname or a.name).split(".")[0] for a in imported}
    return {node.id for node in names} - defined - set(dir(builtins))


def at_hand(tree):
    """Whether all packages that a block imports are installed."""
    names = [a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names]
    names += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return all(find_spec(name.split(".")[0]) for name in names)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda page: str(page.relative_to(ROOT)))
def test_python_on_a_page_runs(page, tmp_path, monkeypatch):
    """As pasted, one after the other; a block that imports a library which is not installed must only parse."""
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "page"}
    for block in blocks(page):
        tree = ast.parse(block)
        if at_hand(tree):
            assert free_names(tree) <= set(space), f"{page.name} must define {free_names(tree) - set(space)}"
            exec(compile(tree, str(page), "exec"), space)
            continue
        for name in re.findall(r"\bgm\.(\w+)", block):
            assert hasattr(gramian, name), f"{page.name} names gm.{name}"


def commands(page):
    """Lines of the shell on a page, with their comments taken off."""
    for block in [*blocks(page, "sh"), *blocks(page, "bash")]:
        for line in block.replace("\\\n", " ").splitlines():
            yield from (part.strip() for part in re.split(r"\s#\s|\s[|]\s", line) if part.strip())


@pytest.mark.parametrize("page", [p for p in PAGES if list(commands(p))], ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_on_a_page_exist_with_their_options(page):
    typer = pytest.importorskip("typer")
    from gramian.cli.app import app

    known = typer.main.get_command(app).commands
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for line in commands(page):
        words = shlex.split(line, comments=True) if line.startswith("gramian ") else line.split()
        if words[:1] == ["gramian"]:
            assert words[1] in known, f"{page.name}: {line}"
            options = {name for option in known[words[1]].params for name in [*option.opts, *option.secondary_opts]}
            asked = {word.split("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)}
            assert asked <= options | {"--help"}, f"{page.name}: {line} has {asked - options}"
        elif words[:1] == ["make"]:
            assert words[1] in targets, f"{page.name}: {line}"
        elif words[:2] == ["python", "-m"] and words[2].startswith("benchmarks"):
            assert find_spec(words[2]), f"{page.name}: {line}"


def test_the_commands_of_the_first_steps_run(tmp_path, monkeypatch, capsys):
    pytest.importorskip("typer")
    from gramian.cli.app import run

    monkeypatch.chdir(tmp_path)
    space = {}
    for block in blocks(DOCS / "start.md"):
        exec(block, space)
    done = [line for line in commands(DOCS / "start.md") if line.startswith("gramian ")]
    for line in done:
        assert run(shlex.split(line)[1:]) == 0, line + capsys.readouterr().err
    assert len(done) == 4 and (tmp_path / "learned.csv").is_file() and (tmp_path / "scores.png").is_file()


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "pycon")], ids=lambda page: str(page.relative_to(ROOT)))
def test_console_sessions_on_a_page_say_what_they_show(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    runner, space = doctest.DocTestRunner(optionflags=flags), {}
    with warnings.catch_warnings():
        for i, block in enumerate(blocks(page, "pycon")):
            test = doctest.DocTestParser().get_doctest(block, space, f"{page.name}[{i}]", str(page), 0)
            said = []
            runner.run(test, out=said.append, clear_globs=False)
            space = test.globs
            assert not runner.failures, "".join(said)


SOURCES = [
    p for folder in ("src", "benchmarks", "tests") for p in (ROOT / folder).rglob("*.py") if ".envs" not in p.parts
]


@pytest.fixture(scope="module")
def words():
    found = {path.stem for path in SOURCES} | set(dir(builtins))
    return found.union(*(re.findall(r"\w+", path.read_text(encoding="utf-8")) for path in SOURCES))


@pytest.mark.parametrize("page", sorted((DOCS / "papers").glob("*.md")), ids=lambda page: page.name)
def test_code_that_a_page_on_a_document_names_exists(page, words):
    """Files, functions, classes and tests in `code`; formulas and strings inside of it are left out."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    for code in re.findall(r"`([^`\n]+)`", text):
        for path in re.findall(r"[\w/]+\.py", code):
            assert any(source.as_posix().endswith(f"/{path}") for source in SOURCES), f"{page.name} names {path}"
        for name in re.findall(r"\b[A-Za-z_][A-Za-z_0-9]{2,}\b", re.sub(r"[\w/]+/\S*|\"[^\"]*\"", "", code)):
            assert name in words, f"{page.name} names {name} in `{code}`"


def toctrees(page):
    """Pages that the toctrees of a page name."""
    for block in re.findall(r"^```{toctree}\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M):
        for name in re.findall(r"^(?!:)(?:.*<)?([\w/.-]+)>?$", block, re.M):
            if (page.parent / f"{name}.md").exists():
                yield page.parent / f"{name}.md"


def test_every_page_of_the_site_is_reached_from_its_front():
    seen, new = set(), {DOCS / "index.md"}
    while new:
        seen |= new
        new = {p.resolve() for page in new for p in toctrees(page)} - seen
    assert seen == {p for p in PAGES if DOCS in p.parents}


def test_what_a_page_takes_from_another_is_there():
    for page in PAGES:
        for target, options in re.findall(
            r"^```{include} (\S+)\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M
        ):
            text = (page.parent / target).read_text(encoding="utf-8")
            for mark in re.findall(r'^:(?:start|end)-\S+: "?(.*?)"?$', options, re.M):
                assert text.count(mark) == 1, f"{page.name} cuts {target} at {mark!r}"


def test_every_public_name_is_in_the_reference():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   ([\w.]+)$", text, re.M))
    public = {name for names in _registry.CONTENTS.values() for name in names}
    inner = {
        f"{module}.{name}"
        for module in _registry.MODULES
        for name in getattr(import_module(f"gramian.{module}"), "__all__", ())
        if name not in public
    }
    missing = {name for name in public | inner if name not in listed}
    missing |= {m for m in _registry.MODULES if m not in listed and f"`gramian.{m}`" not in text}
    assert not missing, f"add to docs/api.md: {sorted(missing)}"
    for name in listed:
        home, _, last = f"gramian.{name}".rpartition(".")
        assert hasattr(import_module(home), last), f"docs/api.md names {name}, which does not exist"


def example_of_the_readme(draw):
    """Shares of right neighbors of each digit as it is, scaled and learned, by the README's own code on one draw."""
    (block,) = blocks(ROOT / "README.md")
    space = {}
    exec(block.replace("stratify=y, random_state=0", f"stratify=y, random_state={draw}"), space)
    gm, X, X_new = space["gm"], space["X"], space["X_new"]
    scale = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    sides = []
    for unit in (1.0, scale):
        ids, _ = gm.ExactIndex(gm.Mahalanobis.euclidean(64)).add(X / unit).query(X_new / unit, k=10)
        sides.append((space["y"][ids] == space["y_new"][:, None]).mean(axis=1))
    return [*sides, (space["y"][space["ids"]] == space["y_new"][:, None]).mean(axis=1)], space


def test_the_numbers_in_the_readme_are_right(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = blocks(ROOT / "README.md")
    (plain, scaled, learned), space = example_of_the_readme(0)
    claimed = [float(number) for number in re.findall(r"0\.\d\d", block)]
    assert [round(float(side.mean()), 2) for side in (learned, plain, scaled)] == claimed
    both = learned - plain, learned - scaled
    gains = [f"{gain.mean():+.3f} ± {gain.std() / len(gain) ** 0.5:.3f}" for gain in both]
    claim = "Over the {:,} unseen digits that is {} over the pixels as they are and {} over scaled ones"
    assert claim.format(len(learned), *gains) in text, gains
    number = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    learners = {re.split(r"[ ,(]", line.split("  ")[0])[0] for line in str(space["auto"].report_).splitlines()[1:]}
    learners = {name for name in learners if name[0].isupper() and hasattr(gramian, name)}
    assert f"tries {number[len(learners)]} learners" in block, learners


def test_the_other_draws_in_the_readme_and_the_wine_of_first_steps_are_right(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    means = np.mean([[side.mean() for side in example_of_the_readme(draw)[0]] for draw in range(5)], axis=0)
    assert "the three have {:.3f}, {:.3f} and {:.3f}.".format(*means) in text, means
    space = {}
    for block in blocks(DOCS / "start.md")[:2]:
        exec(block, space)
    steps = (DOCS / "start.md").read_text(encoding="utf-8")
    assert "# " + ", ".join(f"{scores.mean():.3f}" for scores in space["scores"].values()) in steps
    assert f"# {space['gain'].mean():+.3f} ± {space['error']:.3f}" in steps


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def takes(page, heading):
    """The table of learners below a heading: name → what it says it takes."""
    table = page.read_text(encoding="utf-8").split(heading)[1].split("\n| --- ")[1].split("\n\n")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("| `")
    ]
    return {name: row[1] for row in rows for name in re.findall(r"`(\w+)", row[0])}


def test_the_table_of_learners_says_what_each_accepts():
    guide = takes(DOCS / "guide/learners.md", "## Which one when")
    assert len(guide) > 10
    kinds = {"pairs": gramian.Pairs, "triplets": gramian.Triplets, "groups": gramian.Chunklets}
    for name in set(guide) - {"Kernelized"}:
        said = re.split(r", ", guide[name])
        accepted = {word for word, kind in kinds.items() if issubclass(kind, getattr(gramian, name).traits.takes)}
        assert "labels" in said and accepted == set(said) & set(kinds), f"{name}: {guide[name]}"
