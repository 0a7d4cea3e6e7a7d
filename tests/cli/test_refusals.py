"""Whatever goes wrong is one sentence and an exit code."""

import subprocess
import sys

import pytest

import gramian as gm


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["fit", "nowhere.csv", "-l", "kind"], "nowhere.csv: no such file"),
        (["fit", "wine.csv", "-l", "knd"], "no column 'knd' for --label; did you mean 'kind'"),
        (["fit", "wine.csv", "-l", "kind", "--learner", "itlm"], "no learner 'itlm', did you mean itml"),
        (
            ["fit", "wine.csv", "-l", "kind", "--learner", "itml", "--set", "gama=1"],
            "ITML has no setting 'gama'; it has gamma",
        ),
        (
            ["fit", "wine.csv", "-l", "kind", "--learner", "itml", "--set", "gamma"],
            "--set takes name=value, got 'gamma'",
        ),
        (["fit", "wine.csv", "-l", "kind", "--learner", "itml", "--set", "gamma=-1"], "ITML: gamma must be"),
        (["fit", "wine.csv", "-l", "kind", "--kernel", "gausian"], "no kernel 'gausian', did you mean gaussian"),
        (["fit", "wine.csv", "-l", "alcohol"], "labels must be classes, got 126 different numbers for 178 points"),
        (["fit", "wine.csv", "-l", "kind", "--learner", "foo"], "no learner 'foo'; gramian learners lists them"),
        (["fit", "wine.csv", "-l", "kind", "-o", "no/m.gram"], "no/m.gram: no folder no"),
        (
            ["fit", "wine.csv", "-l", "kind", "--standardize", "--kernel", "gaussian"],
            "--standardize needs a linear metric",
        ),
        (["fit", "wine.csv", "-l", "kind", "-o", "."], ".: is a folder, name a file in it"),
        (["fit", "wine.csv", "-l", "kind", "--rank", "3"], "--rank needs --kernel"),
        (["fit", "wine.csv", "-l", "kind", "--learner", "itml", "--set", "max_iter=abc"], "max_iter must be"),
        (["fit", "wine.csv", "-l", "kind", "--set", "n_pairs=abc"], "n_pairs"),
        (["fit", ".", "-l", "kind"], ".: no such file"),
        (["demo", "--out", "wine.csv"], "wine.csv/digits.csv: no folder wine.csv"),
        (["transform", "metric.gram", "wine.csv", "-o", "no/z.csv"], "no/z.csv: no folder no"),
        (["transform", "wine.csv", "wine.csv"], "is not a readable gramian file"),
        (["info", "metric.gram", "--plot", "m.xyz"], "m.xyz: must end in .png, .pdf or .svg"),
        (["stream", "--state", "wine.csv"], "wine.csv: file exists"),
        (["stream", "--state", "s", "--report", "no.jsonl"], "no.jsonl: no such file or directory"),
        (["stream", "--state", "s", "--bits", "7"], "n_bits must be an integer in [8, 32768], got 7"),
        (["info", "wine.csv"], "is not a readable gramian file"),
        (["info", "nothing.gram"], "load: no file at 'nothing.gram'"),
        (["info", "kernel.gram"], "kernel.gram: holds a Gaussian, not a metric"),
        (["evaluate", "one.csv", "-l", "k"], "needs at least two classes, all rows are 'x'"),
        (["evaluate", "rare.csv", "-l", "k"], "class 'y' has 2 rows for 5 folds; use --folds 2"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_two(gramian, wine, tmp_path, arguments, message):
    (tmp_path / "one.csv").write_text("a,k\n1,x\n2,x\n")
    (tmp_path / "rare.csv").write_text("a,k\n" + "1,x\n2,x\n3,x\n" * 2 + "9,y\n8,y\n")
    gm.save(gm.Gaussian(), tmp_path / "kernel.gram")
    gm.Mahalanobis.euclidean(13).save(tmp_path / "metric.gram")
    code, out, err = gramian(*arguments)
    assert code == 2 and message in err and err.count("\n") == 1 and err.startswith("gramian: ") and out == ""


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["fit"], "gramian fit: missing argument"),
        (["fit", "wine.csv"], "gramian fit: invalid value for --label: say which column holds the labels"),
        (["nothing"], "gramian: no such command 'nothing'"),
        (["--nothing"], "gramian: no such option: --nothing"),
        (["fit", "wine.csv", "--folds", "2"], "gramian fit: no such option: --folds"),
        (["evaluate", "wine.csv", "--folds", "x"], "gramian evaluate: invalid value for '--folds'"),
        (["evaluate", "wine.csv", "-k", "0"], "gramian evaluate: invalid value for '--neighbors' / '-k'"),
        (["demo", "--seed", "-1"], "gramian demo: invalid value for '--seed'"),
        (["transform", "m.gram"], "gramian transform: missing argument"),
        (["info"], "gramian info: missing argument"),
        (["stream"], "gramian stream: missing option '--state'"),
        (["learners", "more"], "gramian learners: got unexpected extra argument"),
    ],
)
def test_usage_errors_are_one_sentence_that_names_the_help(gramian, wine, arguments, sentence):
    code, out, err = gramian(*arguments)
    assert code == 2 and out == "" and err.lower().startswith(sentence.lower()) and err.count("\n") == 1
    assert err.endswith(" --help.\n")


def test_warnings_are_lines_of_their_own(gramian, wine):
    code, out, err = gramian("fit", wine, "-l", "kind", "--learner", "itml", "--set", "max_iter=1", "-o", "m.gram")
    assert code == 0 and "stopped after 1 iterations" in out
    assert "gramian: warning: ITML: stopped after 1 iterations" in err and ".py" not in err


def test_output_that_nobody_reads_ends_quietly(wine):
    """As in ``gramian evaluate … | head``."""
    command = f"'{sys.executable}' -m gramian evaluate '{wine}' -l kind --learner rca --json; echo $? >&2"
    done = subprocess.run(f"({command}) | true", shell=True, capture_output=True, text=True)
    assert done.stderr.strip() in ("0", "1")
