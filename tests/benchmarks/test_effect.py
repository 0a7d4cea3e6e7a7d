"""The benchmark of what learning brings: draws, precision, rivals, gains, and a record that can be resumed."""

import sys

import numpy as np
import pytest
from benchmarks.effect import cells, draws, ours, rivals, study, summary, tasks
from benchmarks.effect.__main__ import behind, contest, drawn, duels, means, no_help, pages, shown_gain
from benchmarks.effect.adapter import contrastive, train_adapter
from benchmarks.report import Report
from scipy.optimize import approx_fprime

import gramian as gm


@pytest.fixture
def blobs():
    """Nine classes of 40 points in five dimensions, two of which are noise."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(9), 40)
    centers = 3 * rng.standard_normal((9, 5)) * [1, 1, 1, 0, 0]
    return tasks.Task("blobs", centers[y] + rng.standard_normal((360, 5)) * [1, 1, 1, 4, 4], y)


def test_halves_share_no_task_and_every_task_has_a_source():
    parts = (tasks.DEVELOPMENT, tasks.REPORTED, tasks.VECTORS, tasks.MEANINGS)
    assert sorted(name for part in parts for name in part) == sorted(tasks.SOURCES)
    assert len(tasks.SOURCES) >= 14


def test_labeled_points_are_never_searched_and_new_classes_have_no_labels(blobs):
    found = draws.draws(blobs, 5, seed=3)
    for draw in found.values():
        assert not np.intersect1d(draw.train, draw.search).size
    assert (np.bincount(blobs.y[found["seen"].train]) == 5).all()
    assert not np.intersect1d(blobs.y[found["new"].train], blobs.y[found["new"].search]).size
    assert len(np.unique(blobs.y[found["new"].search])) == 3
    again = draws.draws(blobs, 5, seed=3)
    assert all(np.array_equal(found[kind].train, again[kind].train) for kind in found)


def test_classes_too_small_for_the_labels_are_left_out():
    task = tasks.Task("small", np.zeros((61, 1)), np.repeat([0, 1, 2], [30, 20, 11]))
    assert np.bincount(task.y[task.among(5)]).tolist() == [30, 20]
    assert not len(task.among(20)), "less than half of the classes is large enough"


def test_precision_is_that_of_a_plain_search(blobs):
    metric = gm.Mahalanobis(np.diag([1.0, 2.0, 1.0, 0.5, 0.1]))
    ids, _ = gm.ExactIndex(metric).add(blobs.X).query(blobs.X, k=11)
    expected = np.mean([(blobs.y[row[row != i][:10]] == blobs.y[i]).mean() for i, row in enumerate(ids)])
    assert draws.precision(metric.transform, blobs.X, blobs.y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", rivals.RIVALS)
def test_rivals_embed_unseen_points_also_with_fewer_points_than_features(name):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((12, 30)), np.repeat([0, 1, 2], 4)
    Z = rivals.RIVALS[name](X, y, 0)(rng.standard_normal((7, 30)))
    assert Z.shape[0] == 7 and np.isfinite(Z).all()


def test_discriminants_on_the_span_order_neighbors_as_in_all_directions_when_points_are_many(blobs):
    project, Z = rivals.on_span(blobs.X)
    assert np.allclose(project(blobs.X), Z)
    wide = np.hstack([blobs.X, np.zeros((360, 400))])
    project, Z = rivals.on_span(wide)
    assert Z.shape[1] == 5
    assert np.allclose(gm.linalg.sqdist(Z), gm.linalg.sqdist(blobs.X))


def test_gradient_of_the_adapter_is_that_of_its_loss():
    rng = np.random.default_rng(2)
    X, y, L = rng.standard_normal((8, 3)), np.array([0, 0, 1, 1, 1, 2, 2, 3]), np.eye(3) + 0.1
    numeric = approx_fprime(L.ravel(), lambda v: contrastive(v.reshape(3, 3), X, y)[0], 1e-7)
    assert contrastive(L, X, y)[1].ravel() == pytest.approx(numeric, abs=1e-5)


def test_the_adapter_moves_from_the_identity_to_a_smaller_loss(blobs):
    L = train_adapter(blobs.X, blobs.y, 0)
    assert contrastive(L, blobs.X, blobs.y)[0] < contrastive(np.eye(5), blobs.X, blobs.y)[0]


def test_every_batch_learner_with_defaults_is_found():
    found = set(ours.names())
    assert {"RCA", "GMML", "ITML", "LMNN", "NCA", "MCML", "MMC", "DNE", "POLA", "Framework"} <= found
    assert not found & {"LEGO", "OnlinePOLA", "OnlineITML", "TDL"}


def test_a_stopped_run_goes_on_where_it_was(blobs, tmp_path, monkeypatch):
    calls = []

    def counted(X, y, seed):
        calls.append(seed)
        return lambda T: T

    some = [
        study.Method("features", counted, "1"),
        study.Method("AutoMetric", lambda X, y, s: lambda T: 2 * T, "1", True),
    ]
    monkeypatch.setattr(cells, "FOLDER", tmp_path)
    monkeypatch.setattr(study, "load", lambda name: blobs)
    monkeypatch.setattr(study, "methods", lambda quick: some)
    monkeypatch.setattr(study, "PLAN", ((5, 1), (20, 1), (5, 2), (20, 2), (100, 2)))
    monkeypatch.setattr(study, "warm_up", lambda: None)
    monkeypatch.setattr(study, "limited", lambda fn, seconds: fn())
    monkeypatch.setattr(study, "MINUTES", 0.0)
    study.fill(("blobs",))
    assert not calls, "no minute, no cell"
    monkeypatch.setattr(study, "MINUTES", np.inf)
    study.fill(("blobs",))
    first = list(study.on_record("blobs"))
    assert len(first) == 8, "two draws of two methods with 5 and 20 labels; 100 are too many"
    study.fill(("blobs",))
    assert list(study.on_record("blobs")) == first
    assert calls == [0] * 4 + [1] * 4, "two fits of each draw and count, in the first run alone"
    some[0] = study.Method("features", counted, "2")
    study.fill(("blobs",))
    assert len(calls) == 16, "another version of the code is run again"
    assert len(cells.recorded(cells.path("blobs"))) == 8, "and what the one before it found is gone"


def test_some_methods_can_be_asked_for_or_left_out():
    assert study.asked("RCA", "") and study.asked("RCA", "GMML,RCA") and study.asked("RCA", "-GMML,NCA")
    assert not study.asked("RCA", "GMML") and not study.asked("RCA", "-RCA")


def test_a_cell_that_takes_too_long_or_fails_says_which():
    def endless():
        while True:
            pass

    def failing():
        raise ValueError("no")

    assert study.limited(endless, seconds=1) == {"note": "over 1 s"}
    assert study.limited(failing) == {"note": "failed: ValueError"}
    assert study.limited(lambda: sys.exit(1)) == {"note": "failed"}
    assert study.limited(lambda: {"seen": 1.0}) == {"seen": 1.0}


def _cells(method, values, ours=False):
    return [
        {"task": "t", "labels": "5", "draw": i, "method": method, "ours": ours, "seen": v, "new": "", "cpu_s": "1"}
        for i, v in enumerate(values)
    ]


def test_gains_are_paired_by_draw_and_carry_their_standard_error():
    cells = _cells("features", [0.5, 0.6, 0.7]) + _cells("RCA", [0.6, 0.6, 0.9], ours=True)
    found = {row["method"]: row for row in summary.rows(cells)}
    differences = np.array([0.1, 0.0, 0.2])
    assert found["RCA"]["seen_gain"] == pytest.approx(differences.mean())
    assert found["RCA"]["seen_se"] == pytest.approx(differences.std(ddof=1) / np.sqrt(3))
    assert found["RCA"]["new_gain"] is None
    assert found["features"]["seen_gain"] == 0


def test_the_page_shows_gains_by_task_and_who_fell_below_the_features(tmp_path):
    cells = _cells("features", [0.5, 0.6]) + _cells("RCA", [0.4, 0.5], ours=True) + _cells("GMML", ["", ""], ours=True)
    cells[-1]["note"] = "over 20 s"
    fields = {"title": "Reported half", "notes": "N", "command": "c", "cpu_s": 1.0, "rows": summary.rows(cells)}
    written = pages([Report.read(Report("reported", **fields).save(tmp_path))])
    text = written["docs/results/effect_reported.md"]
    assert "| RCA | -0.100 ± 0.000 |" in text and "1 of 1" in text
    assert "| features | 0.55 |" in text and "| GMML | over 20 s |" in text
    assert "(results/effect_reported.md)" in written["docs/effect.md"]


def test_automatic_is_set_beside_each_other_method_and_its_losses_are_named():
    cells = _cells("features", [0.5, 0.5]) + _cells("AutoMetric", [0.6, 0.6], ours=True)
    cells += _cells("kernel machine", [0.65, 0.63]) + _cells("RCA", [0.5, 0.6], ours=True)
    rows = summary.rows(cells)
    first, *_, last = duels(rows)
    assert first["beside"] == "kernel machine" and first["AutoMetric ahead by, mean"] == "-0.040"
    assert (first["behind by more than 0.01"], first["ahead by more than 0.01"]) == (1, 0)
    assert last["beside"] == "features" and last["ahead by more than 0.01"] == 1
    assert "behind the best of all others in 1 of 1:" in behind(rows)
    assert "- t, 5 labels: +0.100; kernel machine +0.140" in behind(rows)
    assert duels(rows, "new") == []


def test_the_page_says_where_nothing_helps():
    cells = _cells("features", [0.5, 0.6]) + _cells("RCA", [0.505, 0.6], ours=True)
    found = no_help(summary.rows(cells))
    assert "- t, 5 labels: the features have 0.550; these labels say too little." in found
    assert no_help(summary.rows(_cells("features", [0.5]) + _cells("RCA", [0.6], ours=True))) == ""


def test_methods_with_other_draws_are_compared_by_gains_and_the_page_counts_draws():
    """The second one has the easier draw alone: its precision is higher and its gain smaller."""
    cells = _cells("features", [0.2, 0.8]) + _cells("RCA", [0.3, 0.9]) + _cells("GMML", ["", 0.85])[1:]
    rows = summary.rows(cells)
    assert "RCA 1 (has 1), features 0 (has 1), GMML 0 (has 1)" in contest(rows)
    assert "5 labels on 1 tasks, 1 to 2 draws" in drawn(rows)
    shown = {row["method"]: shown_gain(row, "seen") for row in rows}
    assert shown["GMML"] == "+0.050 (one)" and shown["RCA"] == "+0.100 ± 0.000"


def test_tasks_are_counted_by_the_mean_over_their_label_counts():
    """One is best with few labels and one with many; on the mean the first is ahead, and the third lacks a count."""

    def row(method, labels, gain):
        return {"task": "t", "labels": labels, "method": method, "seen_gain": gain}

    rows = [row("A", 5, 0.10), row("B", 5, 0.05), row("C", 5, 0.2), row("A", 20, 0.125), row("B", 20, 0.13)]
    assert means(rows) == {"A": pytest.approx(0.1125), "B": pytest.approx(0.09), "C": None}
    pairs, tasks = contest(rows).split("\n\n")
    assert "of 2 pairs" in pairs and "A 1 (has 2), B 1 (has 2), C 1 (has 1)" in pairs
    assert "of 1 tasks" in tasks and "A 1 (has 1), B 0 (has 1), C 0 (has 0)" in tasks


def test_what_gave_nothing_is_not_tried_again():
    method = study.Method("RCA", None, "1")

    def cell(labels, draw, seen):
        return {"labels": str(labels), "draw": str(draw), "method": "RCA", "version": "1", "seen": seen}

    assert not study.hopeless([], 5, method)
    assert study.hopeless([cell(5, 0, "0.5"), cell(5, 1, "")], 5, method), "the mean of this count is lost"
    assert not study.hopeless([cell(5, 0, "0.5"), cell(5, 1, "")], 20, method), "some draws with fewer labels worked"
    assert study.hopeless([cell(5, 0, ""), cell(5, 1, "")], 20, method)
    assert not study.hopeless([cell(20, 0, "")], 5, method)
    assert not study.hopeless([cell(5, 0, "") | {"version": "0"}], 5, method), "that was other code"
