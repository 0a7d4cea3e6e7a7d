"""The implicit form of a metric, from which hash bits and distances are computed without a d × d matrix.

A metric with coordinates z(x) = Uᵀφ(x), core M and weight α outside of them has the symmetric root (Jain 2009, Lemma 2)
W^{1/2} = √α I + U (M^{1/2} − √α I) Uᵀ, so that rᵀW^{1/2}φ(x) = √α rᵀφ(x) + (Uᵀr)ᵀ (M^{1/2} − √α I) z(x). With U the
whitened basis of a kernel this is (4.4) with the S of (4.5).
"""

from typing import Any

import numpy as np

from gramian import linalg
from gramian.kernels import Linear
from gramian.metrics import KernelMetric, SubspaceMahalanobis
from gramian.search import codes
from gramian.search.implicit import project


class ImplicitForm:
    """What hashing needs of a metric: φ(x), z(x), Uᵀr, and learned inner products.

    ``explicit`` says whether φ(x) is known. Without it r lives on the coordinates alone, so that the part of the metric
    outside of them is left out of the bits (``shown`` = 0 instead of α), not out of the distances.
    """

    def __init__(self, metric: Any, seed: int, n_bits: int) -> None:
        self.metric, self.seed, self.n_bits = metric, seed, n_bits
        self.kernel = metric.features.kernel_ if isinstance(metric, KernelMetric) else Linear()
        self.basis = self.kernel.embed(metric.features.basis_) if isinstance(metric, KernelMetric) else None
        self.explicit = self.basis is not None or isinstance(metric, SubspaceMahalanobis)
        self.shown = metric.alpha if self.explicit else 0.0
        eye = np.eye(len(metric.core))
        self.inner, self.inner_shown = metric.core - metric.alpha * eye, metric.core - self.shown * eye
        self.weights = (linalg.psd_sqrt(metric.core) - np.sqrt(self.shown) * eye) @ self._basis_directions()

    def _basis_directions(self) -> np.ndarray:
        """Uᵀr, (rank, n_bits)."""
        if isinstance(self.metric, SubspaceMahalanobis):
            return project(self.metric.basis.T, self.seed, self.n_bits)
        if self.explicit:
            return self.metric.features.map_ @ project(self.basis, self.seed, self.n_bits)
        return codes.directions(self.seed, np.arange(len(self.metric.core)), self.n_bits)

    @property
    def own_phi(self) -> bool:
        """Whether φ(x) differs from x and is worth keeping."""
        return self.shown > 0 and type(self.kernel) is not Linear

    def phi(self, X: Any) -> Any:
        """φ(x) as rows, None when it is not known or not needed."""
        return self.kernel.embed(X) if self.shown > 0 else None

    def coordinates(self, X: Any) -> np.ndarray:
        """z(x) = Uᵀφ(x), (n, rank), not centered."""
        if isinstance(self.metric, SubspaceMahalanobis):
            return np.asarray(X @ self.metric.basis)
        return self.metric.features.transform(X) + self.metric.features.mean_

    def projections(self, phi: Any, Z: np.ndarray) -> np.ndarray:
        """rᵀW^{1/2}φ(x), (n, n_bits)."""
        P = Z @ self.weights
        return P if phi is None else P + np.sqrt(self.shown) * project(phi, self.seed, self.n_bits)

    def products(self, phi: Any, Z: np.ndarray, phi_q: Any, z_q: np.ndarray) -> np.ndarray:
        """Inner products of many points with one, as the bits see them, (n,)."""
        K = Z @ (self.inner_shown @ z_q)
        return K if phi is None else K + self.shown * linalg.inner(phi, phi_q)[:, 0]

    def norms(self, phi: Any, Z: np.ndarray) -> np.ndarray:
        """Inner product of each point with itself, as the bits see it, (n,)."""
        K = np.einsum("ij,ij->i", Z @ self.inner_shown, Z)
        return K if phi is None else K + self.shown * linalg.row_norms(phi)

    def selves(self, X: Any, phi: Any, Z: np.ndarray) -> np.ndarray:
        """Learned inner product of each point with itself, (n,)."""
        if self.explicit or self.metric.alpha == 0:
            return self.norms(phi, Z)
        return np.einsum("ij,ij->i", Z @ self.inner, Z) + self.metric.alpha * self.kernel.diag(X)

    def pair_sqdist(self, X: Any, Y: Any, phi: Any = None) -> np.ndarray:
        """d²_W of paired points, from differences where φ is known; ``phi`` is φ(X) if it is at hand, (n,)."""
        if not self.explicit:
            return self.metric.pair_sqdist(X, Y)
        V = (self.kernel.embed(X) if phi is None else phi) - self.kernel.embed(Y)
        if isinstance(self.metric, SubspaceMahalanobis):
            Z = np.asarray(V @ self.metric.basis)
        else:
            Z = linalg.inner(V, self.basis) @ self.metric.features.map_.T
        inside = np.einsum("ij,ij->i", Z @ self.inner, Z)
        return np.maximum(inside + self.metric.alpha * linalg.row_norms(V), 0)
