"""Whatever goes wrong as one sentence on standard error, and an exit code."""

import re
import warnings
from collections.abc import Callable
from typing import Any

import typer

from gramian.cli.screen import tell
from gramian.cli.tables import TableError

UsageError: Any = typer.BadParameter.__base__
"""Wherever the installed typer has it."""


def guarded(command: Callable[[], Any]) -> int:
    """Run a command; returns 0, or the exit code that belongs to what went wrong."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warner()
            return command() or 0
    except SystemExit as done:  # whoever reads our output has seen enough
        return done.code if isinstance(done.code, int) else 1
    except UsageError as error:
        return refuse(usage(error))
    except (typer.Abort, KeyboardInterrupt):
        return refuse("gramian: stopped.", 130)
    except TableError as error:
        return refuse(f"gramian: {error}", lines=True)
    except ImportError as error:
        return refuse(f"gramian: {error}", 1)
    except (OSError, MemoryError, ValueError, TypeError) as error:
        return refuse(f"gramian: {words(error)}")


def words(error: Exception) -> str:
    """What an error says, with the file that it is about."""
    if isinstance(error, MemoryError):
        return f"{str(error) or 'there is not enough memory'}; give fewer rows or columns, or --rank."
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror.lower()}."
    return str(error)


def refuse(sentence: str, code: int = 2, lines: bool = False) -> int:
    """Say why not, in one line unless it is a list; returns the exit code."""
    tell.print(sentence if lines else " ".join(sentence.split()), style="red", markup=False)
    return code


def usage(error: Any) -> str:
    """A usage error in one sentence."""
    name = error.ctx.command_path if error.ctx else "gramian"
    message = error.format_message().rstrip(".")
    return f"{name}: {message[:1].lower()}{message[1:]}; see {name} --help."


def _warner() -> Callable[..., None]:
    """A function that shows a warning once, also where the same comes from every fold with other numbers."""
    shown: set[str] = set()

    def warn(message: Any, *rest: Any, **more: Any) -> None:
        kind = re.sub(r"\d[\d.e+-]*", "#", str(message))
        if kind not in shown:
            shown.add(kind)
            tell.print(f"gramian: warning: {message}", style="yellow", markup=False)

    return warn
