"""The metrics that users know by name: constructors of :class:`.Metric`."""

from typing import Any

import numpy as np

from gramian import _memory, _validate, linalg
from gramian._arrays import Array
from gramian.coordinates import BesideFeatures, KernelSpace, Plain, Subspace, orthonormal
from gramian.metrics.base import WORDS, Metric

USED = 1e-12
"""Eigenvalues of a core below this share of the largest count as zero."""


class Mahalanobis(Metric):
    """A learned distance on vectors: Euclidean after a linear map.

    d²(x, y) = (x − y)ᵀ M (x − y) with M = LᵀL.

    Parameters
    ----------
    components : array (r, d)
        The factor L.

    See Also
    --------
    gramian.SubspaceMahalanobis : For very many features.
    gramian.KernelMetric : In the space of a kernel.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> metric = gm.Mahalanobis.from_matrix([[2.0, 0.0], [0.0, 0.0]])
    >>> metric.sqdist([[0.0, 0.0]], [[1.0, 5.0]]).round(12).tolist()
    [[2.0]]
    """

    def __init__(self, components: Any) -> None:
        L = _validate.array(components, "Mahalanobis", "components")
        if L.ndim != 2:
            raise ValueError(f"Mahalanobis: components must be a finite array (r, d), got shape {L.shape}.")
        super().__init__(Plain(L.shape[1]), L)

    @classmethod
    def from_matrix(cls, M: Array) -> "Mahalanobis":
        """Metric of a PSD matrix, with its symmetric root as the factor."""
        return cls(linalg.psd_sqrt(_validate.psd(M, "Mahalanobis")))

    @classmethod
    def euclidean(cls, d: int) -> "Mahalanobis":
        """The Euclidean metric on d features."""
        d = _validate.number(d, "Mahalanobis", "d", low=1, integer=True)
        _memory.require(24.0 * d * d, "Mahalanobis", f"matrices of {d} × {d}", "use SubspaceMahalanobis")
        return cls(np.eye(d))


class SubspaceMahalanobis(Metric):
    """A learned distance for very many features, also sparse ones.

    W = α I + U (M − α I) Uᵀ in high dimension, d × d never formed (Jain 2009, (3.6)).

    Parameters
    ----------
    basis : array (d, k)
        Orthonormal columns U.
    core : array (k, k)
        PSD matrix M on the coordinates Uᵀx (α I + L in the thesis).
    alpha : float
        Weight of what lies outside of the subspace.

    See Also
    --------
    gramian.Mahalanobis : All features, with a full matrix.
    gramian.ITML : Learns one with ``rank``.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> U = np.array([[1.0], [0.0], [0.0]])
    >>> metric = gm.SubspaceMahalanobis(U, core=[[9.0]], alpha=1.0)
    >>> metric.sqdist([[0.0, 0.0, 0.0]], [[1.0, 1.0, 0.0]]).round(6).tolist()
    [[10.0]]
    """

    def __init__(self, basis: Any, core: Any, alpha: float = 1.0) -> None:
        coordinates = Subspace(orthonormal(basis, "SubspaceMahalanobis"))
        M = _validate.psd(core, "SubspaceMahalanobis", "core", coordinates.size)
        super().__init__(coordinates, linalg.psd_sqrt(M), alpha)

    @property
    def basis(self) -> np.ndarray:
        """Orthonormal columns U (d, k)."""
        return self.coordinates.basis  # type: ignore[attr-defined]  # a Subspace


class KernelMetric(Metric):
    """A learned metric in the feature space of a kernel (Jain 2009, Theorem 5).

    k_W(x, y) = z(x)ᵀ M z(y) + α (k(x, y) − z(x)ᵀz(y)), with z the coordinates of a fitted
    :class:`~gramian.KernelFeatures`. α = 0 is the KPCA trick of Chatpatanasiri et al. (2010);
    M = I with α = 1 gives back the kernel itself.

    Parameters
    ----------
    features : KernelFeatures
        Fitted coordinates z.
    core : array (r, r)
        PSD matrix M on the coordinates.
    alpha : float
        Weight of the part of the kernel outside of the span of the basis.

    See Also
    --------
    gramian.Mahalanobis : On the features themselves.
    gramian.Kernelized : Learns one.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> features = gm.KernelFeatures(gm.Gaussian(1.0)).fit(X)
    >>> metric = gm.KernelMetric(features, np.eye(3), alpha=1.0)
    >>> bool(np.allclose(metric.kernel(X + 0.5), gm.Gaussian(1.0)(X + 0.5)))
    True
    """

    def __init__(self, features: Any, core: Any, alpha: float = 0.0) -> None:
        coordinates = KernelSpace(features)
        M = _validate.psd(core, "KernelMetric", "core", coordinates.size)
        super().__init__(coordinates, leading_root(M), alpha)

    @property
    def features(self) -> Any:
        """The fitted KernelFeatures."""
        return self.coordinates.features  # type: ignore[attr-defined]  # a KernelSpace


WORDS.update(
    {
        Plain: Mahalanobis,
        Subspace: SubspaceMahalanobis,
        KernelSpace: KernelMetric,
        BesideFeatures: KernelMetric,
    }
)


def leading_root(M: np.ndarray) -> np.ndarray:
    """L (q, r) with M = LᵀL: the symmetric root, or below full rank one row a direction, the longest first."""
    values, vectors = linalg.eigh(M)
    used = values > USED * values.max(initial=0.0)
    if used.all():
        return linalg.psd_sqrt(M)
    return (vectors[:, used] * np.sqrt(values[used]))[:, ::-1].T
