"""The metric of two covariances: how classes vary inside, and how their means vary."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import linalg
from gramian._settings import Share
from gramian.constraints import Chunklets, Labels
from gramian.learners.base import Blended
from gramian.learners.task import Sums, Task, Traits
from gramian.solvers.base import Solution


@dataclass(eq=False, repr=False)
class PLDA(Blended):
    """Score whether two points are of one class, from the spread within classes and between them.

    M = W⁻¹ − (W + B)⁻¹: the log-likelihood ratio of "same class" against "any two points".

    W is the covariance within classes and B that of the class means, both shrunk toward a multiple of the identity::

        W = (1 − ρ) S_w + ρ tr(S_w)/d · I,      B = (1 − β) S_b + β tr(S_b)/d · I

    Under the two-covariance model of Ioffe (2006), with x − y normal of covariance 2W inside a class and 2(W + B) for
    two points at random, −¼ d²_M is the log-likelihood ratio up to a constant, as in Köstinger et al. (2012). In
    directions in which classes differ as much as points of a class do it keeps the features; isotropic W and B give
    a multiple of the identity, so that shrinking is an anchor in itself. It is closed form, one Cholesky
    factor and one inverse, and in hundreds of dimensions with few labels often the strongest learner.

    Parameters
    ----------
    within : float in [0, 1]
        Shrinkage ρ of W.
    between : float in [0, 1]
        Shrinkage β of B.
    prior : {"identity", "covariance"} or array (d, d)
        What the metric is where the labels say nothing.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out (see the guide on anchored learning).
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
    gramian.RCA : Uses the spread within groups alone.
    gramian.LFDA : Discriminants that follow neighborhoods.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> gm.PLDA().fit(X, y).score(X, y) > 0.9
    True
    """

    traits = Traits(takes=(Chunklets,), directions=None, points_each=1, repeats=3, summed=True, devices=True)

    within: Share = 0.5
    between: Share = 0.1

    def solve(self, task: Task) -> Solution:
        """In closed form."""
        return self.from_sums(task.sums or Sums(task.Z.shape[0], None, *self.chunklets(task).moments(task.Z)))

    def chunklets(self, task: Task) -> Chunklets:
        """Whole classes, or groups as they came."""
        side: Any = task.y
        return Chunklets(side.codes) if isinstance(side, Labels) else side

    def from_sums(self, sums: Sums) -> Solution:
        """The same from sizes, means and inner scatter of the groups."""
        means = sums.means  # (g, d)
        if len(means) < 2:
            raise ValueError(f"PLDA: needs at least two classes, got {len(means)}.")
        W = shrunk(sums.scatter / max(sums.sizes.sum() - len(means), 1), self.within)
        apart = means - means.mean(axis=0)  # (g, d)
        B = shrunk(apart.T @ apart / (len(means) - 1), self.between)
        if not np.trace(W) > 0:
            raise ValueError("PLDA: every class holds one point or copies of one; no variation to learn from.")
        W += 1e-10 * np.trace(W) / len(W) * np.eye(len(W))
        M = linalg.symmetrize(np.linalg.inv(W) - np.linalg.inv(W + B))
        return Solution(M=M if definite(M) else linalg.project_psd(M), objective=float(np.sum(M * W)))


def definite(M: np.ndarray) -> bool:
    """Whether a matrix has a Cholesky factor, which costs a tenth of its eigenvalues."""
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return False
    return True


def shrunk(S: np.ndarray, share: float) -> np.ndarray:
    """(1 − share) S + share · tr(S)/d · I."""
    return (1 - share) * S + share * np.trace(S) / len(S) * np.eye(len(S))
