"""How many bits pay: the time of the pass over the codes against that of the comparisons it leaves.

With q a query, D² the squared distance of its k-th neighbor and θ_max the angle that D² allows an item of norm |x|, the
item is compared when its b bits do not rule that out. At angle θ that has the probability

    Φ((z √(p_max (1 − p_max)) + √b (p_max − p)) / √(p (1 − p))),   p = θ/π,   for collisions,

and for products the like with cosines x in the place of p and c = √(2b/πD) x, (1 − c²)(1 − x²)/D as mean and variance.
A few items serve as queries, some thousand as the others.
"""

from typing import Any

import numpy as np

from gramian import linalg
from gramian.search.hash_forms import Form

BITS = (128, 192, 256, 384, 512, 768, 1024, 1536)
DEFAULT = 256
FEWEST = 2000
"""Items below which the default serves."""
K = 10
_QUERIES, _SAMPLE = 24, 6000
_WORD = {"collisions": 0.085, "products": 0.3}
_COMPARED = 90.0, 0.12
_PROJECTED = 0.033
"""Nanoseconds: of a word of a code, of a comparison (and of each byte of the point), of a term of a projection."""


def bits_that_pay(form: Form, points: Any, recall: float, estimate: str) -> int:
    """The number of bits of the least expected time of a query."""
    V = form.rows(points)
    n = linalg.count(V)
    if n < FEWEST or form.outside(points[:1]) is not None:
        return DEFAULT
    cosines, least = _sampled(form, V)
    left = {b: _compared(cosines, least, b, form, recall, estimate) * n / len(cosines[0]) for b in BITS}
    one = _COMPARED[0] + _COMPARED[1] * V.dtype.itemsize * V.shape[1]
    bit = n / 64 * _WORD[estimate] + _PROJECTED * V.shape[1]
    return min(BITS, key=lambda b: b * bit + left[b] * one)


def _sampled(form: Form, V: Any) -> tuple[np.ndarray, np.ndarray]:
    """Cosines of some queries to other items, and the least ones that the distance of the K-th neighbor allows."""
    n = linalg.count(V)
    chosen = V[linalg.spread(n, _SAMPLE)]
    C = chosen - chosen.mean(axis=0, dtype=np.float64)
    asked = linalg.spread(len(C), _QUERIES)
    norms = np.sqrt(np.maximum(form.view.sqnorms(C), np.finfo(np.float32).tiny))
    X = form.view.weigh(C[asked]) @ C.T / (norms[asked, None] * norms)
    D = norms**2 + norms[asked, None] ** 2 - 2 * X * norms[asked, None] * norms
    D[np.arange(len(asked)), asked] = np.inf
    rank = max(round(K * len(C) / n), 1)
    bound = np.partition(D, rank - 1, axis=1)[:, rank - 1 : rank]
    least = (norms**2 + norms[asked, None] ** 2 - bound) / (2 * norms * norms[asked, None])
    return np.clip(X, -1, 1), np.clip(least, -1, 1)


def _compared(cosines: np.ndarray, least: np.ndarray, b: int, form: Form, recall: float, estimate: str) -> float:
    """Mean number of sampled items that a query compares."""
    from scipy.special import ndtr, ndtri

    z = ndtri(recall)
    if estimate == "collisions":
        p, most = (np.clip(np.arccos(x) / np.pi, 1e-6, 1 - 1e-6) for x in (cosines, least))
        gap = z * np.sqrt(most * (1 - most)) + np.sqrt(b) * (most - p)
        return float(ndtr(gap / np.sqrt(p * (1 - p))).sum(axis=1).mean())
    D = max(form.width, b)
    c = np.sqrt(2 * b / (np.pi * D))
    noise = np.sqrt((1 - c * c) / D)
    spread = noise * np.sqrt(np.maximum(1 - cosines**2, 1e-9))
    gap = c * (cosines - least) + z * noise * np.sqrt(1 - least**2)
    return float(ndtr(gap / spread).sum(axis=1).mean())
