"""Any learner in the feature space of a kernel."""

from typing import Any

import numpy as np
from sklearn.base import clone

from gramian import _checks, linalg
from gramian.constraints import Terms
from gramian.features import KernelFeatures
from gramian.kernels import Gaussian, Kernel, Linear
from gramian.kernels.base import take
from gramian.kernels.basic import median_scale
from gramian.kernels.objects import as_kernel
from gramian.learners.base import MetricLearner
from gramian.learners.foreign import fit_foreign
from gramian.learners.framework import FrameworkLearner
from gramian.learners.itml import ITML
from gramian.metrics import KernelMetric
from gramian.solvers.base import Solution


class Kernelized(MetricLearner):
    """The explicit learner on kernel coordinates, lifted to a kernel metric.

    z(x) are the coordinates of a :class:`KernelFeatures` basis. The inner learner finds M on them; the result is
    k_W(x, y) = z(x)ᵀ M z(y) + α (k(x, y) − z(x)ᵀz(y)). This is the KPCA trick of Chatpatanasiri et al. (2010) for any
    learner (α = 0), and Theorem 5 of Jain (2009) for the framework learners, where α is the weight of their
    identity prior and bounds are reduced by what the part outside of the basis already spends.

    Parameters
    ----------
    learner : MetricLearner, or any estimator with ``fit(X, y)`` and a linear ``transform``, optional
        The inner learner, cloned; :class:`ITML` when None. Of a transformer or metric learner from elsewhere the linear
        map is read off, from its transform of the identity and of zero.
    kernel : Kernel, optional
        ``Gaussian(scale)`` with the median distance of the training points as the scale when None.
    rank : int, optional
        Number of coordinates; all that the training points span when None.
    features : KernelFeatures, optional
        Coordinates with another basis; it overrides kernel and rank.
    alpha : "auto" or float
        Weight outside of the basis.
    random_state : int or generator, optional

    Attributes
    ----------
    metric_ : KernelMetric
    features_ : KernelFeatures
    learner_ : the fitted inner learner

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import make_circles
    >>> from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    >>> X, y = make_circles(60, noise=0.05, factor=0.5, random_state=0)
    >>> gm.Kernelized(gm.ITML(random_state=0), gm.Gaussian(1.0)).fit(X, y).score(X, y) > 0.9
    True
    >>> gm.Kernelized(LinearDiscriminantAnalysis(), gm.Polynomial(2)).fit(X, y).score(X, y) > 0.9
    True
    """

    _sparse = True

    def __init__(self, learner=None, kernel=None, rank=None, *, features=None, alpha="auto", random_state=None):
        self.learner = learner
        self.kernel = kernel
        self.rank = rank
        self.features = features
        self.alpha = alpha
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "Kernelized":
        """Learn; X are points of the kernel, y labels or constraints, or tuples as in :class:`.MetricLearner`."""
        inner = ITML() if self.learner is None else clone(_estimator(self.learner, "learner", "fit"))
        X, y = kernel_door(self, self.kernel if self.features is None else None, X, y)
        self.features_ = self._features(X)
        Z = self.features_.fit_transform(X)
        if Z.shape[1] == 0:
            raise ValueError("Kernelized: kernel must not vanish on all points, got k(x, x) = 0 for each; use another.")
        solution = self._inner(inner, X, Z, y) if isinstance(inner, MetricLearner) else fit_foreign(inner, Z, y)
        self.learner_, self.solution_ = inner, solution
        core = inner.metric_.matrix if isinstance(inner, MetricLearner) else solution.factor.T @ solution.factor
        self.metric_ = KernelMetric(self.features_, core, self._alpha(inner))
        return self

    def _inner(self, inner: MetricLearner, X: Any, Z: np.ndarray, y: Any) -> Solution:
        """Fit one of our learners on the coordinates."""
        seed = inner.random_state if getattr(inner, "random_state", None) is not None else self.random_state
        rng = _checks.random(seed, "Kernelized")
        inner.n_features_in_ = Z.shape[1]
        if isinstance(self.features_.kernel_, Linear) and hasattr(getattr(inner, "divergence", None), "mapped"):
            # A matrix on the input vectors means the same in any coordinates of them.
            inner.divergence = inner.divergence.mapped(self.features_.map_ @ self.features_.basis_)
        if isinstance(inner, FrameworkLearner):
            side = inner._side(Z, y, rng, self._outside(inner, X))
            solution = inner._learn(Z, side, rng, lambda terms: residual_values(terms, self.features_, X, Z))
        else:
            solution = inner._learn(Z, inner._side(Z, y, rng), rng)
        inner._store(Z, solution)
        return solution

    def _outside(self, inner: FrameworkLearner, X: Any) -> Any:
        """Distances of the prior among training points, where the coordinates do not hold them whole."""
        alpha, kernel = inner._complement(), self.features_.kernel_
        if alpha == 0 or spans(self.features_, X):
            return None
        return lambda rows: alpha * kernel.sqdist(take(X, rows))

    def _features(self, X: Any) -> KernelFeatures:
        if self.features is not None:
            return clone(_estimator(self.features, "features", "fit_transform"))
        kernel = kernel_or_gaussian(self.kernel, X, "Kernelized")
        return KernelFeatures(kernel, rank=self.rank, random_state=self.random_state)

    def _alpha(self, inner: MetricLearner) -> float:
        if isinstance(self.alpha, str):
            _checks.one_of(self.alpha, "Kernelized", "alpha", ("auto",))
            return inner._complement() if isinstance(inner, FrameworkLearner) else 0.0
        return _checks.number(self.alpha, "Kernelized", "alpha", low=0)

    def _learn(self, X: Any, side: Any, rng: np.random.RandomState) -> Any:
        raise TypeError("Kernelized: an inner learner cannot be kernelized twice.")


def _estimator(value: Any, name: str, method: str) -> Any:
    """An estimator with some method, or an error that names the argument."""
    if not hasattr(value, "get_params") or not hasattr(value, method) or isinstance(value, type):
        raise TypeError(f"Kernelized: {name} must be an estimator with {method}, got {_checks.shown(value)}.")
    return value


def kernel_or_gaussian(kernel: Any, X: Any, owner: str) -> Kernel:
    """The kernel given; when None, a Gaussian with the median distance of the points as its scale."""
    return Gaussian(median_scale(X)) if kernel is None else as_kernel(kernel, owner)


def kernel_door(learner: MetricLearner, kernel: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Points and side information: validated, or as they came where the kernel takes other objects than vectors."""
    owner = type(learner).__name__
    if kernel is None or as_kernel(kernel, owner).on_vectors:
        return learner._validated(X, y)
    if y is None:
        raise ValueError(f"{owner}: requires y to be passed, but the target y is None; give labels or constraints.")
    return X, y


def spans(features: KernelFeatures, X: Any) -> bool:
    """Whether the basis holds all of the points X."""
    size = float(features.kernel_.diag(X).max())
    return bool(features.residual(X).max(initial=0.0) <= 1e-9 * max(size, 1e-300))


def residual_values(terms: Terms, features: KernelFeatures, X: Any, Z: np.ndarray) -> np.ndarray:
    """⟨C_i, R⟩ with R the residual Gram matrix, evaluated only on the points that the constraints touch."""
    if spans(features, X):
        return np.zeros(len(terms.weight))
    return _residual_values(terms, features.kernel_, X, Z + features.mean_)


def _residual_values(terms: Terms, kernel: Kernel, X: Any, Z: np.ndarray) -> np.ndarray:
    """Blocked over the terms: left R rightᵀ on the diagonal."""
    total = np.empty(terms.left.shape[0])
    for rows in linalg.blocks(terms.left.shape[0], 16.0 * terms.left.shape[1], 32 << 20):
        L, R = terms.left[rows], terms.right[rows]
        a, b = np.unique(L.indices), np.unique(R.indices)
        K = kernel(take(X, a), take(X, b)) - Z[a] @ Z[b].T
        total[rows] = linalg.row_inner(np.asarray(L[:, a] @ K), R[:, b].toarray())
    return (terms.weight * total.reshape(terms.weight.shape)).sum(axis=1)
