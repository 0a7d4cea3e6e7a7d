"""Tangent distance: a distance of images that forgives small shifts, turns, stretches and changes of stroke."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np

from gramian import _validate, linalg
from gramian._settings import Count, Rule, Within, check
from gramian.persist import Stored

Tangent = Literal["x", "y", "rotation", "scaling", "hyperbolic", "diagonal", "thickness"]
TANGENTS: tuple[Tangent, ...] = ("x", "y", "rotation", "scaling", "hyperbolic", "diagonal", "thickness")


@dataclass(frozen=True)
class TangentDistance(Stored):
    """A distance of images that small shifts, turns and the like hardly change.

    d²(x, y) = min ‖(x + T_x α) − (y + T_y β)‖² over α and β: distance of the tangent planes of two images.

    Simard, LeCun, Denker and Victorri (1998). The columns of T_x are the derivatives of the image under seven
    transformations; with orthonormal bases the minimum is ‖v‖² less the part of v = x − y in the span of both planes.

    Parameters
    ----------
    image_shape : (height, width), optional
        Square when None.
    tangents : tuple of str
        Any of "x", "y", "rotation", "scaling", "hyperbolic" (axes), "diagonal" and "thickness".
    sides : {2, 1}
        2: both images move. 1: only the first one, x, moves (β = 0), which is not symmetric.
    smoothing : float
        Standard deviation, in pixels, of the Gaussian that is differentiated to get image gradients.

    See Also
    --------
    gramian.TDL : Its graph may use it.
    gramian.DistanceKernel : Makes a kernel of a distance.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> image = np.exp(-((np.arange(12)[:, None] - 5.5) ** 2 + (np.arange(12) - 5) ** 2) / 8)
    >>> shifted = np.roll(image, 1, axis=1)
    >>> distance = gm.TangentDistance()
    >>> bool(distance(image, shifted) < 0.2 * np.linalg.norm(image - shifted))
    True
    """

    image_shape: Annotated[tuple[Count, Count], Rule("(height, width)")] | None = None
    tangents: tuple[Tangent, ...] = TANGENTS
    _: KW_ONLY
    sides: Annotated[int, Within(1, 2)] = 2
    smoothing: Annotated[float, Within(0, 1e3, above=True)] = 0.9

    def __post_init__(self) -> None:
        check(self)
        object.__setattr__(self, "tangents", tuple(self.tangents))
        if self.image_shape is not None:
            object.__setattr__(self, "image_shape", tuple(map(int, self.image_shape)))

    @property
    def n_features(self) -> int | None:
        """Pixels of an image; None where any square will do."""
        return None if self.image_shape is None else self.image_shape[0] * self.image_shape[1]

    def __call__(self, a: Any, b: Any) -> float:
        """Distance of two single images, flat or (height, width)."""
        return float(self.pairwise(np.asarray(a)[None], np.asarray(b)[None])[0, 0])

    def pairwise(self, A: Any, B: Any = None) -> np.ndarray:
        """Distances between two sets of images, (n, m)."""
        return np.sqrt(self.sqdist(A, B))

    def sqdist(self, X: Any, Y: Any = None) -> np.ndarray:
        """Squared distances between two sets of images (n, p) or (n, height, width)."""
        X = self._images(X)
        Y = X if Y is None else self._images(Y)
        center = Y.mean(axis=0)
        frames = self._frames(Y, center)
        planes = with_image(frames)
        t = frames.shape[1]
        out = np.empty((len(X), len(Y)))  # d², (n, m)
        for rows in linalg.blocks(len(X), 8 * t * t * len(Y)):
            query = self._frames(X[rows], center)
            P = np.tensordot(frames, query, axes=(2, 2))  # inner products of frames, (m, t + 1, rows, t + 1)
            for i, (own_x, row) in enumerate(zip(with_image(query), range(rows.start, rows.stop))):
                out[row] = self._residuals(np.ascontiguousarray(P[:, :, i]), own_x, planes)
        if Y is X:
            np.fill_diagonal(out, 0)
            out = linalg.symmetrize(out) if self.sides == 2 else out
        return out

    def pair_sqdist(self, X: Any, Y: Any) -> np.ndarray:
        """Squared distance of image i of X to image i of Y, (n,)."""
        return self.listed_sqdist(X, Y, np.arange(len(X))[:, None])[:, 0]

    def listed_sqdist(self, X: Any, Y: Any, ids: np.ndarray) -> np.ndarray:
        """Squared distances of image i of X to the images ids[i] of Y, shape of ids.

        The frames of Y, (tangents + 1) times the memory of Y, are held; float32 images stay float32.
        """
        same = Y is X
        X = self._images(X)
        Y = X if same else self._images(Y)
        center = Y.mean(axis=0)
        frames = self._frames(Y, center)
        planes = with_image(frames)
        out = np.empty(ids.shape)
        t, p = frames.shape[1:]
        for rows in linalg.blocks(len(X), X.itemsize * t * p):
            query, own_x = (frames[rows], planes[rows]) if same else (None, None)
            query = self._frames(X[rows], center) if query is None else query
            own_x = with_image(query) if own_x is None else own_x
            for i, row in enumerate(range(rows.start, rows.stop)):
                products = frames[ids[row]].reshape(-1, p) @ query[i].T  # (k (t + 1), t + 1)
                out[row] = self._residuals(products.reshape(-1, t, t), own_x[i], planes[ids[row]])
        return out

    def _residuals(self, P: np.ndarray, own_x: np.ndarray, own_y: np.ndarray) -> np.ndarray:
        from gramian._jit.tangent import residuals

        return residuals(P, own_x, own_y, self.sides, 64 * float(np.finfo(P.dtype).eps))

    def _images(self, X: Any) -> np.ndarray:
        X = np.asarray(X)
        X = X.reshape(len(X), -1) if X.ndim == 3 else X
        X = _validate.points(X, "TangentDistance", allow_sparse=False)
        self._shape(X.shape[1])
        return X

    def _shape(self, p: int) -> tuple[int, int]:
        side = int(round(p**0.5))
        shape = (side, side) if self.image_shape is None else self.image_shape
        if shape[0] * shape[1] != p:
            raise ValueError(f"TangentDistance: images have {p} pixels, not {shape}; give image_shape=(height, width).")
        return shape

    def _frames(self, X: np.ndarray, center: np.ndarray) -> np.ndarray:
        """Orthonormal tangents and the image less ``center`` as rows, (n, t + 1, p)."""
        from gramian._jit.tangent import orthonormalize

        t = len(self.tangents)
        frames = np.empty((len(X), t + 1, X.shape[1]), X.dtype)
        for rows in linalg.blocks(len(X), 8 * (t + 3) * X.shape[1]):
            T = tangent_vectors(X[rows].reshape(-1, *self._shape(X.shape[1])), self.tangents, self.smoothing)
            orthonormalize(T, 1e-10)
            frames[rows, :t] = T
        frames[:, t] = X - center
        return frames


def tangent_vectors(images: np.ndarray, names: tuple[str, ...], smoothing: float) -> np.ndarray:
    """Derivatives of images (n, height, width) under the named transformations, (n, t, p).

    With image gradient (g_x, g_y) and coordinates (x, y) from the center, after Simard et al. (1998), §3:
    shifts g_x and g_y, rotation y g_x − x g_y, scaling x g_x + y g_y, axis hyperbolic x g_x − y g_y, diagonal
    hyperbolic y g_x + x g_y, thickness g_x² + g_y².
    """
    from scipy.ndimage import gaussian_filter

    n, height, width = images.shape
    images = images.astype(np.float64)
    gx = gaussian_filter(images, (0, smoothing, smoothing), order=(0, 0, 1), mode="nearest")
    gy = gaussian_filter(images, (0, smoothing, smoothing), order=(0, 1, 0), mode="nearest")
    x = np.arange(width) - (width - 1) / 2  # from the center, (width,)
    y = (np.arange(height) - (height - 1) / 2)[:, None]  # (height, 1)
    formulas = {
        "x": lambda: gx,
        "y": lambda: gy,
        "rotation": lambda: y * gx - x * gy,
        "scaling": lambda: x * gx + y * gy,
        "hyperbolic": lambda: x * gx - y * gy,
        "diagonal": lambda: y * gx + x * gy,
        "thickness": lambda: gx**2 + gy**2,
    }
    T = [formulas[name]().reshape(n, 1, -1) for name in names]
    return np.concatenate(T, axis=1) if T else np.zeros((n, 0, height * width))


def with_image(frames: np.ndarray) -> np.ndarray:
    """Inner products of every frame row with the image, the last row: (n, t + 1)."""
    return np.einsum("ntp,np->nt", frames, frames[:, -1])
