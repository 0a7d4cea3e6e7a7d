"""Relevant component analysis."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from gramian import linalg
from gramian._settings import Count, Size
from gramian.constraints import Chunklets, Labels
from gramian.learners.base import Blended
from gramian.learners.class_weights import ClassWeight, class_weights
from gramian.learners.task import Sums, Task, Traits
from gramian.solvers.base import Solution


@dataclass(eq=False, repr=False)
class RCA(Blended):
    """Whiten the spread within groups of points that belong together, in closed form.

    M = C⁻¹, C = (1/n) Σ_l Σ_{i∈Ω_l} (x_i − μ_l)(x_i − μ_l)ᵀ   (Bar-Hillel et al. 2005; Jain 2009, (3.3)).

    The closed-form solution of min_M −log det M subject to the one chunklet constraint (3.4) with bound d: the
    framework with LinearLogDet. With the printed bound 1 the optimum is M/d, which orders neighbors the same.

    Directions in which the chunklets do not vary at all are outside of the range of C and get weight zero, unless
    ``reg`` is positive.

    Parameters
    ----------
    n_components : int, optional
        Keep the directions of least variance within chunklets relative to the total variance.
    reg : float
        Added to C as a multiple of its mean eigenvalue.
    prior : {"identity", "covariance"} or array (d, d)
        What the metric is where the labels say nothing.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out, in the leading directions of the points (see the guide on anchored learning).
    n_chunklets, chunklet_size : int, optional
        Draw that many small groups from the labels; whole classes when None.
    class_weight : None, "balanced" or dict
        What the points of a class count: all the same; each class the same in all, however rare it is; or
        label → weight.
    random_state : int or generator, optional
        Draws, where there are any: the same number gives the same result.

    Attributes
    ----------
    metric_ : Metric
        The learned distance, an immutable value.
    n_iter_, converged_, objective_, solution_
        Steps taken, whether ``solution_.tol`` was met, the objective (of a blend there is none), and the whole answer.

    See Also
    --------
    gramian.PLDA : Weighs the spread between groups too.
    gramian.GMML : In closed form from pairs.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> gm.RCA().fit(X, y).metric_.matrix.shape
    (4, 4)
    """

    traits = Traits(takes=(Chunklets,), repeats=3, summed=True, devices=True)

    n_components: Count | None = None
    reg: Size = 0.0
    _: KW_ONLY
    n_chunklets: Count | None = None
    chunklet_size: Count = 2
    class_weight: ClassWeight = None

    def solve(self, task: Task) -> Solution:
        """M = C⁻¹ on the range of C."""
        return self.from_sums(task.sums or self.sums(task))

    def sums(self, task: Task) -> Sums:
        """What the metric is made of."""
        covariance = None if self.n_components is None else linalg.covariance(task.Z)
        return Sums(task.Z.shape[0], covariance, *self.chunklets(task).moments(task.Z))

    def from_sums(self, sums: Sums) -> Solution:
        """The same from the scatter within chunklets; the covariance of all points orders directions."""
        C = sums.scatter / sums.sizes.sum()  # (d, d)
        d = len(C)
        C = C + self.reg * np.trace(C) / d * np.eye(d)  # Jain 2009, (3.3)
        if not np.trace(C) > 0:
            raise ValueError("RCA: every chunklet holds one point or copies of one; no variation to learn from.")
        values, vectors = linalg.eigh(C)
        used = values > 1e-10 * values[-1]
        W = (vectors[:, used] / np.sqrt(values[used])) @ vectors[:, used].T  # C^{−1/2} on its range, M = WW
        objective = float(np.log(values[used]).sum())  # −log det M
        if self.n_components is None:
            return Solution(factor=W, objective=objective)
        if self.n_components > d:
            raise ValueError(f"RCA: n_components must be at most the number of features {d}, got {self.n_components}.")
        _, directions = linalg.eigh(W @ sums.covariance @ W)
        directions = linalg.oriented(directions[:, ::-1][:, : self.n_components])  # (d, k)
        return Solution(factor=directions.T @ W, objective=objective)

    def chunklets(self, task: Task) -> Chunklets:
        """Groups of points that belong together: as they came, whole classes, or small groups drawn from them."""
        side: Any = task.y
        if not isinstance(side, Labels):
            return side
        groups = Chunklets.from_labels(side, self.n_chunklets, size=self.chunklet_size, random_state=task.rng)
        weight = class_weights(self.class_weight, side, "RCA")
        return groups if weight is None else replace(groups, weight=weight)
