"""The commands."""

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import gramian
from gramian import persist
from gramian.cli import formats, models, tables
from gramian.cli.screen import bars, comparison, listing, progress, say, tell

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Learn a distance from labeled rows, see whether it is better than the Euclidean one, and use it.",
    epilog="Start with: gramian demo",
)

Data = Annotated[
    Path, typer.Argument(help="A table: .csv, .npy, .npz (arrays X and y) or .parquet.", show_default=False)
]
Model = Annotated[Path, typer.Argument(help="A file that gramian fit wrote.", show_default=False)]
LABEL = "Column of labels (or its number, an array of the .npz, or a file of labels)."
Label = Annotated[str | None, typer.Option("--label", "-l", help=LABEL, show_default=False)]
Drop = Annotated[list[str] | None, typer.Option("--drop", help="Leave this column out. May be repeated.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="A setting of the learner, as gamma=0.1. May be repeated.")
]
Kernel = Annotated[str | None, typer.Option(help="Learn in the feature space of a kernel, as gaussian:2.5.")]
Rank = Annotated[int | None, typer.Option(help="With --kernel: the number of coordinates.", min=1)]
Standardize = Annotated[bool, typer.Option("--standardize", help="Give every column unit variance first.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Neighbors = Annotated[int, typer.Option("--neighbors", "-k", help="Neighbors that vote.", min=1)]


def run(arguments: list[str] | None = None) -> int:
    """Run the commands; whatever is wrong with data or model is one line on standard error."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *rest, **more: tell.print(
                f"gramian: warning: {message}", style="yellow"
            )
            app(args=arguments, prog_name="gramian")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 0
    except (ValueError, TypeError, OSError, ImportError) as error:
        tell.print(f"gramian: {' '.join(str(error).split())}", style="red", markup=False)
        return 1
    return 0


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    if version:
        say.print(f"gramian {gramian.__version__}")
        raise typer.Exit


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for what the demonstration makes.")] = Path(
        "gramian-demo"
    ),
    seed: Seed = 0,
) -> None:
    """Learn a distance on handwritten digits and show what it changed: the place to start."""
    from gramian.cli import demonstration

    demonstration.run(out, seed)


@app.command()
def fit(
    data: Data,
    label: Label = None,
    learner: Annotated[str, typer.Option(help="Which learner; gramian learners lists them.")] = "itml",
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to save the metric.")] = Path("metric.gram"),
    settings: Set = None,
    kernel: Kernel = None,
    rank: Rank = None,
    drop: Drop = None,
    standardize: Standardize = False,
    seed: Seed = 0,
) -> None:
    """Learn a distance from a table with labels and save it."""
    if not output.parent.is_dir():
        raise OSError(f"{output}: no folder {output.parent}.")
    if standardize and kernel:
        raise ValueError("--standardize needs a linear metric; scale the table itself before learning with a kernel.")
    from gramian.cli import choice

    table = _labeled(data, label, drop)
    model = choice.learner(learner, settings or (), kernel, rank, seed)
    scale = table.X.std(axis=0) if standardize else np.ones(table.X.shape[1])
    scale[scale == 0] = 1.0
    start = time.process_time()
    with progress(f"{type(model).__name__} on {len(table.X)} rows"):
        model.fit(table.X / scale, table.y)
    seconds = time.process_time() - start
    persist.save(models.rescaled(model.metric_, scale), output, about=models.about(model, table))
    state = "converged" if model.converged_ else "stopped"
    say.print(f"{models.name(model)} on {len(table.X)} rows × {len(table.names)} columns, {len(set(table.y))} classes:")
    say.print(f"{state} after {model.n_iter_} iterations in {seconds:.2f} CPU seconds; saved {output}")


@app.command()
def evaluate(
    data: Data,
    label: Label = None,
    learner: Annotated[list[str] | None, typer.Option(help="May be repeated to compare; itml when absent.")] = None,
    neighbors: Neighbors = 3,
    n_folds: Annotated[int, typer.Option("--folds", help="Folds of the cross-validation.", min=2)] = 5,
    settings: Set = None,
    kernel: Kernel = None,
    rank: Rank = None,
    drop: Drop = None,
    standardize: Standardize = False,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for programs.")] = False,
) -> None:
    """Cross-validate a learned distance against the Euclidean one by k-nearest neighbors."""
    from gramian.cli import choice, scores

    table = _labeled(data, label, drop)
    splits = scores.folds(table.X, table.y, n_folds, seed)
    sides: dict[str, Any] = {"Euclidean": None}
    for chosen in learner or ["itml"]:
        model = choice.learner(chosen, settings or (), kernel, rank, seed)
        sides[models.name(model)] = model
    results = {}
    with progress("cross-validation", total=len(sides) * len(splits)) as (bar, task):
        for name, model in sides.items():
            bar.update(task, description=name)
            step = lambda: bar.advance(task)  # noqa: E731
            results[name] = list(scores.cross_validate(model, table.X, table.y, splits, neighbors, standardize, step))
    if as_json:
        print(json.dumps({name: [vars(s) for s in found] for name, found in results.items()}, indent=1))
    else:
        title = f"{data.name}: {len(table.X)} rows × {len(table.names)} columns, {n_folds} folds"
        say.print(comparison(title, results, neighbors))


@app.command()
def transform(
    model: Model,
    data: Data,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Standard output when absent.")] = None,
    label: Annotated[str | None, typer.Option("--label", "-l", help="Copy this column of labels along.")] = None,
    drop: Drop = None,
) -> None:
    """Map rows to coordinates in which the plain Euclidean distance is the learned one."""
    metric, about = models.load(model), persist.describe(model)["about"]
    numbered = all(name.isdigit() for name in about.get("features", []))
    only = None if numbered else about["features"]
    table = tables.read(data, label, models.unlabeled(data, about, label, drop or []), only)
    Z = metric.transform(table.X)
    formats.write(output, [f"z{j}" for j in range(Z.shape[1])], Z, label or "y", table.y)
    if output is not None:
        say.print(f"{len(Z)} rows × {Z.shape[1]} coordinates; saved {output}")


@app.command()
def info(
    model: Model,
    picture: Annotated[Path | None, typer.Option("--plot", help="Save a heat map of the matrix here.")] = None,
) -> None:
    """Say what a saved metric is, where it came from, and which columns it weighs most."""
    found, metric = persist.describe(model), models.load(model)
    about = found["about"]
    say.print(listing(models.facts(found, metric, model)))
    names = about.get("features")
    if names and isinstance(metric, gramian.Mahalanobis):
        say.print("\nheaviest columns (diagonal of the matrix)")
        say.print(bars(names, np.diag(metric.matrix)))
    if picture is not None:
        from gramian import plotting

        plotting.matrix(metric, names if names and len(names) <= 40 else None).figure.savefig(picture, dpi=120)
        say.print(f"saved {picture}")


@app.command()
def stream(
    state: Annotated[Path, typer.Option(help="Folder of the state, made when absent.", show_default=False)],
    eta: Annotated[float | None, typer.Option(help="Step size of LEGO in a new folder; chosen when absent.")] = None,
    bits: Annotated[int | None, typer.Option(help="Bits of the hash in a new folder; 256 when absent.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Run this file of events and draw throughput, recall and loss.")
    ] = None,
) -> None:
    """Learn, add and query from JSON lines on standard input, one answer per line, durable before it is given."""
    from gramian.cli import stream as streaming

    streaming.run(state, eta, bits, report)


@app.command()
def learners() -> None:
    """List the learners that fit and evaluate know."""
    from gramian.cli import choice

    modules = {name: sys.modules[cls.__module__] for name, cls in sorted(choice.learners().items())}
    say.print(listing({name: (module.__doc__ or "").strip().split("\n")[0] for name, module in modules.items()}))


def _labeled(data: Path, label: str | None, drop: list[str] | None) -> tables.Table:
    label = "y" if label is None and data.suffix.lower() == ".npz" else label
    if label is None:
        raise typer.BadParameter("say which column holds the labels.", param_hint="--label")
    return tables.read(data, label, drop or ())
