"""Data sets by name: scikit-learn's own, a local folder, or OpenML."""

import difflib
import os
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from gramian._settings import Rule, checked

BUNDLED = {
    "iris": "load_iris",
    "wine": "load_wine",
    "wdbc": "load_breast_cancer",
    "breast_cancer": "load_breast_cancer",
    "digits": "load_digits",
    "diabetes": "load_diabetes",
}
"""Sets that come with scikit-learn."""

OPENML = {
    "balance_scale": ("balance-scale", 1),
    "breast_cancer_wisconsin": ("breast-w", 1),
    "glass": ("glass", 1),
    "heart_statlog": ("heart-statlog", 1),
    "ionosphere": ("ionosphere", 1),
    "isolet": ("isolet", 1),
    "mnist": ("mnist_784", 1),
    "musk2": ("musk", 1),
    "pendigits": ("pendigits", 1),
    "pima_diabetes": ("diabetes", 1),
    "satellite": ("satimage", 1),
    "sonar": ("sonar", 1),
    "spambase": ("spambase", 1),
    "usps": ("USPS", 2),
    "yeast": ("yeast", 1),
}
"""Sets that OpenML serves under another name and version."""


class Dataset(Bunch):
    """A data set: ``X``, ``y`` where it has labels, ``name``, and whatever else it carries, as attributes and keys.

    Common extras: ``feature_names``, ``class_names``, ``image_shape``, ``train_idx``, ``test_idx``, further labelings
    (``y_person``, ``y_pose`` …), and ``queries`` with ``neighbors`` for search.
    """

    @property
    def data(self) -> Any:
        """The same as ``X``, by scikit-learn's name."""
        return self["X"]

    @property
    def target(self) -> Any:
        """The same as ``y``, by scikit-learn's name."""
        return self["y"]

    def split(self) -> tuple[Any, Any, Any, Any]:
        """(X_train, X_test, y_train, y_test) by ``train_idx`` and ``test_idx``."""
        if "train_idx" not in self:
            raise ValueError(f"datasets: {self.name!r} has no split of its own; use train_test_split.")
        a, b = self.train_idx, self.test_idx
        return self.X[a], self.X[b], self.y[a], self.y[b]


def names() -> list[str]:
    """Names that :func:`load` knows: bundled, in the folder GRAMIAN_DATA, and on OpenML.

    >>> import gramian as gm
    >>> "digits" in gm.datasets.names()
    True
    """
    folder = _folder()
    local = [path.stem for path in folder.glob("*.npz")] if folder else []
    return sorted({*BUNDLED, *OPENML, *local})


POINTS = {"X", "indptr", "text"}
"""What a file of a data set has one of: dense points, sparse ones, or texts."""


def _is_real(value: Any) -> bool:
    try:
        return value is not None and np.dtype(value).kind in "fiu"
    except Exception:  # NumPy reads tables and words as descriptions of records
        return False


Real = Annotated[Any, Rule("a type of real numbers", _is_real)]


@checked
def load(name: str, return_X_y: bool = False, dtype: Real | None = np.float64) -> Any:
    """Load a data set by name.

    It is looked for among scikit-learn's bundled sets, then in the folder that the environment variable
    ``GRAMIAN_DATA`` names, then on OpenML (downloaded once and cached by scikit-learn). Nothing is standardized.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    return_X_y : bool
        Return ``(X, y)`` in place of a :class:`Dataset`.
    dtype : dtype or None
        Type of X, float64 by default; None keeps the type in which it is stored.

    Examples
    --------
    >>> import gramian as gm
    >>> X, y = gm.datasets.load("wine", return_X_y=True)
    >>> X.shape, len(set(y.tolist()))
    ((178, 13), 3)
    """
    folder = _folder()
    if name in BUNDLED:
        data = _bundled(name)
    elif folder and (folder / f"{name}.npz").is_file():
        data = _local(folder / f"{name}.npz")
    elif name in OPENML:
        data = _openml(name)
    else:
        raise ValueError(_unknown(name))
    if dtype is not None and not isinstance(data.X, list):
        data["X"] = data.X.astype(dtype, copy=False)
    return (data.X, data.get("y")) if return_X_y else data


def _folder() -> Path | None:
    folder = os.environ.get("GRAMIAN_DATA")
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"datasets: GRAMIAN_DATA names {folder!r}, which is not a folder.")
    return Path(folder)


def _unknown(name: str) -> str:
    everything = names()
    similar = difflib.get_close_matches(str(name), everything, n=3, cutoff=0.4) or everything
    hint = "" if os.environ.get("GRAMIAN_DATA") else " More sets are found when GRAMIAN_DATA names their folder."
    return f"datasets: unknown data set {name!r}, did you mean {', '.join(map(repr, similar))}?{hint}"


def _bundled(name: str) -> Dataset:
    from sklearn import datasets

    raw = getattr(datasets, BUNDLED[name])()
    data = Dataset(name=name, X=raw.data, y=raw.target, feature_names=np.array(raw.feature_names))
    if "target_names" in raw:
        data["class_names"] = np.array(raw.target_names)
    if "images" in raw:
        data["image_shape"] = raw.images.shape[1:]
    return data


def _local(path: Path) -> Dataset:
    with np.load(path, allow_pickle=False) as stored:
        if not POINTS & set(stored.files):
            raise ValueError(
                f"datasets: {path.name} must hold points as X, got {', '.join(stored.files)}; read it with numpy.load."
            )
        arrays = {key: stored[key] for key in stored.files}
    X = _taken_points(arrays)
    shapes = {key: tuple(shape.tolist()) for key, shape in arrays.items() if key.startswith("image_shape")}
    return Dataset(name=path.stem, X=X, **{**arrays, **shapes})


def _taken_points(arrays: dict[str, Any]) -> Any:
    """X from the arrays that hold it, which are taken out: scaled, sparse, texts, or as it is."""
    if "scale" in arrays:
        return arrays.pop("X") * float(arrays.pop("scale"))  # small integers in the file
    if "indptr" in arrays:
        shape = tuple(arrays.pop("shape").tolist())
        index = [arrays.pop(key).astype(np.int32) for key in ("indices", "indptr")]
        return sparse.csr_array((arrays.pop("data"), *index), shape=shape)
    if "text" in arrays:
        text, at = arrays.pop("text").tobytes().decode("latin-1"), arrays.pop("offsets")  # one byte a character
        return [text[a:b] for a, b in zip(at[:-1], at[1:])]
    return arrays.pop("X")


def _openml(name: str) -> Dataset:
    from sklearn.datasets import fetch_openml

    remote, version = OPENML[name]
    try:
        raw = fetch_openml(remote, version=version, as_frame=False, parser="liac-arff")
    except Exception as error:
        raise OSError(
            f"datasets: {name!r} could not be downloaded from OpenML ({type(error).__name__}); "
            "connect to the network, or set GRAMIAN_DATA to a folder that holds it."
        ) from error
    classes, y = np.unique(raw.target, return_inverse=True)
    return Dataset(name=name, X=raw.data, y=y, feature_names=np.array(raw.feature_names), class_names=classes)
