"""The command line: ``gramian demo``, ``fit``, ``evaluate``, ``transform``, ``export``, ``serve`` and others.

Exit codes: 0 done, 1 an extra is not installed (or nobody reads the output), 2 what was given cannot be used, 130
stopped by the user.
"""

import sys


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:
        from gramian.cli.app import run
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] in ("typer", "rich", "click"):
            print("gramian: the command line needs typer and rich: pip install 'gramian[cli]'.", file=sys.stderr)
            return 1
        raise
    return run(arguments)
