"""The implicit form of a metric, from which hash bits and distances are computed without a d × d matrix.

A metric with coordinates z(x) = Uᵀφ(x), core M and weight α outside of them has the symmetric root (Jain 2009, Lemma 2)
W^{1/2} = √α I + U (M^{1/2} − √α I) Uᵀ, so that rᵀW^{1/2}φ(x) = √α rᵀφ(x) + (Uᵀr)ᵀ (M^{1/2} − √α I) z(x). With U the
whitened basis of a kernel this is (4.4) with the S of (4.5).
"""

from typing import Any

import numpy as np

from gramian import linalg
from gramian.kernels import Linear
from gramian.kernels.base import take
from gramian.metrics import KernelMetric, SubspaceMahalanobis
from gramian.search import codes
from gramian.search.implicit import project


class ImplicitForm:
    """What hashing needs of a metric: φ(x), z(x), Uᵀr, and learned inner products.

    ``explicit`` says whether φ(x) is known. Without it r lives on the coordinates alone, so that the part of the metric
    outside of them is left out of the bits, not out of the distances.
    """

    def __init__(self, metric: Any, seed: int, n_bits: int) -> None:
        self.metric, self.seed, self.n_bits = metric, seed, n_bits
        self.kernel = metric.features.kernel_ if isinstance(metric, KernelMetric) else Linear()
        self.basis = self.kernel.embed(metric.features.basis_) if isinstance(metric, KernelMetric) else None
        self.explicit = self.basis is not None or isinstance(metric, SubspaceMahalanobis)
        self.alpha = metric.alpha if self.explicit else 0.0
        self.inner = metric.core - self.alpha * np.eye(len(metric.core))
        shift = np.sqrt(self.alpha) * np.eye(len(metric.core))
        self.weights = (linalg.psd_sqrt(metric.core) - shift) @ self._basis_directions()

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
        return self.explicit and self.alpha > 0 and type(self.kernel) is not Linear

    def phi(self, X: Any) -> Any:
        """φ(x) as rows, None when it is not known or not needed."""
        return self.kernel.embed(X) if self.explicit and self.alpha > 0 else None

    def coordinates(self, X: Any) -> np.ndarray:
        """z(x) = Uᵀφ(x), (n, rank), not centered."""
        if isinstance(self.metric, SubspaceMahalanobis):
            return np.asarray(X @ self.metric.basis)
        return self.metric.features.transform(X) + self.metric.features.mean_

    def projections(self, phi: Any, Z: np.ndarray) -> np.ndarray:
        """rᵀW^{1/2}φ(x), (n, n_bits)."""
        P = Z @ self.weights
        return P if phi is None else P + np.sqrt(self.alpha) * project(phi, self.seed, self.n_bits)

    def products(self, phi: Any, Z: np.ndarray, phi_q: Any, z_q: np.ndarray) -> np.ndarray:
        """Learned inner products of many points with one, (n,)."""
        K = Z @ (self.inner @ z_q)
        return K if phi is None else K + self.alpha * linalg.inner(phi, phi_q)[:, 0]

    def norms(self, phi: Any, Z: np.ndarray) -> np.ndarray:
        """Learned inner product of each point with itself, (n,)."""
        K = np.einsum("ij,ij->i", Z @ self.inner, Z)
        return K if phi is None else K + self.alpha * linalg.row_norms(phi)

    def sqdist(self, X: Any, q: Any) -> np.ndarray:
        """d²_W of points to one point, from differences where φ is known, (n,)."""
        if not self.explicit:
            return self.metric.sqdist(q, X)[0]
        V = _minus(self.kernel.embed(X), self.kernel.embed(q))
        if isinstance(self.metric, SubspaceMahalanobis):
            Z = np.asarray(V @ self.metric.basis)
        else:
            Z = linalg.inner(V, self.basis) @ self.metric.features.map_.T
        inside = np.einsum("ij,ij->i", Z @ self.inner, Z)
        return np.maximum(inside + self.alpha * linalg.row_norms(V), 0)


def _minus(Phi: Any, row: Any) -> Any:
    """Rows of Phi less one row, dense or sparse."""
    return Phi - row if isinstance(Phi, np.ndarray) else Phi - take(row, np.zeros(Phi.shape[0], np.intp))
