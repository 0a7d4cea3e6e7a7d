"""Files of one JSON document a line, as Elasticsearch, OpenSearch and Weaviate import them."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gramian.export import arrow
from gramian.export.columns import Columns
from gramian.export.maps import Isometry
from gramian.export.places import readme
from gramian.persist import replacing
from gramian.search.progress import progress


def write(
    target: Path,
    inner: Isometry,
    stored: Columns,
    document: Callable[[Any, dict[str, str]], str],
    definition: dict[str, Any],
    verbose: bool,
    callback: Callable | None,
) -> None:
    """Write the documents, and the definition of their index beside them as ``NAME.index.json``."""
    with (
        progress(inner.owner, stored.total, verbose, callback) as report,
        replacing(target, inner.owner) as temporary,
        open(temporary, "w", encoding="utf-8") as stream,
    ):
        stream.writelines(_documents(stored, document, inner.owner, report))
    with replacing(index_file(target), inner.owner) as temporary:
        temporary.write_text(json.dumps(definition, indent=2) + "\n", encoding="utf-8")


def _documents(stored: Columns, document: Callable, owner: str, report: Callable) -> Iterator[str]:
    for ids, values in stored.blocks:
        texts = {name: _texts(values[name], owner) for name in stored.widths}
        parts = ({name: texts[name][row] for name in texts} for row in range(len(ids)))
        yield "".join([document(name, part) for name, part in zip(ids.tolist(), parts)])
        report(len(ids))


def _texts(values: np.ndarray, owner: str) -> list[str]:
    """Vectors as JSON arrays, single numbers as they are."""
    if values.ndim == 1:
        return arrow.texts(values[:, None], owner, owner.removeprefix("to_"))
    return [f"[{row}]" for row in arrow.texts(values, owner, owner.removeprefix("to_"))]


def index_file(target: Path) -> Path:
    """Where the definition of the index of a bulk file lies."""
    return target.with_name(f"{target.name}.index.json")


def explain(target: Path, inner: Isometry, what: str, loading: str, code: str) -> None:
    """The README of a bulk file: how to load it, and how to ask."""
    readme(target, inner, f"{what}\n\n```sh\n{loading.strip()}\n```\n\nThen", code)
