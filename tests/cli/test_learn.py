"""gramian fit, evaluate and learners."""

import json

import numpy as np
import pytest

import gramian as gm
from gramian import persist


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


def test_evaluate_compares_with_the_euclidean_distance(gramian, wine):
    code, out, err = gramian("evaluate", wine, "-l", "kind", "--learner", "rca", "--learner", "gmml", "--json")
    results = json.loads(out)
    assert code == 0 and len(results["RCA"]) == 5
    assert list(results) == ["Euclidean", "scaled", "RCA", "GMML", "linear classifier"]
    mean = {name: np.mean([fold["accuracy"] for fold in folds]) for name, folds in results.items()}
    assert mean["RCA"] > mean["Euclidean"] + 0.15
    code, out, _ = gramian("evaluate", wine, "-l", "kind", "--learner", "rca", "--folds", 3)
    assert code == 0 and "Euclidean" in out and "3-NN accuracy" in out and "±" in out


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


def test_columns_of_any_unit_weigh_what_they_vary(gramian, wine):
    """As income in dollars: its entry in the matrix is tiny, and what it adds to distances is not."""
    gramian("fit", wine, "-l", "kind", "--learner", "rca", "--standardize", "-o", "m.gram")
    out = gramian("info", "m.gram")[1]
    shown = [line.split()[0] for line in out.split("heaviest columns")[1].splitlines()[1:]]
    data = gm.datasets.load("wine")
    weight = np.diag(gm.load("m.gram").matrix) * data.X.var(axis=0)
    assert shown == [str(name) for name in data.feature_names[np.argsort(-weight)[:8]]]


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
