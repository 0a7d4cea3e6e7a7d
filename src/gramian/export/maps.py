"""The one map that every target stores or computes: x ↦ E(x) with |E(x) − E(y)|² = d²(x, y)."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gramian import _checks, linalg, persist
from gramian.coordinates import Angles, BesideFeatures, UnitRows
from gramian.features import KernelFeatures
from gramian.kernels import Linear
from gramian.kernels.base import Kernel
from gramian.kernels.combinations import Scaled
from gramian.metrics import KernelMetric, Mahalanobis, Metric, SubspaceMahalanobis


@dataclass(frozen=True)
class Sphere:
    """E(x) = C · u / |u| with u = L(x − c): points that are compared by their angle. None stands for the identity."""

    center: np.ndarray
    inner: np.ndarray | None
    components: np.ndarray | None


LARGEST = 1 << 27
"""Entries of the largest matrix L that is formed, 1 GiB in double precision."""


@dataclass(frozen=True)
class Isometry:
    """E(x), (n, r), of a metric or of kernel features; for a linear metric E(x) = L(x − c) + b with c = 0 by default.

    ``file`` is the file that the metric came from, where it came from one: the README names it.
    """

    source: Any
    owner: str
    file: Path | None = None

    @property
    def n_features(self) -> int | None:
        """Number of features of a point; None where points are not vectors."""
        return self.source.n_features if isinstance(self.source, Metric) else self.source.n_features_in_

    @property
    def width(self) -> int:
        """Number of coordinates r."""
        if isinstance(self.source, KernelFeatures):
            return self.source.map_.shape[0]
        inside = self.source.components.shape[0]
        if self.source.alpha == 0:
            return inside
        return (self.n_features or 0) + (inside if _is_beside(self.source) else 0)

    @property
    def is_linear(self) -> bool:
        """Whether E is an affine map of the features."""
        if isinstance(self.source, Mahalanobis | SubspaceMahalanobis):
            return True
        features = getattr(self.source, "features", self.source)
        return isinstance(features, KernelFeatures) and is_multiple_of_linear(features.kernel_)

    @cached_property
    def sphere(self) -> Sphere | None:
        """The parts of a map to points of length one, None for other maps."""
        space = getattr(self.source, "coordinates", None)
        if isinstance(space, UnitRows):
            return Sphere(np.zeros(space.d), None, self.source.components)
        if isinstance(space, Angles):
            C = self.source.components
            whole = C.shape[0] == C.shape[1] and np.array_equal(C, np.eye(len(C)))
            return Sphere(space.center, space.factor, None if whole else C)
        return None

    def __call__(self, X: Any) -> np.ndarray:
        """E(x), float64 (n, r)."""
        if isinstance(self.source, KernelMetric) and self.source.alpha > 0 and not _is_beside(self.source):
            kernel = self.source.features.kernel_
            return self._outside.transform(kernel.embed(X))
        return np.asarray(self.source.transform(X), dtype=np.float64)

    @cached_property
    def _outside(self) -> SubspaceMahalanobis:
        """A kernel metric with α > 0 on explicit features φ: W = α I + U (M − α I) Uᵀ with U = φ(B)ᵀ Tᵀ."""
        features = self.source.features
        basis = linalg.dense(features.kernel_.embed(features.basis_)).T @ features.map_.T
        return SubspaceMahalanobis(basis, self.source.core, alpha=self.source.alpha)

    @cached_property
    def offset(self) -> np.ndarray:
        """The vector b, (r,): E at the origin, zero but for centered kernel features."""
        if isinstance(self.source, Mahalanobis | SubspaceMahalanobis):
            return np.zeros(self.width)
        return self(np.zeros((1, self.n_features or 0)))[0]

    @cached_property
    def components(self) -> np.ndarray:
        """The matrix L, (r, d), of a linear map."""
        if isinstance(self.source, Mahalanobis):
            return self.source.components
        d = self.n_features or 0
        if not self.is_linear:
            raise TypeError(
                f"{self.owner}: the map of {described(self.source)} is not linear; export it as onnx, npz or "
                "sklearn, or its coordinates with a database."
            )
        if d * max(d, self.width) > LARGEST:
            raise ValueError(f"{self.owner}: a dense map of {d} features is too large; export the coordinates.")
        return (self(np.eye(d)) - self.offset).T

    @property
    def matrix(self) -> np.ndarray:
        """M = LᵀL, (d, d)."""
        return self.components.T @ self.components


def isometry(metric: Any, owner: str) -> Isometry:
    """The map of a metric, of fitted kernel features, of a fitted learner, or of a file that holds one of them."""
    file = None
    if isinstance(metric, str | os.PathLike):
        file = Path(metric)
        metric = persist.load(file)
    metric = getattr(metric, "metric_", metric)
    if isinstance(metric, KernelFeatures) and hasattr(metric, "map_"):
        return Isometry(metric, owner, file)
    if not isinstance(metric, Metric):
        raise TypeError(
            f"{owner}: metric must be a learned metric, fitted KernelFeatures, or a file of one, "
            f"got {_checks.shown(metric)}."
        )
    if isinstance(metric, KernelMetric) and not _is_finite(metric):
        raise TypeError(
            f"{owner}: {described(metric)} has no finite coordinates outside of its basis (alpha > 0); "
            "learn with Kernelized(…, alpha=0), or search it with KernelHashIndex."
        )
    return Isometry(metric, owner, file)


def described(source: Any) -> str:
    """A metric in words."""
    features = getattr(source, "features", source)
    kernel = getattr(features, "kernel_", None)
    name = type(source).__name__
    return f"a {name}" if kernel is None else f"a {name} with the kernel {_checks.shown(kernel)}"


def is_multiple_of_linear(kernel: Kernel) -> bool:
    """Whether k(x, y) = w xᵀy."""
    return isinstance(kernel, Linear) or (isinstance(kernel, Scaled) and is_multiple_of_linear(kernel.base))


def _is_finite(metric: KernelMetric) -> bool:
    """Whether all of the metric has coordinates: what lies outside of the basis too."""
    return metric.alpha == 0 or _is_beside(metric) or _is_explicit(metric.features.kernel_)


def _is_beside(metric: Metric) -> bool:
    """Whether the metric lies beside the features, which are then a part of E."""
    return isinstance(metric.coordinates, BesideFeatures)


def _is_explicit(kernel: Kernel) -> bool:
    """Whether the kernel has features φ(x) as wide as the points."""
    if not kernel.on_vectors:
        return False
    phi = kernel.embed(np.ones((1, 1)))
    return phi is not None and phi.shape[1] == 1
