"""SCML and SCML_Supervised."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_array

import gramian as gm
from gramian.compat.metric_learn.base_metric import MahalanobisMixin, _TripletsClassifierMixin
from gramian.compat.metric_learn.constraints import Constraints
from gramian.compat.metric_learn.fitting import fit_with, lines, square_root
from gramian.metrics import leading_root


class _BaseSCML(MahalanobisMixin):
    """A linear program, solved to a gap: ``gamma`` and ``batch_size`` of a stochastic descent mean nothing here."""

    _tuple_size = 3
    _authorized_basis = ["triplet_diffs"]

    def __init__(
        self,
        beta=1e-5,
        basis="triplet_diffs",
        n_basis=None,
        gamma=5e-3,
        max_iter=10000,
        output_iter=500,
        batch_size=10,
        verbose=False,
        preprocessor=None,
        random_state=None,
    ):
        self.beta = beta
        self.basis = basis
        self.n_basis = n_basis
        self.gamma = gamma
        self.max_iter = max_iter
        self.output_iter = output_iter
        self.batch_size = batch_size
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state
        super().__init__(preprocessor)

    def _fit(self, triplets: Any, n_basis: int | None = None) -> "_BaseSCML":
        for name in ("max_iter", "output_iter", "batch_size"):
            _integer(self, name)
        if self.output_iter > self.max_iter:
            raise ValueError("The value of output_iter must be equal or smaller than max_iter.")
        triplets = self._prepare_inputs(triplets, type_of_inputs="tuples")
        bases = self._bases(triplets)
        if isinstance(bases, str) and n_basis is None:
            n_basis = self._triplet_basis_count(triplets)
        X, side = gm.Triplets.from_tuples(triplets)
        # β counts unit bases there, and the mean of d² here: a unit basis adds 1/d of ‖v‖² to it on average.
        V = np.concatenate([triplets[:, 0] - triplets[:, 1], triplets[:, 0] - triplets[:, 2]])
        size = float((V**2).sum(axis=1).mean()) / V.shape[1]
        learner = gm.SCML(
            self.beta / size if size > 0 else self.beta,
            bases,
            n_bases=n_basis,
            anchor=0,
            max_iter=self.max_iter,
            callback=lines(self),
            random_state=self.random_state,
        )
        fit_with(self, learner, X, side)
        self._keep(learner)
        return self

    def _keep(self, learner: Any) -> None:
        """A factor of d rows, or of fewer bases, with a word about it."""
        M = learner.metric_.matrix
        self.components_ = leading_root(M)
        r, d = self.components_.shape
        if r == d:
            self.components_ = square_root(M)
            return
        warnings.warn(
            "The number of bases with nonzero weight is less than the number of features of the input, in consequence "
            f"the learned transformation reduces the dimension to {r}.",
            stacklevel=4,
        )

    def _bases(self, triplets: np.ndarray) -> Any:
        """Given bases, or the name of ours."""
        d = triplets.shape[2]
        if isinstance(self.basis, np.ndarray):
            basis = check_array(self.basis, copy=True)
            if basis.shape[1] != d:
                raise ValueError(
                    f"The dimensionality ({basis.shape[1]}) of the provided bases must match the dimensionality of the "
                    f"data ({d})."
                )
            return basis
        if self.basis not in self._authorized_basis:
            names = "', '".join(self._authorized_basis)
            raise ValueError(
                f"`basis` must be one of the options '{names}' or an array of shape (n_basis, n_features)."
            )
        return "local"

    def _triplet_basis_count(self, triplets: np.ndarray) -> int:
        n, _, d = triplets.shape
        count = _basis_count(self, 80 * d)
        if d > n:
            raise ValueError(
                f"Number of features ({d}) is greater than the number of triplets({n}).\nConsider using dimensionality "
                "reduction or using another basis generation scheme."
            )
        return count


def _integer(estimator: Any, name: str) -> int:
    value = getattr(estimator, name)
    if not isinstance(value, int):
        raise ValueError(f"{name} should be an integer, instead it is of type {type(value)}")
    return value


def _basis_count(estimator: Any, default: int) -> int:
    """``n_basis``, or a default that is announced."""
    if estimator.n_basis is not None:
        return _integer(estimator, "n_basis")
    warnings.warn(
        f"As no value for `n_basis` was selected, the number of basis will be set to n_basis= {default}", stacklevel=5
    )
    return default


class SCML(_BaseSCML, _TripletsClassifierMixin):
    """Sparse compositional metrics from triplets; see :class:`gramian.SCML`."""

    def fit(self, triplets: Any) -> "SCML":
        """Learn from triplets (anchor, near, far)."""
        self._fit(triplets)
        return self


class SCML_Supervised(TransformerMixin, _BaseSCML):
    """:class:`SCML` on triplets of near neighbors."""

    _tuple_size = None  # type: ignore[assignment]  # points, not tuples
    _authorized_basis = ["triplet_diffs", "lda"]

    def __init__(
        self,
        k_genuine=3,
        k_impostor=10,
        beta=1e-5,
        basis="lda",
        n_basis=None,
        gamma=5e-3,
        max_iter=10000,
        output_iter=500,
        batch_size=10,
        verbose=False,
        preprocessor=None,
        random_state=None,
    ):
        self.k_genuine = k_genuine
        self.k_impostor = k_impostor
        super().__init__(
            beta, basis, n_basis, gamma, max_iter, output_iter, batch_size, verbose, preprocessor, random_state
        )

    def fit(self, X: Any, y: Any) -> "SCML_Supervised":
        """Learn from points with labels."""
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2)
        local = isinstance(self.basis, str) and self.basis == "lda"
        n_basis = self._lda_basis_count(X, y) if local else None
        near, far = _integer(self, "k_genuine"), _integer(self, "k_impostor")
        self._fit(X[Constraints(y).generate_knntriplets(X, near, far)], n_basis)
        return self

    def _lda_basis_count(self, X: np.ndarray, y: Any) -> int:
        n_classes = len(np.unique(y))
        most = 2 * X.shape[0] * min(n_classes - 1, X.shape[1])
        count = _basis_count(self, min(20 * X.shape[1], most - 1))
        if count < n_classes:
            warnings.warn(
                "The number of basis is less than the number of classes, which may lead to poor discriminative "
                "performance.",
                stacklevel=4,
            )
        elif count >= most:
            raise ValueError(f"Not enough samples to generate {count} LDA bases, n_basisshould be smaller than {most}")
        return count
