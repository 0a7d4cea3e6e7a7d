"""The application: its commands, group by group."""

import sys
from typing import Annotated

import typer

import gramian
from gramian.cli import adapt, agents, demo, export, judgments, learn, refusals, space, stream, use
from gramian.cli.screen import say

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
for group in (space, judgments, agents, demo, learn, adapt, use, export, stream):
    group.install(app)


def run(arguments: list[str] | None = None) -> int:
    """Run the commands; returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    return refusals.guarded(lambda: app(args=arguments or ["--help"], prog_name="gramian", standalone_mode=False))


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    if version:
        say.print(f"gramian {gramian.__version__}")
        raise typer.Exit
