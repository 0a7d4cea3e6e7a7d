"""Distances from an expensive metric to a whole set, from a few evaluations (kernel semi-least squares)."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian import _memory, _validate, linalg
from gramian._settings import Count, Index, Points, checked, whole
from gramian.approximation import projection as projections
from gramian.approximation.projection import Enclosure, Measured
from gramian.approximation.selection import Criterion, Method, joined, kernel_values, medoid, roots, selected, squares
from gramian.kernels.base import Kernel, objects
from gramian.kernels.distance import DistanceKernel, negative_share
from gramian.linalg import count, take
from gramian.persist import Stored

OWNER = "SubsetDistance"
_TOLERATED = 1e-3


@dataclass(eq=False, repr=False)
class SubsetDistance(Stored, BaseEstimator):
    """Estimate all distances of a new object from a few that are measured.

    d̂²(q, q_i) = k(q, q) − 2 β̂ᵀK_i + K_ii with β̂ = (K_RQ⁺ + W) k_R(q) (Epstein and Betke, (14)–(15)).

    ``fit(Q)`` evaluates the distance on all of Q and chooses R ⊂ Q with m members, or takes the ``members`` given.
    After that a new object needs m evaluations, to R, for estimates of its distances to all of Q; those to members of
    R that are in Q are exact.

    Parameters
    ----------
    distance : callable (a, b) → d, or a Kernel
        Not squared; a batch form ``distance.pairwise(A, B)`` is used when there is one. A Kernel gives the distance of
        its feature space.
    m : int
        Number of members to measure against.
    projection : {"pinv", "affine", "span", "learned"}, array (n, m) or callable
        W = 0 as in the paper; the same with an intercept, which is not of the paper's family, and closer where m is
        small; β̂ supported on R (Nyström); W by ridge regression on Q, which the paper leaves
        open ("learned" keeps W = 0 when that is better on left-out members); or U of your own with
        W = (I − K_RQ⁺K_RQ) U, (19)–(20), as an array or as a function of K (n, n) and K_RQ (m, n).
    selection : {"exchange", "greedy", "cholesky", "exhaustive"} or array of m indices
        See :func:`select_subset`. "exchange" takes seconds for a thousand objects; "greedy" is for more.
    criterion : {"trace", "l1"}
        Criterion (24) or (27) of the paper.
    g : {"constant", "origin"} or callable
        The function g of (3) for a distance: a constant (the paper's experiments), half the squared distance to an
        origin among the m members, or g(q) ≥ 0 of your own. The origin is the medoid of Q, and the other m − 1 members
        are chosen; where members are given, it is the one of them that is nearest to all of Q.
    members : sequence of m objects, optional
        R itself, objects that need not be in Q; ``selection`` and ``criterion`` are not used then.

    Attributes
    ----------
    subset_ : array (m,)
        Indices of R in Q; empty when ``members`` were given.
    members_ : objects
        R.
    objects_ : objects
        Q.
    map_ : array (n, m)
        B = K (K_RQ⁺ + W): kernel values at Q from those at R.
    offset_ : array (n,)
        The intercept of "affine", 0 for the others.
    sqdist_ : array (n, n)
        Squared distances among Q, as they were measured.
    closeness_ : float
        Leave-one-out estimate of the closeness (32): 1 − mean relative error of d over Q. With a W of your own nothing
        is left out.
    negative_share_ : float
        Share of the spectrum that is not Hilbertian, zero for a Hilbertian distance.
    n_evaluations_ : int
        Evaluations of the distance since fit ended: m for each object.
    n_clipped_ : int
        Estimates of d² below zero since fit ended; they were set to zero.

    See Also
    --------
    gramian.select_subset : Which members are measured.
    gramian.DistanceKernel : A kernel from all distances.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> Q = np.random.default_rng(0).normal(size=(40, 3))
    >>> near = gm.SubsetDistance(lambda a, b: np.linalg.norm(a - b), m=6, g="origin").fit(Q)
    >>> estimate = near.sqdist(np.zeros((1, 3)))
    >>> bool(np.allclose(estimate, (Q**2).sum(axis=1))), near.n_evaluations_
    (True, 6)
    """

    distance: Kernel | Callable[..., Any]
    m: Count
    _: KW_ONLY
    projection: Literal["pinv", "affine", "span", "learned"] | Callable[..., Any] | np.ndarray = "pinv"
    selection: Method | np.ndarray = "exchange"
    criterion: Criterion = "trace"
    g: Literal["constant", "origin"] | Callable[..., Any] = "constant"
    members: Points | None = None

    @whole
    def fit(self, Q: Any, y: Any = None, *, distances: Any = None) -> "SubsetDistance":
        """Measure Q, choose R, and compute the projection; ``distances`` (n, n) among Q, where these are known."""
        Q = self._objects(Q)
        n = count(Q)
        most = n if self.members is None else count(self.members)
        m = _validate.number(self.m, OWNER, "m", low=1, high=most, integer=True)
        needed = f"the {n:,}² distances of all of Q"
        _memory.require(32.0 * n * n, OWNER, needed, "fit on a part of Q, and ask that for the rest")
        D = self._among(Q, distances)
        measured = self._inside(Q, m, D) if self.members is None else self._outside(Q, m, D)
        return self._settle(Q, measured)

    def _among(self, Q: Any, distances: Any) -> np.ndarray | None:
        """Squared distances among Q, those that are known or measured; a Kernel has its own."""
        if isinstance(self.distance, Kernel):
            if distances is not None:
                raise ValueError(f"{OWNER}: distances must be None where distance is a Kernel, which gives them.")
            return None
        return DistanceKernel(self.distance).squared(Q, Q) if distances is None else squares(distances, count(Q))

    def _settle(self, Q: Any, measured: Measured) -> "SubsetDistance":
        """Compute the projection of what was measured, and how good it is."""
        size = float(np.abs(measured.K).max()) if isinstance(self.distance, Kernel) else 0.0
        self.negative_share_ = negative_share(measured.D[:2000, :2000], size)
        if self.negative_share_ > _TOLERATED:
            _validate.warn(
                f"{OWNER}: the distance should be Hilbertian, got a share of {self.negative_share_:.2g} of the "
                f"spectrum below zero on Q; estimates away from the subset have no guarantee."
            )
        B, guess = projections.projected(self.projection, measured)
        m = len(measured.cross)
        self.map_ = B[:, :m]
        self.offset_ = B[:, m] if B.shape[1] > m else np.zeros(len(B))
        self.closeness_ = projections.closeness(measured, guess)
        self.objects_ = take(Q, np.arange(count(Q)))
        self.diagonal_ = measured.K.diagonal().copy()
        self.sqdist_ = measured.D
        self.enclosure_ = Enclosure.of(measured)
        self.n_evaluations_ = 0
        self.n_clipped_ = 0
        return self

    def _objects(self, Q: Any) -> Any:
        if isinstance(self.distance, Kernel):
            return self.distance.check(Q)
        if sparse.issparse(Q):
            raise TypeError(f"{OWNER}: Q must be dense for a function of two objects, got a sparse matrix.")
        return objects(Q, OWNER, "Q")

    def _inside(self, Q: Any, m: int, D: Any) -> Measured:
        """R among Q: the kernel is settled, and the members are chosen by it."""
        if isinstance(self.distance, Kernel):
            self.kernel_: Any = self.distance.bound(Q)
            K, D = self.kernel_(Q), self.kernel_.sqdist(Q)
            self.subset_ = selected(self.selection, self.criterion, K, m)
        else:
            by_method = isinstance(self.selection, str)
            subset = None if by_method else selected(self.selection, self.criterion, D, m)
            center = medoid(D, subset)
            self.kernel_ = self._kernel(D, Q[center])
            K = kernel_values(self._g(Q, D[:, center]), D)
            if subset is None:
                subset = self._chosen(K, m, center)
            self.subset_ = subset
            self.members_g_ = K.diagonal()[subset] / 2
            self.origin_ = int(np.flatnonzero(subset == center)[0]) if self.g == "origin" else 0
        self.members_ = take(Q, self.subset_)
        return Measured.within(K, D, self.subset_)

    def _chosen(self, K: np.ndarray, m: int, center: int) -> np.ndarray:
        """The members by the Gram matrix; an origin must be measured for g, so it comes with the m − 1 best others."""
        if self.g != "origin":
            return selected(self.selection, self.criterion, K, m)
        rest = np.delete(np.arange(len(K)), center)  # the row of K at the origin is 0
        if m == 1:
            return np.array([center])
        return np.append(rest[selected(self.selection, self.criterion, K[np.ix_(rest, rest)], m - 1)], center)

    def _outside(self, Q: Any, m: int, D: Any) -> Measured:
        """R as it was given."""
        R = self._objects(self.members)
        if count(R) != m:
            raise ValueError(f"{OWNER}: members must hold m={m} objects, got {count(R)}.")
        self.members_ = take(R, np.arange(m))
        self.subset_ = np.zeros(0, np.intp)
        if isinstance(self.distance, Kernel):
            self.kernel_ = self.distance.bound(Q)
            K, D = self.kernel_(Q), self.kernel_.sqdist(Q)
            return Measured(K, D, self.kernel_(R, Q), self.kernel_(R), self.subset_)
        squared = DistanceKernel(self.distance).squared
        across, among = squared(R, Q), squared(R, R)  # (m, n), (m, m)
        center = int(across.sum(axis=1).argmin())
        self.kernel_ = self._kernel(np.vstack([D, across]), R[center])
        self.origin_ = center
        self.members_g_ = g = self._g(R, among[center])
        g_Q = self._g(Q, across[center])
        cross = g[:, None] - across / 2 + g_Q  # K_RQ of (3)
        return Measured(kernel_values(g_Q, D), D, cross, kernel_values(g, among), self.subset_)

    def _kernel(self, D: np.ndarray, origin: Any) -> DistanceKernel:
        """The kernel (3) with its constant or its origin settled."""
        if self.g == "origin":
            return DistanceKernel(self.distance, "origin", origin=origin)  # type: ignore[arg-type]  # no Kernel
        constant = None if callable(self.g) else float(D.max()) / 2
        return DistanceKernel(self.distance, self.g, constant=constant)  # type: ignore[arg-type]  # no Kernel

    def _g(self, X: Any, to_origin: np.ndarray) -> np.ndarray:
        """Return g of some objects, whose squared distances to the origin are at hand."""
        if self.g == "origin":
            return to_origin / 2
        g: np.ndarray = self.kernel_._g(X)
        return g

    def _measure(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """k_R(q) and k(q, q) from m evaluations for each object."""
        if isinstance(self.distance, Kernel):
            k_R, k_qq = self.kernel_(X, self.members_), self.kernel_.diag(X)
        else:
            squared = self.kernel_.squared(X, self.members_)  # (n_X, m)
            g = self._g(X, squared[:, self.origin_])
            k_R, k_qq = g[:, None] - squared / 2 + self.members_g_, 2 * g  # (3)
        self.n_evaluations_ += count(X) * count(self.members_)
        return k_R, k_qq

    def sqdist(self, X: Any) -> np.ndarray:
        """Estimates of d² from each object of X to all of Q, (n_X, n_Q); exact to the members of the subset."""
        check_is_fitted(self, "map_")
        X = self._batch(X)
        k_R, k_qq = self._measure(X)
        D: np.ndarray = k_qq[:, None] + self.diagonal_ - 2 * (k_R @ self.map_.T + self.offset_)  # (15)
        if len(self.subset_):
            D[:, self.subset_] = k_qq[:, None] + self.diagonal_[self.subset_] - 2 * k_R
        rounding = 1e-12 * (np.abs(k_qq)[:, None] + np.abs(self.diagonal_))
        self.n_clipped_ += int(np.count_nonzero(D + rounding < 0))
        clipped: np.ndarray = np.maximum(D, 0)
        return clipped

    def bounds(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest that d² can be, (n_X, n_Q) each, after m evaluations for each object.

        Sharp for a Hilbertian distance: both ends are taken by points with the same distances to R. Whatever W is,
        d̂² is off by no more than its distance to the farther end.
        """
        check_is_fitted(self, "map_")
        X = self._batch(X)
        k_R, k_qq = self._measure(X)
        k_RR = self.kernel_.diag(self.members_) if isinstance(self.distance, Kernel) else 2 * self.members_g_
        low, high = self.enclosure_.of_sqdist(np.maximum(k_qq[:, None] + k_RR - 2 * k_R, 0))
        return low, high

    @whole
    def add(self, Q: Any, *, distances: Any = None) -> "SubsetDistance":
        """Enlarge Q by more objects, R as it is; ``distances`` (n_new, n + n_new) to all of Q, where these are known.

        They are measured otherwise, and the projection is computed anew.
        """
        check_is_fitted(self, "map_")
        if isinstance(self.distance, Kernel) or self.members is not None:
            raise ValueError(f"{OWNER}: add needs a distance, and members that were chosen in Q; call fit.")
        new = self._objects(Q)
        n, more = len(self.sqdist_), count(new)
        _memory.require(32.0 * (n + more) ** 2, OWNER, f"the {n + more:,}² distances of all of Q", "add fewer objects")
        if distances is None:
            squared = DistanceKernel(self.distance).squared
            rows = np.hstack([squared(new, self.objects_), squared(new, new)])
        else:
            rows = roots(distances, (more, n + more)) ** 2
        D = np.block([[self.sqdist_, rows[:, :n].T], [rows[:, :n], linalg.symmetrize(rows[:, n:])]])
        whole = joined(self.objects_, new)
        g = self._g(whole, D[:, self.subset_[self.origin_]])
        return self._settle(whole, Measured.within(kernel_values(g, D), D, self.subset_))

    def _state(self) -> dict[str, Any]:
        check_is_fitted(self, "map_")
        fitted = {name: getattr(self, name) for name in self._fitted()}
        return {"settings": self.get_params(deep=False), "fitted": fitted, "enclosure": vars(self.enclosure_)}

    def _fitted(self) -> list[str]:
        return sorted(name for name in vars(self) if name.endswith("_") and name != "enclosure_")

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "SubsetDistance":
        model = cls(**state["settings"])
        for name, value in state["fitted"].items():
            setattr(model, name, value)
        n, m = model.map_.shape
        shapes = (np.shape(model.sqdist_), np.shape(model.diagonal_), np.shape(model.offset_), count(model.members_))
        if shapes != ((n, n), (n,), (n,), m) or count(model.objects_) != n:
            raise ValueError(f"{OWNER}: the parts of a file do not belong together.")
        model.enclosure_ = Enclosure(**state["enclosure"])
        return model

    def _batch(self, X: Any) -> Any:
        """Objects; a single one is a batch of one where objects are arrays."""
        if not isinstance(self.objects_, np.ndarray):
            return objects(X, OWNER)
        X = _validate.plain(X, OWNER, "X")
        X = X[None] if X.ndim == self.objects_.ndim - 1 else X
        if X.ndim != self.objects_.ndim:
            raise ValueError(f"{OWNER}: X must be objects of shape {self.objects_.shape[1:]}, got shape {X.shape}.")
        return X

    @checked
    def query(self, X: Any, k: Count = 1, *, recheck: Index = 0) -> tuple[np.ndarray, np.ndarray]:
        """Nearest members of Q, (ids, d²) of shape (n_X, k), sorted, ties by id.

        With ``recheck`` ≥ k the best ``recheck`` members by estimate are measured as well (and counted), and the answer
        is the best k of all that was measured, with exact distances.
        """
        check_is_fitted(self, "map_")
        n = len(self.diagonal_)
        k, recheck = min(k, n), min(recheck, n)
        if 0 < recheck < k:
            raise ValueError(f"{OWNER}: recheck must be 0 or at least k={k}, got {recheck}.")
        X = self._batch(X)
        D = self.sqdist(X)  # (n_X, n)
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
