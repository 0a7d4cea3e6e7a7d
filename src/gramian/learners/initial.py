"""Where a learner of a factor L starts, and the coordinates it descends in."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.constraints import Labels

INITS = ("auto", "identity", "pca", "lda", "random")


def initial(init: Any, X: np.ndarray, labels: Labels, n_components: int | None, rng: Any, owner: str) -> np.ndarray:
    """The starting factor L (r, d) by name, or as given.

    "auto" is the identity at full rank and PCA below it. Directions are orthonormal; their common length is set by
    the coordinates, so that a start does not depend on the units of X. A given array is taken as it is.
    """
    d = X.shape[1]
    r = d if n_components is None else _checks.number(n_components, owner, "n_components", low=1, integer=True)
    if r > d:
        raise ValueError(f"{owner}: n_components must be at most the number of features {d}, got {r}.")
    if not isinstance(init, str):
        return given_start(init, r, d, owner)
    _checks.one_of(init, owner, "init", INITS)
    if init == "auto":
        init = "identity" if r == d else "pca"
    if init == "identity":
        return np.eye(r, d)
    if init == "random":
        return np.linalg.qr(rng.standard_normal((d, r)))[0].T
    directions = principal_directions(X) if init == "pca" else discriminant_directions(X, labels)
    return directions[:r]


def given_start(init: Any, r: int, d: int, owner: str) -> np.ndarray:
    """A starting factor that was given as an array."""
    L = _checks.array(init, owner, "init")
    if L.shape != (r, d) or not np.isfinite(L).all():
        raise ValueError(f"{owner}: init must be a finite array ({r}, {d}), got shape {L.shape}.")
    return L


def principal_directions(X: np.ndarray) -> np.ndarray:
    """Eigenvectors of the covariance, largest variance first, as rows."""
    V = X - X.mean(axis=0)
    return linalg.oriented(linalg.eigh(V.T @ V)[1][:, ::-1]).T


def discriminant_directions(X: np.ndarray, labels: Labels) -> np.ndarray:
    """Fisher's directions, largest ratio of between to within scatter first, as orthonormal rows."""
    means = np.stack([X[g].mean(axis=0) for g in labels.groups()])
    within = X - means[labels.codes]
    Sw = within.T @ within
    ridge = 1e-6 * max(np.trace(Sw) / len(Sw), np.finfo(float).tiny)
    whiten = linalg.psd_power(Sw + ridge * np.eye(len(Sw)), -0.5)
    between = (means[labels.codes] - X.mean(axis=0)) @ whiten
    vectors = linalg.eigh(between.T @ between)[1][:, ::-1]
    return linalg.oriented(np.linalg.qr(whiten @ vectors)[0]).T


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Coordinates z = Bᵀ(x − mean) in which neighbors of one class spread evenly: descent there ignores units.

    A factor L' learned on them is the factor L = L'Bᵀ on X. B spans the directions in which X varies, scaled by the
    scatter P of differences to neighbors of the same class, B = U (Δ + ρ)^{-1/2} with P = UΔUᵀ. A large ρ (``ridge``
    times the mean of Δ) keeps descents close to their start where the data leave the metric open, as in more dimensions
    than points; a small one makes them short.
    Constant directions are left out of the metric.
    """

    mean: np.ndarray
    basis: np.ndarray
    unit: float

    @classmethod
    def fit(cls, X: np.ndarray, near: Any, reg: float = 0.0, ridge: float = 0.1) -> "Coordinates":
        """Coordinates from target neighbors (n, k), or the two ends of near pairs, and the weight of ‖L‖²."""
        mean = X.mean(axis=0)
        U = varying_directions(X - mean)
        Z = (X - mean) @ U
        pairs = len(near[0]) if isinstance(near, tuple) else near.shape[0] * near.shape[1]
        P = pull(Z, near) / pairs
        unit = np.trace(P) if np.trace(P) > 0 else linalg.row_norms(Z).mean()
        if unit <= 0:
            return cls(mean, np.zeros((X.shape[1], 0)), 1.0)
        spread = P + (ridge * unit / len(P) + reg / pairs) * np.eye(len(P))
        values, vectors = linalg.eigh(spread)
        values = np.maximum(values, 1e-12 * values[-1])
        return cls(mean, U @ (vectors / np.sqrt(values * len(values))), float(np.sqrt(unit)))

    def of(self, X: np.ndarray) -> np.ndarray:
        """Coordinates of points, (n, q)."""
        return (X - self.mean) @ self.basis

    def lift(self, L: np.ndarray) -> np.ndarray:
        """The factor on X of a factor on the coordinates."""
        return L @ self.basis.T

    def lower(self, L: np.ndarray, given: bool) -> np.ndarray:
        """The factor on the coordinates of a factor on X; a named start is divided by the unit of length of X."""
        return L @ (self.basis / self.norms) / (1.0 if given else self.unit)

    @property
    def norms(self) -> np.ndarray:
        """Squared lengths of the columns of B, which are orthogonal: ‖L‖² = Σ_k norms_k ‖L'_k‖²."""
        return linalg.row_norms(self.basis.T)


def varying_directions(V: np.ndarray) -> np.ndarray:
    """Orthonormal basis (d, q) of the directions in which centered points vary."""
    n, d = V.shape
    small = V.T @ V if d <= n else V @ V.T
    values, vectors = linalg.eigh(small)
    keep = values > 1e-12 * max(values[-1], 0.0)
    return vectors[:, keep] if d <= n else V.T @ (vectors[:, keep] / np.sqrt(values[keep]))


def pull(Z: Any, near: Any, weight: np.ndarray | None = None) -> np.ndarray:
    """Scatter Σ_i w_i Σ_j∈near(i) (z_i − z_j)(z_i − z_j)ᵀ of neighbors (n, k), or of pairs given by both ends."""
    if isinstance(near, tuple):
        V = linalg.gathered(Z[near[0]] - Z[near[1]])
        return V.T @ V
    P = linalg.placed(np.zeros((Z.shape[1], Z.shape[1])), Z)
    for column in near.T:
        V = Z - Z[column]
        P += V.T @ (V if weight is None else V * weight[:, None])
    return P
