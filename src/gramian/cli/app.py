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
from gramian.cli.options import LEARNER, RESULT, Data, Drop, Kernel, Label, Model, Rank, Seed, Set, Standardize
from gramian.cli.screen import bars, comparison, listing, progress, say, tell

START, LEARN, USE = "Start here", "Learn a distance, and see whether it is better", "Use a learned distance"
UsageError: Any = typer.BadParameter.__base__
"""Wherever the installed typer has it."""

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
    """Run the commands; whatever is wrong with what was given is one sentence on standard error."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *rest, **more: tell.print(
                f"gramian: warning: {message}", style="yellow", markup=False
            )
            return app(args=arguments or ["--help"], prog_name="gramian", standalone_mode=False) or 0
    except UsageError as error:
        return _refuse(_usage(error))
    except SystemExit as done:  # whoever reads our output has seen enough
        return done.code if isinstance(done.code, int) else 1
    except (typer.Abort, KeyboardInterrupt):
        return _refuse("gramian: stopped.", 130)
    except ImportError as error:
        return _refuse(f"gramian: {error}", 1)
    except OSError as error:
        what = f"{error.filename}: {error.strerror.lower()}." if error.filename and error.strerror else str(error)
        return _refuse(f"gramian: {what}")
    except (ValueError, TypeError) as error:
        return _refuse(f"gramian: {error}")


def _refuse(sentence: str, code: int = 2) -> int:
    tell.print(" ".join(sentence.split()), style="red", markup=False)
    return code


def _usage(error: Any) -> str:
    """A usage error in one sentence."""
    name = error.ctx.command_path if error.ctx else "gramian"
    message = error.format_message().rstrip(".")
    return f"{name}: {message[:1].lower()}{message[1:]}; see {name} --help."


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    if version:
        say.print(f"gramian {gramian.__version__}")
        raise typer.Exit


@app.command(rich_help_panel=START)
def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to put what the demonstration makes.")
    ] = Path("gramian-demo"),
    seed: Seed = 0,
) -> None:
    """Learn a distance on handwritten digits and show what it changed.

    It prints before and after, saves the metrics, the data and a picture, and says what to try next.
    """
    from gramian.cli import demonstration

    formats.check_output(out / "digits.csv", make=True)
    demonstration.run(out, seed)


@app.command(
    rich_help_panel=LEARN,
    epilog="Examples:\n\n  gramian fit wine.csv --label kind -o wine.gram\n\n"
    "  gramian fit wine.csv --label kind --learner nca --set n_components=2 --standardize\n\n"
    "  gramian fit digits.npz --learner lmnn --kernel gaussian --rank 100",
)
def fit(
    data: Data,
    label: Label = None,
    learner: Annotated[
        str, typer.Option(metavar="NAME", rich_help_panel=LEARNER, help="Which learner; gramian learners lists them.")
    ] = "itml",
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", rich_help_panel=RESULT, help="Where to save the metric.")
    ] = Path("metric.gram"),
    settings: Set = None,
    kernel: Kernel = None,
    rank: Rank = None,
    drop: Drop = None,
    standardize: Standardize = False,
    seed: Seed = 0,
) -> None:
    """Learn a distance from a table with labels, and save it."""
    formats.check_output(output)
    if standardize and kernel:
        raise ValueError("--standardize needs a linear metric; scale the table itself before learning with a kernel.")
    from gramian.cli import choice

    table = _labeled(data, label, drop)
    model = choice.learner(learner, settings or (), kernel, rank, seed)
    scale = table.X.std(axis=0) if standardize else np.ones(table.X.shape[1])
    scale[scale == 0] = 1.0
    start = time.process_time()
    with progress(f"{type(model).__name__} on {len(table.X)} rows"), choice.typed(settings or ()):
        model.fit(table.X / scale, table.y)
    seconds = time.process_time() - start
    persist.save(models.rescaled(model.metric_, scale), output, about=models.about(model, table))
    state = "converged" if model.converged_ else "stopped"
    say.print(f"{models.name(model)} on {len(table.X)} rows × {len(table.names)} columns, {len(set(table.y))} classes:")
    say.print(f"{state} after {model.n_iter_} iterations in {seconds:.2f} CPU seconds; saved {output}")


@app.command(
    rich_help_panel=LEARN,
    epilog="Examples:\n\n  gramian evaluate wine.csv --label kind --learner rca --learner lmnn\n\n"
    "  gramian evaluate wine.csv --label kind --standardize -k 5 --folds 10\n\n"
    "  gramian evaluate wine.csv --label kind --json > scores.json",
)
def evaluate(
    data: Data,
    label: Label = None,
    learner: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", rich_help_panel=LEARNER, help="May be repeated to compare; itml when absent."),
    ] = None,
    neighbors: Annotated[
        int, typer.Option("--neighbors", "-k", min=1, metavar="K", rich_help_panel=RESULT, help="Neighbors that vote.")
    ] = 3,
    n_folds: Annotated[
        int, typer.Option("--folds", min=2, metavar="N", rich_help_panel=RESULT, help="Parts of the cross-validation.")
    ] = 5,
    settings: Set = None,
    kernel: Kernel = None,
    rank: Rank = None,
    drop: Drop = None,
    standardize: Standardize = False,
    seed: Seed = 0,
    as_json: Annotated[
        bool, typer.Option("--json", rich_help_panel=RESULT, help="Print the numbers of every fold, for programs.")
    ] = False,
) -> None:
    """See whether a learned distance finds better neighbors than the Euclidean one, by cross-validation."""
    from gramian.cli import choice, scores

    table = _labeled(data, label, drop)
    splits = scores.folds(table.X, table.y, n_folds, seed)
    sides: dict[str, Any] = {"Euclidean": None}
    for chosen in learner or ["itml"]:
        model = choice.learner(chosen, settings or (), kernel, rank, seed)
        sides[models.name(model)] = model
    results = {}
    steps = len(sides) * len(splits)
    with progress("cross-validation", total=steps) as (bar, task), choice.typed(settings or ()):
        for name, model in sides.items():
            bar.update(task, description=name)
            step = lambda: bar.advance(task)  # noqa: E731
            results[name] = list(scores.cross_validate(model, table.X, table.y, splits, neighbors, standardize, step))
    if as_json:
        print(json.dumps({name: [vars(s) for s in found] for name, found in results.items()}, indent=1))
    else:
        title = f"{data.name}: {len(table.X)} rows × {len(table.names)} columns, {n_folds} folds"
        say.print(comparison(title, results, neighbors))


@app.command(
    rich_help_panel=USE,
    epilog="Examples:\n\n  gramian transform wine.gram new.csv -o coordinates.csv\n\n"
    "  gramian transform wine.gram new.csv --label kind | head",
)
def transform(
    model: Model,
    data: Data,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write; standard output, as CSV, when absent."),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", "-l", metavar="COLUMN", help="Copy this column of labels along.")
    ] = None,
    drop: Drop = None,
) -> None:
    """Map rows to coordinates in which the plain Euclidean distance is the learned one.

    Columns are found by the names they had in the fit, in whatever order they come.
    """
    formats.check_output(output)
    metric, about = models.load(model), persist.describe(model)["about"]
    numbered = all(name.isdigit() for name in about.get("features", []))
    only = None if numbered else about["features"]
    table = tables.read(data, label, models.unlabeled(data, about, label, drop or []), only)
    Z = metric.transform(table.X)
    formats.write(output, [f"z{j}" for j in range(Z.shape[1])], Z, label or "y", table.y)
    if output is not None:
        say.print(f"{len(Z)} rows × {Z.shape[1]} coordinates; saved {output}")


@app.command(
    rich_help_panel=USE, epilog="Examples:\n\n  gramian info wine.gram\n\n  gramian info wine.gram --plot wine.png"
)
def info(
    model: Model,
    picture: Annotated[
        Path | None, typer.Option("--plot", metavar="PNG", help="Save a heat map of the matrix here.")
    ] = None,
) -> None:
    """Say what a saved metric is, where it came from, and which columns it weighs most."""
    formats.check_output(picture, suffixes=(".png", ".pdf", ".svg"))
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


@app.command(
    rich_help_panel=USE,
    epilog='Example:\n\n  echo \'{"op": "add", "id": 1, "x": [0.5, 2]}\' | gramian stream --state items\n\n'
    "The events are add, learn, query and metric; docs/guide/online.md has their fields.",
)
def stream(
    state: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder of the state, made when absent.", show_default=False)
    ],
    eta: Annotated[
        float | None, typer.Option(metavar="ETA", help="Step size of LEGO in a new folder; chosen when absent.")
    ] = None,
    bits: Annotated[
        int | None, typer.Option(metavar="B", help="Bits of the hash in a new folder; 256 when absent.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Run this file of events and draw throughput, recall and loss.")
    ] = None,
) -> None:
    """Learn from feedback and answer queries while events stream in.

    One JSON event per line in, one answer per line out; every event is on disk before it is answered.
    """
    from gramian.cli import stream as streaming

    streaming.run(state, eta, bits, report)


@app.command(rich_help_panel=LEARN)
def learners() -> None:
    """List the learners that fit and evaluate know, with a line about each."""
    from gramian.cli import choice

    modules = {name: sys.modules[cls.__module__] for name, cls in sorted(choice.learners().items())}
    say.print(listing({name: (module.__doc__ or "").strip().split("\n")[0] for name, module in modules.items()}))


def _labeled(data: Path, label: str | None, drop: list[str] | None) -> tables.Table:
    label = "y" if label is None and data.suffix.lower() == ".npz" else label
    if label is None:
        raise typer.BadParameter("say which column holds the labels.", param_hint="--label")
    return tables.read(data, label, drop or ())
