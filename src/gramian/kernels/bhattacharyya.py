"""A kernel of class probabilities."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gramian._arrays import Matrix, asarray, to_numpy
from gramian._settings import Rule, SettingError
from gramian.coordinates import Probabilities, probabilities
from gramian.kernels.base import ByVectors

Classifier = Annotated[Any, Rule("a fitted classifier", lambda value: isinstance(value, Probabilities), SettingError)]


@dataclass(frozen=True)
class Bhattacharyya(ByVectors):
    """Similarity of two points by what a classifier makes of them.

    k(x, y) = Σ_c √(p_c(x) p_c(y)), Bhattacharyya's coefficient (1943) of class probabilities.

    Points of one class have a similarity of 1 where the classifier is sure. It adds up with kernels of the features:
    ``Linear() + 4 * Bhattacharyya(model)`` is the inner product beside √p, twice as long. The points that the
    classifier was fitted to look more sure than others will: see :class:`.Posteriors`.

    Parameters
    ----------
    classifier : fitted classifier with ``predict_proba``
        Linear ones and forests are written down as arrays, and can be saved; others are held in memory.

    See Also
    --------
    gramian.Posteriors : Learns the probabilities, and a metric beside them.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = gm.datasets.load("iris", return_X_y=True)
    >>> kernel = gm.Bhattacharyya(LogisticRegression(max_iter=1000).fit(X, y))
    >>> bool(kernel(X[:1], X[1:2])[0, 0] > 0.99), bool(kernel(X[:1], X[-1:])[0, 0] < 0.2)
    (True, True)
    """

    classifier: Classifier

    def __post_init__(self) -> None:
        if hasattr(self.classifier, "n_features_in_"):
            sample = np.random.RandomState(0).standard_normal((64, self.classifier.n_features_in_))
            object.__setattr__(self, "classifier", probabilities(self.classifier, sample))
        super().__post_init__()

    def accept(self, X: Any, name: str = "X") -> Any:
        """Points with as many columns as the classifier takes."""
        if X.shape[1] != self.classifier.n_features:
            raise ValueError(
                f"Bhattacharyya: {name} must have {self.classifier.n_features} features, got {X.shape[1]}."
            )
        return super().accept(X, name)

    def _phi(self, X: Matrix) -> Any:
        """√p(x)."""
        return asarray(self.classifier.roots(to_numpy(X)), X)
