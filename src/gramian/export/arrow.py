"""Columns as Arrow record batches, for Parquet, DuckDB and LanceDB; and as text, for COPY and JSON."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gramian.export.columns import Columns
from gramian.export.places import needs


def schema(pa: Any, columns: Columns) -> Any:
    """``id`` (int64 or words), vectors as fixed-size lists of float32, ``norm`` as float32."""
    fields = [pa.field("id", pa.string() if columns.text else pa.int64())]
    for name, width in columns.widths.items():
        fields.append(pa.field(name, pa.list_(pa.float32(), width) if width else pa.float32()))
    return pa.schema(fields)


def batches(pa: Any, columns: Columns, report: Any) -> Iterator[Any]:
    """One record batch for each block."""
    form = schema(pa, columns)
    for ids, values in columns.blocks:
        arrays = [pa.array(ids.tolist() if columns.text else ids, form.field("id").type)]
        for name, width in columns.widths.items():
            arrays.append(_vectors(pa, values[name], width) if width else pa.array(values[name]))
        yield pa.record_batch(arrays, schema=form)
        report(len(ids))


def _vectors(pa: Any, values: np.ndarray, width: int) -> Any:
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), width)


def matrix(column: Any) -> np.ndarray:
    """A column of vectors, of fixed or free length, as an array (n, r)."""
    values = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    flat = values.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(len(values), -1)


def texts(values: np.ndarray, owner: str, extra: str) -> list[str]:
    """Rows of float32 as ``[0.5,1,…]`` with the fewest digits that give the same number back."""
    needs("pyarrow", owner, extra)
    import pyarrow as pa
    import pyarrow.compute as pc

    n, width = values.shape
    numbers = pc.cast(pa.array(values.reshape(-1)), pa.string())
    lists = pa.ListArray.from_arrays(np.arange(0, (n + 1) * width, width, dtype=np.int32), numbers)
    return pc.binary_join(lists, ",").to_pylist()
