"""Any learner in the feature space of a kernel."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from gramian import _settings, _validate
from gramian._settings import Count, Seed, Size
from gramian.constraints import Constraints, Labels
from gramian.coordinates import Plain
from gramian.features import KernelFeatures
from gramian.kernels import Gaussian, Kernel, align
from gramian.kernels.basic import median_scale
from gramian.kernels.objects import as_kernel
from gramian.learners.anchored import Anchored, unit_free
from gramian.learners.base import Learner, Solves, in_subspace, keep, plan
from gramian.learners.itml import ITML
from gramian.learners.progress import Watched
from gramian.learners.spaces import InKernel, KernelFrame
from gramian.learners.task import Task, Traits
from gramian.linalg import take
from gramian.solvers.base import Solution

SHOWN = ("features", "anchor")
"""What a kernelized learner shows beside the learner inside."""


@dataclass(eq=False, repr=False)
class Kernelized(Learner):
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
    learner : Learner, or any estimator with ``fit(X, y)`` and a linear ``transform``, optional
        The inner learner, cloned; :class:`ITML` when None. Of a transformer or metric learner from elsewhere the linear
        map is read off, from its transform of the identity and of zero.
    kernel : Kernel or list of Kernels, optional
        Several are weighed by :func:`~gramian.align` with the labels of each fit, so that cross-validation weighs them
        anew in each fold. ``Gaussian(scale)`` with the median distance of the training points as the scale when None,
        beside the features.
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

    learner: Any = None
    kernel: Any = None
    _: KW_ONLY
    rank: Count | None = None
    basis: Any = None
    features: Any = None
    alpha: Literal["auto"] | Size = "auto"
    random_state: Seed = None

    @property
    def traits(self) -> Traits:  # type: ignore[override]  # a constant elsewhere
        """What the learner inside takes, of any points that the kernel takes."""
        inner = getattr(self.learner, "traits", None) if isinstance(self.learner, Learner) else None
        takes = ITML.traits.takes if self.learner is None else (Constraints,) if inner is None else inner.takes
        return Traits(
            takes=takes,
            labels="classes" if inner is None else inner.labels,
            vectors=on_vectors(self),
            lifts=True,
            sparse=True,
            devices=self.learner is None or (inner is not None and inner.devices),
        )

    def solve(self, task: Task) -> Solution:
        """What the inner learner finds, with its own weight outside of the basis unless ``alpha`` is given."""
        if isinstance(self.kernel, list | tuple):
            return replace(self, kernel=aligned(self.kernel, task)).solve(task)
        inner = inner_of(self)
        if not isinstance(inner, Learner):
            solution = InKernel(Foreign(inner), None, self.coordinates).solve(task)
        else:
            rng = task.rng if inner.random_state is None else _validate.random(inner.random_state, "Kernelized")
            inside = replace(task, rng=rng, effort=inner.traits.exact.of(inner), report=inner.callback)
            solution = self.solver(inner, task.y).solve(inside)
            keep(inner, Plain(solution.factor.shape[1] if solution.M is None else solution.M.shape[0]), alone(solution))
        if not isinstance(self.alpha, str):
            solution = replace(solution, alpha=float(self.alpha))
        return replace(solution, extra={name: solution.extra[name] for name in SHOWN if name in solution.extra}).saying(
            learner=inner
        )

    def solver(self, inner: Learner, y: Any) -> Solves:
        """The inner learner on kernel coordinates, near the features where these are its prior."""
        if not self.beside_features(inner, y):
            return InKernel(plan(inner, y), inner, self.coordinates)
        solver = Anchored(inner, None if isinstance(inner.anchor, str) else float(inner.anchor), self.frame)
        return Watched(solver, inner) if inner.verbose else solver

    def framed(self, task: Task) -> tuple[Any, Any]:
        """The inner learner, beside the features."""
        inner = inner_of(self)
        if not self.beside_features(inner, task.y):
            raise ValueError("Kernelized: is near the features only with an anchored learner and no kernel of its own.")
        return inner, self.frame(task)

    def frame(self, task: Task) -> KernelFrame:
        """The straight path to the features as they are."""
        return KernelFrame(task.Z, self.coordinates)

    def beside_features(self, inner: Any, y: Any) -> bool:
        """Whether what is learned is anchored to the features: where neither kernel nor weights were asked for."""
        ours = self.kernel is None and self.features is None and isinstance(self.alpha, str)
        return ours and isinstance(inner, Learner) and inner.blends(y) and unit_free(y)

    def coordinates(self, X: Any) -> KernelFeatures:
        """The coordinates for some points, not yet learned."""
        if self.features is not None:
            return clone(estimator(self.features, "features", "learn"))
        kernel = kernel_or_gaussian(self.kernel, X, "Kernelized")
        principal = _validate.is_word(self.basis, "principal")
        basis = "all" if principal else "cholesky" if self.basis is None else self.basis
        return KernelFeatures(kernel, rank=self.rank, basis=basis, center=principal, random_state=self.random_state)


@dataclass(frozen=True, eq=False)
class Foreign:
    """A transformer or metric learner from elsewhere as a solver: its linear map is read off from what it does."""

    estimator: Any

    def solve(self, task: Task) -> Solution:
        """Fit it on the coordinates."""
        name = type(self.estimator).__name__
        if not isinstance(task.y, Labels):
            raise TypeError(
                f"Kernelized: {name} takes labels, got {type(task.y).__name__}; use a learner of this package."
            )
        self.estimator.fit(task.Z, task.y.classes[task.y.codes])
        steps = getattr(self.estimator, "n_iter_", None)
        n_iter = 1 if steps is None else max(int(np.max(steps)), 1)
        return Solution(factor=linear_map(self.estimator, task.Z), n_iter=n_iter)


def linear_map(fitted: Any, Z: np.ndarray) -> np.ndarray:
    """The matrix L (r, d) of a fitted estimator whose transform is Lz + constant; checked on the points Z."""
    name, d = type(fitted).__name__, Z.shape[1]
    if not hasattr(fitted, "transform"):
        if getattr(fitted, "components_", None) is None:
            raise TypeError(f"Kernelized: {name} must have a linear transform or components_.")
        return np.asarray(fitted.components_, dtype=np.float64)
    ends = np.asarray(fitted.transform(np.vstack([np.zeros((1, d)), np.eye(d)])), dtype=np.float64)  # (1 + d, r)
    L = (ends[1:] - ends[0]).T
    images = np.asarray(fitted.transform(Z), dtype=np.float64)  # (n, r)
    if np.abs(Z @ L.T + ends[0] - images).max(initial=0.0) > 1e-6 * max(np.abs(images).max(initial=0.0), 1e-300):
        raise TypeError(f"Kernelized: the transform of {name} is not linear, so it has no metric.")
    return L


def inner_of(kernelized: Kernelized) -> Any:
    """The learner inside, a copy."""
    if kernelized.learner is None:
        return ITML()
    inner = clone(estimator(kernelized.learner, "learner", "fit"))
    if not isinstance(inner, Learner):
        return inner
    _settings.check(inner)
    if inner.traits.lifts:
        raise TypeError(
            f"Kernelized: learner must learn on given coordinates, and {type(inner).__name__} makes its own; "
            "it cannot be kernelized again."
        )
    if in_subspace(inner):
        raise ValueError(f"Kernelized: learner must have rank=None, got {inner.rank}; give rank to Kernelized.")
    return inner


def on_vectors(kernelized: Kernelized) -> bool:
    """Whether points are rows of numbers."""
    features = kernelized.features
    kernel = kernelized.kernel if features is None else estimator(features, "features", "learn").kernel
    kernels = kernel if isinstance(kernel, list | tuple) else [kernel]
    return all(one is None or as_kernel(one, "Kernelized").on_vectors for one in kernels)


def aligned(kernels: Any, task: Task) -> Kernel:
    """The weighted sum of kernels that is nearest to the ideal one of the labels (Chatpatanasiri et al. 2010, §3.2)."""
    if not isinstance(task.y, Labels):
        raise TypeError(
            f"Kernelized: kernel must be one Kernel for {type(task.y).__name__}, got a list, which labels weigh."
        )
    labeled = np.flatnonzero(task.y.codes >= 0)
    return align(list(kernels), take(task.Z, labeled), task.y.codes[labeled])


def alone(solution: Solution) -> Solution:
    """What was learned on the coordinates, without where these are."""
    extra = {name: value for name, value in solution.extra.items() if name != "features"}
    return replace(solution, coordinates=None, alpha=0.0, extra=extra)


def estimator(value: Any, name: str, method: str) -> Any:
    """An estimator with some method, or an error that names the argument."""
    if not hasattr(value, "get_params") or not hasattr(value, method) or isinstance(value, type):
        raise TypeError(f"Kernelized: {name} must be an estimator with {method}, got {_validate.shown(value)}.")
    return value


def kernel_or_gaussian(kernel: Any, X: Any, owner: str) -> Kernel:
    """The kernel given; when None, a Gaussian with the median distance of the points as its scale."""
    return Gaussian(median_scale(X)) if kernel is None else as_kernel(kernel, owner)
