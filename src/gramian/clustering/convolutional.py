"""Convolutional EM: data as sums of parts, parts of different clusterings orthogonal."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian.clustering.additive import SumOfParts, correlation
from gramian.clustering.base import Run
from gramian.clustering.descent import shrink
from gramian.clustering.parts import Moments, residual
from gramian.clustering.penalty import Penalty, choose
from gramian.clustering.points import Points, indicator, parts
from gramian.clustering.starts import promising

SHAPES = 5
"""Times that the shape of the noise is estimated anew at most."""


def sweep(m: Moments, C: np.ndarray, k: tuple[int, ...], lam: float) -> np.ndarray:
    """One pass of block minimization of (8.12) over the parts of each clustering, (8.15) and (8.16) for T ≥ 2.

    A part that no point has is set to zero, a minimizer like any other that is orthogonal to the rest.
    """
    counts = np.diag(m.N)
    used = counts > 1e-12 * counts.sum()
    C = np.where(used[:, None], C, 0.0)
    for block in parts(k):
        rows = np.arange(block.start, block.stop)[used[block]]
        rest = np.delete(C, block, axis=0)
        # (8.13): what the parts of the other clusterings leave, on average
        A = (m.S[rows] - np.delete(m.N, block, axis=1)[rows] @ rest) / counts[rows, None]
        C[rows] = shrink(A, rest, lam / counts[rows]) if len(rest) else A
    return C


def shape(Z: np.ndarray, diagonal: bool) -> np.ndarray:
    """Second moments of the rows, of determinant one; a thousandth of the mean variance keeps them regular."""
    S = np.diag(np.mean(Z**2, axis=0)) if diagonal else Z.T @ Z / len(Z)
    S = S + max(1e-3 * np.trace(S) / len(S), np.finfo(float).tiny) * np.eye(len(S))
    unit: np.ndarray = S / np.exp(np.linalg.slogdet(S)[1] / len(S))  # (d, d), det 1
    return unit


def whitened(points: Points, S: np.ndarray) -> Points:
    """Points in coordinates in which noise of the shape S is spherical."""
    return Points.of(points.dense(slice(None)) @ linalg.psd_power(S, -0.5), center=False)


@dataclass(eq=False, repr=False)
class ConvolutionalEM(SumOfParts):
    """Several clusterings as the parts of a sum (Jain 2009, §8.1.2, Algorithm 5).

    The data are sampled from the convolution of T mixtures of spherical Gaussians (8.6), so that a point with labels
    (i, j, …) is N(μ_i + ν_j + …, v I) with v = T σ². Minimize over parts, weights, v and, when hard, labels::

        − log-likelihood  +  λ / (2 v) · Σ (μ_i · ν_j)²

    the second sum over parts of different clusterings. This is the quantity that every step lowers: the E-step is
    exact, the step on the parts is block minimization of (8.12), and weights and v have closed forms.

    Differences from the thesis: (8.17) leaves the weights and v out, and is not what (8.7) minimizes; (8.14) lacks a
    factor z; v takes the penalty in and the new parts, not the old ones as (8.10), which makes it the minimizer; the
    parts go on from those before and not from the means (step 4.4), or the objective could rise. Each start is a short
    decorrelated k-means, where the thesis has k-means for one clustering and random labels for the other.

    Parameters
    ----------
    n_clusters : sequence of int
        Numbers of parts (k₁, …, k_T), one per clustering.
    penalty : float, "auto" or "drop"
        λ ≥ 0 of (8.12), in the same units as that of :class:`DecorrelatedKMeans`, and by the same rules.
    n_init, init, verbose, callback, random_state
        As in :class:`DecorrelatedKMeans`.
    covariance : {"spherical", "diagonal", "full"}
        Shape of the noise, one for all points: v I as in the thesis, v diag(s) or v S with det S = 1. The shape is
        that of the data at first, then of the residuals, and the model is fitted again in coordinates in which it is
        spherical, as long as the objective falls; parts of different clusterings are orthogonal under S⁻¹. Dense data
        only, centered.
    assignment : {"hard", "soft"}
        One combination of parts per point as in (8.7), or probabilities. All combinations are tried up to 2048,
        above that they are sampled (Gibbs), and the path is then the running best.
    center : bool
        Whether the mean of the data is the origin.
    max_iter : int
        Most iterations.
    tol : float
        Share of labels that may still change (hard), or relative change of the objective (soft).

    Attributes
    ----------
    labels_ : array (n, T)
        Cluster of each point, one column per clustering.
    parts_ : list of T arrays (k_t, d)
        Parts around ``mean_``.
    cluster_centers_ : list of T arrays (k_t, d)
        ``mean_`` + parts.
    weights_ : list of T arrays (k_t,)
        Share of each part.
    variance_ : float
        σ² of one part.
    shape_ : array (d, d) or None
        S, where the noise is not spherical.
    objective_, objective_path_, penalty_, mean_, n_iter_, converged_
        As in :class:`DecorrelatedKMeans`.

    See Also
    --------
    gramian.DecorrelatedKMeans : Each clustering has centers of its own.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> rng = np.random.default_rng(0)
    >>> rows, columns = rng.integers(2, size=200), rng.integers(2, size=200)
    >>> X = np.column_stack([5 * rows, 6 * columns]) + 0.1 * rng.normal(size=(200, 2))
    >>> em = gm.ConvolutionalEM((2, 2), random_state=0).fit(X)
    >>> bool(np.abs(em.reconstruct() - X).max() < 1)
    True
    """

    _most_points = 20_000

    penalty: Penalty = "auto"
    _: KW_ONLY
    covariance: Literal["spherical", "diagonal", "full"] = "spherical"
    assignment: Literal["hard", "soft"] = "hard"

    def _begin(self, points: Points, k: tuple[int, ...], rng: np.random.RandomState) -> None:
        if self.covariance != "spherical" and sparse.issparse(points.X):
            raise TypeError("ConvolutionalEM: covariance must be 'spherical' for sparse X; pass X.toarray().")
        self.penalty_ = choose(self.penalty, points, k, rng)

    def _first(self, points: Points, k: tuple[int, ...], start: int, rng: np.random.RandomState) -> np.ndarray:
        return promising(points, k, self.penalty_, rng)

    def _run(self, points: Points, k: tuple[int, ...], labels: np.ndarray, rng: np.random.RandomState) -> Run:
        """The spherical model; for other noise also in coordinates that the data, and then its residuals, give."""
        best = super()._run(points, k, labels, rng)
        best.extra["shape"] = None
        if self.covariance == "spherical":
            return best
        S = shape(points.dense(slice(None)), self.covariance == "diagonal")
        start = labels if self.init is not None else promising(whitened(points, S), k, self.penalty_, rng)
        for _ in range(SHAPES):
            run = super()._run(whitened(points, S), k, start, rng)
            if run.objective >= best.objective - self.tol * abs(best.objective):
                break
            path = np.concatenate([best.path, run.path])
            centers = run.centers @ linalg.psd_power(S, 0.5)
            best = replace(run, centers=centers, path=np.minimum.accumulate(path), extra={**run.extra, "shape": S})
            rest = points.dense(slice(None)) - indicator(best.labels, k) @ best.centers
            S = shape(rest, self.covariance == "diagonal")
            start = best.labels.copy()
        return best

    def _labels(self, points: Points) -> np.ndarray:
        if self.shape_ is None:
            return super()._labels(points)
        C = np.vstack(self.parts_) @ linalg.psd_power(self.shape_, -0.5)
        return self._nearest(whitened(points, self.shape_), C)

    def _spread(self, points: Points, run: Run, k: tuple[int, ...]) -> np.ndarray:
        S = run.extra["shape"]
        if S is None:
            return super()._spread(points, run, k)
        turned = replace(run, centers=run.centers @ linalg.psd_power(S, -0.5))
        return super()._spread(whitened(points, S), turned, k)

    def _means(self, m: Moments, C: np.ndarray, k: tuple[int, ...], energy: float) -> np.ndarray:
        last = np.inf
        for _ in range(20):
            C = sweep(m, C, k, self.penalty_)
            value = residual(energy, m, C) + self.penalty_ * correlation(C, k)
            if value >= last * (1 - 1e-6):
                break
            last = value
        return C
