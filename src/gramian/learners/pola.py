"""The batch problem of POLA: the smallest metric that separates near from far pairs by a margin."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any

import numpy as np

from gramian import linalg
from gramian._settings import Count, Positive, Within
from gramian.constraints import Pairs
from gramian.divergences import Frobenius
from gramian.learners.base import Iterative
from gramian.learners.framework import ENOUGH_PAIRS, SolverName, answer, drawn
from gramian.learners.task import Effort, Task, Traits
from gramian.learners.tuples import best_threshold
from gramian.solvers import Hard, Hinge, Problem, Rows, Solution, Solver


@dataclass(eq=False, repr=False)
class POLA(Iterative):
    """Learn a distance and a threshold on it that tells similar pairs from dissimilar ones.

    min_M ½‖M‖²_F   s.t.  y_ij (b − d²_M(x_i, x_j)) ≥ 1,  M ⪰ 0   (Shalev-Shwartz et al. 2004; Jain 2009, (3.5)).

    The framework with the Frobenius divergence from M₀ = 0 and pair constraints d² ≤ b − 1 and d² ≥ b + 1. With
    ``threshold=None`` the threshold b is learned as well, min ½‖M‖² + ½b², as POLA does: it is one more diagonal
    coordinate of the same problem. A hinge of weight ``slack`` lets real data violate the margin. Many pairs of few
    features are solved by an interior point (:class:`~gramian.solvers.InteriorPoint`) to a certified gap.

    Parameters
    ----------
    threshold : float, optional
        b > 1; learned when None.
    slack : float, optional
        Cost C of a unit of violation; None for the hard problem.
    prior : {"identity", "covariance"} or array (d, d)
        What the metric is where the labels say nothing.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out, in the leading directions of the points (see the guide on anchored learning).
    n_pairs : int, optional
        Pairs drawn from labels.
    solver, random_state, verbose, callback
        See :class:`Framework`.
    max_iter, tol
        Limit of the solver, and the relative duality gap and violation to stop at. None: 2000 and
        0.001; 20 and 0.05 in a blend with a prior.

    Attributes
    ----------
    metric_ : Metric
        The learned distance.
    threshold_ : float
        Pairs nearer than this squared distance count as similar: b, or for a blend with the prior the threshold that
        tells the pairs apart best.

    See Also
    --------
    gramian.OnlinePOLA : One pair at a time.
    gramian.ITML : Bounds in place of a margin.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> gm.POLA(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    traits = Traits(
        takes=(Pairs,),
        exact=Effort(tol=1e-3, max_iter=2000),
        blended=Effort(tol=5e-2, max_iter=20, constraints=ENOUGH_PAIRS),
        has_unit=True,
        devices=True,
    )

    threshold: Annotated[float, Within(1, above=True)] | None = None
    slack: Positive | None = 1.0
    _: KW_ONLY
    n_pairs: Count | None = None
    solver: SolverName | Solver = "auto"

    def solve(self, task: Task) -> Solution:
        """The framework with ½‖M‖², and the threshold as one more coordinate where it is learned."""
        pairs: Any = drawn(task, self.n_pairs)
        delta, V = pairs.sign, pairs.terms(task.Z.shape[0]).left @ task.Z  # (m,), (m, d)
        if self.threshold is not None:
            bound = delta * self.threshold - 1  # Jain 2009, (3.5): δ vᵀMv ≤ δb − 1
            solution = answer(self.problem(V, delta[:, None], bound), task, self.solver, "POLA")
            return solution.saying(threshold=float(self.threshold))
        # Coordinates (x, √b): δ(vᵀMv − b) ≤ −1, with b the last diagonal entry of the matrix.
        m, d = V.shape
        rows = np.zeros((2 * m, d + 1))
        rows[::2, :d] = V
        rows[1::2, d] = 1.0
        weight = delta[:, None] * np.array([1.0, -1.0])
        solution = answer(self.problem(rows, weight, -np.ones(m)), task, self.solver, "POLA")
        M = solution.M
        return replace(solution, M=M[:-1, :-1]).saying(threshold=float(M[-1, -1]))

    def problem(self, rows: np.ndarray, weight: np.ndarray, bound: np.ndarray) -> Problem:
        """The smallest matrix under hinges, or with every margin kept."""
        slack = Hard() if self.slack is None else Hinge(self.slack)
        return Problem(Rows(rows, weight), bound, np.zeros((rows.shape[1],) * 2), Frobenius(), slack)

    def refine(self, task: Task, blend: Solution) -> Solution:
        """The threshold of a blended metric is the one that tells pairs apart best under it."""
        pairs: Any = drawn(replace(task, effort=self.traits.blended), None)
        terms = pairs.terms(task.Z.shape[0])
        sqdist = linalg.row_norms(terms.left @ (task.Z @ blend.factor.T))  # (m,)
        if not task.rest.empty:
            sqdist += blend.alpha * pairs.sign * task.rest.energy(terms)
        return blend.saying(threshold=-best_threshold(-sqdist, pairs.similar))
