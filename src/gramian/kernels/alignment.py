"""Kernel alignment: the nonnegative combination of given kernels that comes closest to the labels."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import nnls
from scipy.sparse.csgraph import connected_components

from gramian import _validate, linalg
from gramian._settings import Count, checked
from gramian.kernels.base import Kernel
from gramian.kernels.combinations import Weighted
from gramian.linalg import count, take
from gramian.neighbors import smallest


@checked
def align(
    kernels: Any,
    X: Any,
    y: Any,
    *,
    center: bool = False,
    n_neighbors: Count | None = None,
    warn: bool = True,
) -> Weighted:
    """Weigh several kernels by how well they fit the labels.

    The kernel k = Σ_j α_j k_j of largest alignment ⟨K, Y⟩ / (‖K‖ ‖Y‖) with the labels.

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
        The kernels to combine.
    X : points
        Training points, as these kernels take them.
    y : labels (n,)
        Their classes.
    center : bool
        Center all kernels and Y in feature space first (Cortes et al. 2012). Advisable with classes of unequal size,
        for which constants align well: without it most weight can go to very wide and very narrow kernels.
    n_neighbors : int, optional
        Sum only over pairs in which one point is among the nearest ``n_neighbors`` of the other, within its class or
        outside of it: classes need to hold together locally only. Beyond the paper.
    warn : bool
        Look for classes of several clusters.

    Returns
    -------
    Weighted
        A kernel with ``weights`` (m,) and ``alignment``.

    See Also
    --------
    gramian.Kernelized : Learns in the space of the kernel found.
    gramian.Gaussian : A kernel to begin with.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.concatenate([np.linspace(0, 1, 20), np.linspace(3, 4, 20)])[:, None]
    >>> k = gm.align([gm.Gaussian(0.01), gm.Gaussian(1.0), gm.Gaussian(100.0)], X, np.repeat([0, 1], 20))
    >>> int(k.weights.argmax()), k.diag(X).round(6).tolist()[:2]
    (1, [1.0, 1.0])
    """
    if center and n_neighbors is not None:
        raise ValueError("align: center and n_neighbors cannot be combined; choose one.")
    kernels, X = on_points(kernels, X)
    classes, codes = _validate.labels(y, "align", count(X))
    if len(classes) < 2:
        raise ValueError(f"align: needs at least two classes, got {len(classes)}.")
    mask = None if n_neighbors is None else local_pairs(kernels, X, codes, n_neighbors)
    S, b, norm = gram_products(kernels, X, codes, center, mask)
    alpha = nonnegative_weights(S, b)  # (11)
    reached = float(b @ alpha / (np.sqrt(alpha @ S @ alpha) * norm)) if alpha.any() else 0.0
    if reached <= 0:
        raise ValueError("align: no kernel has a positive inner product with the labels.")
    scale = float(Weighted(tuple(kernels), alpha)._diag(X).mean())
    kernel = Weighted(tuple(kernels), alpha / scale, alignment=reached)
    if warn and mask is None:
        warn_of_modes(kernel, X, codes, classes)
    return kernel


def on_points(kernels: Any, X: Any) -> tuple[list[Kernel], Any]:
    """Kernels whose open settings follow from the points, and the points as these take them."""
    kernels = list(kernels) if isinstance(kernels, Iterable) else []
    if not kernels or not all(isinstance(k, Kernel) for k in kernels):
        raise TypeError("align: kernels must be a nonempty sequence of Kernels.")
    for kernel in kernels:
        X = kernel.check(_validate.placed(X, "align", devices=False))
    return [kernel.bound(X) for kernel in kernels], X


@checked
def alignment(kernel: Kernel, X: Any, y: Any, *, center: bool = False) -> float:
    """⟨K, Y⟩ / (‖K‖ ‖Y‖) of one kernel with the labels (Chatpatanasiri et al. 2010, (9))."""
    X = kernel.check(_validate.placed(X, "alignment", devices=False))
    S, b, norm = gram_products([kernel], X, _validate.labels(y, "alignment", count(X))[1], center, None)
    return float(b[0] / (np.sqrt(S[0, 0]) * norm))


def nonnegative_weights(S: np.ndarray, b: np.ndarray) -> np.ndarray:
    """argmin_{α≥0} αᵀSα − 2αᵀb through S = RᵀR: least squares ‖Rα − R⁻ᵀb‖ on the range of S, scaled as in (12)."""
    size = np.sqrt(np.diag(S))
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    values, vectors = linalg.eigh(S * np.outer(scale, scale))
    keep = values > 1e-12 * max(values[-1], 0.0)
    root = np.sqrt(values[keep])
    R = root[:, None] * vectors[:, keep].T
    target = (vectors[:, keep].T @ (scale * b)) / root
    return scale * nnls(R, target, maxiter=100 * len(b))[0] if keep.any() else np.zeros_like(b)


def gram_blocks(kernels: list[Kernel], X: Any, codes: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Rows and the stacked blocks (m + 1, rows, n) of all Gram matrices and of Y, about half a Gram matrix at a time.

    Y is 1 within a class and −1/(p − 1) across p classes.
    """
    n, m = len(codes), len(kernels)
    across = -1.0 / max(int(codes.max()), 1)
    for rows in linalg.blocks(n, 8.0 * n * (m + 1), max(4 * n * n, 1 << 20)):
        G = np.empty((m + 1, rows.stop - rows.start, n))
        for j, kernel in enumerate(kernels):
            G[j] = kernel._gram(take(X, rows), X)
        G[m] = np.where(codes[rows, None] == codes, 1.0, across)
        yield rows, G


def gram_products(kernels: list[Kernel], X: Any, codes: np.ndarray, center: bool, mask: Any) -> tuple[Any, Any, float]:
    """S (m, m), b (m,) and ‖Y‖, one pass over blocks of rows; centering needs the row sums only."""
    n, m = len(codes), len(kernels)
    S = np.zeros((m + 1, m + 1))
    sums = np.zeros((m + 1, n))
    for rows, G in gram_blocks(kernels, X, codes):
        if mask is not None:
            G *= mask[rows].toarray()
        flat = G.reshape(m + 1, -1)
        if not np.abs(flat).max(initial=0.0) < np.sqrt(_validate.LARGEST):
            raise ValueError("align: kernel values must be below 1e150, got larger ones or NaN; rescale X.")
        sums[:, rows] = G.sum(axis=2)
        S += flat @ flat.T
    if center:
        # ⟨HKH, HK'H⟩ = ⟨K, K'⟩ − (2/n) K1ᵀK'1 + (1ᵀK1)(1ᵀK'1)/n², for symmetric K and K'.
        total = sums.sum(axis=1)
        S = S + np.outer(total, total) / n**2 - 2 / n * sums @ sums.T
    return S[:m, :m], S[:m, m], float(np.sqrt(S[m, m]))


MODE_SHARE, MODE_NEIGHBORS = 0.1, 5
"""A mode of a class holds this share of its points and is a component of its graph of this many neighbors."""


def nearest(kernel: Kernel, X: Any, rows: np.ndarray, columns: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """For each of ``rows`` its k nearest among ``columns``, itself left out, as index pairs."""
    k = min(k, len(columns) - int(np.isin(rows, columns).any()))
    if k < 1:
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    ids = np.empty((len(rows), k), dtype=np.intp)
    candidates, diagonal = take(X, columns), kernel._diag(take(X, columns))
    for block in linalg.blocks(len(rows), 8 * len(columns)):
        D = diagonal - 2 * kernel._gram(take(X, rows[block]), candidates)
        ids[block], _ = smallest(D, k, np.broadcast_to(columns, D.shape), rows[block])
    return np.repeat(rows, k), ids.ravel()


def local_pairs(kernels: list[Kernel], X: Any, codes: np.ndarray, k: int) -> sparse.csr_array:
    """Symmetric 0/1 matrix of near pairs under the sum of the kernels, within and across classes, and the diagonal."""
    everything = Weighted(tuple(kernels), np.array([1 / max(float(kern._diag(X).mean()), 1e-300) for kern in kernels]))
    n = len(codes)
    pairs = []
    for c in range(int(codes.max()) + 1):
        inside, outside = np.flatnonzero(codes == c), np.flatnonzero(codes != c)
        pairs += [nearest(everything, X, inside, inside, k), nearest(everything, X, inside, outside, k)]
    i, j = (np.concatenate(ends) for ends in zip(*pairs, (np.arange(n), np.arange(n))))
    A = sparse.csr_array((np.ones(len(i)), (i, j)), shape=(n, n))
    return sparse.csr_array(((A + A.T) > 0).astype(float))


def warn_of_modes(kernel: Kernel, X: Any, codes: np.ndarray, classes: np.ndarray) -> None:
    """Warn of classes whose graph of near neighbors under the kernel has several large components."""
    several = []
    for c in range(len(classes)):
        members = np.flatnonzero(codes == c)
        if len(members) < 4 * MODE_NEIGHBORS:
            continue
        i, j = nearest(kernel, X, members, members, MODE_NEIGHBORS)
        place = np.searchsorted(members, np.stack([i, j]))
        graph = sparse.csr_array((np.ones(len(i)), tuple(place)), shape=(len(members),) * 2)
        parts = np.bincount(connected_components(graph, directed=False)[1])
        if (parts >= max(MODE_SHARE * len(members), MODE_NEIGHBORS + 1)).sum() > 1:
            several.append(classes[c].item() if hasattr(classes[c], "item") else classes[c])
    if several:
        _validate.warn(
            f"align: class {', '.join(map(repr, several))} falls into several clusters, which alignment would join; "
            "consider n_neighbors, or choose the kernel by cross-validation.",
        )
