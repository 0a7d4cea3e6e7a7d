"""Learned distances of lists of candidates to a block of queries, for the implicit form."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian.kernels.base import take
from gramian.search.forms import ImplicitForm

_DENSE = 0.25
"""Share of the items above which comparing all of them by matrix products is cheaper than one by one."""


class PairedDistances:
    """d²_W(x, q) = k_W(x, x) + k_W(q, q) − 2 k_W(x, q), or 2 − 2 cos_W when ``unit``, of candidates x.

    k_W(x, q) = zᵀ(M − αI)z_q + α k(x, q), from the coordinates that the index keeps; k(x, q) is a product of sparse or
    dense φ where φ is known, and is asked of the kernel otherwise.

    Parameters
    ----------
    form : ImplicitForm
    column : function of a name → what the index keeps of its items ("points", "phi", "coordinates", "selves")
    Q, phi, Z
        The queries, their φ (or None) and their coordinates.
    unit : bool
    """

    def __init__(
        self, form: ImplicitForm, column: Callable[[str], Any], Q: Any, phi: Any, Z: np.ndarray, unit: bool
    ) -> None:
        self.form, self.column, self.Q, self.phi, self.unit = form, column, Q, phi, unit
        self.own, self.W = form.selves(Q, phi, Z), Z @ form.inner

    def __call__(self, items: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Distances of items[starts[q] : starts[q + 1]] to query q."""
        owners, norms = np.repeat(np.arange(len(self.W)), np.diff(starts)), self.column("selves")
        known = self.phi is not None or self.form.metric.alpha == 0
        if known and len(items) > _DENSE * len(self.W) * len(norms):
            products = self._all()[items, owners]
        else:
            products = self._listed(items, starts)
        if not self.unit:
            return np.maximum(norms[items] + self.own[owners] - 2 * products, 0)
        size = np.sqrt(norms[items] * self.own[owners])
        return 2 - 2 * np.divide(products, size, out=np.zeros_like(products), where=size > 0)

    def _features(self) -> Any:
        return self.column("phi" if self.form.own_phi else "points")

    def _all(self) -> np.ndarray:
        """k_W of all items and queries, (n, m)."""
        K = self.column("coordinates") @ self.W.T
        return K if self.phi is None else K + self.form.metric.alpha * linalg.inner(self._features(), self.phi)

    def _listed(self, items: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """k_W of the pairs of a list."""
        from gramian._jit.candidates import pair_dots, sparse_pair_dots

        products, alpha = np.zeros(len(items)), self.form.metric.alpha
        pair_dots(self.column("coordinates"), self.W, items, starts, 1.0, products)
        if sparse.issparse(self.phi):
            own, asked = self._features(), self.phi
            parts = own.indptr, own.indices, own.data, asked.indptr, asked.indices, asked.data
            sparse_pair_dots(*parts, items, starts, alpha, products)
        elif self.phi is not None:
            pair_dots(self._features(), self.phi, items, starts, alpha, products)
        elif alpha > 0:
            for q in np.flatnonzero(np.diff(starts)):
                part = slice(starts[q], starts[q + 1])
                points = take(self.column("points"), items[part])
                products[part] += alpha * self.form.kernel(points, take(self.Q, slice(q, q + 1)))[:, 0]
        return products
