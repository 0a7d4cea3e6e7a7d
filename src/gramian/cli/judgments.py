"""``gramian import-judgments``: qrels and graded judgments into a space that nobody clicked in yet."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from gramian.cli import options as opt
from gramian.cli import space as of
from gramian.cli.screen import say
from gramian.cli.tables import TableError, load_numpy

IMPORT = (
    "gramian import-judgments docs.space qrels.txt --queries topics.tsv --key docid --encoder models/minilm/",
    "gramian import-judgments docs.space graded.csv --encoder models/minilm/ --above 5 --judge our-llm",
)
FILE = "TREC qrels (qid 0 docid grade), BEIR .tsv (query-id, corpus-id, score) or .csv (query, item, grade)."
File = Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help=FILE)]
NAME = "The collection; that of the space where there is one alone."
Name = Annotated[str | None, opt._option(NAME, metavar="NAME")]
QUERIES = (
    "What the queries of FILE are: .jsonl (_id, text), .tsv or .csv (id, text), or .npy (row i is query i); without it "
    "they are texts where --encoder is given, and ids of items otherwise."
)
Queries = Annotated[Path | None, opt._option(QUERIES, metavar="FILE")]
Encoder = Annotated[str | None, opt._option("What makes vectors of texts, as in gramian serve.", metavar="MODEL")]
KEY = "The field of meta that FILE names items by; ids when absent."
Key = Annotated[str | None, opt._option(KEY, metavar="FIELD")]
ABOVE = "Grades above it are likes, others dislikes; the farther from it, the more one counts."
Above = Annotated[float, opt._option(ABOVE, metavar="GRADE")]
JUDGE = "Whose judgments they are: a judge's newer grade takes the place of the older one."
Judge = Annotated[str, opt._option(JUDGE, metavar="NAME")]
NAMES = (("query", "query-id", "query_id", "qid"), ("item", "corpus-id", "corpus_id", "docid"), ("grade", "score"))
"""What the columns of a table may be called."""


def install(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("import-judgments", rich_help_panel=of.SERVE, epilog=opt.examples(*IMPORT))(import_judgments)


def import_judgments(
    space: of.Folder,
    file: File,
    name: Name = None,
    queries: Queries = None,
    encoder: Encoder = None,
    key: Key = None,
    above: Above = 0.5,
    judge: Judge = "judge",
) -> None:
    """Take judgments of a test collection, a cross-encoder or a language model as weighted likes and dislikes.

    A cold start: what the space learns from them has to win duels, as what it learns from clicks. The same file again
    counts nothing twice.
    """
    from gramian.service.models import TextEncoder
    from gramian.service.space import Space

    rows = read(file)
    if not (space / "space.db").is_file():
        raise TableError(f"{space}: no space there; gramian serve makes one.")
    with Space(space, learning=False) as opened:
        view = opened.collection(the_one(opened, name))
        if encoder is not None:
            opened.use_encoder(view.name, TextEncoder.load(encoder))
        asked = None if queries is None else read_queries(queries)
        places = items_by(view, key, [row[1] for row in rows])
        ask = query_of(asked, encoder is not None, places, file)
        resolved = [(ask(query), places.get(item), grade) for query, item, grade in rows]
        there = [row for row in resolved if row[0] is not None and row[1] is not None]
        if not there:
            raise TableError(f"{file}: none of the {len(rows)} judged items is in {view.name!r}; is --key needed?")
        Q, items, grades = zip(*there)
        done = opened.judge(view.name, list(Q), list(items), list(grades), above=above, judge=judge)
    likes = sum(grade > above for grade in grades)
    told = f"{likes:,} likes, {sum(grade < above for grade in grades):,} dislikes of {len(set(map(str, Q))):,} queries"
    left = f"; {len(rows) - len(there):,} of items that are not here left out" if len(there) < len(rows) else ""
    say.print(f"{told}: {done['new']:,} new, {done['replaced']:,} replaced, {done['known']:,} known before{left}")


def the_one(space: Any, name: str | None) -> str:
    """The collection that is meant."""
    names = sorted(space.snapshot.collections)
    if name is None and len(names) != 1:
        there = ", ".join(names) or "none"
        raise TableError(f"{space.store.folder}: name a collection with --name; there are {there}.")
    return name or names[0]


def read(path: Path) -> list[tuple[str, str, float]]:
    """Query, item and grade of every line."""
    if not path.is_file():
        raise TableError(f"{path}: no such file.")
    text = path.read_text(encoding="utf-8-sig")
    first = text.partition("\n")[0].lower()
    comma = "\t" if "\t" in first and "," not in first else ","
    head = [cell.strip().strip('"') for cell in first.split(comma)]
    columns = [next((head.index(name) for name in names if name in head), -1) for names in NAMES]
    if min(columns) >= 0:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=comma)
        cells = [(reader.line_num, row) for row in reader if row]
        found = [(number, [row[c] if c < len(row) else "" for c in columns]) for number, row in cells[1:]]
    else:
        split = ((number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip())
        found = [(number, [row[0], row[2], row[3]] if len(row) == 4 else []) for number, row in split]
    if not found:
        raise TableError(f"{path}: holds no judgments.")
    return [_graded(path, number, row) for number, row in found]


def _graded(path: Path, number: int, row: list[str]) -> tuple[str, str, float]:
    try:
        query, item, grade = row
        value = float(grade)
        if not np.isfinite(value) or not query or not item:
            raise ValueError
    except ValueError as error:
        raise TableError(
            f"{path}: line {number} must be 'qid 0 docid grade', or cells under query, item and grade, got {row}."
        ) from error
    return query.strip(), item.strip(), value


def read_queries(path: Path) -> dict[str, Any]:
    """Texts or vectors of queries by their ids."""
    if not path.is_file():
        raise TableError(f"{path}: no such file.")
    if path.suffix.lower() == ".npy":
        return {str(i): row for i, row in enumerate(load_numpy(path))}
    return dict(_texts(path))


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    if path.suffix.lower() in (".jsonl", ".json"):
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line or "{}")
                if row:
                    yield str(row["_id"]), str(row["text"])
            except (ValueError, KeyError, TypeError) as error:
                raise TableError(f"{path}: line {number} must be an object with _id and text.") from error
        return
    for number, cells in enumerate(csv.reader(lines, delimiter="\t" if path.suffix.lower() == ".tsv" else ","), 1):
        if len(cells) < 2:
            raise TableError(f"{path}: line {number} must be the id of a query and its text, got {cells}.")
        if number > 1 or cells[0].lower() not in ("id", "_id", *NAMES[0]):
            yield cells[0].strip(), cells[1]


def items_by(view: Any, key: str | None, names: list[str]) -> dict[str, int]:
    """Ids of the items that a file names, those that are there."""
    if key is not None:
        from gramian.service.meta import metas

        fields = zip(view.ids.tolist(), metas(view, view.ids))
        return {str(meta[key]): number for number, meta in fields if key in meta}
    strange = next((name for name in names if not name.lstrip("-").isdigit()), None)
    if strange is not None:
        raise TableError(f"{strange!r} is no id of an item; name the field of meta that holds such names with --key.")
    return {str(number): number for number in view.ids.tolist()}


def query_of(asked: dict[str, Any] | None, texts: bool, places: dict[str, int], path: Path) -> Callable[[str], Any]:
    """From what a file calls a query to what it is: a text, a vector, or an item (None where it is not there)."""

    def named(query: str) -> Any:
        if asked is not None and query not in asked:
            raise TableError(f"{path}: query {query!r} is not in the file of --queries.")
        return query if asked is None else asked[query]

    return named if asked is not None or texts else places.get
