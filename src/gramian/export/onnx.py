"""A learned metric as an ONNX model: the map from products, powers and lengths alone."""

from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np

from gramian import _validate, linalg
from gramian.coordinates import ForestProbabilities, KernelProbabilities, LinearProbabilities, Probabilities
from gramian.export.base import Center, Map, Place, Target, delivered, kernel_map
from gramian.kernels import Cosine, Gaussian, Linear, Polynomial
from gramian.kernels.base import Kernel
from gramian.kernels.combinations import Constant, Product, Scaled, Sum, Weighted

OPSET, IR = 17, 8
TREES, TREES_OPSET = "ai.onnx.ml", 3
"""Versions that runtimes of the last years read, browsers included."""

QUERY = """
import numpy as np
import onnxruntime
model = onnxruntime.InferenceSession("{name}")
x = np.asarray(x, dtype="float32").reshape(1, -1)
z = model.run(["learned"], {{"x": x}})[0]  # |z - z'|^2 is the learned squared distance
"""


class Onnx(Target):
    """An ONNX model ``x (n, d) → learned (n, r)``, float32, whose plain squared distances are d²(x, y).

    A linear metric is Sub (of ``center``) and MatMul (by Lᵀ), two nodes that run in onnxruntime, in browsers and in
    whatever else reads ONNX; one by the angle is divided by its length behind them. Kernel features with a linear,
    polynomial, Gaussian or cosine kernel, or sums and products of these, are E(x) = K(x, B) W − o; inside they are
    computed in double precision, since W has entries as large as the root of the condition of K(B, B). Roots of class
    probabilities beside the features are a Softmax, or a TreeEnsembleRegressor of ONNX's own ``ai.onnx.ml``.
    """

    name, package, suffix, takes_data = "onnx", "onnx", ".onnx", False
    words = {"path": ("path, optional", "Where to write the model, with a README.md beside it.")}
    returns = "path, or the ``onnx.ModelProto`` where no path is given"
    example = """
>>> model = gm.export.to_onnx(metric)
>>> [node.op_type for node in model.graph.node]
['Sub', 'MatMul']
"""

    def write(self, map: Map, path: Place = None, *, center: Center | None = None) -> Any:
        onnx = self.needs(map.owner, "onnx")
        model = _model(onnx, map, center_of(map, center))
        onnx.checker.check_model(model)
        if path is None:
            return model
        save = lambda file: file.write_bytes(model.SerializeToString())  # noqa: E731
        return delivered(path, map, save, "an ONNX model from `x` to `learned`.", QUERY)

    def apply(self, path: Path, X: np.ndarray) -> np.ndarray:
        runtime = self.needs("check", "onnxruntime")
        model = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return model.run(None, {model.get_inputs()[0].name: X.astype(np.float32)})[0]


def center_of(map: Map, center: Any) -> np.ndarray:
    """The center c of a linear map, zero when not given."""
    d = map.n_features or 0
    if center is None:
        return np.zeros(d)
    if map.affine is None or map.affine.by_angle:
        raise ValueError(f"{map.owner}: center must be None for a map that is not linear.")
    return _validate.vector(center, map.owner, "center", d)


def _model(onnx: Any, map: Map, center: np.ndarray) -> Any:
    if map.n_features is None:
        raise TypeError(f"{map.owner}: points must be vectors; export the coordinates with a database.")
    kind = onnx.TensorProto.FLOAT
    if map.affine is not None and not map.affine.by_angle:
        graph = Graph(onnx, np.float32)
        moved = graph.add("Sub", "x", graph.constant(center, "center"))
        embedded(graph, map, moved)
        graph.nodes[-1].output[0] = "learned"
    else:
        graph = Graph(onnx, np.float64)  # W has large entries, and small lengths divide
        double = graph.add("Cast", "x", to=onnx.TensorProto.DOUBLE)
        graph.add("Cast", embedded(graph, map, double), name="learned", to=kind)
    entry = onnx.helper.make_tensor_value_info("x", kind, ["n", map.n_features])
    exit_ = onnx.helper.make_tensor_value_info("learned", kind, ["n", map.width])
    body = onnx.helper.make_graph(graph.nodes, "gramian", [entry], [exit_], graph.constants)
    versions = {"": OPSET} | ({TREES: TREES_OPSET} if any(node.domain == TREES for node in graph.nodes) else {})
    opsets = [onnx.helper.make_opsetid(*pair) for pair in versions.items()]
    return onnx.helper.make_model(body, opset_imports=opsets, ir_version=IR, producer_name="gramian")


def embedded(graph: "Graph", map: Map, x: str) -> str:
    """E(x) of a formula, of kernel coordinates or beside class probabilities, as nodes."""
    if map.beside is not None:
        features, model, weight = map.beside
        roots = graph.add("Sqrt", class_probabilities(graph, model, x, map.owner))
        return graph.add("Concat", embedded(graph, features, x), graph.scaled(roots, weight), axis=1)
    if map.affine is None:
        kernel, basis, weights, offset = kernel_map(map)
        z = graph.times(gram(graph, kernel, x, basis, map.owner), weights.T)  # K(x, B)W
        return graph.add("Sub", z, graph.constant(offset)) if offset.any() else z
    x = graph.times(x, map.affine.L)  # Lx
    x = x if map.affine.b is None else graph.add("Add", x, graph.constant(map.affine.b))
    return graph.times(_unit(graph, x) if map.affine.by_angle else x, map.affine.C)


def class_probabilities(graph: "Graph", model: Probabilities, x: str, owner: str) -> str:
    """p(x) of a linear model, of a forest or of kernel votes, as nodes."""
    if isinstance(model, LinearProbabilities):
        scores = graph.add("Add", graph.times(x, model.weights), graph.constant(model.intercept))
        return graph.add("Softmax", scores, axis=1)
    if isinstance(model, KernelProbabilities):
        z = embedded(graph, Map.of(model.metric, owner), x)
        votes = gram(graph, Constant(1.0) + Gaussian(model.scale), z, model.anchors, owner)
        return graph.add("Softmax", graph.times(votes, model.coefficients.T), axis=1)
    if not isinstance(model, ForestProbabilities):
        raise TypeError(
            f"{owner}: a classifier held in memory has no ONNX form; linear ones, forests and kernel votes have one."
        )
    moved = graph.add("Sub", x, graph.constant(model.center))
    single = graph.add("Cast", graph.add("Div", moved, graph.constant(model.scale)), to=graph.onnx.TensorProto.FLOAT)
    shares = graph.add("TreeEnsembleRegressor", single, domain=TREES, **nodes_of(model))
    return graph.add("Cast", shares, to=graph.onnx.TensorProto.DOUBLE)


def nodes_of(model: ForestProbabilities) -> dict[str, Any]:
    """A forest as the attributes of a TreeEnsembleRegressor, a target for each class."""
    m, starts = len(model.feature), model.roots_at
    tree = np.searchsorted(starts, np.arange(m), side="right") - 1
    place = np.arange(m) - starts[tree]
    below = model.children - starts[tree][:, None]
    leaf = below[:, 0] == place
    shares = model.shares.tocoo()
    node, target = shares.coords
    return {
        "n_targets": len(model.classes),
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": place.tolist(),
        "nodes_featureids": model.feature.tolist(),
        "nodes_values": model.threshold.astype(float).tolist(),
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_truenodeids": np.where(leaf, 0, below[:, 0]).tolist(),
        "nodes_falsenodeids": np.where(leaf, 0, below[:, 1]).tolist(),
        "target_treeids": tree[node].tolist(),
        "target_nodeids": place[node].tolist(),
        "target_ids": target.tolist(),
        "target_weights": (shares.data / len(starts)).tolist(),
    }


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
        name = name or f"n{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def times(self, value: str, L: Any) -> str:
        """Lv of each row v; the value where L is None."""
        return value if L is None else self.add("MatMul", value, self.constant(L.T))

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
        return graph.times(x, basis)
    if isinstance(kernel, Polynomial):
        product = graph.scaled(graph.times(x, basis), kernel.scale)
        return graph.add("Pow", graph.add("Add", product, graph.constant(kernel.offset)), graph.constant(kernel.degree))
    if isinstance(kernel, Gaussian):
        return _gaussian(graph, kernel, x, basis, owner)
    if isinstance(kernel, Cosine):
        return graph.times(_unit(graph, x), linalg.unit_rows(basis))
    if isinstance(kernel, Scaled):
        return graph.scaled(gram(graph, kernel.base, x, basis, owner), kernel.weight)
    if isinstance(kernel, Constant):
        zero = graph.scaled(graph.times(x, np.zeros_like(basis)), 0.0)  # of the right shape (n, k)
        return graph.add("Add", zero, graph.constant(kernel.value))
    if isinstance(kernel, Sum | Product | Weighted):
        return _combined(graph, kernel, x, basis, owner)
    raise TypeError(
        f"{owner}: the kernel {_validate.shown(kernel)} has no ONNX form; linear, polynomial, Gaussian and cosine "
        "kernels and their sums and products have one."
    )


def _combined(graph: Graph, kernel: Any, x: str, basis: np.ndarray, owner: str) -> str:
    weights = kernel.weights if isinstance(kernel, Weighted) else np.ones(len(kernel.parts))
    parts = [Scaled(one, float(w)) if w != 1 else one for one, w in zip(kernel.parts, weights) if w > 0]
    kind = "Mul" if isinstance(kernel, Product) else "Add"
    return reduce(partial(graph.add, kind), [gram(graph, one, x, basis, owner) for one in parts])


def _gaussian(graph: Graph, kernel: Gaussian, x: str, basis: np.ndarray, owner: str) -> str:
    """exp(−|x − b|² / 2σ²) with |x − b|² = |x|² + |b|² − 2xᵀb, both taken from the center of the basis."""
    if kernel.metric is not None:
        inner = Map.of(kernel.metric, owner)
        basis, x = inner(basis), embedded(graph, inner, x)
    center = basis.mean(axis=0)  # (d,)
    basis = basis - center  # (k, d)
    x = graph.add("Sub", x, graph.constant(center))
    product = graph.scaled(graph.times(x, basis), -2.0)  # −2xᵀb, (n, k)
    sizes = graph.add("Add", graph.squares(x), graph.constant((basis**2).sum(axis=1)[None]))  # |x|² + |b|²
    sqdist = graph.add("Relu", graph.add("Add", product, sizes))  # rounding may leave less than zero
    return graph.add("Exp", graph.scaled(sqdist, -0.5 / kernel.scale**2))


def _unit(graph: Graph, x: str) -> str:
    """x / |x|, and 0 for 0."""
    size = graph.add("Max", graph.add("Sqrt", graph.squares(x)), graph.constant(np.finfo(np.float32).tiny))
    return graph.add("Div", x, size)
