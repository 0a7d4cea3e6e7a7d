"""Discriminant neighborhood embedding."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _validate, linalg
from gramian._arrays import namespace
from gramian._settings import Count, Size
from gramian.constraints import Labels
from gramian.learners import neighbor_targets
from gramian.learners.base import Blended
from gramian.learners.task import Task, Traits
from gramian.solvers.base import Solution

RTOL = 1e-10
"""Eigenvalues within RTOL · max|λ| of zero count as zero."""


def neighbor_signs(X: np.ndarray, labels: Labels, k: int) -> sparse.csr_array:
    """W (n, n): +1 when i or j is among the other's k nearest of the same class, −1 likewise for other classes.

    The union makes W symmetric (Chatpatanasiri et al. 2010, §2.3); the two graphs share no pair.
    """
    n = X.shape[0]
    alike = both_ways(neighbor_targets.same_class(X, labels, k))
    unlike = both_ways(neighbor_targets.other_class(X, labels, k))
    signs = np.repeat([1.0, -1.0], [len(alike), len(unlike)])
    return sparse.csr_array((signs, np.divmod(np.concatenate([alike, unlike]), n)), shape=(n, n))


def both_ways(near: np.ndarray) -> np.ndarray:
    """Both orders i·n + j and j·n + i of all pairs of a point and another one that is near to it, once each."""
    n, k = near.shape
    i, j = np.repeat(np.arange(n), k), near.ravel()
    pairs = np.concatenate([i * n + j, j * n + i])
    return np.unique(pairs[pairs % (n + 1) != 0])  # i·n + i is a multiple of n + 1


def dne_loss(L: Any, X: Any, W: Any) -> tuple[float, Any]:
    """f(L) = tr(L Xᵀ(D − W)X Lᵀ) and its gradient, for symmetric W with row sums D; half of Σ_ij w_ij d²_ij."""
    xp = namespace(X)
    degree = W.sum(axis=1) if sparse.issparse(W) else xp.sum(W, axis=1)
    V = (degree[:, None] * X - W @ X).T @ X
    return float(xp.sum((L @ V) * L)), 2 * L @ V


@dataclass(eq=False, repr=False)
class DNE(Blended):
    """Find few directions in which near neighbors are of the same class, by one eigenproblem.

    Minimize tr(L Xᵀ(D − W)X Lᵀ) + reg · ‖L‖² over L with LLᵀ = I: one eigenproblem (Zhang et al. 2006).

    W joins near neighbors of one class with +1 and of different classes with −1, D holds its row sums
    (Chatpatanasiri et al. 2010, (4)). The rows of L are the eigenvectors of Xᵀ(D − W)X with eigenvalues below
    −1e-10 · max|λ|: each of them lowers the objective, so their number is the dimension, chosen by
    the data. With ``reg`` (Theorem 3 there) an eigenvalue has to be below −reg.
    When there is none, the smallest eigenvector is kept, with a warning.

    Parameters
    ----------
    n_neighbors : int
        Neighbors k of each kind; a class with fewer points gives what it has.
    n_components : int, optional
        Largest number of rows of L, smallest eigenvalues first.
    reg : float, ≥ 0
        How far below zero an eigenvalue has to be for its direction to be kept.
    prior : {"identity", "covariance"} or array (d, d)
        What the metric is where the labels say nothing.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out, in the leading directions of the points (see the guide on anchored learning).
    random_state : int or generator, optional
        For the points that are held out.

    Attributes
    ----------
    metric_ : Metric
        The learned distance, an immutable value.
    n_iter_, converged_, objective_, solution_
        Steps taken, whether ``solution_.tol`` was met, the objective (of a blend there is none), and the whole answer.

    See Also
    --------
    gramian.LFDA : Another eigenproblem of neighborhoods.
    gramian.LMNN : A convex relative.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import gramian as gm
    >>> X, y = load_iris(return_X_y=True)
    >>> dne = gm.DNE(n_neighbors=5, anchor=0).fit(X, y)
    >>> bool(dne.components_.shape[0] <= 4 and dne.objective_ < 0)
    True
    """

    traits = Traits(pair_cost=(5, 0.05, 0), repeats=3)

    n_neighbors: Count = 1
    n_components: Count | None = None
    _: KW_ONLY
    reg: Size = 0.0

    def solve(self, task: Task) -> Solution:
        """The eigenvectors with negative eigenvalues."""
        labels = task.y
        if len(labels.classes) < 2:
            raise ValueError(f"DNE: needs at least two classes, got {len(labels.classes)}.")
        Z = task.Z - task.Z.mean(axis=0)
        # Σ_ij over ordered pairs counts each pair twice; (4) counts it once.
        values, vectors = linalg.eigh(linalg.scatter(Z, neighbor_signs(Z, labels, self.n_neighbors)) / 2)
        count = int((values < -max(self.reg, RTOL * np.abs(values).max())).sum())
        if count == 0:
            _validate.warn("DNE: no eigenvalue is negative; keeping the smallest eigenvector.")
        wanted = len(values) if self.n_components is None else self.n_components
        if wanted > len(values):
            raise ValueError(f"DNE: n_components must be at most the number of features {len(values)}, got {wanted}.")
        r = min(max(count, 1), wanted)
        return Solution(factor=linalg.oriented(vectors[:, :r]).T, objective=float((values[:r] + self.reg).sum()))
