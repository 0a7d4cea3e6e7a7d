"""Any learner in the feature space of a kernel."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian import _checks
from gramian.coordinates import BesideFeatures, Coordinates, KernelSpace, Plain, Rest
from gramian.features import KernelFeatures
from gramian.kernels import Gaussian, Kernel
from gramian.kernels.basic import median_scale
from gramian.kernels.objects import as_kernel
from gramian.learners.anchor import is_unit_free, unanchored
from gramian.learners.base import MetricLearner
from gramian.learners.beside import KernelPaths, beside_features
from gramian.learners.foreign import solve_foreign
from gramian.learners.framework import FrameworkLearner
from gramian.learners.itml import ITML
from gramian.solvers.base import Solution


class Kernelized(MetricLearner):
    """Give any learner curved boundaries, or objects that are no vectors, through a kernel.

    The explicit learner on kernel coordinates, lifted to a kernel metric.

    z(x) are the coordinates of a :class:`KernelFeatures` basis. The inner learner finds M on them; the result is
    k_W(x, y) = z(x)ᵀ M z(y) + α (k(x, y) − z(x)ᵀz(y)). This is the KPCA trick of Chatpatanasiri et al. (2010) for any
    learner (α = 0), and Theorem 5 of Jain (2009) for the framework learners, where α is the weight of their
    identity prior and bounds are reduced by what the part outside of the basis already spends.

    A kernel that you choose is the prior of an anchored inner learner. Without one, the features as they are stay the
    prior: d² = (1 − w) s d²_L(z(x), z(y)) + w |x − y|², half of d²_L the distance of the kernel, s the unit of the
    features, and w the ``anchor`` of the inner learner, chosen on held-out points and classes when that is "auto".

    Parameters
    ----------
    learner : MetricLearner, or any estimator with ``fit(X, y)`` and a linear ``transform``, optional
        The inner learner, cloned; :class:`ITML` when None. Of a transformer or metric learner from elsewhere the linear
        map is read off, from its transform of the identity and of zero.
    kernel : Kernel, optional
        ``Gaussian(scale)`` with the median distance of the training points as the scale when None, beside the features.
    rank : int, optional
        Number of coordinates; all that the training points span when None.
    basis : str or points, optional
        How coordinates are chosen where there are fewer than points: "principal" keeps the leading ``rank`` components
        of kernel PCA (Remark 4 of Chatpatanasiri et al.; n × n memory), other words are those of
        :class:`KernelFeatures`, greedy landmarks ("cholesky") when None.
    features : KernelFeatures, optional
        Coordinates of your own; they override kernel, rank and basis.
    alpha : "auto" or float
        Weight outside of the basis.
    random_state : int or generator, optional
        Draws, where there are any: the same number gives the same result.

    Attributes
    ----------
    metric_ : KernelMetric
        The learned distance, on the objects themselves.
    features_ : KernelFeatures
        The coordinates that it was learned on.
    learner_ : the fitted inner learner
        The learner that was fitted on them.
    anchor_ : float
        The weight w of the features, where they are the prior.

    See Also
    --------
    gramian.KernelFeatures : The coordinates that it learns on.

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
    _devices = True
    _anywhere = False

    def __init__(
        self, learner=None, kernel=None, *, rank=None, basis=None, features=None, alpha="auto", random_state=None
    ):
        self.learner = learner
        self.kernel = kernel
        self.rank = rank
        self.basis = basis
        self.features = features
        self.alpha = alpha
        self.random_state = random_state

    @property
    def _numbers(self) -> bool:  # type: ignore[override]  # a constant elsewhere
        """Whether the inner learner takes measurements as labels."""
        return getattr(self.learner, "_numbers", False)

    def _door(self, X: Any, y: Any, vectors: bool = True, unknown: Any = None) -> Any:
        kernel = self.kernel if self.features is None else _estimator(self.features, "features", "learn").kernel
        vectors = kernel is None or as_kernel(kernel, "Kernelized").on_vectors
        return super()._door(X, y, vectors, unknown)

    def _coordinates(self, X: Any) -> tuple[KernelSpace, np.ndarray]:
        if self.features is not None:
            features = clone(self.features)
        else:
            kernel = kernel_or_gaussian(self.kernel, X, "Kernelized")
            principal = _checks.is_word(self.basis, "principal")
            basis = "all" if principal else "cholesky" if self.basis is None else self.basis
            features = KernelFeatures(
                kernel, rank=self.rank, basis=basis, center=principal, random_state=self.random_state
            )
        Z = features.learn(X)
        if Z.shape[1] == 0:
            raise ValueError("Kernelized: kernel must not vanish on all points, got k(x, x) = 0 for each; use another.")
        return KernelSpace(features), Z

    def _inner(self) -> Any:
        if self.learner is None:
            return ITML()
        inner = clone(_estimator(self.learner, "learner", "fit"))
        if isinstance(inner, FrameworkLearner) and inner.rank is not None:
            raise ValueError(f"Kernelized: learner must have rank=None, got {inner.rank}; give rank to Kernelized.")
        return inner

    def _learn(self, Z: np.ndarray, side: Any, rest: Rest, rng: np.random.RandomState) -> Solution:
        raise TypeError("Kernelized: an inner learner cannot be kernelized twice.")

    def solve(self, Z: np.ndarray, y: Any, rest: Rest, rng: np.random.RandomState) -> Solution:
        """What the inner learner finds, with its own weight outside of the basis unless ``alpha`` is given."""
        inner = self._inner()
        if self._beside_features(inner, y):
            inner, solution = beside_features(inner, self._coordinates, Z, y, rest, self._draws(inner, rng))
            inner._store(Plain(Z.shape[1]), replace(solution, alpha=0.0))
            return replace(solution, found={"learner": inner, "anchor": solution.alpha})
        if isinstance(inner, MetricLearner):
            solution = inner.solve(Z, y, rest, self._draws(inner, rng))
            inner._store(Plain(Z.shape[1]), replace(solution, alpha=0.0))
        else:
            solution = solve_foreign(inner, Z, y)
        if not isinstance(self.alpha, str):
            solution = replace(solution, alpha=_checks.number(self.alpha, "Kernelized", "alpha", low=0))
        else:
            _checks.one_of(self.alpha, "Kernelized", "alpha", ("auto",))
        return replace(solution, found={"learner": inner})

    def _beside_features(self, inner: Any, y: Any) -> bool:
        """Whether what is learned is anchored to the features: where neither kernel nor weights were asked for."""
        ours = self.kernel is None and self.features is None and _checks.is_word(self.alpha, "auto")
        return ours and isinstance(inner, MetricLearner) and inner._anchors(y) and is_unit_free(y)

    def _path_on(self, points: Any, fold: Any, rng: np.random.RandomState) -> Any:
        """The way from what is learned on the rows of a fold to the features as they are."""
        if not self._beside_features(self._inner(), fold.side):
            raise ValueError("Kernelized: is near the features only with an anchored learner and no kernel of its own.")
        return KernelPaths(self._coordinates)(unanchored(self._inner(), quiet=True), points, fold, True, rng)

    def _near_prior(self, points: Any, y: Any, weight: float, rng: Any) -> tuple[Coordinates, Solution]:
        """What is learned on all points with a given weight of the features."""
        learner = clone(self).set_params(learner=self._inner().set_params(anchor=weight))
        space, Z = learner._coordinates(points)
        return BesideFeatures(space.features), learner.solve(Z, y, Rest(space, points, Z), rng)

    def _draws(self, inner: Any, rng: np.random.RandomState) -> np.random.RandomState:
        """The generator of the inner learner where it has one."""
        own = getattr(inner, "random_state", None)
        return rng if own is None else _checks.random(own, "Kernelized")

    def _store(self, coordinates: Coordinates, solution: Solution) -> None:
        if "anchor" in solution.found:
            coordinates = BesideFeatures(coordinates.features)  # type: ignore[attr-defined]  # a KernelSpace
        super()._store(coordinates, solution)
        self.features_ = coordinates.features  # type: ignore[attr-defined]  # a KernelSpace


def _estimator(value: Any, name: str, method: str) -> Any:
    """An estimator with some method, or an error that names the argument."""
    if not hasattr(value, "get_params") or not hasattr(value, method) or isinstance(value, type):
        raise TypeError(f"Kernelized: {name} must be an estimator with {method}, got {_checks.shown(value)}.")
    return value


def kernel_or_gaussian(kernel: Any, X: Any, owner: str) -> Kernel:
    """The kernel given; when None, a Gaussian with the median distance of the points as its scale."""
    return Gaussian(median_scale(X)) if kernel is None else as_kernel(kernel, owner)
