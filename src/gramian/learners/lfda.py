"""Local Fisher discriminant analysis."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy import linalg as sla

from gramian import linalg
from gramian._settings import Count, Positive
from gramian.constraints import Labels
from gramian.learners.base import Blended
from gramian.learners.neighbor_targets import require_classes
from gramian.learners.task import Task, Traits
from gramian.solvers.base import Solution

Embedding = Literal["weighted", "orthonormalized", "plain"]
NEIGHBORS = (7, 30)
"""Neighbors that "auto" stands for: the first one, or the better one on held-out points."""
FLOOR = 1e-8
"""Least scale around a point, relative to the largest: copies are near each other and nothing else."""


def affinity_scatter(X: Any, Y: Any, k: int) -> np.ndarray:
    """½ Σ_ij A_ij (y_i − y_j)(y_i − y_j)ᵀ with A_ij = exp(−‖x_i − x_j‖² / σ_i σ_j), in blocks of rows.

    σ_i is the distance of x_i to its k-th neighbor among the rows, or to the farthest when there are fewer; Y are the
    same points in the coordinates of the scatter.
    """
    X = X - X.mean(axis=0)
    norms = linalg.row_norms(X)  # (n,)
    scale = floored(np.sqrt(np.concatenate([_kth(D, k) for _, D in _sqdist_blocks(X, norms)])))  # σ, (n,)
    G = np.zeros((Y.shape[1], Y.shape[1]))
    for rows, D in _sqdist_blocks(X, norms):
        D /= -scale[rows, None]
        D /= scale
        A = np.exp(D, out=D)  # exp(−d²_ij / σ_i σ_j), (rows, n)
        degree = A.sum(axis=1)
        G += Y[rows].T @ (degree[:, None] * Y[rows] - A @ Y)  # Yᵀ(diag(Ae) − A)Y
    return G


def floored(scale: np.ndarray) -> np.ndarray:
    """Scales that can be divided by."""
    scale = np.maximum(scale, FLOOR * scale.max(initial=0))
    return np.where(scale == 0, 1.0, scale)


def _sqdist_blocks(X: np.ndarray, norms: np.ndarray) -> Any:
    for rows in linalg.blocks(len(X), 8 * len(X)):
        D = X[rows] @ X.T  # d²_ij = |x_i|² − 2 x_iᵀx_j + |x_j|²
        D *= -2
        D += norms[rows, None]
        D += norms
        yield rows, np.maximum(D, 0, out=D)


def _kth(D: np.ndarray, k: int) -> np.ndarray:
    """The k-th smallest entry of each row after the point itself, or the largest."""
    k = min(k, D.shape[1] - 1)
    return np.partition(D, k, axis=1)[:, k]


def local_scatters(X: np.ndarray, Y: np.ndarray, labels: Labels, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Local scatters S_w within and S_b between classes (Sugiyama 2007, (14) and (15)) of the points Y.

    S_w weights a pair of class c by A_ij / n_c; S_b by A_ij (1/n − 1/n_c), and a pair of two classes by 1/n. The latter
    pairs are those of all points less those within classes, so only affinities within classes are computed.
    """
    n, d = Y.shape
    V = Y - Y.mean(axis=0)
    within, between = np.zeros((d, d)), V.T @ V
    for members in labels.groups():
        size = len(members)
        C = Y[members] - Y[members].mean(axis=0)  # (n_c, d)
        G = affinity_scatter(X[members], C, k)
        within += G / size
        between += G * (1 / n - 1 / size) - size / n * (C.T @ C)
    return within, between


def lfda(X: np.ndarray, labels: Labels, k: int, r: int, embedding: str = "weighted", ridge: float = 0.0) -> Solution:
    """The r leading generalized eigenvectors of S_b φ = λ S_w φ, as the rows of a factor.

    They are found in units of the standard deviations, so that ``ridge`` (relative to the mean eigenvalue of S_w) does
    not depend on the units of X; constant features have weight zero.
    """
    size = X.std(axis=0)
    varies = size > 0
    if not varies.any():
        return Solution(factor=np.zeros((r, X.shape[1])), objective=0.0)
    within, between = local_scatters(X, X[:, varies] / size[varies], labels, k)
    mean = np.trace(within) / len(within)
    within += ridge * (mean if mean > 0 else 1.0) * np.eye(len(within))
    values, vectors = sla.eigh(linalg.symmetrize(between), linalg.symmetrize(within))
    values, vectors = np.maximum(values[::-1][:r], 0), vectors[:, ::-1][:, :r]
    L = np.zeros((r, X.shape[1]))
    L[: len(values), varies] = vectors.T / size[varies]
    if embedding == "weighted":
        L[: len(values)] *= np.sqrt(values)[:, None]
    elif embedding == "orthonormalized":
        L = np.linalg.qr(L.T)[0].T
    return Solution(factor=linalg.oriented(L.T).T, objective=float(values.sum()))


@dataclass(eq=False, repr=False)
class LFDA(Blended):
    """Tell classes apart in few directions, also where a class has several clusters.

    max_L tr((L S_w Lᵀ)⁻¹ L S_b Lᵀ): Fisher's criterion on near neighbors only (Sugiyama 2007, (16)).

    The scatters are S = ½ Σ_ij W_ij (x_i − x_j)(x_i − x_j)ᵀ. A pair of one class weighs A_ij / n_c in S_w, with
    A_ij = exp(−‖x_i − x_j‖² / σ_i σ_j) and σ_i the distance to the k-th neighbor of its class, so that a class may
    consist of several groups; S_b is what is left of the total. One generalized eigenproblem; memory is one block of
    affinities, never n × n.

    Parameters
    ----------
    n_components : int, optional
        Rows of L; the number of features when None.
    n_neighbors : int or "auto"
        k; a class with fewer points uses what it has. "auto" is 7, as in the paper; where the weight of the prior is
        chosen on held-out points, 7 or 30 is chosen there too. The larger k, the more the result is that of LDA.
    embedding : {"weighted", "orthonormalized", "plain"}
        Rows φ√λ, an orthonormal basis of their span, or φ as they are, with φᵀS_wφ = 1.
    reg : float, > 0
        Added to S_w as a multiple of its mean eigenvalue, in units of the standard deviations of the features.
    prior : {"identity", "covariance"} or array (d, d)
        What the metric is where the labels say nothing.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out, in the leading directions of the points (see the guide on anchored learning).
    random_state : int or generator, optional
        For the folds of the anchor.

    Attributes
    ----------
    metric_ : Metric
        The learned distance, an immutable value.
    n_iter_, converged_, objective_, solution_
        Steps taken, whether ``solution_.tol`` was met, the objective (of a blend there is none), and the whole answer.

    See Also
    --------
    gramian.PLDA : One Gaussian per class.
    gramian.DNE : Another eigenproblem of neighborhoods.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> lfda = gm.LFDA(n_components=2).fit(X, y)
    >>> lfda.transform(X).shape, lfda.score(X, y) > 0.9
    ((150, 2), True)
    """

    traits = Traits(choices={"n_neighbors": NEIGHBORS}, pair_cost=(5, 0.05, 0))

    n_components: Count | None = None
    n_neighbors: Literal["auto"] | Count = "auto"
    _: KW_ONLY
    embedding: Embedding = "weighted"
    reg: Positive = 1e-6

    def variants(self) -> list["LFDA"]:
        """Numbers of neighbors, where the weight of the prior is chosen anyway."""
        return super().variants() if isinstance(self.anchor, str) and self.n_components is None else [self]

    def solve(self, task: Task) -> Solution:
        """One generalized eigenproblem."""
        require_classes(task.y, "LFDA")
        d = task.Z.shape[1]
        r = d if self.n_components is None else self.n_components
        if r > d:
            raise ValueError(f"LFDA: n_components must be at most the number of features {d}, got {r}.")
        k = NEIGHBORS[0] if isinstance(self.n_neighbors, str) else self.n_neighbors
        return lfda(task.Z, task.y, k, r, self.embedding, self.reg)
