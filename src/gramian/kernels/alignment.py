"""Kernel alignment: the nonnegative combination of given kernels that comes closest to the labels."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import nnls
from scipy.sparse.csgraph import connected_components

from gramian import _checks, linalg
from gramian.kernels.base import Kernel, _Combination, _length, take
from gramian.kernels.basic import Gaussian, Polynomial

WIDTHS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 25, 50, 75, 100, 250, 500, 750, 1000)
"""The 21 widths of Chatpatanasiri et al. (2010), §5.1."""
MODE_SHARE, MODE_NEIGHBORS = 0.1, 5
"""A mode of a class holds this share of its points and is a component of its graph of this many neighbors."""


def scaled_gaussians(n_features: int, widths: Sequence[float] = WIDTHS) -> list[Gaussian]:
    """exp(−‖x − y‖² / (2 D σ²)) for each width σ and D = ``n_features`` (Chatpatanasiri et al. 2010, §5.1)."""
    return [Gaussian(float(width) * float(np.sqrt(n_features))) for width in widths]


def polynomials(n_features: int, degrees: Sequence[int] = (1, 2, 3, 4, 5)) -> list[Polynomial]:
    """(xᵀy / D)^p for each degree p and D = ``n_features``; the paper names the degrees only."""
    return [Polynomial(degree, offset=0.0, scale=1.0 / n_features) for degree in degrees]


@dataclass(frozen=True, eq=False)
class Weighted(_Combination):
    """k(x, y) = Σ_j weights_j k_j(x, y), weights ≥ 0; kernels of weight zero are not evaluated.

    ``alignment`` is the alignment (9) that the weights reach on the points they were found on.
    """

    weights: np.ndarray
    alignment: float = np.nan

    def __post_init__(self) -> None:
        super().__post_init__()
        w = np.array(self.weights, dtype=np.float64)
        if w.shape != (len(self.parts),) or not np.isfinite(w).all() or (w < 0).any():
            raise ValueError(f"Weighted: weights must be {len(self.parts)} finite numbers ≥ 0, got {self.weights!r}.")
        w.flags.writeable = False
        object.__setattr__(self, "weights", w)

    def bound(self, X: Any) -> Kernel:
        return replace(self, parts=tuple(part.bound(X) for part in self.parts))

    def _terms(self) -> list[tuple[float, Kernel]]:
        kept = [(w, part) for w, part in zip(self.weights, self.parts) if w > 0]
        return kept or [(0.0, self.parts[0])]

    def _gram(self, X: Any, Y: Any) -> np.ndarray:
        total: Any = 0.0
        for weight, part in self._terms():
            K = part._gram(X, Y)
            K *= weight
            total = K if isinstance(total, float) else np.add(total, K, out=total)
        return total

    def _diag(self, X: Any) -> np.ndarray:
        return sum(weight * part._diag(X) for weight, part in self._terms())  # type: ignore[return-value]

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        return sum(weight * part._pairs(X, Y) for weight, part in self._terms())  # type: ignore[return-value]


def align(
    kernels: Sequence[Kernel],
    X: Any,
    y: Any,
    *,
    center: bool = False,
    n_neighbors: int | None = None,
    warn: bool = True,
) -> Weighted:
    """The kernel k = Σ_j α_j k_j of largest alignment ⟨K, Y⟩ / (‖K‖ ‖Y‖) with the labels.

    Y_ij = 1 within a class and −1/(p − 1) across p classes. With S_ij = ⟨K_i, K_j⟩ and b_i = ⟨K_i, Y⟩ this is
    min_α αᵀSα s.t. α ≥ 0, αᵀb = 1 (Chatpatanasiri et al. 2010, (11)), here with each K_j divided by its norm, (12),
    and solved as the nonnegative least-squares problem min_{α≥0} αᵀSα − 2αᵀb, which has the same direction. S and b
    are summed over blocks of rows: the blocks of all kernels together take half a Gram matrix of memory. The
    weights are scaled so that k(x, x) is 1 on average, instead of αᵀb = 1.

    Alignment wants every class in one point, so it suits a class of several clusters badly: a warning says so when the
    nearest-neighbor graph of a class falls apart under the result, and ``n_neighbors`` then helps.

    Parameters
    ----------
    kernels : sequence of m Kernels
    X : points
    y : labels (n,)
    center : bool
        Center all kernels and Y in feature space first (Cortes et al. 2012).
    n_neighbors : int, optional
        Sum only over pairs in which one point is among the nearest ``n_neighbors`` of the other, within its class or
        outside of it: classes need to hold together locally only. Beyond the paper.
    warn : bool
        Look for classes of several clusters.

    Returns
    -------
    Weighted
        A kernel with ``weights`` (m,) and ``alignment``.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.concatenate([np.linspace(0, 1, 20), np.linspace(3, 4, 20)])[:, None]
    >>> k = gm.align([gm.Gaussian(0.01), gm.Gaussian(1.0), gm.Gaussian(100.0)], X, np.repeat([0, 1], 20))
    >>> int(k.weights.argmax()), k.diag(X).round(6).tolist()[:2]
    (1, [1.0, 1.0])
    """
    kernels = list(kernels)
    if not kernels or not all(isinstance(k, Kernel) for k in kernels):
        raise TypeError("align: kernels must be a nonempty sequence of Kernels.")
    if center and n_neighbors is not None:
        raise ValueError("align: center and n_neighbors cannot be combined; choose one.")
    for kernel in kernels:
        X = kernel.check(X)
    kernels = [kernel.bound(X) for kernel in kernels]
    classes, codes = _checks.labels(y, "align", _length(X))
    if len(classes) < 2:
        raise ValueError(f"align: needs at least two classes, got {len(classes)}.")
    mask = None if n_neighbors is None else _local_pairs(kernels, X, codes, n_neighbors)
    S, b, norm = _products(kernels, X, codes, center, mask)
    alpha = _nonnegative(S, b)
    reached = float(b @ alpha / (np.sqrt(alpha @ S @ alpha) * norm)) if alpha.any() else 0.0
    if reached <= 0:
        raise ValueError("align: no kernel has a positive inner product with the labels.")
    kernel = Weighted(tuple(kernels), alpha / Weighted(tuple(kernels), alpha).diag(X).mean(), reached)
    if warn and mask is None:
        _warn_of_modes(kernel, X, codes, classes)
    return kernel


def alignment(kernel: Kernel, X: Any, y: Any, *, center: bool = False) -> float:
    """⟨K, Y⟩ / (‖K‖ ‖Y‖) of one kernel with the labels (Chatpatanasiri et al. 2010, (9))."""
    X = kernel.check(X)
    S, b, norm = _products([kernel], X, _checks.labels(y, "alignment", _length(X))[1], center, None)
    return float(b[0] / (np.sqrt(S[0, 0]) * norm))


def _nonnegative(S: np.ndarray, b: np.ndarray) -> np.ndarray:
    """argmin_{α≥0} αᵀSα − 2αᵀb through S = RᵀR: least squares ‖Rα − R⁻ᵀb‖ on the range of S, scaled as in (12)."""
    size = np.sqrt(np.diag(S))
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    values, vectors = linalg.eigh(S * np.outer(scale, scale))
    keep = values > 1e-12 * max(values[-1], 0.0)
    root = np.sqrt(values[keep])
    R = root[:, None] * vectors[:, keep].T
    target = (vectors[:, keep].T @ (scale * b)) / root
    return scale * nnls(R, target, maxiter=100 * len(b))[0] if keep.any() else np.zeros_like(b)


def _ideal(codes: np.ndarray, rows: slice, p: int) -> np.ndarray:
    """Rows of Y: 1 within a class, −1/(p − 1) across classes."""
    return np.where(codes[rows, None] == codes, 1.0, -1.0 / max(p - 1, 1))


def _blocks(kernels: list[Kernel], X: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """Rows and the stacked blocks (m, rows, n) of all Gram matrices, about half a Gram matrix at a time."""
    n, m = _length(X), len(kernels)
    for rows in linalg.blocks(n, 8.0 * n * m, max(4 * n * n, 1 << 20)):
        G = np.empty((m, rows.stop - rows.start, n))
        for j, kernel in enumerate(kernels):
            G[j] = kernel._gram(take(X, rows), X)
        yield rows, G


def _products(kernels: list[Kernel], X: Any, codes: np.ndarray, center: bool, mask: Any) -> tuple[Any, Any, float]:
    """S (m, m), b (m,) and ‖Y‖, one pass over blocks of rows; centering needs the row sums only."""
    n, m, p = len(codes), len(kernels), int(codes.max()) + 1
    S, sums = np.zeros((m + 1, m + 1)), np.zeros((m + 1, n))
    for rows, G in _blocks(kernels, X):
        Y = _ideal(codes, rows, p)
        if mask is not None:
            inside = mask[rows].toarray()
            G *= inside
            Y *= inside
        sums[:m, rows], sums[m, rows] = G.sum(axis=2), Y.sum(axis=1)
        flat = G.reshape(m, -1)
        S[:m, :m] += flat @ flat.T
        S[:m, m] += flat @ Y.ravel()
        S[m, m] += (Y**2).sum()
    if center:
        # ⟨HKH, HK'H⟩ = ⟨K, K'⟩ − (2/n) K1ᵀK'1 + (1ᵀK1)(1ᵀK'1)/n², for symmetric K and K'.
        total = sums.sum(axis=1)
        S[:m, :m] += np.outer(total[:m], total[:m]) / n**2 - 2 / n * sums[:m] @ sums[:m].T
        S[:m, m] += total[:m] * total[m] / n**2 - 2 / n * sums[:m] @ sums[m]
        S[m, m] += total[m] ** 2 / n**2 - 2 / n * sums[m] @ sums[m]
    return S[:m, :m], S[:m, m], float(np.sqrt(S[m, m]))


def _neighbors(kernel: Kernel, X: Any, rows: np.ndarray, columns: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """For each of ``rows`` its k nearest among ``columns``, itself left out, as index pairs."""
    k = min(k, len(columns) - int(np.isin(rows, columns).any()))
    if k < 1:
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    near = np.empty((len(rows), k), dtype=np.intp)
    others, diagonal = take(X, columns), kernel._diag(take(X, columns))
    for block in linalg.blocks(len(rows), 8 * len(columns)):
        D = diagonal - 2 * kernel._gram(take(X, rows[block]), others)
        D[rows[block, None] == columns] = np.inf
        near[block] = columns[np.argpartition(D, k - 1, axis=1)[:, :k]]
    return np.repeat(rows, k), near.ravel()


def _local_pairs(kernels: list[Kernel], X: Any, codes: np.ndarray, k: int) -> sparse.csr_array:
    """Symmetric 0/1 matrix of near pairs under the sum of the kernels, within and across classes, and the diagonal."""
    k = _checks.number(k, "align", "n_neighbors", low=1, integer=True)
    everything = Weighted(tuple(kernels), np.array([1 / max(kern.diag(X).mean(), 1e-300) for kern in kernels]))
    n, pairs = len(codes), []
    for c in range(int(codes.max()) + 1):
        inside, outside = np.flatnonzero(codes == c), np.flatnonzero(codes != c)
        pairs += [_neighbors(everything, X, inside, inside, k), _neighbors(everything, X, inside, outside, k)]
    i, j = (np.concatenate(part) for part in zip(*pairs, (np.arange(n), np.arange(n))))
    A = sparse.csr_array((np.ones(len(i)), (i, j)), shape=(n, n))
    return sparse.csr_array(((A + A.T) > 0).astype(float))


def _warn_of_modes(kernel: Kernel, X: Any, codes: np.ndarray, classes: np.ndarray) -> None:
    """Warn of classes whose graph of near neighbors under the kernel has several large components."""
    several = []
    for c in range(len(classes)):
        members = np.flatnonzero(codes == c)
        if len(members) < 4 * MODE_NEIGHBORS:
            continue
        i, j = _neighbors(kernel, X, members, members, MODE_NEIGHBORS)
        place = np.searchsorted(members, np.stack([i, j]))
        graph = sparse.csr_array((np.ones(len(i)), tuple(place)), shape=(len(members),) * 2)
        parts = np.bincount(connected_components(graph, directed=False)[1])
        if (parts >= max(MODE_SHARE * len(members), MODE_NEIGHBORS + 1)).sum() > 1:
            several.append(classes[c].item() if hasattr(classes[c], "item") else classes[c])
    if several:
        warnings.warn(
            f"align: class {', '.join(map(repr, several))} falls into several clusters, which alignment would join; "
            "consider n_neighbors, or choose the kernel by cross-validation.",
            UserWarning,
            stacklevel=3,
        )
