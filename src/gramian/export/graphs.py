"""Kernels as ONNX nodes: K(x, B) of a basis B, from products and powers alone."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.export.maps import Isometry, Sphere, described, isometry
from gramian.features import KernelFeatures
from gramian.kernels import Cosine, Gaussian, Linear, Polynomial
from gramian.kernels.base import Kernel
from gramian.kernels.combinations import Constant, Product, Scaled, Sum
from gramian.kernels.weighted import Weighted


@dataclass
class Graph:
    """Nodes and constants of a growing ONNX graph, all in one precision."""

    onnx: Any
    dtype: Any
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def constant(self, values: Any, name: str = "", dtype: Any = None) -> str:
        """Name of a constant array."""
        array = np.asarray(values, dtype=self.dtype if dtype is None else dtype)
        name = name or f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Name of the output of a new node."""
        name = name or f"n{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def scaled(self, value: str, factor: float) -> str:
        """The value times a number."""
        return value if factor == 1 else self.add("Mul", value, self.constant(factor))

    def squares(self, value: str) -> str:
        """Σ_j v_j² of each row, (n, 1)."""
        axes = self.constant([1], dtype=np.int64)
        return self.add("ReduceSum", self.add("Mul", value, value), axes, keepdims=1)


def gram(graph: Graph, kernel: Kernel, x: str, basis: np.ndarray, owner: str) -> str:
    """K(x, B), (n, k), as nodes; kernels without a formula of products and powers are refused."""
    if isinstance(kernel, Linear):
        return graph.add("MatMul", x, graph.constant(basis.T))
    if isinstance(kernel, Polynomial):
        product = graph.scaled(graph.add("MatMul", x, graph.constant(basis.T)), kernel.scale)
        return graph.add("Pow", graph.add("Add", product, graph.constant(kernel.offset)), graph.constant(kernel.degree))
    if isinstance(kernel, Gaussian):
        return _gaussian(graph, kernel, x, basis, owner)
    if isinstance(kernel, Cosine):
        return _cosine(graph, x, basis)
    if isinstance(kernel, Scaled):
        return graph.scaled(gram(graph, kernel.base, x, basis, owner), kernel.weight)
    if isinstance(kernel, Constant):
        zero = graph.scaled(graph.add("MatMul", x, graph.constant(np.zeros_like(basis.T))), 0.0)
        return graph.add("Add", zero, graph.constant(kernel.value))
    if isinstance(kernel, Sum | Product | Weighted):
        return _combined(graph, kernel, x, basis, owner)
    raise TypeError(
        f"{owner}: the kernel {_checks.shown(kernel)} has no ONNX form; linear, polynomial, Gaussian and cosine "
        "kernels and their sums and products have one."
    )


def _combined(graph: Graph, kernel: Any, x: str, basis: np.ndarray, owner: str) -> str:
    weights = kernel.weights if isinstance(kernel, Weighted) else np.ones(len(kernel.parts))
    parts = [Scaled(part, float(w)) if w != 1 else part for part, w in zip(kernel.parts, weights) if w > 0]
    total = gram(graph, parts[0], x, basis, owner)
    for part in parts[1:]:
        total = graph.add("Mul" if isinstance(kernel, Product) else "Add", total, gram(graph, part, x, basis, owner))
    return total


def _gaussian(graph: Graph, kernel: Gaussian, x: str, basis: np.ndarray, owner: str) -> str:
    """exp(−|x − b|² / 2σ²) with |x − b|² = |x|² + |b|² − 2xᵀb, both taken from the center of the basis."""
    if kernel.metric is not None:
        inner = isometry(kernel.metric, owner)
        basis = inner(basis)
        x = embedded(graph, inner, x)
    center = basis.mean(axis=0)
    basis = basis - center
    x = graph.add("Sub", x, graph.constant(center))
    product = graph.scaled(graph.add("MatMul", x, graph.constant(basis.T)), -2.0)
    sizes = graph.add("Add", graph.squares(x), graph.constant((basis**2).sum(axis=1)[None]))
    sqdist = graph.add("Relu", graph.add("Add", product, sizes))
    return graph.add("Exp", graph.scaled(sqdist, -0.5 / kernel.scale**2))


def _cosine(graph: Graph, x: str, basis: np.ndarray) -> str:
    norms = np.sqrt((basis**2).sum(axis=1))
    unit = np.divide(basis, norms[:, None], out=np.zeros_like(basis), where=norms[:, None] > 0)
    return graph.add("MatMul", _unit(graph, x), graph.constant(unit.T))


def _unit(graph: Graph, x: str) -> str:
    """x / |x|, and 0 for 0."""
    size = graph.add("Max", graph.add("Sqrt", graph.squares(x)), graph.constant(np.finfo(np.float32).tiny))
    return graph.add("Div", x, size)


def _on_sphere(graph: Graph, sphere: Sphere, x: str) -> str:
    if sphere.center.any():
        x = graph.add("Sub", x, graph.constant(sphere.center))
    if sphere.inner is not None:
        x = graph.add("MatMul", x, graph.constant(sphere.inner.T))
    x = _unit(graph, x)
    return x if sphere.components is None else graph.add("MatMul", x, graph.constant(sphere.components.T))


def embedded(graph: Graph, inner: Isometry, x: str) -> str:
    """E(x) of a linear map or of kernel coordinates, as nodes."""
    if inner.is_linear:
        z = graph.add("MatMul", x, graph.constant(inner.components.T))
        return graph.add("Add", z, graph.constant(inner.offset)) if inner.offset.any() else z
    if inner.sphere is not None:
        return _on_sphere(graph, inner.sphere, x)
    kernel, basis, weights, offset = kernel_map(inner)
    z = graph.add("MatMul", gram(graph, kernel, x, basis, inner.owner), graph.constant(weights))
    return graph.add("Sub", z, graph.constant(offset)) if offset.any() else z


def kernel_map(inner: Isometry) -> tuple[Kernel, np.ndarray, np.ndarray, np.ndarray]:
    """Kernel k, basis B (k, d), weights W (k, q) and offset o (q,) with E(x) = K(x, B) W − o."""
    features = getattr(inner.source, "features", inner.source)
    if not isinstance(features, KernelFeatures) or getattr(inner.source, "alpha", 0) > 0:
        raise TypeError(f"{inner.owner}: {described(inner.source)} has no formula to export; export its coordinates.")
    if not features.kernel_.on_vectors:
        raise TypeError(
            f"{inner.owner}: the kernel {_checks.shown(features.kernel_)} is not on vectors; export its coordinates."
        )
    root = np.eye(len(features.map_)) if features is inner.source else inner.source.components.T
    basis = linalg.dense(features.basis_).astype(np.float64)
    return features.kernel_, basis, features.map_.T @ root, features.mean_ @ root
