"""Vectors of other tools, block by block, into an index of this package."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from gramian.search.base import Index


def fill(index: Index, blocks: Iterable[tuple[np.ndarray, Any]]) -> Index:
    """Add blocks (ids, X), as ``from_…`` yields them, to an index.

    Integer ids are kept. Words are not ids of an index: points with words are numbered in their order, and
    ``index.names`` lists the words by number.

    Parameters
    ----------
    index : ExactIndex, HashIndex or another index
    blocks : iterable of (ids, points)

    Returns
    -------
    index

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> blocks = [(np.array([7, 9]), np.eye(2))]
    >>> index = gm.export.fill(gm.ExactIndex(gm.Mahalanobis.euclidean(2)), blocks)
    >>> index.query([[0.9, 0.0]], k=1)[0].tolist()
    [[7]]
    """
    names: list[Any] = []
    for ids, X in blocks:
        if np.asarray(ids).dtype.kind in "iu":
            index.add(X, ids)
        else:
            names.extend(np.asarray(ids).tolist())
            index.add(X)
    if names:
        index.names = np.array(names)  # type: ignore[attr-defined]  # words have no place in the index itself
    return index
