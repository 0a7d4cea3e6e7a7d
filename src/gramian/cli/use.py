"""``gramian transform`` and ``info``: use a learned distance, and see what it is."""

import typer

import gramian
from gramian import persist
from gramian.cli import formats, models
from gramian.cli import options as opt
from gramian.cli.screen import bars, listing, say, tell_dropped
from gramian.cli.tables import read_again

TRANSFORM = (
    "gramian transform wine.gram new.csv -o coordinates.csv",
    "gramian transform wine.gram new.csv --label kind | head",
)
INFO = ("gramian info wine.gram", "gramian info wine.gram --plot wine.png")


def install(app: typer.Typer) -> None:
    """Add the commands to an application."""
    for command, lines in ((transform, TRANSFORM), (info, INFO)):
        app.command(rich_help_panel=opt.USE, epilog=opt.examples(*lines))(command)


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
    table = read_again(data, about, label, drop or (), missing)
    tell_dropped(table, missing or "refuse")
    Z = metric.transform(table.X)  # (n, r)
    formats.write(output, [f"z{j}" for j in range(Z.shape[1])], Z, table.label or "y", table.y)
    if output is not None:
        say.print(f"{len(Z)} rows × {Z.shape[1]} coordinates; saved {output}")


def info(model: opt.Model, picture: opt.Picture = None) -> None:
    """Say what a saved metric is, where it came from, and which columns it weighs most."""
    formats.check_output(picture, suffixes=formats.PICTURES)
    stored, metric = persist.describe(model), models.load(model)
    names = stored["about"].get("features")
    say.print(listing(models.facts(stored, metric, model)))
    if names and isinstance(metric, gramian.Mahalanobis):
        weights, meaning = models.weights(metric, stored["about"])
        say.print(f"\nheaviest columns ({meaning})")
        say.print(bars(names, weights))
    if picture is not None:
        from gramian import plotting

        shown = plotting.matrix(metric, names if names and len(names) <= 40 else None)
        formats.draw(shown.figure, picture)
        say.print(f"saved {picture}")
