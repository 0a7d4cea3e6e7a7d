"""Learners of points with labels, chunks, targets, or nothing: Covariance, LFDA, LMNN, MLKR, NCA and RCA."""

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
from sklearn.base import TransformerMixin

import gramian as gm
from gramian import _validate
from gramian.compat.metric_learn.base_metric import MahalanobisMixin
from gramian.compat.metric_learn.constraints import Constraints
from gramian.compat.metric_learn.exceptions import note
from gramian.compat.metric_learn.fitting import fit_with, square_root, table, timed
from gramian.compat.metric_learn.matrices import check_n_components, start
from gramian.compat.metric_learn.settings import store
from gramian.learners.lfda import Embedding

FAR = 30
"""Neighbors of a point whose distance is its scale, when no number is given."""


class Covariance(TransformerMixin, MahalanobisMixin):
    """M = C⁺; see :class:`gramian.Covariance`."""

    def __init__(self, preprocessor=None):
        super().__init__(preprocessor)

    def fit(self, X: Any, y: Any = None) -> "Covariance":
        """Learn from points; y is not looked at."""
        X = self._prepare_inputs(X, ensure_min_samples=2)
        self.components_ = square_root(gm.Covariance().fit(X).metric_.matrix)
        return self


class LFDA(TransformerMixin, MahalanobisMixin):
    """Local Fisher discriminant analysis; see :class:`gramian.LFDA`.

    ``k`` is 30 when None, and not limited by the number of features: the scale that is called that of the 7th neighbor
    there is the distance to some other point of the class, which is farther.
    """

    def __init__(self, n_components=None, k=None, embedding_type="weighted", preprocessor=None):
        store(self, locals())

    def fit(self, X: Any, y: Any) -> "LFDA":
        """Learn from points with labels."""
        if self.embedding_type not in get_args(Embedding):
            raise ValueError(f"Invalid embedding_type: {self.embedding_type!r}")
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2)
        r = check_n_components(X.shape[1], self.n_components)
        k = FAR if self.k is None else int(_validate.number(self.k, "LFDA", "k"))
        fit_with(self, gm.LFDA(r, k, embedding=self.embedding_type, anchor=0), X, y)
        return self


class LMNN(TransformerMixin, MahalanobisMixin):
    """Large margin nearest neighbors; see :class:`gramian.LMNN`.

    ``regularization`` is the weight of the pull, one minus it that of the push. The problem is solved to its own
    tolerance; ``learn_rate``, ``min_iter`` and ``convergence_tol`` have no meaning here.
    """

    def __init__(
        self,
        init="auto",
        n_neighbors=3,
        min_iter=50,
        max_iter=1000,
        learn_rate=1e-7,
        regularization=0.5,
        convergence_tol=0.001,
        verbose=False,
        preprocessor=None,
        n_components=None,
        random_state=None,
        k="deprecated",
    ):
        store(self, locals(), k="n_neighbors")

    def fit(self, X: Any, y: Any) -> "LMNN":
        """Learn from points with labels."""
        if (self.learn_rate, self.min_iter) != (1e-7, 50):
            note("LMNN: learn_rate and min_iter are not used; the problem is solved to a gap.")
        X, y = self._prepare_inputs(X, y, dtype=float, ensure_min_samples=2)
        r = check_n_components(X.shape[1], self.n_components)
        learner = gm.LMNN(
            self.n_neighbors,
            (1 - self.regularization) / max(self.regularization, 1e-9) or 1e-9,
            n_components=r,
            init=start(X, y, self.init, r),
            anchor=0,
            max_iter=self.max_iter,
            callback=_steps() if self.verbose else None,
            random_state=self.random_state,
        )
        fit_with(self, learner, X, y)
        self.labels_ = np.unique(y, return_inverse=True)[1]
        if self.verbose and learner.converged_:
            print("LMNN converged with objective", learner.objective_)
        return self


def _steps() -> Callable[..., None]:
    """A callback that prints step, objective, its change and the residual."""
    before = None
    print("iter | objective | objective difference | residual")

    def report(n_iter: int, value: float, residual: float) -> None:
        nonlocal before
        print(n_iter, value, 0.0 if before is None else value - before, residual)
        before = value

    return report


class MLKR(TransformerMixin, MahalanobisMixin):
    """Metric learning for kernel regression; see :class:`gramian.MLKR`."""

    def __init__(
        self,
        n_components=None,
        init="auto",
        tol=None,
        max_iter=1000,
        verbose=False,
        preprocessor=None,
        random_state=None,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any) -> "MLKR":
        """Learn from points with real targets."""
        X, y = self._prepare_inputs(X, y, y_numeric=True, ensure_min_samples=2)
        r = check_n_components(X.shape[1], self.n_components)
        with timed(self):
            learner = gm.MLKR(
                r,
                anchor=0,
                init=start(X, y, self.init, r, has_classes=False),
                max_iter=self.max_iter,
                tol=1e-3 if self.tol is None else self.tol,
                callback=table(self),
                max_points=None,
                random_state=self.random_state,
            )
            fit_with(self, learner, X, y)
        return self


class NCA(TransformerMixin, MahalanobisMixin):
    """Neighborhood components analysis; see :class:`gramian.NCA`."""

    def __init__(
        self,
        init="auto",
        n_components=None,
        max_iter=100,
        tol=None,
        verbose=False,
        preprocessor=None,
        random_state=None,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any) -> "NCA":
        """Learn from points with labels; labels that say nothing leave the start as it is."""
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2)
        r = check_n_components(X.shape[1], self.n_components)
        init = start(X, y, self.init, r)
        sizes = np.unique(y, return_counts=True)[1]
        if len(sizes) < 2 or sizes.max() < 2:
            self.components_ = init if isinstance(init, np.ndarray) else np.eye(r, X.shape[1])
            self.n_iter_ = 0
            return self
        with timed(self):
            learner = gm.NCA(
                r,
                init=init,
                anchor=0,
                max_iter=self.max_iter,
                tol=1e-4 if self.tol is None else self.tol,
                callback=table(self, sign=-1.0),
                random_state=self.random_state,
            )
            fit_with(self, learner, X, y)
        return self


class RCA(TransformerMixin, MahalanobisMixin):
    """Relevant component analysis from chunks; see :class:`gramian.RCA`."""

    def __init__(self, n_components=None, preprocessor=None):
        store(self, locals())

    def fit(self, X: Any, chunks: Any) -> "RCA":
        """Learn from points and the chunk of each, −1 for none."""
        X, chunks = self._prepare_inputs(X, chunks, ensure_min_samples=2)
        side = gm.Chunklets(np.asarray(chunks).astype(int))
        if np.linalg.matrix_rank(side.centered(X)) < X.shape[1]:
            _validate.warn(
                "The inner covariance matrix is not invertible, so the transformation matrix may contain Nan values. "
                "You should remove any linearly dependent features and/or reduce the dimensionality of your input, for "
                "instance using `sklearn.decomposition.PCA` as a preprocessing step.",
            )
        r = check_n_components(X.shape[1], self.n_components)
        fit_with(self, gm.RCA(r if r < X.shape[1] else None, anchor=0), X, side)
        return self


class RCA_Supervised(RCA):
    """:class:`RCA` on chunks drawn from labels."""

    def __init__(
        self,
        n_components=None,
        n_chunks=100,
        chunk_size=2,
        preprocessor=None,
        random_state=None,
        num_chunks="deprecated",
    ):
        store(self, locals(), num_chunks="n_chunks")

    def fit(self, X: Any, y: Any) -> "RCA_Supervised":
        """Learn from points with labels, negative ones unknown."""
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2)
        chunks = Constraints(y).chunks(self.n_chunks, self.chunk_size, random_state=self.random_state)
        if self.n_chunks * (self.chunk_size - 1) < X.shape[1]:
            _validate.warn(
                "Due to the parameters of RCA_Supervised, the inner covariance matrix is not invertible, so the "
                "transformation matrix will contain Nan values. Increase the number or size of the chunks to correct "
                "this problem.",
            )
        super().fit(X, chunks)
        return self
