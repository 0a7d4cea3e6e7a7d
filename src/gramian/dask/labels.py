"""Side information for points in blocks: labels gathered once as small numbers, constraints as they are."""

from typing import Any

import numpy as np

from gramian import _checks
from gramian.constraints import Constraints, Labels
from gramian.dask.blocks import OWNER, Blocks, read


def labels_of(y: Any, n: int, engine: Any, owner: str, unknown: Any = None, numbers: bool = False) -> Labels:
    """Labels of n points; each block finds its own classes, and only the codes travel, once."""
    if isinstance(y, Labels):
        return y
    if isinstance(y, np.ndarray) and y.dtype == object:
        return Labels.from_array(y, owner, n, unknown, numbers)
    blocks = Blocks.of(_checks.plain(y, owner, "y") if isinstance(y, list) and not _paths(y) else y, "y", ndim=1)
    if blocks.n != n:
        raise ValueError(f"{owner}: labels must have one entry per point ({n}), got {blocks.n}.")
    found = engine.each(codes_of, [(part, owner, unknown, numbers) for part in blocks.parts])
    classes = np.unique(np.concatenate([own for own, _ in found]))
    codes = np.empty(n, dtype=np.intp)
    for start, (own, values) in zip(blocks.edges, found):
        names = np.append(np.searchsorted(classes, own), -1)  # the last one is that of −1
        np.take(names, values, out=codes[start : start + len(values)], mode="wrap")
    codes.flags.writeable = False
    if not numbers:
        _checks.refuse_continuous(classes, int((codes >= 0).sum()), owner)
    return Labels(codes, classes)


def _paths(y: list) -> bool:
    return all(isinstance(item, str) and item.endswith((".npy", ".parquet", ".pq", ".zarr")) for item in y)


def codes_of(part: Any, owner: str, unknown: Any, numbers: bool) -> tuple[np.ndarray, np.ndarray]:
    """Classes of a block, and the codes of its labels in few bytes."""
    classes, codes = _checks.labels(np.asarray(read(part)), owner, None, unknown, numbers=True)
    return classes, codes.astype(np.min_scalar_type(-max(len(classes), 1)))


def side_of(y: Any, n: int, engine: Any, learner: Any, unknown: Any = None) -> Labels | Constraints | None:
    """Constraints as they are, labels from wherever they lie; None for learners that need none."""
    owner = type(learner).__name__
    if isinstance(y, Constraints):
        return y
    if y is None:
        tags = learner.__sklearn_tags__()
        if tags.target_tags.required:
            raise ValueError(f"{owner}: requires y, got None; give labels or constraints with row numbers to {OWNER}.")
        return None
    return labels_of(y, n, engine, owner, unknown, getattr(learner, "_numbers", False))
