"""``gramian adapt``: queries and the documents that answer them become a map, and what it gains on others is shown."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import typer

import gramian
from gramian import persist
from gramian.cli import formats
from gramian.cli import options as opt
from gramian.cli.linear_adapter import mapped, tuned, unit
from gramian.cli.screen import listing, progress, say
from gramian.cli.tables import TableError, load_numpy
from gramian.learners.retrieval import MEASURES, retrieval, scores

ADAPT = (
    "gramian adapt queries.npy documents.npy -o adapter.gram",
    "gramian adapt queries.npy documents.npy --matches pairs.csv --side both",
)
SHARE = 5
"""Of so many queries one is held out by :func:`compare`."""


def install(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command(rich_help_panel=opt.LEARN, epilog=opt.examples(*ADAPT))(adapt)


def adapt(
    queries: opt.QueryVectors,
    documents: opt.DocumentVectors,
    matches: opt.Matches = None,
    side: opt.Side = opt.Sides.query,
    output: opt.AdapterOutput = Path("adapter.gram"),
    seed: opt.Seed = 0,
) -> None:
    """Turn queries a little, so that they find the documents that answer them; as they are where that does not help.

    Vectors are NPY files. Row i of queries is answered by row i of documents, or as --matches says.
    """
    formats.check_output(output)
    Q, D, pairs, weight = inputs(queries, documents, matches)
    adapter = gramian.QueryAdapter(side.value, random_state=seed)
    with progress(f"QueryAdapter on {len(Q) if pairs is None else len(pairs)} pairs"):
        adapter.fit(Q, D, pairs, weight=weight)
    persist.save(adapter, output, about={"queries": queries.name, "documents": documents.name, "side": side.value})
    gain, error = adapter.estimate_
    if adapter.report_:
        say.print(str(adapter.report_), markup=False)
        say.print(f"to expect over vectors as they are: {gain:+.4f} ± {error:.4f} MRR")
    say.print(f"chosen: {adapter.chosen_}, weight of the identity {adapter.weight_:g}; saved {output}")


def compare(queries: Path, documents: Path, matches: Path | None, side: str, seed: int) -> dict[str, dict[str, Any]]:
    """MRR, recall@10 and nDCG@10 of a held-out fifth of the queries: plain, the usual adapter, ours."""
    Q, D, pairs, weight = inputs(queries, documents, matches)
    rng = np.random.RandomState(seed)
    task = retrieval(Q, D, pairs, weight, None, rng)
    n = len(task.queries)
    if n < 2 * SHARE:
        raise ValueError(f"evaluate: {n} different queries are too few to hold some of them out; give more.")
    order = rng.permutation(n)
    probes, rest = np.sort(order[: n // SHARE]), np.sort(order[n // SHARE :])
    taught, two_sided = task.of(rest), side == "both"
    rows, columns, grades = taught.pairs()
    adapter = gramian.QueryAdapter("both" if two_sided else "query", random_state=seed)
    with progress("the usual adapter, tuned, and ours"):
        W = tuned(taught.queries[rows], taught.documents[columns], two_sided, seed)
        adapter.fit(taught.queries, taught.documents, np.column_stack([rows, columns]), weight=grades)
    U, V = task.queries[probes], task.documents
    sides = {
        "plain cosine": (U, V),
        "linear adapter, tuned": mapped(W, U, V, two_sided),
        "QueryAdapter": (adapter.transform_queries(U), unit(adapter.transform(V))),
    }
    judged = {name: scores(*two, task.answers[probes]) for name, two in sides.items()}
    return {name: summary(values, judged["plain cosine"]) for name, values in judged.items()}


def summary(values: np.ndarray, plain: np.ndarray) -> dict[str, Any]:
    """Means of measures (queries, 3), and the gain in MRR ± its error."""
    gains = values[:, 0] - plain[:, 0]
    means = {name: float(mean) for name, mean in zip(MEASURES, values.mean(axis=0))}
    error = float(gains.std(ddof=1) / np.sqrt(len(gains)))
    return means | {"gain": float(gains.mean()), "error": error, "queries": len(values)}


def show(judged: dict[str, dict[str, Any]]) -> None:
    """The comparison on the screen."""
    lines = {
        name: ", ".join(f"{measure} {row[measure]:.4f}" for measure in MEASURES)
        + ("" if name == "plain cosine" else f"; gain in MRR {row['gain']:+.4f} ± {row['error']:.4f}")
        for name, row in judged.items()
    }
    say.print(listing(lines))
    say.print(f"{next(iter(judged.values()))['queries']} queries that none of them learned from")


def inputs(queries: Path, documents: Path, matches: Path | None) -> tuple[np.ndarray, np.ndarray, Any, Any]:
    """Vectors of two files, and pairs and weights of a third."""
    pairs, weight = (None, None) if matches is None else read_matches(matches)
    return vectors(queries), vectors(documents), pairs, weight


def vectors(path: Path) -> np.ndarray:
    """An array (n, d) of an NPY file."""
    if not path.is_file():
        raise TableError(f"{path}: no such file.")
    if path.suffix.lower() != ".npy":
        raise TableError(f"{path}: must be an .npy file of vectors (n, d).")
    return load_numpy(path)


def read_matches(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows of queries and of documents (k, 2), and weights where there is a third column; a first line may be names."""
    if not path.is_file():
        raise TableError(f"{path}: no such file.")
    with open(path, newline="", encoding="utf-8") as stream:
        lines = [(number, cells) for number, cells in enumerate(csv.reader(stream), 1) if cells]
    if lines and not lines[0][1][0].strip().lstrip("-").isdigit():
        lines = lines[1:]
    if not lines:
        raise TableError(f"{path}: holds no matches; give lines of a row of queries, a row of documents, and a weight.")
    queries, documents, weights = zip(*(match_of(path, number, cells) for number, cells in lines))
    weighted = max(len(cells) for _, cells in lines) > 2
    return np.column_stack([queries, documents]), np.array(weights) if weighted else None


def match_of(path: Path, number: int, cells: list[str]) -> tuple[int, int, float]:
    """A row of queries, a row of documents and a weight, 1 where the line has none."""
    try:
        return int(cells[0]), int(cells[1]), float(cells[2] if len(cells) > 2 else 1)
    except (ValueError, IndexError) as error:
        raise TableError(
            f"{path}: line {number} must be a row of queries, a row of documents and, if need be, a weight, got "
            f"{','.join(cells)!r}."
        ) from error
