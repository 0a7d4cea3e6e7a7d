"""``gramian fit``, ``evaluate`` and ``learners``: learn a distance from a table, and see whether it is better."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import typer

import gramian
from gramian import _validate, persist
from gramian.cli import formats, models
from gramian.cli import options as opt
from gramian.cli.screen import comparison, differences, listing, progress, say, tell, tell_dropped
from gramian.cli.tables import Table, read


def install(app: typer.Typer) -> None:
    """Add the commands to an application."""
    for command, lines in ((fit, FIT), (evaluate, EVALUATE), (learners, ())):
        app.command(rich_help_panel=opt.LEARN, epilog=opt.examples(*lines))(command)


FIT = (
    "gramian fit wine.csv --label kind -o wine.gram",
    "gramian fit wine.csv --label kind --learner nca --set n_components=2",
    "gramian fit messy.csv --label kind --missing median --drop id,name",
    "gramian fit digits.npz --learner lmnn --kernel gaussian --rank 100",
)
EVALUATE = (
    "gramian evaluate wine.csv --label kind --learner rca --learner lmnn",
    "gramian evaluate wine.csv --label kind --standardize -k 5 --folds 10",
    "gramian evaluate messy.csv --label kind --missing median --drop id,name --plot scores.png",
    "gramian evaluate wine.csv --label kind --json > scores.json",
    "gramian evaluate queries.npy documents.npy --matches pairs.csv",
)


def fit(
    data: opt.Data,
    label: opt.Label = None,
    learner: opt.Learner = "auto",
    output: opt.Output = Path("metric.gram"),
    settings: opt.Set = None,
    kernel: opt.Kernel = None,
    rank: opt.Rank = None,
    drop: opt.Drop = None,
    missing: opt.Missing = opt.Gaps.refuse,
    absent: opt.Absent = None,
    standardize: opt.Standardize = False,
    seed: opt.Seed = 0,
) -> None:
    """Learn a distance from a table with labels, and save it.

    Words become columns of 0 and 1, dates become days; the file remembers how. For queries and the documents that
    answer them there is gramian adapt.
    """
    formats.check_output(output)
    if standardize and kernel:
        raise ValueError("--standardize needs a linear metric; scale the table itself before learning with a kernel.")
    from gramian.cli import choice

    table, y = labeled(data, label, drop, missing, absent)
    model = choice.learner(learner, settings or (), kernel, rank, seed)
    if standardize and isinstance(model, gramian.AutoMetric):
        model.set_params(normalize=False)  # rows of length one are no linear map of the columns
    scale = scale_of(table.X, standardize)
    start = time.process_time()
    with progress(f"{type(model).__name__} on {len(table.X)} rows"), choice.typed(settings or ()):
        model.fit(table.X / scale, y)
    seconds = time.process_time() - start
    persist.save(models.rescaled(model.metric_, scale), output, about=models.about(model, table, missing, absent or ()))
    classes = "1 class" if len(set(y)) == 1 else f"{len(set(y))} classes"
    say.print(f"{models.name(model)} on {len(table.X)} rows × {len(table.names)} columns, {classes}:")
    say.print(f"{models.ended(model)} {seconds:.2f} CPU seconds; saved {output}")
    if isinstance(model, gramian.AutoMetric):
        gain, error = model.estimate_
        say.print(str(model.report_))
        say.print(f"chosen: {model.chosen_}; to expect over the columns as they are: {gain:+.3f} ± {error:.3f}")


def scale_of(X: np.ndarray, standardize: bool) -> np.ndarray:
    """What columns are divided by, (d,): their spread, or 1."""
    scale = X.std(axis=0) if standardize else np.ones(X.shape[1])
    scale[scale == 0] = 1.0
    return scale


def evaluate(
    data: opt.Data,
    documents: opt.Answers = None,
    label: opt.Label = None,
    learner: opt.Learners = None,
    neighbors: opt.Neighbors = 3,
    n_folds: opt.Folds = 5,
    settings: opt.Set = None,
    kernel: opt.Kernel = None,
    rank: opt.Rank = None,
    drop: opt.Drop = None,
    missing: opt.Missing = opt.Gaps.refuse,
    absent: opt.Absent = None,
    standardize: opt.Standardize = False,
    seed: opt.Seed = 0,
    as_json: opt.AsJson = False,
    picture: opt.Drawn = None,
    matches: opt.Matches = None,
    side: opt.Side = opt.Sides.query,
) -> None:
    """See whether a learned distance finds better neighbors than the Euclidean one, by cross-validation.

    The columns as they are, scaled ones (unit variance) and a linear classifier are always among those compared: where
    only the class is asked for, the classifier may be the better tool. With a second file, vectors of queries and of
    documents, it compares on held-out queries what gramian adapt would do.
    """
    from gramian.cli import choice, scores

    if documents is not None:
        evaluate_queries(data, documents, matches, side.value, seed, as_json)
        return
    if matches is not None:
        raise ValueError("--matches is for two files: gramian evaluate QUERIES DOCUMENTS --matches CSV.")
    formats.check_output(picture, suffixes=formats.PICTURES)
    table, y = labeled(data, label, drop, "keep" if missing == "median" else missing, absent)
    splits = scores.folds(table.X, y, n_folds, seed)
    candidates = [choice.learner(name, settings or (), kernel, rank, seed) for name in learner or ["auto"]]
    with choice.typed(settings or ()):
        results = judged(candidates, table.X, y, splits, neighbors, standardize)
    if as_json:
        print_scores(results)
    else:
        title = f"{data.name}: {len(table.X)} rows × {len(table.names)} columns, {n_folds} folds"
        say.print(comparison(title, results, neighbors))
        say.print(differences(results, ("Euclidean", "scaled")))
    if picture is not None:
        draw_scores(results, f"{neighbors}-NN accuracy", picture)


def evaluate_queries(queries: Path, documents: Path, matches: Path | None, side: str, seed: int, as_json: bool) -> None:
    """Compare adapters on held-out queries."""
    from gramian.cli import adapt

    gains = adapt.compare(queries, documents, matches, side, seed)
    if as_json:
        print(json.dumps(gains, indent=1))
    else:
        adapt.show(gains)


def judged(
    learners: list[Any], X: np.ndarray, y: np.ndarray, splits: list[Any], k: int, standardize: bool
) -> dict[str, list[Any]]:
    """Scores of each fold for the columns as they are, scaled ones, learners and a linear classifier."""
    from gramian.cli import scores

    sides = {"Euclidean": None, "scaled": None, **{models.name(model): model for model in learners}}
    sides[scores.CLASSIFIER] = scores.linear_classifier()
    results = {}
    with progress("cross-validation", len(sides) * len(splits)) as (bar, task):
        for name, model in sides.items():
            bar.update(task, description=name)
            scaled = name in ("scaled", scores.CLASSIFIER) or (standardize and model is not None)
            folds = scores.cross_validate(model, X, y, splits, k, scaled)
            results[name] = [bar.advance(task) or score for score in folds]
    return results


def print_scores(results: dict[str, list[Any]]) -> None:
    """Scores as JSON on standard output."""
    print(json.dumps({name: [vars(score) for score in folds] for name, folds in results.items()}, indent=1))


def draw_scores(results: dict[str, list[Any]], label: str, picture: Path) -> None:
    """Scores as a picture."""
    from gramian import plotting

    accuracy = {name: [score.accuracy for score in folds] for name, folds in results.items()}
    formats.draw(plotting.scores(accuracy, label=label).figure, picture)
    tell.print(f"saved {picture}")


def learners() -> None:
    """List the learners that fit and evaluate know, with a line about each and the settings that --set takes."""
    from gramian.cli import choice

    lines = {}
    for name, cls in sorted(choice.learners().items()):
        about = (sys.modules[cls.__module__].__doc__ or "").strip().split("\n")[0]
        lines[name] = f"{about}\n[dim]{choice.settings_of(cls)}[/dim]"
    say.print(listing(lines))


def labeled(
    data: Path, label: str | None, drop: list[str] | None, missing: str, absent: list[str] | None
) -> tuple[Table, np.ndarray]:
    """A table and its labels, with a warning of columns that look like ids or give the label away."""
    label = "y" if label is None and data.suffix.lower() == ".npz" else label
    if label is None:
        raise typer.BadParameter("say which column holds the labels.", param_hint="--label")
    table = read(data, label, drop or (), missing=str(missing), absent=absent or ())
    assert table.y is not None
    for doubt in table.doubts:
        _validate.warn(f"{data}: {doubt}.")
    tell_dropped(table, missing)
    return table, table.y
