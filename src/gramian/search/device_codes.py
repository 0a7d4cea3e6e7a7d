"""Hash codes on a device: bits as ±1, so that one matrix product gives all Hamming distances.

For codes a and b of ±1 and length n_bits the Hamming distance is (n_bits − aᵀb)/2. An item at Hamming distance h is at
an angle of at least π p_h from the query with probability ``recall`` (:func:`.codes.angle_limits`), so that
|x|² + |q|² − 2 |x||q| cos(π p_h) bounds its distance from below; exact search goes on from such bounds.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian import linalg
from gramian._device import held
from gramian._device.nearest import DeviceScan
from gramian.search import codes
from gramian.search.encoding import Encoder
from gramian.search.items import Items

if TYPE_CHECKING:
    from gramian.search.hashing import HashIndex


def check(index: "HashIndex", points: Any) -> None:
    """One sentence for what items on a device cannot have."""
    if not held(points):
        return
    plain = index.mode == "distance" and index.searcher == "scan" and index.epsilon is None
    default = index.estimate == "collisions" and index.store is None and index.n_bits != "auto"
    if not (plain and default and index._form(points, int(index.n_bits)).view.whole):
        raise TypeError(
            f"{index._owner}: items on a device are scanned with the defaults, for a metric that lies in its "
            "coordinates; anything else runs on the CPU: pass the items as NumPy arrays."
        )


def scan(index: "HashIndex", items: Items, mask: np.ndarray | None) -> "CodeScan":
    """Bounds of the distances to the items of a mask (None: all)."""
    limits = codes.angle_limits(int(index.n_bits), index.recall)
    found = items.cached("code scan", lambda: CodeScan.items(items, limits))
    return found if mask is None else found.only(linalg.placed(mask, items["signs"]))


def columns(encoder: Encoder, X: Any) -> dict[str, Any]:
    """What an index keeps of items on a device: ±1 for each bit, norms, and coordinates that are plain."""
    P, sqnorms, _ = encoder.project(encoder.form.rows(X), None)
    return {"signs": signs(P), "sqnorms": sqnorms, "embedded": embedded(encoder, X)}


def asked(encoder: Encoder, Q: Any) -> Any:
    """Queries as [signs, |q|², blur, coordinates], (m, n_bits + 2 + q)."""
    P, sqnorms, _ = encoder.project(encoder.form.rows(Q), None)
    norms = np.stack([sqnorms, encoder.blurs(sqnorms, Q.dtype)], axis=1)
    return np.concatenate([signs(P).astype(np.float64), norms, embedded(encoder, Q)], axis=1)


def signs(P: Any) -> Any:
    """Projections as ±1 in single precision; 0 is +1."""
    return (2.0 * (P >= 0).astype(np.float32) - 1.0).astype(np.float32)


def embedded(encoder: Encoder, X: Any) -> Any:
    """Coordinates of points in double precision, in which the Euclidean distance is the metric."""
    return encoder.form.metric.transform_of(X.astype(np.float64, copy=False))


@dataclass(frozen=True, eq=False)
class CodeScan(DeviceScan):
    """Bounds from codes. ``right`` are the signs of the items; queries come as [signs, |q|², blur, coordinates]."""

    sqnorms: Any = None
    limits: Any = None
    entry_bytes = 40

    @classmethod
    def items(cls, items: Items, limits: np.ndarray) -> "CodeScan":
        """Scan of the items of an index."""
        right, sqnorms = items["signs"], items["sqnorms"]
        zero = np.zeros(1, like=sqnorms)
        return cls(zero, 1.0, right, len(right), zero, np.sqrt(sqnorms), linalg.placed(limits, sqnorms))

    def only(self, mask: Any) -> "CodeScan":
        """The same scan in which the other items are infinitely far away."""
        return replace(self, sqnorms=np.where(mask, self.sqnorms, np.inf))

    def points(self, Q: Any) -> Any:
        """The coordinates behind the signs, the norm and the blur."""
        return Q[:, self.right.shape[1] + 2 :]

    def bounds(self, Q: Any) -> tuple[Any, Any]:
        """Lower bounds of squared distances, (m, n), for points as far off as rounding may have moved them."""
        n_bits = self.right.shape[1]
        sign, own = Q[:, :n_bits].astype(np.float32), np.sqrt(Q[:, n_bits : n_bits + 1])
        hamming = ((n_bits - sign @ self.right.T) / 2).astype(np.int64)
        blurs = Q[:, n_bits + 1 : n_bits + 2]
        cosines, length = self.limits[hamming], self.sqnorms[None, :]
        D = np.maximum(length * (length - 2 * own * cosines) + own * own, 0)
        D = np.maximum(np.sqrt(D) - 2 * blurs, 0) ** 2
        return np.where(length < np.inf, D, np.inf), np.zeros(len(Q), like=D)
