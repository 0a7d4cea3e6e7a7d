"""Arguments and options that several commands share, each with what a person should know about it."""

from pathlib import Path
from typing import Annotated

import typer

TABLE, LEARNER, RESULT = "The table", "The learner", "The result"


def _learner(help: str, name: str, *short: str, metavar: str) -> typer.models.OptionInfo:
    return typer.Option(name, *short, help=help, metavar=metavar, rich_help_panel=LEARNER, show_default=False)


Data = Annotated[
    Path,
    typer.Argument(metavar="TABLE", show_default=False, help="A file: .csv, .npy, .npz (arrays X and y) or .parquet."),
]
Model = Annotated[Path, typer.Argument(metavar="METRIC", show_default=False, help="A file that gramian fit wrote.")]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        "-l",
        metavar="COLUMN",
        rich_help_panel=TABLE,
        show_default=False,
        help="The column of labels: its name, its number (-1 is the last), an array of the .npz, or a file of labels.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", rich_help_panel=TABLE, help="Leave this column out. May be repeated."),
]
Standardize = Annotated[
    bool, typer.Option("--standardize", rich_help_panel=TABLE, help="Give every column unit variance first.")
]
Set = Annotated[
    list[str] | None,
    _learner("A setting of the learner, as gamma=0.1. May be repeated.", "--set", metavar="NAME=VALUE"),
]
Kernel = Annotated[
    str | None,
    _learner(
        "Learn in the feature space of a kernel: gaussian (its width is the median distance), gaussian:2.5, "
        "polynomial:2, …",
        "--kernel",
        metavar="KERNEL",
    ),
]
Rank = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="R", rich_help_panel=LEARNER, help="With --kernel: the number of coordinates; all when absent."
    ),
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", rich_help_panel=LEARNER, help="Seed of everything random.")]
