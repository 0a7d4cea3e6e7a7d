r"""All items in a plane that follows the metric and keeps people's bearings.

Under M = LᵀL the map is (x − μ) P with P = LᵀV, V the two leading eigenvectors of L C Lᵀ, C the covariance of the
items: a linear picture, so nothing in it is an artifact. The map of a learned version is turned and mirrored so that
the items stay as near as they can to where plain features put them (orthogonal Procrustes)::

    max_R tr(Rᵀ Pᵀ C P₀) = Σ σ_i,     R = U Wᵀ from the singular vectors of Pᵀ C P₀
"""

import numpy as np

from gramian import linalg
from gramian.metrics import Metric
from gramian.service.learning import Background
from gramian.service.snapshot import Collection


def plane(view: Collection, version: object = "active") -> np.ndarray:
    """Coordinates (n, 2) of the items in the order of ascending ids, float32."""
    return plane_under(view, view.version(version).metric)


def plane_under(view: Collection, metric: Metric) -> np.ndarray:
    """Coordinates under any metric on the features."""
    if len(view.ids) == 0:
        return np.zeros((0, 2), np.float32)
    background = Background.of(view)
    C = background.scatter / 2
    plain = view.versions[0].metric
    P = axes(plain.components, C)
    if metric is not plain:
        P = _aligned(axes(metric.components, C), C, P)
    Z = view.vectors.product(P)[view.rows] - background.center @ P
    return Z.astype(np.float32)


def axes(L: np.ndarray, C: np.ndarray) -> np.ndarray:
    """P = LᵀV (d, 2) for the two leading eigenvectors V of L C Lᵀ, their signs fixed."""
    P = L.T @ linalg.oriented(linalg.eigh(linalg.symmetrize(L @ C @ L.T))[1][:, ::-1][:, :2])
    return np.pad(P, ((0, 0), (0, 2 - P.shape[1])))


def _aligned(P: np.ndarray, C: np.ndarray, reference: np.ndarray) -> np.ndarray:
    U, _, Wt = np.linalg.svd(P.T @ C @ reference)
    return P @ (U @ Wt)
