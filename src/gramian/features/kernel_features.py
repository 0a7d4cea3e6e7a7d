"""Coordinates of points in the span of a kernel basis (Nyström, kernel PCA, landmarks: one map)."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian import _memory, _validate, linalg
from gramian._arrays import asarray, to_numpy
from gramian._settings import Count, Points, Seed, Size, check, whole
from gramian.features.cholesky import PivotedCholesky, factorize
from gramian.features.landmarks import Choice, choose
from gramian.kernels import Gaussian, Kernel, Precomputed
from gramian.kernels.objects import as_kernel
from gramian.linalg import count, take
from gramian.persist import Stored

Coordinates = Literal["principal", "triangular", "symmetric"]
MANY, FEW = 5_000, 300
"""From so many points on so many coordinates are kept, where neither ``rank`` nor ``tol`` says how many."""
LARGEST = 1e150
"""No entry of a map may exceed it."""


@dataclass(eq=False, repr=False)
class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, Stored):
    """Turn a kernel into coordinates, so that any method on vectors works with it.

    z(x) = T k_B(x) − mean with T K_BB Tᵀ = I, so that z(x)ᵀz(y) is the kernel on the span of the basis B.

    With L the pivoted Cholesky factor of K_BB, C the coordinates L⁻¹k_B(x) of the training points as rows, and
    V the eigenvectors of CᵀC in order of falling eigenvalue, T = Vᵀ L⁻¹ (Teixeira et al. 2008, (5)–(12)): the training
    coordinates are orthogonal, and the first q of them are the best q. One map is at once the Nyström map (any
    basis), kernel PCA (``basis="all"``, ``center=True``) and the landmark basis of every kernelized learner.

    Parameters
    ----------
    kernel : Kernel, or a function k(a, b) of two objects
        Gaussian(1.0) when None.
    rank : int, optional
        Number of coordinates to keep. With None all, which by default span every training point; of more than 5,000
        points 300, unless ``tol`` is given, and a warning says what share of the trace they hold.
    tol : float, optional
        Trace error at which pivoted Cholesky stops, relative to the trace. With None it goes on to ``rank``, or until
        each k(x, x) is explained to 1e-12.
    basis : {"cholesky", "random-cholesky", "kmeans", "uniform", "leverage", "all"} or points
        How the basis B is chosen: greedy pivots (the paper), random pivots, k-means centers in the input space, a
        uniform draw, a draw by ridge leverage scores, all training points; or B itself.
    center : bool
        Center the coordinates on the training mean, as kernel PCA does.
    n_basis : int, optional
        Number of basis points; ``rank`` when None.
    combination : array (k, c), optional
        J: the basis is c combinations Σ_i J_ij φ(b_i) of the k basis points, R = XJ of Jain (2009), Theorem 5, such as
        the means of classes; ``basis`` must be "all" or points then, so that rows of J have a meaning.
    coordinates : {"principal", "triangular", "symmetric"}
        The rotation of z: ordered by training variance as above; T = L⁻¹, which gives the factor of
        :func:`pivoted_cholesky` itself on the training points; T = K_BB^{-1/2}, as scikit-learn's Nystroem.
    random_state : int or generator, optional
        Draws, where there are any: the same number gives the same result.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel in use.
    basis_ : points (k, d)
        The points that coordinates are made of.
    map_ : array (r, k)
        The matrix T; a basis point that depends on the others has a zero column.
    mean_ : array (r,)
        What is subtracted: zero unless ``center``.
    eigenvalues_ : array (r,)
        Sum of squares of each coordinate over the training points.
    explained_variance_ratio_ : float
        Share of the trace of the training Gram matrix (centered with ``center``) that the coordinates hold.

    See Also
    --------
    gramian.Kernelized : A learner on them.
    gramian.pivoted_cholesky : How the basis is chosen.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> features = gm.KernelFeatures(gm.Gaussian(2.0), rank=20).fit(X)
    >>> features.transform(X).shape, bool(features.explained_variance_ratio_ > 0.97)
    ((100, 20), True)
    """

    kernel: Kernel | Callable[[Any, Any], float] | None = None
    rank: Count | None = None
    _: KW_ONLY
    tol: Size | None = None
    basis: Choice | Points = "cholesky"
    center: bool = False
    n_basis: Count | None = None
    combination: np.ndarray | None = None
    coordinates: Coordinates = "principal"
    random_state: Seed = None

    def fit(self, X: Any, y: Any = None) -> "KernelFeatures":
        """Choose the basis and compute the map."""
        self.fit_transform(X)
        return self

    @whole
    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return the coordinates of the training points, shape (n, r)."""
        kernel = as_kernel(Gaussian() if self.kernel is None else self.kernel, "KernelFeatures")
        return self.learn(self._door(X, kernel, reset=True))

    def learn(self, X: Any) -> np.ndarray:
        """:meth:`fit_transform` of points that were checked."""
        check(self)
        kernel = as_kernel(Gaussian() if self.kernel is None else self.kernel, "KernelFeatures")
        if kernel.on_vectors:
            self.n_features_in_ = X.shape[1]
        self.kernel_ = kernel.bound(X)
        rng = _validate.random(self.random_state, "KernelFeatures")
        tol = 0.0 if self.tol is None else float(self.tol)
        basis = choose(self.kernel_, X, self.basis, self._size(count(X)), tol, rng)
        C = basis.coordinates
        self.basis_ = to_numpy(basis.points)
        whiten = whitening(basis.factor)
        if self.combination is not None:
            whiten = combined(basis.factor, self.combination, self.basis)
        R = self._rotate(whiten, *moments(self.kernel_, X, self.basis_, whiten, C))
        if self._limited(count(X)):
            _validate.warn(
                f"KernelFeatures: keeps {len(self.map_)} coordinates of {count(X):,} points, which hold "
                f"{self.explained_variance_ratio_:.3f} of the trace; give rank or tol for others."
            )
        return self.coordinates_of(X) if C is None else C @ asarray(R.T, C) - asarray(self.mean_, C)

    def _door(self, X: Any, kernel: Kernel, reset: bool) -> Any:
        if kernel.on_vectors:
            X = _validate.estimator_points(self, X, reset=reset, devices=kernel.devices)
        return kernel.accept(X)

    def _size(self, n: int) -> int | None:
        """Number of basis points, None for as many as the basis asks for."""
        size = self.rank if self.n_basis is None else self.n_basis
        size = FEW if size is None and self._limited(n) else size
        basis = min(n if size is None else size, n)
        if not isinstance(self.basis, str):
            basis = 1
        _memory.require(24.0 * n * basis, "KernelFeatures", f"{n} × {basis} coordinates", "give a smaller rank")
        return None if size is None else min(size, n)

    def _limited(self, n: int) -> bool:
        """Whether the number of coordinates was left open for many points."""
        open_ended = self.rank is None and self.n_basis is None and self.tol is None
        return open_ended and n > MANY and isinstance(self.basis, str) and self.basis.endswith("cholesky")

    def _rotate(self, whiten: np.ndarray, mean: np.ndarray, Q: np.ndarray, trace: float, n: int) -> np.ndarray:
        """Set T = R L⁻¹ and return R, with the rotation R that ``coordinates`` asks for."""
        spread = linalg.symmetrize(Q - n * np.outer(mean, mean)) if self.center else Q
        if self.coordinates == "symmetric" and self.rank is not None and self.rank < len(Q):
            raise ValueError(
                f"KernelFeatures: coordinates='symmetric' has no order to cut {len(Q)} coordinates "
                f"to rank {self.rank}; use 'principal'."
            )
        R = rotation(self.coordinates, spread, whiten)[: self.rank]
        self.map_ = R @ whiten
        self.mean_ = R @ mean if self.center else np.zeros(len(R))
        self.eigenvalues_ = np.maximum(np.einsum("ij,ij->i", R @ spread, R), 0)
        total = trace - n * float(mean @ mean) if self.center else trace
        self.explained_variance_ratio_ = float(min(self.eigenvalues_.sum() / total, 1.0)) if total > 0 else 1.0
        return R

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates z(x), shape (n, r)."""
        check_is_fitted(self, "map_")
        return self.coordinates_of(self._door(X, self.kernel_, reset=False))

    def coordinates_of(self, X: Any) -> np.ndarray:
        """:meth:`transform` of points that were checked, in blocks of rows."""
        Z = linalg.empty((count(X), self.map_.shape[0]), X)
        basis, turn, mean = (asarray(array, X) for array in (self.basis_, self.map_.T, self.mean_))
        for rows in linalg.blocks(count(X), 24 * max(self.map_.shape[1], 1), of=X):
            Z[rows, ...] = self.kernel_._gram(take(X, rows), basis) @ turn - mean
        return Z

    def residual(self, X: Any) -> np.ndarray:
        """Energy of each point outside of the span of the coordinates, k(x, x) − |z(x) + mean|², shape (n,)."""
        check_is_fitted(self, "map_")
        X = self._door(X, self.kernel_, reset=False)
        Z = self.coordinates_of(X)
        Z = Z + asarray(self.mean_, Z)
        return linalg.at_least(self.kernel_._diag(X) - linalg.row_norms(Z), 0.0)

    @property
    def _n_features_out(self) -> int:
        return self.map_.shape[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _state(self) -> dict[str, Any]:
        check_is_fitted(self, "map_")
        names = ("kernel_", "basis_", "map_", "mean_", "eigenvalues_", "explained_variance_ratio_", "n_features_in_")
        state = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return {**state, "center": self.center, "coordinates": self.coordinates}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "KernelFeatures":
        state = dict(state)
        options = {name: state.pop(name) for name in ("center", "coordinates")}
        require_one_map(**{name: value for name, value in state.items() if name != "explained_variance_ratio_"})
        features = cls(state["kernel_"], basis=state["basis_"], **options)
        for name, value in state.items():
            setattr(features, name, value)
        return features


def whitening(factor: PivotedCholesky) -> np.ndarray:
    """L⁻¹ with a column for each basis point, zero where it depends on others."""
    whiten = np.zeros((len(factor.pivots), factor.factor.shape[0]))
    whiten[:, factor.pivots] = lower_inverse(to_numpy(take(factor.factor, factor.pivots)))
    return whiten


def combined(factor: PivotedCholesky, combination: Any, basis: Any) -> np.ndarray:
    """L⁻¹Jᵀ with LLᵀ = Jᵀ K_BB J, for coordinates on the combinations of basis points that the columns of J are."""
    if isinstance(basis, str) and basis != "all":
        raise ValueError(
            f"KernelFeatures: basis must be 'all' or points, which the rows of combination stand for, got {basis!r}."
        )
    J = _validate.points(combination, "KernelFeatures", name="combination")
    F = to_numpy(factor.factor)
    if len(J) != len(F):
        raise ValueError(
            f"KernelFeatures: combination must have a row for each of {len(F)} basis points, got {len(J)}."
        )
    images = F.T @ linalg.dense(J)
    gram = factorize(Precomputed(linalg.symmetrize(images.T @ images)), np.arange(images.shape[1]))
    return whitening(gram) @ linalg.dense(J).T


def moments(
    kernel: Kernel, X: Any, basis: Any, whiten: np.ndarray, C: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, float, int]:
    """Mean of the coordinates C of the training points, Q = CᵀC of (5), the trace of K, and n."""
    n = count(X)
    r = whiten.shape[0]
    trace = linalg.total(linalg.at_least(kernel._diag(X), 0.0))
    if C is not None:
        return to_numpy(linalg.mean(C)), to_numpy(C.T @ C), trace, n
    mean, Q = linalg.full(r, 0.0, X), linalg.full((r, r), 0.0, X)
    basis, turn = asarray(basis, X), asarray(whiten.T, X)
    for rows in linalg.blocks(n, 24 * max(r, 1), of=X):
        block = kernel._gram(take(X, rows), basis) @ turn
        mean += linalg.mean(block) * (block.shape[0] / n)
        Q += block.T @ block
    return to_numpy(mean), to_numpy(Q), trace, n


def rotation(coordinates: str, spread: np.ndarray, whiten: np.ndarray) -> np.ndarray:
    """The rotation R of the coordinates L⁻¹k_B(x), whose second moments are ``spread``."""
    if coordinates == "principal" and len(spread):
        return linalg.oriented(linalg.eigh(spread)[1][:, ::-1]).T  # V_qᵀ of (11), largest eigenvalue first
    if coordinates == "symmetric":
        # K_BB^{-1/2} = (K_BB^{-1/2} L) L⁻¹, and the bracket is a rotation: the orthogonal polar factor of L⁻ᵀ.
        U, _, V = np.linalg.svd(whiten.T, full_matrices=False)
        return U @ V
    return np.eye(len(spread))


def require_one_map(
    kernel_: Any, basis_: Any, map_: Any, mean_: Any, eigenvalues_: Any, n_features_in_: Any = None
) -> None:
    """Refuse parts of a file that are of no one map."""
    if not isinstance(kernel_, Kernel):
        raise ValueError("its kernel is none")
    for array, ndim in ((map_, 2), (mean_, 1), (eigenvalues_, 1)):
        require_numbers(array, ndim, map_)
    basis = kernel_.check(basis_, "basis")
    wide = basis.shape[1] if kernel_.on_vectors else None
    if count(basis) != map_.shape[1] or wide != n_features_in_:
        raise ValueError("its basis does not fit its map")
    if isinstance(basis_, np.ndarray) and basis_.dtype.kind != np.asarray(basis).dtype.kind:
        raise ValueError("its basis is not stored as numbers")  # text that says numbers passes the door


def require_numbers(array: Any, ndim: int, like: Any) -> None:
    """Refuse what is no array of finite numbers with as many rows as another."""
    if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.ndim != ndim:
        raise ValueError("its map is not made of numbers")
    if not np.abs(array).max(initial=0.0) <= LARGEST or len(array) != len(like):
        raise ValueError("the parts of its map do not fit together")


def lower_inverse(L: np.ndarray) -> np.ndarray:
    """L⁻¹ of a lower triangular matrix."""
    return solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False) if len(L) else np.zeros((0, 0))
