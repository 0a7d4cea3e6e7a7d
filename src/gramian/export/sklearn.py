"""A learned metric as a frozen scikit-learn transformer."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, LabelEncoder, Normalizer, StandardScaler

from gramian import _validate
from gramian.coordinates import LinearProbabilities, Probabilities
from gramian.export.base import Map, Place, Target, delivered, kernel_map
from gramian.kernels import Cosine, Gaussian, Polynomial
from gramian.kernels.base import Kernel

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


class Sklearn(Target):
    """A scikit-learn transformer x ↦ E(x) that stays as it is in a ``Pipeline``, made of scikit-learn's own classes.

    A linear metric is a ``TruncatedSVD`` with components L, one by the angle has a ``Normalizer`` behind it; kernel
    features with a Gaussian, polynomial or cosine kernel are a ``Nystroem`` with the basis as its landmarks, class
    probabilities of a linear model beside them a ``VotingClassifier`` of one ``LogisticRegression``; a
    ``FrozenEstimator`` around it keeps ``fit`` from changing it. The file is an ordinary pickle of these classes: it
    loads where only scikit-learn is installed, of a version like the one that wrote it. (The metric itself is also a
    callable for ``KNeighborsClassifier(metric=metric)``.)
    """

    name, suffix, takes_data = "sklearn", ".pkl", False
    words = {"path": ("path, optional", "Where to write, with a README.md beside it.")}
    returns = "path, or a transformer that is also the distance of two points when called"
    example = """
>>> learned = gm.export.to_sklearn(metric)
>>> learned.transform([[1.0, 1.0]]).tolist(), learned([0.0, 0.0], [0.0, 1.0])
([[1.0, 2.0]], 2.0)
"""

    def write(self, map: Map, path: Place = None) -> Any:
        estimator = _estimator(map)
        if path is None:
            return LearnedDistance(estimator)
        save = lambda file: file.write_bytes(pickle.dumps(FrozenEstimator(estimator), protocol=5))  # noqa: E731
        return delivered(path, map, save, "a frozen scikit-learn transformer.", QUERY)

    def apply(self, path: Path, X: np.ndarray) -> np.ndarray:
        with open(path, "rb") as stream:
            return _Known(stream).load().transform(X)


def _estimator(map: Map) -> Any:
    affine = map.affine
    if map.beside is not None:
        features, model, weight = map.beside
        parts = [("features", _estimator(features)), ("classes", _roots(model, weight, map.owner))]
        return FeatureUnion(parts)  # each of them is fitted
    if affine is None:
        kernel, basis, weights, offset = kernel_map(map)  # E(x) = K(x, B)W − o
        nystroem = Nystroem(n_components=len(basis), **_parameters(kernel, map.owner))
        nystroem.components_, nystroem.normalization_ = basis, weights.T  # it computes K(x, B) normalization_ᵀ
        nystroem.component_indices_ = np.arange(len(basis))
        nystroem.n_features_in_ = map.n_features
        return _chain(nystroem, _shift(offset) if offset.any() else None)
    return _chain(
        None if affine.L is None else _product(affine.L),
        None if affine.b is None else _shift(-affine.b),
        Normalizer().fit(np.zeros((1, map.inner_width))) if affine.by_angle else None,
        None if affine.C is None else _product(affine.C),
    )


def _roots(model: Probabilities, weight: float, owner: str) -> Any:
    """x ↦ w √p(x); a vote of one classifier transforms to its probabilities."""
    if not isinstance(model, LinearProbabilities):
        raise TypeError(
            f"{owner}: class probabilities of {_validate.shown(model)} have no scikit-learn form; export onnx."
        )
    classifier = LogisticRegression()
    classifier.coef_, classifier.intercept_ = np.array(model.weights), np.array(model.intercept)
    classifier.classes_, classifier.n_features_in_ = np.arange(len(model.classes)), model.n_features
    vote = VotingClassifier([("classes", classifier)], voting="soft")
    vote.estimators_, vote.classes_ = [classifier], classifier.classes_
    vote.le_ = LabelEncoder().fit(classifier.classes_)
    shape = (1, len(model.classes))
    return make_pipeline(vote, FunctionTransformer(np.sqrt).fit(np.ones(shape)), _product(weight * np.eye(shape[1])))


def _chain(*steps: Any) -> Any:
    """The steps that are there, one after the other."""
    used = [step for step in steps if step is not None]
    return used[0] if len(used) == 1 else make_pipeline(*used)


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
    shift.scale_ = shift.var_ = None  # it only subtracts
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
        f"{owner}: the kernel {_validate.shown(kernel)} has no scikit-learn form; use the metric itself, or onnx."
    )


class _Known(pickle.Unpickler):
    """Reads scikit-learn's and NumPy's classes and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] not in ("sklearn", "numpy"):
            raise pickle.UnpicklingError(f"{module}.{name} does not belong into this file")
        return super().find_class(module, name)
