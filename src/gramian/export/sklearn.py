"""A learned metric as a frozen scikit-learn transformer."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from gramian import _checks
from gramian._parameters import checked
from gramian.export.graphs import kernel_map
from gramian.export.maps import Isometry, isometry
from gramian.export.places import place, readme
from gramian.export.words import WORDS
from gramian.kernels import Cosine, Gaussian, Polynomial
from gramian.kernels.base import Kernel
from gramian.persist import replacing

QUERY = """
import joblib
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
learned = joblib.load("{name}")  # pickle.load reads it too; make_pipeline(learned, KNeighborsClassifier())
z = learned.transform([x])  # |z - z'|^2 is the learned squared distance
"""


class LearnedDistance(FrozenEstimator):
    """A transformer to the coordinates E(x) that no ``fit`` changes, and the distance itself when called.

    As a step of a pipeline it transforms; as ``KNeighborsClassifier(metric=…)`` it is the distance of two points.
    """

    def __call__(self, u: Any, v: Any) -> float:
        """d(u, v) of two single points."""
        difference = np.subtract(*self.estimator.transform(np.stack([u, v])))
        return float(np.sqrt(difference @ difference))


@checked(**WORDS)
def to_sklearn(metric: Any, path: Any = None, *, out: Any = None) -> Any:
    """A scikit-learn transformer x ↦ E(x) that stays as it is in a ``Pipeline``, made of scikit-learn's own classes.

    A linear metric is a ``TruncatedSVD`` with components L; kernel features with a Gaussian, polynomial or cosine
    kernel are a ``Nystroem`` with the basis as its landmarks; a ``FrozenEstimator`` around it keeps ``fit`` from
    changing it. The file is an ordinary pickle of these classes: it loads where only scikit-learn is installed, of a
    version like the one that wrote it. (The metric itself is also a callable for
    ``KNeighborsClassifier(metric=metric)``.)

    Parameters
    ----------
    metric : Metric, KernelFeatures, fitted learner, or the file of a metric
    path : path, optional
        Where to write, with a README.md beside it; ``out`` is the same.

    Returns
    -------
    path, or a transformer that is also the distance of two points when called

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = gm.datasets.load("iris", return_X_y=True)
    >>> learned = gm.export.to_sklearn(gm.RCA(anchor=0).fit(X, y).metric_)
    >>> round(make_pipeline(learned, KNeighborsClassifier(3)).fit(X, y).score(X, y), 2)
    0.97
    """
    owner = "to_sklearn"
    target = place(path, out, owner)
    inner = isometry(metric, owner)
    estimator = _estimator(inner)
    if target is None:
        return LearnedDistance(estimator)
    with replacing(target, owner) as temporary:
        temporary.write_bytes(pickle.dumps(FrozenEstimator(estimator), protocol=5))
    readme(target, inner, "a frozen scikit-learn transformer.", QUERY.format(name=target.name))
    return target


def _estimator(inner: Isometry) -> Any:
    d = inner.n_features
    if inner.is_linear:
        return _moved(_product(inner.components), -inner.offset)
    if inner.sphere is not None:
        parts = inner.sphere
        first = [] if parts.inner is None else [("inner", _product(parts.inner))]
        last = [] if parts.components is None else [("components", _product(parts.components))]
        return Pipeline(
            [("center", _shift(parts.center)), *first, ("unit", Normalizer().fit(parts.center[None])), *last]
        )
    kernel, basis, weights, offset = kernel_map(inner)
    nystroem = Nystroem(n_components=len(basis), **_parameters(kernel, inner.owner))
    nystroem.components_ = basis
    nystroem.normalization_ = weights.T
    nystroem.component_indices_ = np.arange(len(basis))
    nystroem.n_features_in_ = d
    return _moved(nystroem, offset)


def _moved(estimator: Any, offset: np.ndarray) -> Any:
    """The estimator, and the subtraction of an offset behind it where there is one."""
    if not offset.any():
        return estimator
    return Pipeline([("map", estimator), ("shift", _shift(offset))])


def _product(L: np.ndarray) -> TruncatedSVD:
    """x ↦ Lx."""
    svd = TruncatedSVD(n_components=len(L))
    svd.components_ = np.array(L)
    svd.n_features_in_ = L.shape[1]
    return svd


def _shift(offset: np.ndarray) -> StandardScaler:
    """x ↦ x − offset."""
    shift = StandardScaler(with_std=False)
    shift.mean_ = offset
    shift.scale_ = shift.var_ = None
    shift.n_features_in_ = len(offset)
    shift.n_samples_seen_ = 1
    return shift


def _parameters(kernel: Kernel, owner: str) -> dict[str, Any]:
    if isinstance(kernel, Gaussian) and kernel.metric is None:
        return {"kernel": "rbf", "gamma": 0.5 / kernel.scale**2}
    if isinstance(kernel, Polynomial):
        return {"kernel": "poly", "degree": kernel.degree, "coef0": kernel.offset, "gamma": kernel.scale}
    if isinstance(kernel, Cosine):
        return {"kernel": "cosine"}
    raise TypeError(
        f"{owner}: the kernel {_checks.shown(kernel)} has no scikit-learn form; use the metric itself, or onnx."
    )


class _Known(pickle.Unpickler):
    """Reads scikit-learn's and NumPy's classes and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] not in ("sklearn", "numpy"):
            raise pickle.UnpicklingError(f"{module}.{name} does not belong into this file")
        return super().find_class(module, name)


def apply_sklearn(path: Path, X: np.ndarray) -> np.ndarray:
    """Run a written transformer on points."""
    with open(path, "rb") as stream:
        return _Known(stream).load().transform(X)
