"""Coordinates of points in the span of a kernel basis (Nyström, kernel PCA, landmarks: one map)."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian import _checks, linalg
from gramian.features.cholesky import pivoted_cholesky
from gramian.kernels import Gaussian, Kernel
from gramian.persist import Stored


class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, Stored):
    """z(x) = T k_B(x) with T K_BB Tᵀ = I, so that z(x)ᵀz(y) is the kernel on the span of the basis B.

    Parameters
    ----------
    kernel : Kernel, optional
        Gaussian(1.0) when None.
    rank : int, optional
        Largest number of coordinates.
    tol : float, optional
        Trace error at which pivoted Cholesky stops, relative to the trace; 1e-10 when None.
    basis : {"cholesky", "all"} or array of points
        How the basis points are chosen.
    center : bool
        Center the features on the training mean, as kernel PCA does.
    random_state : int or generator, optional

    Attributes
    ----------
    basis_ : points (k, d)
    map_ : array (r, k)
        The matrix T.
    """

    def __init__(self, kernel=None, rank=None, tol=None, basis="cholesky", center=False, random_state=None):
        self.kernel = kernel
        self.rank = rank
        self.tol = tol
        self.basis = basis
        self.center = center
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "KernelFeatures":
        """Choose the basis and compute the map."""
        kernel = Gaussian() if self.kernel is None else self.kernel
        if not isinstance(kernel, Kernel):
            raise TypeError(f"KernelFeatures: kernel must be a Kernel, got {type(kernel).__name__}.")
        self.kernel_ = kernel
        X = kernel.check(X)
        if kernel.on_vectors:
            self.n_features_in_ = X.shape[1]
        if isinstance(self.basis, str):
            _checks.one_of(self.basis, "KernelFeatures", "basis", ("cholesky", "all"))
            if self.basis == "cholesky":
                tol = 1e-10 if self.tol is None else self.tol
                rows = pivoted_cholesky(kernel, X, self.rank, tol, random_state=self.random_state).pivots
            else:
                rows = np.arange(X.shape[0] if hasattr(X, "shape") else len(X))
            self.basis_ = X[rows] if hasattr(X, "shape") else [X[i] for i in rows]
        else:
            self.basis_ = kernel.check(self.basis, "basis")
        K = kernel(self.basis_)
        values, vectors = linalg.eigh(linalg.symmetrize(K))
        keep = values > len(values) * np.finfo(float).eps * max(values[-1], 0.0)
        values, vectors = values[keep][::-1], vectors[:, keep][:, ::-1]
        r = len(values) if self.rank is None else min(self.rank, len(values))
        self.map_ = (vectors[:, :r] / np.sqrt(values[:r])).T
        self.mean_ = np.zeros(r)
        if self.center:
            self.mean_ = self.transform(X).mean(axis=0)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates z(x), shape (n, r)."""
        check_is_fitted(self, "map_")
        X = self.kernel_.check(X)
        if self.kernel_.on_vectors and X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"KernelFeatures: X has {X.shape[1]} features, but KernelFeatures is expecting "
                f"{self.n_features_in_} features as input."
            )
        return self.kernel_(X, self.basis_) @ self.map_.T - self.mean_

    def residual(self, X: Any) -> np.ndarray:
        """Energy of each point outside of the span of the basis, k(x, x) − |z(x)|², shape (n,)."""
        Z = self.transform(X) + self.mean_
        return np.maximum(self.kernel_.diag(X) - linalg.row_norms(Z), 0)

    @property
    def _n_features_out(self) -> int:
        return self.map_.shape[0]

    def _state(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel_,
            "basis": self.basis_,
            "map": self.map_,
            "mean": self.mean_,
            "center": self.center,
            "width": getattr(self, "n_features_in_", None),
        }

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "KernelFeatures":
        features = cls(state["kernel"], basis=state["basis"], center=state["center"])
        features.kernel_, features.basis_ = state["kernel"], state["basis"]
        features.map_, features.mean_ = state["map"], state["mean"]
        if state["width"] is not None:
            features.n_features_in_ = state["width"]
        return features
