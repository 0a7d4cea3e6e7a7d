"""Relevant component analysis."""

from dataclasses import replace
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.constraints import Chunklets, Labels
from gramian.learners.base import MetricLearner
from gramian.learners.weights import class_weights
from gramian.solvers.base import Solution


class RCA(MetricLearner):
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
        Steps taken, whether the tolerance was met, the value reached, and the solver's whole answer.

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

    _accepts = (Chunklets,)
    _devices = True

    def __init__(
        self,
        n_components=None,
        reg=0.0,
        *,
        prior="identity",
        anchor="auto",
        n_chunklets=None,
        chunklet_size=2,
        class_weight=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.reg = reg
        self.prior = prior
        self.anchor = anchor
        self.n_chunklets = n_chunklets
        self.chunklet_size = chunklet_size
        self.class_weight = class_weight
        self.random_state = random_state

    def _from_labels(self, Z: Any, labels: Labels, rest: Any, rng: np.random.RandomState) -> Chunklets:
        drawn = Chunklets.from_labels(labels, self.n_chunklets, size=self.chunklet_size, random_state=rng)
        weight = class_weights(self.class_weight, labels, "RCA")
        return drawn if weight is None else replace(drawn, weight=weight)

    def _learn(self, Z: np.ndarray, side: Chunklets, rest: Any, rng: np.random.RandomState) -> Solution:
        ridge = _checks.number(self.reg, "RCA", "reg", low=0)
        sizes, _, S = side.moments(Z)
        C = S / sizes.sum()  # Jain 2009, (3.3)
        C += ridge * np.trace(C) / len(C) * np.eye(len(C), like=C)
        if not np.trace(C) > 0:
            raise ValueError("RCA: every chunklet holds one point or copies of one; no variation to learn from.")
        values, vectors = linalg.eigh(C)
        used = values > 1e-10 * values[-1]
        W = (vectors[:, used] / np.sqrt(values[used])) @ vectors[:, used].T  # C^{−1/2} on its range, M = WW
        objective = float(np.log(values[used]).sum())  # −log det M
        if self.n_components is None:
            return Solution(factor=W, objective=objective)
        k = _checks.number(self.n_components, "RCA", "n_components", low=1, high=Z.shape[1], integer=True)
        _, directions = linalg.eigh(W @ linalg.covariance(Z) @ W)
        return Solution(factor=linalg.oriented(directions[:, ::-1][:, :k]).T @ W, objective=objective)
