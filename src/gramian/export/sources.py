"""Vectors of other tools, block by block, into an index of this package."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from gramian import _checks
from gramian._parameters import checked
from gramian.export.words import WORDS


@checked(**WORDS)
def fill(index: Any, blocks: Iterable[tuple[np.ndarray, Any]], *, collection: str | None = None) -> Any:
    """Add blocks (ids, X), as ``from_…`` yields them, to an index, or to a collection of a space of the service.

    Integer ids are kept. Words are not ids: points with words are numbered in their order, and ``index.names`` lists
    the words by number; in a space the word is the ``name`` of an item's meta.

    Parameters
    ----------
    index : ExactIndex, HashIndex or another index; or a Space
    blocks : iterable of (ids, points)
    collection : str, optional
        The collection of a space, made when it is not there.

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
    if not hasattr(index, "add") or isinstance(index, set) or (collection is not None and not hasattr(index, "create")):
        wanted = "an index" if collection is None else "a space"
        raise TypeError(f"fill: index must be {wanted}, got {_checks.shown(index)}.")
    blocks = _pairs(blocks)
    if collection is not None:
        return _fill_space(index, collection, blocks)
    names: list[Any] = []
    for ids, X in blocks:
        if np.asarray(ids).dtype.kind in "iu":
            index.add(X, ids)
        else:
            names.extend(np.asarray(ids).tolist())
            index.add(X)
    if names:
        index.names = np.array(names)
    return index


def _pairs(blocks: Any) -> Iterator[tuple[Any, Any]]:
    """Blocks, each of them looked at."""
    if not isinstance(blocks, Iterable):
        raise TypeError(f"fill: blocks must be pairs (ids, X), got {_checks.shown(blocks)}.")
    for block in blocks:
        if not isinstance(block, tuple | list) or len(block) != 2 or np.ndim(block[0]) != 1:
            raise TypeError(f"fill: blocks must be pairs (ids, X), got {_checks.shown(block)}.")
        yield block[0], block[1]


def _fill_space(space: Any, collection: str, blocks: Iterable[tuple[np.ndarray, Any]]) -> Any:
    for number, (ids, X) in enumerate(blocks):
        if number == 0:
            space.create(collection, X.shape[1])
        ids = np.asarray(ids)
        if ids.dtype.kind in "iu":
            space.add(collection, X, ids.tolist())
        else:
            space.add(collection, X, meta=[{"name": str(word)} for word in ids])
    return space
