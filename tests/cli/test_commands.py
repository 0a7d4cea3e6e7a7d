"""The commands, from outside: output, files, exit codes, and one line for each error."""

import json
import subprocess
import sys

import numpy as np
import pytest

import gramian as gm
from gramian import persist
from gramian.cli import choice, formats, main


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


def test_fit_info_and_transform(gramian, wine, tmp_path):
    model = tmp_path / "m.gram"
    code, out, err = gramian("fit", wine, "--label", "kind", "--learner", "rca", "-o", model)
    assert code == 0 and "RCA on 178 rows × 13 columns, 3 classes" in out and err == ""
    data = gm.datasets.load("wine")
    same = gm.RCA(random_state=0).fit(data.X, data.y).metric_
    assert np.allclose(gm.load(model).matrix, same.matrix)

    code, out, _ = gramian("info", model, "--plot", tmp_path / "m.png")
    assert code == 0 and "Mahalanobis" in out and "13 columns" in out and "RCA" in out and "heaviest columns" in out
    assert (tmp_path / "m.png").stat().st_size > 1000

    code, out, _ = gramian("transform", model, wine, "-o", tmp_path / "z.npz", "--label", "kind")
    assert code == 0 and "178 rows × 13 coordinates" in out
    with np.load(tmp_path / "z.npz") as stored:
        assert np.allclose(stored["X"], same.transform(data.X)) and stored["kind"][0] == "class_0"


def test_transform_to_standard_output_finds_the_columns_by_name(gramian, wine, tmp_path):
    gramian("fit", wine, "-l", "kind", "--learner", "rca", "-o", "m.gram")
    shuffled = tmp_path / "shuffled.csv"
    data = gm.datasets.load("wine")
    order = np.arange(13)[::-1]
    formats.write(shuffled, [str(n) for n in data.feature_names[order]], data.X[:, order], "y", None)
    code, out, err = gramian("transform", "m.gram", shuffled)
    rows = np.array([line.split(",") for line in out.splitlines()[1:]], dtype=float)
    assert code == 0 and err == "" and np.allclose(rows, gm.load("m.gram").transform(data.X))
    formats.write(shuffled, ["alcohol"], data.X[:, :1], "y", None)
    code, _, err = gramian("transform", "m.gram", shuffled)
    assert code == 2 and "no column 'malic_acid'" in err


@pytest.mark.parametrize("label", ["2", "-1"])
def test_columns_without_names(gramian, tmp_path, rng, label):
    X = np.column_stack([rng.normal(size=(30, 2)), np.arange(30) % 2])
    np.save("x.npy", X)
    assert gramian("fit", "x.npy", "--label", label, "--learner", "rca", "-o", "m.gram")[0] == 0
    for name, array in (("with.npy", X), ("without.npy", X[:, :2])):
        np.save(name, array)
        code, out, err = gramian("transform", "m.gram", name, "-o", "z.npy")
        assert code == 0, err
        assert np.allclose(np.load("z.npy"), gm.load("m.gram").transform(X[:, :2]))
    code, out, _ = gramian("transform", "m.gram", "with.npy", "--label", label)
    assert code == 0 and out.splitlines()[0] == "z0,z1,2"


def test_standardize_is_folded_into_the_metric(gramian, wine, tmp_path):
    assert gramian("fit", wine, "-l", "kind", "--learner", "itml", "--standardize", "--seed", 3, "-o", "m.gram")[0] == 0
    data = gm.datasets.load("wine")
    X = data.X / data.X.std(axis=0)
    same = gm.ITML(random_state=3).fit(X, data.class_names[data.y]).metric_
    assert np.allclose(gm.load("m.gram").sqdist(data.X), same.sqdist(X))


def test_settings_reach_the_learner_and_the_file(gramian, wine):
    code, _, err = gramian(
        "fit",
        wine,
        "-l",
        "kind",
        "--learner",
        "itml",
        "--set",
        "gamma=0.1",
        "--set",
        "prior=covariance",
        "-o",
        "m.gram",
    )
    about = persist.describe("m.gram")["about"]
    assert code == 0, err
    assert about["settings"]["gamma"] == 0.1 and about["settings"]["prior"] == "covariance" and about["rows"] == 178


def test_kernel(gramian, tmp_path):
    rings = gm.datasets.rings(n=80, random_state=0)
    np.savez("rings.npz", X=rings.X, y=rings.y)
    code, out, err = gramian("fit", "rings.npz", "--kernel", "gaussian:0.7", "--rank", 20, "-o", "k.gram")
    assert code == 0 and "ITML in Gaussian" in out, err
    assert isinstance(gm.load("k.gram"), gm.KernelMetric)
    assert "KernelMetric" in gramian("info", "k.gram")[1]


def test_a_gaussian_kernel_without_a_width_takes_the_median_distance(gramian, wine):
    code, out, err = gramian("fit", wine, "-l", "kind", "--learner", "rca", "--kernel", "gaussian", "-o", "k.gram")
    assert code == 0 and "RCA in a Gaussian kernel" in out, err
    data = gm.datasets.load("wine")
    same = gm.Kernelized(gm.RCA(), random_state=0).fit(data.X, data.y).metric_
    assert np.allclose(gm.load("k.gram").sqdist(data.X[:5]), same.sqdist(data.X[:5]))


def test_evaluate_compares_with_the_euclidean_distance(gramian, wine):
    code, out, err = gramian("evaluate", wine, "-l", "kind", "--learner", "rca", "--learner", "gmml", "--json")
    results = json.loads(out)
    assert code == 0 and len(results["RCA"]) == 5
    assert list(results) == ["Euclidean", "scaled", "RCA", "GMML", "linear classifier"]
    mean = {name: np.mean([fold["accuracy"] for fold in folds]) for name, folds in results.items()}
    assert mean["RCA"] > mean["Euclidean"] + 0.15
    code, out, _ = gramian("evaluate", wine, "-l", "kind", "--learner", "rca", "--folds", 3)
    assert code == 0 and "Euclidean" in out and "3-NN accuracy" in out and "±" in out


def test_evaluation_is_that_of_scikit_learn(gramian, wine):
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    out = gramian("evaluate", wine, "-l", "kind", "--learner", "rca", "-k", 1, "--seed", 5, "--json")[1]
    data = gm.datasets.load("wine")
    folds = StratifiedKFold(5, shuffle=True, random_state=5)
    expected = cross_val_score(KNeighborsClassifier(1), data.X, data.class_names[data.y], cv=folds)
    assert np.allclose([fold["accuracy"] for fold in json.loads(out)["Euclidean"]], expected)


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


def test_without_arguments_there_is_help(gramian):
    code, out, err = gramian()
    assert code == 0 and err == "" and "Usage: gramian" in out and "gramian demo" in out


@pytest.mark.parametrize("command", ["fit", "evaluate", "transform", "export", "info", "stream"])
def test_every_command_has_an_example(gramian, command):
    code, out, _ = gramian(command, "--help")
    assert code == 0 and "Example" in out and out.count(f"gramian {command} ") >= 2


def test_warnings_are_lines_of_their_own(gramian, wine):
    code, out, err = gramian("fit", wine, "-l", "kind", "--learner", "itml", "--set", "max_iter=1", "-o", "m.gram")
    assert code == 0 and "stopped after 1 iterations" in out
    assert "gramian: warning: ITML: stopped after 1 iterations" in err and ".py" not in err


def test_help_version_and_learners(gramian):
    code, out, _ = gramian("--help")
    assert code == 0 and all(word in out for word in ("demo", "fit", "evaluate", "transform", "info", "learners"))
    assert gramian("--version") == (0, f"gramian {gm.__version__}\n", "")
    code, out, _ = gramian("learners")
    assert code == 0 and "itml" in out and "rca" in out


def test_every_public_learner_can_be_named():
    from gramian.learners.base import Learner

    public = [getattr(gm, name) for name in gm._registry.HOME]
    expected = {c for c in public if isinstance(c, type) and issubclass(c, Learner)}
    assert set(choice.learners().values()) == expected


def test_python_m_gramian_runs():
    done = subprocess.run([sys.executable, "-m", "gramian", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("gramian ")


def test_without_typer_the_extra_is_named(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.split(".")[0] == "typer" or name.startswith("gramian.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["--help"]) == 1
    assert capsys.readouterr().err == "gramian: the command line needs typer and rich: pip install 'gramian[cli]'.\n"


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


def test_images_in_the_terminal_name_their_labels_and_strike_out_the_wrong_ones():
    from gramian.cli.screen import glyphs

    image = np.array([0.0, 16, 16, 0])
    text = glyphs((image, 7), [[(image, 7), (image, 1)]], (2, 2))
    pixels, labels = text.plain.strip("\n").split("\n")
    assert pixels.split() == ["▀▀"] * 3 and labels.split() == ["7", "7", "1"]
    struck = [text.plain[span.start : span.end].strip() for span in text.spans if "strike" in str(span.style)]
    assert struck == ["1"]


def test_output_that_nobody_reads_ends_quietly(wine):
    """As in ``gramian evaluate … | head``."""
    command = f"'{sys.executable}' -m gramian evaluate '{wine}' -l kind --learner rca --json; echo $? >&2"
    done = subprocess.run(f"({command}) | true", shell=True, capture_output=True, text=True)
    assert done.stderr.strip() in ("0", "1")


def test_a_file_without_column_names_is_taken_as_it_stands(gramian, wine, tmp_path):
    gramian("fit", wine, "-l", "kind", "--learner", "rca", "-o", "m.gram")
    X = gm.datasets.load("wine").X
    np.save(tmp_path / "X.npy", X)
    code, _, _ = gramian("transform", "m.gram", "X.npy", "-o", "z.npy")
    assert code == 0 and np.allclose(np.load(tmp_path / "z.npy"), gm.load("m.gram").transform(X))
    np.save(tmp_path / "narrow.npy", X[:, :5])
    code, _, err = gramian("transform", "m.gram", "narrow.npy", "-o", "z.npy")
    assert code == 2 and "no column 'alcohol'" in err


def test_one_class_is_one_class(gramian, tmp_path):
    (tmp_path / "one.csv").write_text("a,b,k\n" + "\n".join(f"{i},{i * i % 7},x" for i in range(12)) + "\n")
    code, out, _ = gramian("fit", "one.csv", "-l", "k", "-o", "m.gram")
    assert code == 0 and "12 rows × 2 columns, 1 class:" in out


MESSY = "id;age;color;joined;income;kind\n" + "".join(
    f"{i};{20 + i % 30},5;{('red', 'blue', '')[i % 3]};0{1 + i % 9}.01.2020;{'' if i == 7 else 1000 + 13 * i};"
    f"{'xy'[i % 2]}\n"
    for i in range(60)
)


def test_a_messy_table_is_fitted_evaluated_and_transformed_as_it_is(gramian, tmp_path):
    (tmp_path / "messy.csv").write_text(MESSY)
    code, _, err = gramian("fit", "messy.csv", "-l", "kind", "--drop", "id")
    assert code == 2 and "2 problems" in err and "column 'color' has no word in 20 rows, first in row 3" in err
    assert "column 'income' has no finite number in row 8" in err and "--missing median" in err
    code, out, err = gramian(
        "fit", "messy.csv", "-l", "kind", "--missing", "median", "--learner", "rca", "-o", "m.gram"
    )
    assert code == 0 and "warning" in err and "column 'id' holds a different whole number in every row" in err
    options = ("-l", "kind", "--missing", "median", "--drop", "id,joined", "--learner", "rca")
    code, out, err = gramian("fit", "messy.csv", *options, "-o", "m.gram")
    assert code == 0 and "60 rows × 3 columns" in out and "id" not in err
    assert persist.describe("m.gram")["about"]["features"] == ["age", "color=red", "income"]
    new = tmp_path / "new.csv"
    new.write_text("color;kind;income;age\nblue;x;;31,5\ngreen;y;5;40\n")
    code, out, err = gramian("transform", "m.gram", "new.csv", "--missing", "median")
    found = np.array([line.split(",") for line in out.splitlines()[1:]], dtype=float)
    median = np.median([1000 + 13 * i for i in range(60) if i != 7])
    expected = gm.load("m.gram").transform([[31.5, 0, median], [40, 0, 5]])
    assert code == 0 and np.allclose(found, expected), err
    assert gramian("transform", "m.gram", "new.csv")[1] == out, "gaps are filled in as the fit did"
    assert gramian("transform", "m.gram", "new.csv", "--missing", "refuse")[0] == 2
    unlabeled = MESSY.splitlines()
    unlabeled[5] = unlabeled[5].rsplit(";", 1)[0] + ";"
    (tmp_path / "unlabeled.csv").write_text("\n".join(unlabeled))
    assert "1 row without a label left out" in gramian("fit", "unlabeled.csv", *options)[2]
    code, out, err = gramian("evaluate", "messy.csv", *options, "--folds", 2)
    assert code == 0 and "scaled" in out and "best" in out
    code, out, err = gramian(
        "fit", "messy.csv", "-l", "kind", "--missing", "drop", "--drop", "id,joined", "--learner", "rca"
    )
    assert code == 0 and "39 rows × 3 columns" in out and "21 rows with gaps left out" in err


def test_evaluate_marks_the_best_pairs_the_folds_and_draws(gramian, wine, tmp_path):
    code, out, err = gramian("evaluate", wine, "-l", "kind", "--learner", "rca", "--plot", "scores.png")
    assert code == 0 and (tmp_path / "scores.png").stat().st_size > 1000 and "saved scores.png" in err
    best = [line for line in out.splitlines() if "best" in line]
    assert len(best) == 1 and "RCA" in best[0]
    assert "over Euclidean" in out and "over scaled" in out and "± " in out.split("paired by fold")[1]


def test_differences_are_paired_and_their_error_is_that_of_dependent_folds():
    from gramian.cli.scores import Score, best, difference

    ours, theirs = [0.9, 0.8, 0.95], [0.8, 0.75, 0.8]
    one, other = ([Score(a, 0.5) for a in side] for side in (ours, theirs))
    gain, error = difference(one, other)
    d = np.subtract(ours, theirs)
    assert gain == pytest.approx(d.mean()) and error == pytest.approx(d.std(ddof=1) * np.sqrt(1 / 3 + 1 / 2))
    assert best({"a": other, "b": one}) == "b"


def test_columns_of_any_unit_weigh_what_they_vary(gramian, wine):
    """As income in dollars: its entry in the matrix is tiny, and what it adds to distances is not."""
    gramian("fit", wine, "-l", "kind", "--learner", "rca", "--standardize", "-o", "m.gram")
    out = gramian("info", "m.gram")[1]
    shown = [line.split()[0] for line in out.split("heaviest columns")[1].splitlines()[1:]]
    data = gm.datasets.load("wine")
    weight = np.diag(gm.load("m.gram").matrix) * data.X.var(axis=0)
    assert shown == [str(name) for name in data.feature_names[np.argsort(-weight)[:8]]]


def test_learners_list_their_settings(gramian):
    out = gramian("learners")[1]
    assert "n_neighbors=3" in out and "class_weight=None" in out


def test_a_word_of_the_user_stands_for_a_gap_in_the_fit_and_afterwards(gramian, tmp_path, rng):
    rows = [f"{rng.normal():.3f},{rng.normal():.3f},{i % 2}" for i in range(40)]
    rows[3] = "unknown,0.5,1"
    (tmp_path / "t.csv").write_text("\n".join(["a,b,kind", *rows]))
    code, _, err = gramian("fit", "t.csv", "-l", "kind", "--learner", "rca", "-o", "m.gram")
    assert code == 2 and "--na unknown" in err
    options = ("--na", "Unknown", "--missing", "median")
    assert gramian("fit", "t.csv", "-l", "kind", "--learner", "rca", "-o", "m.gram", *options)[0] == 0
    (tmp_path / "new.csv").write_text("a,b\nunknown,0\n1,0\n")
    code, out, err = gramian("transform", "m.gram", "new.csv")
    median = np.median([float(row.split(",")[0]) for i, row in enumerate(rows) if i != 3])
    expected = gm.load("m.gram").transform([[median, 0], [1, 0]])
    assert code == 0 and np.allclose(np.loadtxt(out.splitlines()[1:], delimiter=","), expected), err
    assert gramian("evaluate", "t.csv", "-l", "kind", "--learner", "rca", *options)[0] == 0


def test_a_linear_classifier_is_a_row_of_the_evaluation_and_no_distance(gramian, wine):
    code, out, _ = gramian("evaluate", wine, "-l", "kind", "--learner", "rca")
    row = next(line for line in out.splitlines() if "linear classifier" in line)
    assert code == 0 and "best" not in row and out.count("linear classifier") == 2
    scores = json.loads(gramian("evaluate", wine, "-l", "kind", "--learner", "rca", "--json")[1])
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    data = gm.datasets.load("wine")
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    names = data.class_names[data.y]
    same = cross_val_score(make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)), data.X, names, cv=folds)
    assert np.allclose([fold["accuracy"] for fold in scores["linear classifier"]], same)
    assert all(fold["agreement"] is None for fold in scores["linear classifier"])


def test_info_tells_shares_and_what_was_chosen(gramian, wine):
    gramian("fit", wine, "-l", "kind", "-o", "m.gram")
    out = gramian("info", "m.gram")[1]
    facts = {line.split("  ")[0].strip(): line for line in out.splitlines()}
    assert "AutoMetric" in facts["learner"] and "178" in facts["rows"] and "kind" in facts["label"]
    assert "chosen" in facts
    shares = [float(line.split("%")[0].split()[-1]) for line in out.splitlines() if "%" in line]
    assert not shares or (shares == sorted(shares, reverse=True) and sum(shares) <= 100.5)
