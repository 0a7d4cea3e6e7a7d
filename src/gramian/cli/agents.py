"""``gramian mcp``: a space as the memory of agents."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from gramian.cli import options as opt
from gramian.cli import space as of
from gramian.cli.screen import tell

MCP = (
    "gramian mcp --space ~/memory.space --encoder models/minilm/",
    "gramian mcp --space ~/memory.space --http --port 8765",
    "gramian mcp --space ~/memory.space --http --host 0.0.0.0 --token-file tokens.txt",
    "docs/guide/agents.md has what common clients need to be told.",
)
FOLDER = "Folder of the space, made when absent."
Folder = Annotated[Path, opt._option(FOLDER, "--space", metavar="FOLDER", show_default=False)]
Name = Annotated[str, opt._option("The collection that is remembered in.", metavar="NAME")]
ENCODER = (
    "What makes vectors of texts: a sentence-transformers name or folder, a folder with an ONNX model, or "
    "module:function; word vectors of the extra demo when absent. Its name is kept, and another one refused."
)
Encoder = Annotated[str | None, opt._option(ENCODER, metavar="MODEL")]
OVER_HTTP = "Answer at http://HOST:PORT/mcp, with the page and API of the space beside it, in place of standard input."
OverHttp = Annotated[bool, opt._option(OVER_HTTP, "--http")]


def install(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command(rich_help_panel=of.SERVE, epilog=opt.examples(*MCP))(mcp)


def mcp(
    space: Folder,
    encoder: Encoder = None,
    name: Name = "memory",
    http: OverHttp = False,
    host: of.Host = "127.0.0.1",
    port: of.Port = 8000,
    token: of.Token = None,
    token_file: of.TokenFile = None,
    rate: of.Rate = 50.0,
    learning: of.Learning = True,
    learner: of.Learner = "auto",
) -> None:
    """A memory for agents, over the Model Context Protocol: search, read, remember, useful, forget.

    Searches get better by what is read and judged; what was learned must win in the searches that follow before it is
    used. Without --http it speaks on standard input and output with the one program that started it.
    """
    try:
        import mcp.server.lowlevel  # noqa: F401
        import mcp_types  # noqa: F401
    except ImportError as error:
        raise ImportError("gramian mcp needs mcp of version 2: pip install 'gramian[mcp]'.") from error
    from gramian._threads import one_blas_thread
    from gramian.cli import serving
    from gramian.service import mcp as protocol
    from gramian.service.memory import Memory, encoder_of
    from gramian.service.space import Space

    server: dict[str, Any] = {"host": host, "port": port, "rate": rate}
    if http:
        server["tokens"] = serving.tokens(token or [], token_file)
    elif token or token_file:
        raise ValueError("mcp: tokens are for --http; whoever starts the command may do everything.")
    with Space(space, learning=learning, learner=learner) as opened, one_blas_thread():
        memory = Memory(opened, name, encoder_of(opened, name, encoder))
        count = len(opened.collection(name).ids) if memory.begun else 0
        by = f"texts by {memory.encoder.name}" if memory.encoder is not None else "vectors alone, no encoder"
        where = "" if http else "; it speaks on standard input and output (--http for an address)"
        tell.print(f"gramian mcp: {space}, {name}: {count:,} items, {by}{where}")

        def ready(address: str) -> None:
            tell.print(f"gramian mcp answers at {address}{protocol.PATH}, the page is {address}; stop with Ctrl-C")
            sys.stderr.flush()

        if http:
            protocol.over_http(memory, ready=ready, **server)
        else:
            protocol.over_stdio(memory)
