"""What the commands show: results on standard output, progress and complaints on standard error."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.style import Style
from rich.table import Table
from rich.text import Text

from gramian.cli import scores

say = Console(highlight=False, soft_wrap=True, markup=False)
tell = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
"""Names of columns and files are shown as they are: brackets in them are no markup."""


def tell_dropped(table: Any, missing: str) -> None:
    """Say how many rows were left out, and why."""
    if table.dropped:
        reason = "with gaps" if missing == "drop" else "without a label"
        rows = "1 row" if table.dropped == 1 else f"{table.dropped} rows"
        tell.print(f"{rows} {reason} left out, {len(table.X)} remain")


def comparison(title: str, results: dict[str, list[Any]], k: int) -> Table:
    """Scores of several distances as a table, means over folds; the best one is marked."""
    grid = Table(title=title, title_justify="left")
    for name in ("distance", f"{k}-NN accuracy", "same class in 10 nearest", "CPU s to learn", ""):
        grid.add_column(name, justify="left" if name == "distance" else "right")
    best = scores.best(results)
    for name, folds in results.items():
        mark = ("best", "bold") if name == best else ("", None)
        grid.add_row(name, *figures(folds), mark[0], style=mark[1])
    return grid


def figures(folds: list[Any]) -> tuple[str, str, str]:
    """Accuracy with its spread over folds, agreement and seconds, as far as there are any."""
    accuracy = np.array([score.accuracy for score in folds])  # (folds,)
    spread = f" ± {accuracy.std():.3f}" if len(folds) > 1 else ""
    agreement = "" if folds[0].agreement is None else f"{np.mean([score.agreement for score in folds]):.3f}"
    seconds = np.mean([score.seconds for score in folds])
    return f"{accuracy.mean():.3f}{spread}", agreement, f"{seconds:.2f}" if seconds else ""


def differences(results: dict[str, list[Any]], rivals: Sequence[str]) -> str:
    """What each learned distance gains over its rivals, paired by fold, with standard errors."""
    lines = ["accuracy gained, paired by fold, ± standard error:"]
    width = max(map(len, results))
    for name in results:
        if name in rivals:
            continue
        gains = {rival: scores.difference(results[name], results[rival]) for rival in rivals}
        told = ", ".join(f"{gain:+.3f} ± {error:.3f} over {rival}" for rival, (gain, error) in gains.items())
        clear = all(gain > 2 * error for gain, error in gains.values())
        lines.append(f"  {name:<{width}}  {told}{'' if clear else ' (not a clear gain)'}")
    return "\n".join(lines)


def listing(facts: dict[str, Any]) -> Table:
    """Names and values in two columns."""
    grid = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        grid.add_row(name, str(value))
    return grid


def bars(names: Sequence[str], shares: np.ndarray, count: int = 8) -> str:
    """The largest shares of a whole with their names, in hundredths and as bars."""
    top = np.argsort(-shares, kind="stable")[:count]  # places of the largest
    width = max(len(names[j]) for j in top)
    unit = max(shares.max(), np.finfo(float).tiny) / 24
    return "\n".join(f"  {names[j]:<{width}}  {shares[j]:6.1%}  {'█' * round(shares[j] / unit)}" for j in top)


def glyphs(query: tuple[Any, Any], sides: Sequence[Sequence[tuple[Any, Any]]], shape: tuple[int, int]) -> Text:
    """Small images in a row, each of half blocks over its label: the query, then a group for each side.

    Labels that differ from the query's are struck out.
    """
    groups = [[query], *sides]
    text = Text("\n")
    for row in range(0, shape[0], 2):
        for group in groups:
            for image, _ in group:
                pixels = np.asarray(image, float).reshape(shape)  # (h, w)
                tones = (235 - 220 * pixels / max(pixels.max(), 1e-12)).astype(int)  # gray, darker for more ink
                for upper, lower in zip(tones[row], tones[min(row + 1, shape[0] - 1)]):
                    text.append("▀", Style.parse(f"rgb({upper},{upper},{upper}) on rgb({lower},{lower},{lower})"))
                text.append(" ")
            text.append("  ")
        text.append("\n")
    for group in groups:
        for _, label in group:
            style = "bold" if label == query[1] else "strike bright_red"
            text.append(str(label).center(shape[1]), style).append(" ")
        text.append("  ")
    return text


class progress:
    """A bar on standard error while a block runs, gone afterwards; nothing when that is not a terminal."""

    def __init__(self, description: str, total: int | None = None):
        columns = [SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()]
        columns += [MofNCompleteColumn()] if total else []
        self.bar = Progress(*columns, console=tell, transient=True, disable=not tell.is_terminal)
        self.task = self.bar.add_task(description, total=total)

    def __enter__(self) -> tuple[Progress, Any]:
        self.bar.start()
        return self.bar, self.task

    def __exit__(self, *error: Any) -> None:
        self.bar.stop()
