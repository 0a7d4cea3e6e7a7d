"""Distances from an expensive metric to a whole set, from a few evaluations (kernel semi-least squares)."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian import _checks
from gramian.approximation import projection as projections
from gramian.approximation.selection import METHODS, select_subset
from gramian.kernels.base import Kernel, _length, objects, take
from gramian.kernels.distance import DistanceKernel, negative_share

PROJECTIONS = ("pinv", "span", "learned")
_TOLERATED = 1e-3


class SubsetDistance(BaseEstimator):
    """d̂²(q, q_i) = k(q, q) − 2 β̂ᵀK_i + K_ii with β̂ = (K_RQ⁺ + W) k_R(q) (Epstein and Betke, (14)–(15)).

    ``fit(Q)`` evaluates the distance on all of Q and chooses R ⊂ Q with m members. After that a new object needs m
    evaluations, to R, for estimates of its distances to all of Q; those to R are exact.

    Parameters
    ----------
    distance : callable (a, b) → d, or a Kernel
        Not squared; a batch form ``distance.pairwise(A, B)`` is used when there is one. A Kernel gives the distance of
        its feature space.
    m : int
        Number of members to measure against.
    projection : {"pinv", "span", "learned"}
        W = 0 as in the paper; β̂ supported on R (Nyström); or W by ridge regression on Q, which the paper leaves
        open. "learned" keeps W = 0 when that is better on left-out members.
    selection : {"greedy", "exchange", "cholesky", "exhaustive"} or array of m indices
        See :func:`select_subset`.
    criterion : {"trace", "l1"}
        Criterion (24) or (27) of the paper.
    g : {"constant", "origin"}
        The function g of (3) for a distance: a constant (the paper's experiments), or half the squared distance to
        the medoid of Q, which then is one of the m members.

    Attributes
    ----------
    subset_ : array (m,)
        Indices of R in Q.
    closeness_ : float
        Leave-one-out estimate of the closeness (32): 1 − mean relative error of d over Q.
    negative_share_ : float
        Share of the spectrum that is not Hilbertian, zero for a Hilbertian distance.
    n_evaluations_ : int
        Evaluations of the distance since fit ended: m for each object.
    n_clipped_ : int
        Estimates of d² below zero since fit ended; they were set to zero.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> Q = np.random.default_rng(0).normal(size=(40, 3))
    >>> near = gm.SubsetDistance(lambda a, b: np.linalg.norm(a - b), m=6, g="origin").fit(Q)
    >>> estimate = near.sqdist(np.zeros((1, 3)))
    >>> bool(np.allclose(estimate, (Q**2).sum(axis=1))), near.n_evaluations_
    (True, 6)
    """

    def __init__(self, distance, m, projection="pinv", selection="greedy", criterion="trace", g="constant"):
        self.distance = distance
        self.m = m
        self.projection = projection
        self.selection = selection
        self.criterion = criterion
        self.g = g

    def fit(self, Q: Any, y: Any = None) -> "SubsetDistance":
        """Measure Q, choose R, and compute the projection."""
        Q = self.distance.check(Q) if isinstance(self.distance, Kernel) else objects(Q)
        n = _length(Q)
        m = _checks.number(self.m, "SubsetDistance", "m", low=1, high=n, integer=True)
        _checks.one_of(self.projection, "SubsetDistance", "projection", PROJECTIONS)
        self._origin: int | None = None
        K, D = self._gram(Q)
        self._report(D, float(np.abs(K).max()) if isinstance(self.distance, Kernel) else 0.0)
        self.subset_ = self._select(K, m)
        self.objects_, self._diagonal = take(Q, np.arange(n)), K.diagonal().copy()
        args = (K, self.subset_, D) if self.projection == "learned" else (K, self.subset_)
        self.map_, guess = getattr(projections, self.projection)(*args)
        self.closeness_ = projections.closeness(K, D, self.subset_, guess)
        self._object_ndim = Q.ndim - 1 if isinstance(Q, np.ndarray) else None
        self.n_evaluations_ = self.n_clipped_ = 0
        return self

    def _gram(self, Q: Any) -> tuple[np.ndarray, np.ndarray]:
        """K and the squared distances on Q; settles the kernel."""
        if isinstance(self.distance, Kernel):
            self.kernel_: Any = self.distance.bound(Q)
            return self.kernel_(Q), self.kernel_.sqdist(Q)
        if sparse.issparse(Q):
            raise TypeError("SubsetDistance: Q must be dense for a function of two objects, got a sparse matrix.")
        kernel = DistanceKernel(self.distance, self.g)
        D = kernel.squared(Q, Q)
        if self.g == "origin":
            self._origin = int(D.sum(axis=1).argmin())
            self.kernel_ = DistanceKernel(self.distance, "origin", origin=Q[self._origin])
            g = D[self._origin] / 2
        else:
            self.kernel_ = DistanceKernel(self.distance, constant=float(D.max()) / 2)
            g = np.full(len(D), self.kernel_.constant)
        return g[:, None] - D / 2 + g, D

    def _report(self, D: np.ndarray, size: float) -> None:
        self.negative_share_ = negative_share(D[:2000, :2000], size)
        if self.negative_share_ > _TOLERATED:
            warnings.warn(
                f"SubsetDistance: the distance should be Hilbertian, got a share of {self.negative_share_:.2g} of the "
                f"spectrum below zero on Q; estimates away from the subset have no guarantee.",
                UserWarning,
                stacklevel=3,
            )

    def _select(self, K: np.ndarray, m: int) -> np.ndarray:
        if not isinstance(self.selection, str):
            subset = _checks.indices(self.selection, "SubsetDistance", "selection", len(K))
            if len(subset) != m or len(set(subset.tolist())) != m:
                raise ValueError(f"SubsetDistance: selection must hold m={m} distinct indices, got {len(subset)}.")
            return self._with_origin(subset)
        _checks.one_of(self.selection, "SubsetDistance", "selection", METHODS)
        return self._with_origin(select_subset(K, m, self.criterion, self.selection))

    def _with_origin(self, subset: np.ndarray) -> np.ndarray:
        """The origin must be measured for g, so it takes the place of the last choice."""
        if self._origin is None or self._origin in subset:
            return subset
        return np.append(subset[:-1], self._origin)

    def _measure(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """k_R(q) and k(q, q) from m evaluations for each object."""
        self.n_evaluations_ += _length(X) * len(self.subset_)
        if isinstance(self.distance, Kernel):
            return self.kernel_(X, take(self.objects_, self.subset_)), self.kernel_.diag(X)
        squared = self.kernel_.squared(X, take(self.objects_, self.subset_))
        if self._origin is None:
            g = np.full(len(squared), self.kernel_.constant)
        else:
            g = squared[:, np.flatnonzero(self.subset_ == self._origin)[0]] / 2
        return g[:, None] - squared / 2 + self._diagonal[self.subset_] / 2, 2 * g

    def sqdist(self, X: Any) -> np.ndarray:
        """Estimates of d² from each object of X to all of Q, (n_X, n_Q); exact to the members of the subset."""
        check_is_fitted(self, "map_")
        X = self._batch(X)
        k_R, k_qq = self._measure(X)
        D = k_qq[:, None] + self._diagonal - 2 * k_R @ self.map_.T  # (15)
        D[:, self.subset_] = k_qq[:, None] + self._diagonal[self.subset_] - 2 * k_R
        rounding = 1e-12 * (np.abs(k_qq)[:, None] + np.abs(self._diagonal))
        self.n_clipped_ += int(np.count_nonzero(D + rounding < 0))
        return np.maximum(D, 0)

    def _batch(self, X: Any) -> Any:
        if self._object_ndim is None:
            return objects(X)
        X = np.asarray(X)
        return X[None] if X.ndim == self._object_ndim else X

    def query(self, X: Any, k: int = 1, recheck: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Nearest members of Q, (ids, d²) of shape (n_X, k), sorted, ties by id.

        With ``recheck`` ≥ k the best ``recheck`` members by estimate are measured as well (and counted), and the answer
        is the best k of all that was measured, with exact distances.
        """
        check_is_fitted(self, "map_")
        n = len(self._diagonal)
        k = min(_checks.number(k, "SubsetDistance", "k", low=1, integer=True), n)
        recheck = min(_checks.number(recheck, "SubsetDistance", "recheck", low=0, integer=True), n)
        if 0 < recheck < k:
            raise ValueError(f"SubsetDistance: recheck must be 0 or at least k={k}, got {recheck}.")
        X = self._batch(X)
        D = self.sqdist(X)
        if recheck:
            for i in range(len(D)):
                D[i] = self._measured(take(X, slice(i, i + 1)), D[i], recheck)
        ids = np.argsort(D, axis=1, kind="stable")[:, :k]
        return ids, np.take_along_axis(D, ids, axis=1)

    def _measured(self, x: Any, estimate: np.ndarray, recheck: int) -> np.ndarray:
        """Exact d² of the subset and of the best few others; infinity for the rest."""
        best = np.setdiff1d(np.argsort(estimate, kind="stable")[:recheck], self.subset_)
        exact = np.full(len(estimate), np.inf)
        exact[self.subset_] = estimate[self.subset_]
        if len(best):
            exact[best] = self.kernel_.sqdist(x, take(self.objects_, best))[0]
            self.n_evaluations_ += len(best)
        return exact

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.no_validation = True  # objects of any kind, as the distance takes them
        tags.input_tags.sparse = isinstance(self.distance, Kernel)
        return tags
