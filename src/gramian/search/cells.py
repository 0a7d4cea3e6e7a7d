"""Cells of points: a partition in the points' own geometry, which stays when the metric changes.

Every point is in the cell of its nearest center, plain Euclidean distance of the points as they are. Items stand cell
by cell in memory and in files, and inside of a cell by their distance to its center. A new metric measures centers and
codes anew and moves nobody. Items that come later stand behind the others, in no order, until they are too many.
"""

from mmap import mmap
from typing import Annotated, Any, Literal

import numpy as np

from gramian import _threads, linalg
from gramian._settings import Within
from gramian.search.columns import Arranged, Dense, column
from gramian.search.items import Items

FROM = 100_000
"""Items from which "auto" makes cells."""
EACH, ROUNDS = 32, 6
"""Points that a center is learned from, and rounds of learning."""
LATE = 16
"""Items behind the others, in multiples of the root of their number, that are let in before all are laid out again."""
_BLOCK = 4 << 20

Cells = Annotated[int, Within(2, 1 << 20)] | Literal["auto"] | None


def how_many(cells: int | str | None, n: int) -> int:
    """Number of cells for n items; 0 for none."""
    if cells is None or n < 2:
        return 0
    if cells == "auto":
        return round(n**0.5) if n >= FROM else 0
    return min(int(cells), n)


def learned_centers(points: Any, count: int, seed: int) -> np.ndarray:
    """Centers (count, d) of k-means on a sample of the points; fewer where points are the same."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    sample = np.unique(points[linalg.spread(len(points), EACH * count)].astype(np.float32), axis=0)
    if len(sample) <= count:
        return sample.astype(np.float64)
    means = KMeans(count, init="random", n_init=1, max_iter=ROUNDS, tol=0.0, random_state=seed % 2**31)
    with threadpool_limits(1):
        return means.fit(sample).cluster_centers_.astype(np.float64)


def nearest_cells(points: Any, centers: np.ndarray, threads: int = 1) -> np.ndarray:
    """Cell of each point, int32 (n,)."""
    from gramian._jit.cells import nearest_centers

    origin = centers.mean(axis=0)
    C = (centers - origin).astype(np.float32)
    halves, labels = linalg.row_norms(C) / 2, np.empty(len(points), np.int32)

    def fill(block: slice) -> None:
        V = np.subtract(points[block], origin, dtype=np.float64).astype(np.float32)
        nearest_centers(V @ C.T, halves, labels[block])

    _threads.each(fill, linalg.blocks(len(points), 4 * len(C) + 12 * C.shape[1], _BLOCK), threads)
    return labels


def means_by_cell(V: np.ndarray, labels: np.ndarray, count: int) -> np.ndarray:
    """Mean row of each cell, (count, p); zeros for an empty one."""
    from scipy import sparse

    members = sparse.csr_array((np.ones(len(V)), (labels, np.arange(len(V)))), shape=(count, len(V)))
    sums: np.ndarray = members @ V
    return sums / np.maximum(np.bincount(labels, minlength=count), 1)[:, None]


def laid(items: Items) -> Items:
    """The same items, cell by cell, and in a cell by |x − μ_c|; points of a mapped file stay there."""
    labels = items["cells"]
    order = np.lexsort((items["sqnorms"], labels))
    columns = {name: moved(part, order) for name, part in items.columns.items()}
    return Items(columns, items.next_id, {**items.settled, "laid": items.n}, items.settled_on)


def moved(part: Any, order: np.ndarray) -> Any:
    """A column in another order."""
    mapped = isinstance(part, Arranged) or (isinstance(part, Dense) and on_disk(part.data))
    return column(Arranged.rows_of(part.rows, order)) if mapped else part.take(order)


def on_disk(rows: np.ndarray) -> bool:
    """Whether these are rows of a mapped file that nobody may write into."""
    below: Any = rows
    while isinstance(below, np.ndarray) and not isinstance(below, np.memmap):
        below = below.base
    return not rows.flags.writeable and isinstance(below, np.memmap | mmap)


def late(items: Items) -> bool:
    """Whether so many items stand behind the others that all should be laid out again."""
    return items.n - items.settled["laid"] > LATE * items.n**0.5


def starts_of(items: Items) -> np.ndarray:
    """Where the items of each cell begin, (L + 1,), and where those that came since do."""
    inside = items["cells"][: items.settled["laid"]]
    return np.searchsorted(inside, np.arange(len(items.settled["centers"]) + 1), side="left").astype(np.int64)
