"""Commands of a space, added to the others."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gramian.cli import options as opt

SERVE = "Learn from clicks"
_option = opt._option

FILE = "Vectors to serve in a new space: .npy, .npz, .csv or .parquet (columns that are not numbers become meta)."
Data = Annotated[Path | None, typer.Argument(metavar="FILE", show_default=False, help=FILE)]
SPACE = "Folder of the space; made when absent, and after the file when not named."
Space = Annotated[Path | None, _option(SPACE, metavar="FOLDER")]
Meta = Annotated[Path | None, _option("A table with a row for each vector.", metavar="TABLE")]
IMAGES = (
    "Pictures: one for each vector in the order of their names, or those that the column image of --meta names; "
    "without FILE also what is compared, by color and shape."
)
Images = Annotated[Path | None, _option(IMAGES, metavar="FOLDER")]
TEXTS = "The column of --meta or FILE that holds texts to show; without columns of numbers also what is compared."
Texts = Annotated[str | None, _option(TEXTS, metavar="COLUMN")]
Name = Annotated[str | None, _option("Name of the collection; that of the file when absent.", metavar="NAME")]
Host = Annotated[str, _option("Address to serve at; others than this machine's need a token.", metavar="HOST")]
Port = Annotated[int, _option("Port to serve at; 0 takes a free one.", metavar="PORT", min=0, max=65535)]
TOKEN = "A token, as admin:SECRET (also teacher, viewer). May be repeated."
Token = Annotated[list[str] | None, _option(TOKEN, metavar="ROLE:SECRET")]
TOKENS = "A file with a token on each line; the variable GRAMIAN_TOKEN is read likewise. Neither shows in ps."
TokenFile = Annotated[Path | None, _option(TOKENS, metavar="FILE")]
Origin = Annotated[list[str] | None, _option("A page elsewhere that may use the API. May be repeated.", metavar="URL")]
Rate = Annotated[float, _option("Requests a second of one address other than this machine.", metavar="N", min=0.1)]
Learning = Annotated[bool, _option("Whether candidates are learned in the background.", "--learning/--no-learning")]
LEARNER = "What learns the candidates: auto (AutoMetric on the clicks), gmml or lego."
Learner = Annotated[str, _option(LEARNER, metavar="NAME")]
ENCODER = (
    "What makes vectors of texts, so that texts can be asked for: a sentence-transformers name or folder, a folder "
    "with an ONNX model and its tokenizer.json, or module:function; with --texts and no vectors it also makes these."
)
Encoder = Annotated[str | None, _option(ENCODER, metavar="MODEL")]
DASK = "Address of a Dask scheduler whose workers hold the items, in files of the space that they all see."
Dask = Annotated[str | None, _option(DASK, metavar="SCHEDULER")]
Browser = Annotated[bool, _option("Whether a browser is opened on the page.", "--browser/--no-browser")]


class Demo(StrEnum):
    """Demonstrations that can be made."""

    emoji = "emoji"
    digits = "digits"


Kind = Annotated[Demo, typer.Argument(show_default=False, help="Which one.")]
Folder = Annotated[Path, typer.Argument(metavar="SPACE", show_default=False, help="Folder of a space.")]
Zip = Annotated[Path, typer.Argument(metavar="ZIP", show_default=False, help="A file of gramian backup.")]
LOG = "Folder of a space, or a file of gramian export."
Log = Annotated[Path, typer.Argument(metavar="SOURCE", show_default=False, help=LOG)]
Lines = Annotated[Path, typer.Argument(metavar="LINES", show_default=False, help="Events as JSON lines.")]


def install(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.command(
        rich_help_panel=SERVE,
        epilog=opt.examples(
            "gramian serve",
            "gramian serve vectors.npy --meta table.csv --images pictures/",
            "gramian serve texts.csv --texts description --encoder models/minilm/",
            "gramian serve --space vectors.space --port 8080",
            "gramian serve --space vectors.space --host 0.0.0.0 --token admin:a-long-secret",
        ),
    )(serve)
    app.command("demo-data", rich_help_panel=SERVE, epilog=opt.examples("gramian demo-data emoji --space emoji.space"))(
        demo_data
    )
    app.command(rich_help_panel=SERVE, epilog=opt.examples("gramian backup vectors.space copy.zip"))(backup)
    app.command(rich_help_panel=SERVE, epilog=opt.examples("gramian restore copy.zip vectors.space"))(restore)
    app.command(rich_help_panel=SERVE, epilog=opt.examples("gramian compact vectors.space"))(compact)
    app.command(rich_help_panel=SERVE, epilog=opt.examples("gramian verify vectors.space"))(verify)
    examples = opt.examples("gramian replay vectors.space", "gramian replay events.jsonl")
    app.command(rich_help_panel=SERVE, epilog=examples)(replay)
    examples = opt.examples("gramian export vectors.space -o events.jsonl", "gramian import copy.space events.jsonl")
    app.command("import", rich_help_panel=SERVE, epilog=examples)(import_)


def serve(
    data: Data = None,
    space: Space = None,
    meta: Meta = None,
    images: Images = None,
    texts: Texts = None,
    name: Name = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token: Token = None,
    token_file: TokenFile = None,
    allow_origin: Origin = None,
    rate: Rate = 50.0,
    learning: Learning = True,
    learner: Learner = "auto",
    encoder: Encoder = None,
    dask: Dask = None,
    browser: Browser = True,
) -> None:
    """Serve a space that learns from clicks, with a page and an HTTP API.

    With nothing named it shows emoji, or digits where those cannot be had. Everything said is on disk before it is
    answered. docs/guide/serve.md has the routes.
    """
    from gramian.cli import serving

    files = serving.Files(data, meta, images, texts, name)
    tokens = serving.tokens(token or [], token_file)
    server = {"host": host, "port": port, "tokens": tokens, "origins": allow_origin or (), "rate": rate}
    serving.run(files, space, learning=learning, learner=learner, dask=dask, encoder=encoder, browser=browser, **server)


def demo_data(kind: Kind, space: Space = None) -> None:
    """Make a demonstration from a package of a registry: emoji to see, or digits.

    What is fetched stays in the user's cache, with its licenses; nothing is fetched twice.
    """
    from gramian.cli import serving

    serving.demo_data(kind.value, space or Path(f"{kind.value}.space"))


def backup(space: Folder, out: Zip) -> None:
    """Copy a space into one file, also while it is served; the copy is checked by opening it."""
    from gramian.cli import serving

    serving.backup(space, out)


def restore(archived: Zip, space: Folder) -> None:
    """Make a space from a backup."""
    from gramian.cli import serving

    serving.restore(archived, space)


def compact(space: Folder) -> None:
    """Give back the room of removed items; the space must not be served meanwhile."""
    from gramian.cli import serving

    serving.compact(space)


def verify(space: Folder) -> None:
    """Read all of a space and compare every checksum; the space must not be served meanwhile."""
    from gramian.cli import serving

    serving.verify(space)


def replay(source: Log) -> None:
    """Compute every verdict of the duels again from the log of a space, also while it is served."""
    from gramian.cli import serving

    serving.replay(source)


def import_(space: Folder, lines: Lines) -> None:
    """Replay events that gramian export wrote into a space, a new one or one that is there."""
    from gramian.cli import serving

    serving.import_events(space, lines)
