"""A learned metric as an ONNX model."""

from pathlib import Path
from typing import Any

import numpy as np

from gramian import _checks
from gramian._parameters import checked
from gramian.export.graphs import Graph, embedded
from gramian.export.maps import Isometry, isometry
from gramian.export.places import needs, place, readme
from gramian.export.words import WORDS
from gramian.persist import replacing

OPSET, IR = 17, 8
"""Versions that runtimes of the last years read, browsers included."""

QUERY = """
import numpy as np
import onnxruntime
model = onnxruntime.InferenceSession("{name}")
x = np.asarray(x, dtype="float32").reshape(1, -1)
z = model.run(["learned"], {{"x": x}})[0]  # |z - z'|^2 is the learned squared distance
"""


@checked(**WORDS)
def to_onnx(metric: Any, path: Any = None, *, center: Any = None, out: Any = None) -> Any:
    """An ONNX model ``x (n, d) → learned (n, r)``, float32, whose plain squared distances are d²(x, y).

    A linear metric is Sub (of ``center``) and MatMul (by Lᵀ), two nodes that run in onnxruntime, in browsers and in
    whatever else reads ONNX. Kernel features with a linear, polynomial, Gaussian or cosine kernel, or sums and products
    of these, are E(x) = K(x, B) W − o; inside they are computed in double precision, since W has entries
    as large as the root of the condition of K(B, B).

    Parameters
    ----------
    metric : Metric, KernelFeatures, fitted learner, or the file of a metric
    path : path, optional
        Where to write the model, with a README.md beside it; ``out`` is the same.
    center : array (d,), optional
        c of E(x) = L(x − c), which keeps the digits of points far from the origin; linear metrics only.

    Returns
    -------
    path, or the ``onnx.ModelProto`` where no path is given

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 4.0]))
    >>> model = gm.export.to_onnx(metric)  # doctest: +SKIP
    >>> [node.op_type for node in model.graph.node]  # doctest: +SKIP
    ['Sub', 'MatMul']
    """
    owner = "to_onnx"
    target = place(path, out, owner)
    onnx = needs("onnx", owner, "onnx")
    inner = isometry(metric, owner)
    model = _model(onnx, inner, center_of(inner, center))
    onnx.checker.check_model(model)
    if target is None:
        return model
    with replacing(target, owner) as temporary:
        temporary.write_bytes(model.SerializeToString())
    readme(target, inner, "an ONNX model from `x` to `learned`.", QUERY.format(name=target.name))
    return target


def _model(onnx: Any, inner: Isometry, center: np.ndarray) -> Any:
    if inner.n_features is None:
        raise TypeError(f"{inner.owner}: points must be vectors; export the coordinates with a database.")
    if inner.is_linear:
        graph = Graph(onnx, np.float32)
        moved = graph.add("Sub", "x", graph.constant(center, "center"))
        components = graph.constant(inner.components.T, "components")
        if inner.offset.any():
            mapped = graph.add("MatMul", moved, components)
            graph.add("Add", mapped, graph.constant(inner.offset, "offset"), name="learned")
        else:
            graph.add("MatMul", moved, components, name="learned")
    else:
        graph = Graph(onnx, np.float64)
        double = graph.add("Cast", "x", to=onnx.TensorProto.DOUBLE)
        graph.add("Cast", embedded(graph, inner, double), name="learned", to=onnx.TensorProto.FLOAT)
    kind = onnx.TensorProto.FLOAT
    entry = onnx.helper.make_tensor_value_info("x", kind, ["n", inner.n_features])
    exit_ = onnx.helper.make_tensor_value_info("learned", kind, ["n", inner.width])
    body = onnx.helper.make_graph(graph.nodes, "gramian", [entry], [exit_], graph.constants)
    opset = onnx.helper.make_opsetid("", OPSET)
    return onnx.helper.make_model(body, opset_imports=[opset], ir_version=IR, producer_name="gramian")


def center_of(inner: Isometry, center: Any) -> np.ndarray:
    """The center c of a linear map, zero when not given."""
    d = inner.n_features or 0
    if center is None:
        return np.zeros(d)
    if not inner.is_linear:
        raise ValueError(f"{inner.owner}: center must be None for a map that is not linear.")
    return _checks.vector(center, inner.owner, "center", d)


def apply_onnx(path: Path, X: np.ndarray) -> np.ndarray:
    """Run a written model on points."""
    runtime = needs("onnxruntime", "check", "onnx")
    model = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return model.run(None, {model.get_inputs()[0].name: X.astype(np.float32)})[0]
