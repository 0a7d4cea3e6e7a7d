"""Learned coordinates as a Parquet file, and points from one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gramian._parameters import checked
from gramian.export import arrow
from gramian.export.columns import columns
from gramian.export.maps import isometry
from gramian.export.places import loading, needs, readme, required
from gramian.export.rows import rows
from gramian.export.words import SOURCE, WORDS
from gramian.persist import replacing
from gramian.search.progress import progress

VECTOR = """
import gramian as gm, numpy as np, pyarrow.parquet as pq
table = pq.read_table("{name}")
Z = np.stack(table["learned"].to_numpy())
z = {metric}.transform([x])
ids = table["id"].to_numpy()[((Z - z) ** 2).sum(axis=1).argsort()[:10]]
"""
QUERY = """
import gramian as gm, numpy as np, pyarrow.parquet as pq
table = pq.read_table("{name}")
X, norm = np.stack(table["original"].to_numpy()), table["norm"].to_numpy()
q = {metric}.matrix @ np.asarray(x)
ids = table["id"].to_numpy()[(norm - 2 * X @ q).argsort()[:10]]
"""


@checked(**WORDS)
def to_parquet(
    metric: Any,
    X: Any,
    path: Any = None,
    *,
    ids: Any = None,
    out: Any = None,
    form: str = "vector",
    original: bool = False,
    verbose: bool = False,
    callback: Callable | None = None,
) -> Path:
    """A Parquet file with the columns ``id`` and ``learned`` = E(x), written block by block.

    Parameters
    ----------
    metric : Metric with finite coordinates, KernelFeatures, fitted learner, or the file of a metric
    X : array (n, d), or an iterator of blocks (ids, X)
        A memory map stays on disk.
    path : path
        The file, with a README.md beside it; ``out`` is the same.
    ids : integers or words (n,), optional
        0 … n − 1 when not given.
    form : {"vector", "query"}
        ``learned``; or ``original`` = x and ``norm`` = xᵀMx, to be searched with q′ = Mq: norm − 2 q′ᵀx is d² but
        for a constant of the query.
    original : bool
        Store x beside ``learned``.
    verbose, callback
        A progress bar; ``callback(rows, total)``.

    Returns
    -------
    path

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 0.0]))
    >>> gm.export.to_parquet(metric, np.eye(3), "items.parquet")  # doctest: +SKIP
    PosixPath('items.parquet')
    """
    owner = "to_parquet"
    target = required(path, out, owner, "a file")
    needs("pyarrow", owner, "parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    inner = isometry(metric, owner)
    table = columns(inner, rows(X, ids, owner, inner.n_features), form, original)
    with (
        progress(owner, table.total, verbose, callback) as report,
        replacing(target, owner) as temporary,
        pq.ParquetWriter(temporary, arrow.schema(pa, table)) as writer,
    ):
        for batch in arrow.batches(pa, table, report):
            writer.write_batch(batch)
    code = VECTOR if form == "vector" else QUERY
    code = code.format(name=target.name, metric=loading(inner, target))
    readme(target, inner, f"columns `id`, {', '.join(f'`{name}`' for name in table.widths)}.", code)
    return target


@checked(**SOURCE)
def from_parquet(
    path: Any, column: str | None = None, *, id: str | None = None, block: int = 8192
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks (ids, vectors) of a Parquet file, read as they are asked for.

    Parameters
    ----------
    path : path
    column : str, optional
        The column of lists of numbers. When not given: the only such column, or all columns of numbers together.
    id : str, optional
        The column of ids; ``id`` where there is one, otherwise rows are numbered.
    block : int
        Rows at a time.

    Examples
    --------
    >>> import gramian as gm
    >>> blocks = gm.export.from_parquet("items.parquet", "embedding")  # doctest: +SKIP
    >>> index = gm.export.fill(gm.HashIndex(metric), blocks)  # doctest: +SKIP
    """
    owner = "from_parquet"
    needs("pyarrow", owner, "parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{owner}: {str(path)!r} is not a Parquet file.") from error
    vectors, names = chosen(pa, file.schema_arrow, column, id, str(path), owner)
    start = 0
    for batch in file.iter_batches(block, columns=[*vectors, *([names] if names else [])]):
        n = len(batch)
        ids = np.arange(start, start + n) if names is None else batch.column(names).to_numpy(zero_copy_only=False)
        start += n
        if n:
            yield ids, _points(batch, vectors, owner)


def chosen(
    pa: Any, schema: Any, column: str | None, id: str | None, where: str, owner: str
) -> tuple[list[str], str | None]:
    """Names of the columns that hold the points, and of the column of ids."""
    kinds = (pa.types.is_list, pa.types.is_fixed_size_list, pa.types.is_large_list)
    lists = [field.name for field in schema if any(is_kind(field.type) for is_kind in kinds)]
    names = id if id is not None else ("id" if "id" in schema.names else None)
    for wanted in (column, id):
        if wanted is not None and wanted not in schema.names:
            raise ValueError(f"{owner}: {where} has no column {wanted!r}; it has {', '.join(schema.names)}.")
    if column is not None:
        return [column], names
    if len(lists) > 1:
        raise ValueError(f"{owner}: {where} has several columns of vectors, {', '.join(lists)}; name one.")
    if lists:
        return lists, names
    numbers = [f.name for f in schema if pa.types.is_floating(f.type) or pa.types.is_integer(f.type)]
    found = [name for name in numbers if name != names]
    if not found:
        raise ValueError(f"{owner}: {where} has no column of vectors or numbers.")
    return found, names


def _points(batch: Any, vectors: list[str], owner: str) -> np.ndarray:
    first = batch.column(vectors[0])
    if not hasattr(first.type, "value_type"):
        return np.column_stack([batch.column(name).to_numpy(zero_copy_only=False) for name in vectors])
    widths = np.asarray(first.value_lengths()) if hasattr(first, "value_lengths") else None
    if first.null_count or (widths is not None and len(set(widths.tolist())) > 1):
        raise ValueError(f"{owner}: column {vectors[0]!r} must hold vectors of one length, without gaps.")
    return arrow.matrix(first)
