"""The commands."""

import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import gramian
from gramian import _checks, persist
from gramian.cli import formats, models, refusals, space, tables
from gramian.cli import options as opt
from gramian.cli.screen import bars, comparison, differences, listing, progress, say, tell

PICTURES = (".png", ".pdf", ".svg")
START, LEARN, USE = "Start here", "Learn a distance, and see whether it is better", "Use a learned distance"

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Learn from labeled rows what “similar” means: a distance that suits your table better than the Euclidean, "
    "saved as a small file and ready to use.",
    epilog="New here? [bold]gramian demo[/bold] takes half a minute. Each command has examples: [bold]gramian fit "
    "--help[/bold].",
)


def run(arguments: list[str] | None = None) -> int:
    """Run the commands; returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    return refusals.guarded(lambda: app(args=arguments or ["--help"], prog_name="gramian", standalone_mode=False))


space.install(app)


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    if version:
        say.print(f"gramian {gramian.__version__}")
        raise typer.Exit


@app.command(rich_help_panel=START)
def demo(out: opt.Folder = Path("gramian-demo"), seed: opt.Seed = 0) -> None:
    """Learn a distance on handwritten digits and show what it changed.

    It prints before and after, saves the metrics, the data and a picture, and says what to try next.
    """
    from gramian.cli import demonstration

    formats.check_output(out / "digits.csv", make=True)
    demonstration.run(out, seed)


@app.command(
    rich_help_panel=LEARN,
    epilog=opt.examples(
        "gramian fit wine.csv --label kind -o wine.gram",
        "gramian fit wine.csv --label kind --learner nca --set n_components=2",
        "gramian fit messy.csv --label kind --missing median --drop id,name",
        "gramian fit digits.npz --learner lmnn --kernel gaussian --rank 100",
    ),
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
    standardize: opt.Standardize = False,
    seed: opt.Seed = 0,
) -> None:
    """Learn a distance from a table with labels, and save it.

    Words become columns of 0 and 1, dates become days; the file remembers how.
    """
    formats.check_output(output)
    if standardize and kernel:
        raise ValueError("--standardize needs a linear metric; scale the table itself before learning with a kernel.")
    from gramian.cli import choice

    table, y = _labeled(data, label, drop, missing)
    model = choice.learner(learner, settings or (), kernel, rank, seed)
    if standardize and isinstance(model, gramian.AutoMetric):
        model.set_params(normalize=False)  # rows of length one are no linear map of the columns
    scale = table.X.std(axis=0) if standardize else np.ones(table.X.shape[1])
    scale[scale == 0] = 1.0
    start = time.process_time()
    with progress(f"{type(model).__name__} on {len(table.X)} rows"), choice.typed(settings or ()):
        model.fit(table.X / scale, y)
    seconds = time.process_time() - start
    persist.save(models.rescaled(model.metric_, scale), output, about=models.about(model, table, missing))
    state = f"{'converged' if model.converged_ else 'stopped'} after {model.n_iter_} iterations in"
    state = state if model.n_iter_ else "in closed form,"
    count = len(set(y))
    classes = "1 class" if count == 1 else f"{count} classes"
    say.print(f"{models.name(model)} on {len(table.X)} rows × {len(table.names)} columns, {classes}:")
    say.print(f"{state} {seconds:.2f} CPU seconds; saved {output}")
    if isinstance(model, gramian.AutoMetric):
        gain, error = model.estimate_
        say.print(str(model.report_), markup=False, highlight=False)
        say.print(f"chosen: {model.chosen_}; to expect over the columns as they are: {gain:+.3f} ± {error:.3f}")


@app.command(
    rich_help_panel=LEARN,
    epilog=opt.examples(
        "gramian evaluate wine.csv --label kind --learner rca --learner lmnn",
        "gramian evaluate wine.csv --label kind --standardize -k 5 --folds 10",
        "gramian evaluate messy.csv --label kind --missing median --drop id,name --plot scores.png",
        "gramian evaluate wine.csv --label kind --json > scores.json",
    ),
)
def evaluate(
    data: opt.Data,
    label: opt.Label = None,
    learner: opt.Learners = None,
    neighbors: opt.Neighbors = 3,
    n_folds: opt.Folds = 5,
    settings: opt.Set = None,
    kernel: opt.Kernel = None,
    rank: opt.Rank = None,
    drop: opt.Drop = None,
    missing: opt.Missing = opt.Gaps.refuse,
    standardize: opt.Standardize = False,
    seed: opt.Seed = 0,
    as_json: opt.AsJson = False,
    picture: opt.Drawn = None,
) -> None:
    """See whether a learned distance finds better neighbors than the Euclidean one, by cross-validation.

    The columns as they are and scaled ones (unit variance) are always among those compared.
    """
    from gramian.cli import choice, scores

    formats.check_output(picture, suffixes=PICTURES)
    table, y = _labeled(data, label, drop, "keep" if missing == "median" else missing)
    splits = scores.folds(table.X, y, n_folds, seed)
    sides: dict[str, Any] = {"Euclidean": None, "scaled": None}
    for chosen in learner or ["auto"]:
        model = choice.learner(chosen, settings or (), kernel, rank, seed)
        sides[models.name(model)] = model
    results = {}
    steps = len(sides) * len(splits)
    with progress("cross-validation", total=steps) as (bar, task), choice.typed(settings or ()):
        for name, model in sides.items():
            bar.update(task, description=name)
            step = lambda: bar.advance(task)  # noqa: E731
            scaled = name == "scaled" or (standardize and model is not None)
            results[name] = list(scores.cross_validate(model, table.X, y, splits, neighbors, scaled, step))
    if as_json:
        print(json.dumps({name: [vars(s) for s in found] for name, found in results.items()}, indent=1))
    else:
        title = f"{data.name}: {len(table.X)} rows × {len(table.names)} columns, {n_folds} folds"
        say.print(comparison(title, results, neighbors))
        say.print(differences(results, ("Euclidean", "scaled")))
    if picture is not None:
        from gramian import plotting

        folds = {name: [score.accuracy for score in found] for name, found in results.items()}
        formats.draw(plotting.scores(folds, label=f"{neighbors}-NN accuracy").figure, picture)
        tell.print(f"saved {picture}")


@app.command(
    rich_help_panel=USE,
    epilog=opt.examples(
        "gramian transform wine.gram new.csv -o coordinates.csv",
        "gramian transform wine.gram new.csv --label kind | head",
    ),
)
def transform(
    model: opt.Model,
    data: opt.Data,
    output: opt.Written = None,
    label: opt.Along = None,
    drop: opt.Drop = None,
    missing: opt.MissingAgain = None,
) -> None:
    """Map rows to coordinates in which the plain Euclidean distance is the learned one.

    Columns are found by the names they had in the fit, in whatever order they come; words, dates and gaps are read as
    there.
    """
    formats.check_output(output)
    metric, about = models.load(model), persist.describe(model)["about"]
    table = tables.read_again(data, about, label, models.unlabeled(data, about, label, drop or []), missing)
    _left_out(table, missing or "refuse")
    Z = metric.transform(table.X)
    formats.write(output, [f"z{j}" for j in range(Z.shape[1])], Z, table.label or "y", table.y)
    if output is not None:
        say.print(f"{len(Z)} rows × {Z.shape[1]} coordinates; saved {output}")


@app.command(
    rich_help_panel=USE,
    epilog=opt.examples(
        "gramian export wine.gram --to onnx --check",
        "gramian export wine.gram --to qdrant --data wine.npy -o database --check",
        "gramian export wine.gram --to pgvector --data wine.parquet -o - | psql",
        "gramian export wine.space -o events.jsonl",
    ),
)
def export(
    model: opt.Exported,
    to: opt.To = None,
    data: opt.Points = None,
    output: opt.Place = None,
    check: opt.Check = False,
    check_only: opt.CheckOnly = False,
    form: opt.Form = None,
    table: opt.TableName = None,
    kind: opt.Kind = None,
    original: opt.Original = None,
    id: opt.Ids = None,
    column: opt.Vectors = None,
    label: opt.Unlearned = None,
    drop: opt.Drop = None,
) -> None:
    """Take a learned distance into the models, indexes and databases that you already run.

    The output and a README.md with the query lie side by side; --check asks it 100 queries.
    Of a space all events are written as JSON lines, vectors and metrics included; gramian import reads them.
    """
    from gramian.cli import exporting, serving

    if to is None:
        serving.export_events(model, Path(output) if output else None)
        return
    where = {"id": id, "column": column, "label": label, "drop": drop}
    options = {"form": form, "table": table, "kind": kind, "original": original}
    exporting.run(model, to, data, output, check, check_only, **where, **options)


@app.command(
    rich_help_panel=USE, epilog=opt.examples("gramian info wine.gram", "gramian info wine.gram --plot wine.png")
)
def info(model: opt.Model, picture: opt.Picture = None) -> None:
    """Say what a saved metric is, where it came from, and which columns it weighs most."""
    formats.check_output(picture, suffixes=PICTURES)
    found, metric = persist.describe(model), models.load(model)
    about = found["about"]
    say.print(listing(models.facts(found, metric, model)))
    names = about.get("features")
    if names and isinstance(metric, gramian.Mahalanobis):
        weights, meaning = models.weights(metric, about)
        say.print(f"\nheaviest columns ({meaning})")
        say.print(bars(names, weights))
    if picture is not None:
        from gramian import plotting

        shown = plotting.matrix(metric, names if names and len(names) <= 40 else None)
        formats.draw(shown.figure, picture)
        say.print(f"saved {picture}")


@app.command(
    rich_help_panel=USE,
    epilog=opt.examples(
        """echo '{"op": "add", "id": 1, "x": [0.5, 2]}' | gramian stream --state items""",
        "gramian stream --state items --report events.jsonl",
        "The events are add, learn, feedback, query and metric; docs/guide/online.md has their fields.",
    ),
)
def stream(state: opt.State, eta: opt.Eta = None, bits: opt.Bits = None, report: opt.Events = None) -> None:
    """Learn from feedback and answer queries while events stream in.

    One JSON event per line in, one answer per line out; every event is on disk before it is answered.
    """
    from gramian.cli import stream as streaming

    streaming.run(state, eta, bits, report)


@app.command(rich_help_panel=LEARN)
def learners() -> None:
    """List the learners that fit and evaluate know, with a line about each and the settings that --set takes."""
    from gramian.cli import choice

    found = dict(sorted(choice.learners().items()))
    lines = {name: (sys.modules[cls.__module__].__doc__ or "").strip().split("\n")[0] for name, cls in found.items()}
    say.print(listing({name: f"{line}\n[dim]{choice.settings_of(found[name])}[/dim]" for name, line in lines.items()}))


def _labeled(
    data: Path, label: str | None, drop: list[str] | None, missing: str = "refuse"
) -> tuple[tables.Table, np.ndarray]:
    label = "y" if label is None and data.suffix.lower() == ".npz" else label
    if label is None:
        raise typer.BadParameter("say which column holds the labels.", param_hint="--label")
    table = tables.read(data, label, drop or (), missing=str(missing))
    assert table.y is not None
    for doubt in table.doubts:
        _checks.warn(f"{data}: {doubt}.")
    _left_out(table, missing)
    return table, table.y


def _left_out(table: tables.Table, missing: str) -> None:
    """Say how many rows were left out, and why."""
    if table.dropped:
        reason = "with gaps" if missing == "drop" else "without a label"
        rows = "1 row" if table.dropped == 1 else f"{table.dropped} rows"
        tell.print(f"{rows} {reason} left out, {len(table.X)} remain")
