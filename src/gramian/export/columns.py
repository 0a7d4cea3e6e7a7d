"""What a target stores of the points: the columns of a table, in single precision."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.export.maps import Isometry
from gramian.export.rows import Rows

FORMS = ("vector", "query")


@dataclass(frozen=True)
class Columns:
    """What a table holds of the points: blocks (ids, {name: float32 array}), and the width of each column.

    The width of ``norm``, a single number, is 0.
    """

    blocks: Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]
    widths: dict[str, int]
    total: int | None
    text: bool


def columns(isometry: Isometry, points: Rows, form: str = "vector", original: bool = False) -> Columns:
    """The columns of a table: ``learned`` = E(x), or in the form "query" ``original`` = x and ``norm`` = xᵀMx."""
    owner = isometry.owner
    _checks.one_of(form, owner, "form", FORMS)
    widths = {"learned": isometry.width} if form == "vector" else {}
    if form == "query":
        check_query_form(isometry)
    if original or form == "query":
        if isometry.n_features is None:
            raise ValueError(f"{owner}: original must be False for points that are not vectors.")
        widths["original"] = isometry.n_features
    if form == "query":
        widths["norm"] = 0
    blocks = ((ids, _columns(isometry, X, widths)) for ids, X in points.blocks)
    return Columns(blocks, widths, points.total, points.text)


def check_query_form(isometry: Isometry) -> None:
    """Whether q′ = Mq can stand for the metric."""
    if not isometry.is_linear or isometry.offset.any():
        raise TypeError(f"{isometry.owner}: form='query' needs a linear metric, q' = Mq; use form='vector'.")


def _columns(isometry: Isometry, X: Any, widths: dict[str, int]) -> dict[str, np.ndarray]:
    Z = isometry(X)
    found = {"learned": Z} if "learned" in widths else {}
    if "original" in widths:
        found["original"] = linalg.dense(X)
    if "norm" in widths:
        found["norm"] = linalg.row_norms(Z)
    return {name: single(values, isometry.owner) for name, values in found.items()}


def single(A: Any, owner: str) -> np.ndarray:
    """An array in single precision, in which every target stores vectors."""
    with np.errstate(over="ignore"):
        B = np.ascontiguousarray(A, dtype=np.float32)
    if not np.isfinite(B).all():
        raise ValueError(f"{owner}: coordinates must fit into float32 (below 3.4e38); rescale X.")
    return B
